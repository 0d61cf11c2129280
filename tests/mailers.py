"""Settings of mailers, and the advice for them, for tests of `sojourn mail plan`."""

from pathlib import Path

from sojourn.mail import mailer
from sojourn.mail.mailer import Server
from sojourn.mail.plan import world as worlds
from sojourn.mail.plan.policy import changed, resolved
from sojourn.mail.plan.predict import Scenario

PROVIDERS = {"big.example": ["one.example", "two.example"]}


def scenario(folder: Path) -> Scenario:
    """A list of three subscribers."""
    (folder / "world.csv").write_text("domain,subscribers\na.example,3\n")
    world = worlds.from_file(folder / "world.csv", None, folder)
    return Scenario(world, folder, {"messages": 2, "arrivals": "regular"}, {}, 1)


def read(folder: Path, **files: str) -> Server:
    """The mailer that files set, which are put into a folder."""
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text)
    return mailer.of([str(folder)])


def advised(server: Server, scenario: Scenario, **changes: object) -> list[tuple[str, str]]:
    """The files and lines that changes of a policy need; none without a change."""
    now = resolved(scenario.parsed(server.policy).resolved())
    named = {name.replace("__", "."): value for name, value in changes.items()}
    plan = resolved(scenario.parsed(changed(now, named)).resolved())
    assert list(server.advise(now, now, PROVIDERS)) == []
    said = list(server.advise(now, plan, PROVIDERS))
    assert all(one.does and one.harms for one in said)
    return [(one.file, line) for one in said for line in one.lines]
