"""Delivery logs of sendmail, Postfix, Exim and ours: what happened, who waits, how fast it goes.

`reading` opens them and hands their bytes to the extension; each tool of the paper is a module.
Times are those that the logs have: of the clock that wrote them, without a time zone.
"""

from sojourn.maillog.reading import Log, Reading, attempts

__all__ = ["Log", "Reading", "attempts"]
