"""A list server in a separate process, so that its processor time and memory are its own.

Reads lines of JSON from standard input and answers each with one: first `{"settings", "source",
"spool", "log", "recipients", "messages", "size_bytes", "hands_over"}`, answered when all messages
are on stable storage; then any number of `{"progress": true}`; the last,
`{"end": true}`, is answered when the server has stopped. `hands_over` says to what: the engine, a
list whose copies differ, or such a list that signs them. Imports nothing of sojourn but the engine.
"""

import time
from pathlib import Path

from sojourn._mail import DeliveryServer, MailSettings
from sojourn.benchmarks.child import peak_bytes
from sojourn.benchmarks.mail import list_child
from sojourn.benchmarks.mail.process import SENDER, answer, cpu_s, message, questions, refusals


def main() -> None:
    """Send until the input ends."""
    asked = questions()
    task = next(asked)
    with refusals():
        if task["hands_over"] != "engine":
            list_child.serve(task, asked)
            return
        settings = MailSettings.parse(task["settings"], task["source"], [])
        log = None if task["log"] is None else Path(task["log"])
        before = cpu_s()
        server = DeliveryServer.start(settings, Path(task["spool"]), log)
        submitted = time.time()
        numbers = {
            server.submit(SENDER, task["recipients"], message(number, task["size_bytes"])): number
            for number in range(task["messages"])
        }
        answer(submitted=submitted, accepted=time.time())
        for question in asked:
            if "progress" in question:
                answer(**server.progress())
                continue
            used_s = cpu_s() - before
            left, cut = server.stop()
            answer(
                cpu_s=used_s,
                peak_bytes=peak_bytes(),
                left=left,
                cut=cut,
                failed=[
                    (numbers[number], who)
                    for number, who, for_good, *_ in server.troubled()
                    if for_good and number in numbers
                ],
            )


if __name__ == "__main__":
    main()
