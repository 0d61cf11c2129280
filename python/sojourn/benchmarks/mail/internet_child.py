"""A small internet in a separate process, so that its processor time is its own.

Reads lines of JSON from standard input and answers each with one: first
`{"world", "source", "overrides"}`, then any number of `{"wait": COUNT, "patience_s": S}`; ends with
its input. The last answer, to `{"end": true}`, is everything that was taken over, and the cost.
"""

import resource

from sojourn._mail import TestNetConfig
from sojourn.benchmarks.mail.process import answer, questions, refusals


def main() -> None:
    """Serve until the input ends."""
    asked = questions()
    task = next(asked)
    with refusals():
        overrides = [(path, value) for path, value in task["overrides"]]
        world = TestNetConfig.parse(task["world"], task["source"], overrides)
        internet = world.start()
        answer(
            resolver=internet.resolver,
            smtp_port=internet.smtp_port,
            subscribers=world.subscribers(),
        )
        for question in asked:
            if "wait" in question:
                answer(accepted=internet.wait_for(question["wait"], question["patience_s"]))
            else:
                used = resource.getrusage(resource.RUSAGE_SELF)
                answer(accepted=internet.accepted(0), cpu_s=used.ru_utime + used.ru_stime)
        internet.stop()


if __name__ == "__main__":
    main()
