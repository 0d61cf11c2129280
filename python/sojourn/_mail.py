"""The compiled list server, which the extra `mail` brings: its own distribution, `sojourn-mail`.

Importing this is how code asks for it: if it is missing or has another version, the import
raises `NotInstalledError`.
"""

from sojourn._core import build_info
from sojourn._internal.errors import NotInstalledError

_GET = 'pip install "sojourn[mail]"'

try:
    import sojourn_mail
    from sojourn_mail import *  # noqa: F403 - its stub lists them
except ModuleNotFoundError as error:
    if error.name != "sojourn_mail":
        raise
    raise NotInstalledError(f"the list server is not installed: {_GET}") from None

if sojourn_mail.__version__ != build_info()["version"]:
    raise NotInstalledError(
        f"sojourn {build_info()['version']} cannot use sojourn-mail {sojourn_mail.__version__}:"
        f" {_GET}"
    )
