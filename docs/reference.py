"""Write the reference pages: what a study can name, as the engine's registry describes it.

`make docs` runs this before it builds the handbook. The pages are not kept in the repository.
"""

from pathlib import Path

import control_reference

from sojourn._internal import registry
from sojourn._internal.registry import Entry, Parameter

PAGES = Path(__file__).parent / "reference" / "parts"

# Where the entries of a topic stand in a study, and how the page speaks of them.
PLACES = {
    "tables": "What a study is made of: its own settings, and the parts of a model.",
    "topologies": "The shape of the fabric: `topology` in a study, by name or as a table with"
    " `kind`.",
    "workloads": "Which flows arrive: `workload` in a study, by name or as a table with `kind`.",
    "schemes": "Transport, queue and balance under one name: `scheme` in a study, by name or as a"
    " table with `name` that says what is different. Defaults here are those of the named scheme.",
    "transports": "What the ends of a flow do: `scheme.transport` in a study, by name or as a table"
    " with `kind`.",
    "queues": "What ports do: `scheme.queue` in a study, by name or as a table with `kind`.",
    "buffers": "What memory a switch has: `buffer` in a study, by name or as a table with `kind`."
    " After the kinds come presets: each a kind with defaults of its own, which a table can change"
    " in turn.",
    "balances": "Which of several shortest paths a packet takes: `scheme.balance` in a study.",
    "class-policies": "Which of several traffic classes goes next: `scheme.queue.between` of a"
    " `classes` queue, by name or as a table with `kind`.",
    "deadlines": "How long flows may take: `workload.deadline` in a study, a time or a table with"
    " `kind`.",
    "disks": "The disks of an array: `disk` in a study, by name or as a table with `kind` that says"
    " what is different.",
    "layouts": "How an array spreads requests over its disks: `layout` in a study, by name or as a"
    " table with `kind`.",
    "positionings": "How the heads of an array's disks get to the places of accesses: `positioning`"
    " in a study, by name or as a table with `kind`.",
    "schedulings": "In which order each disk of an array serves: `scheduling` in a study, by name"
    " or as a table with `kind`.",
    "requests": "Which requests come to an array: `workload` in a study, a table with `kind`.",
    "request-arrivals": "When requests come to an array: `workload.arrivals` in a study, a table"
    " with `kind`.",
    "request-sizes": "How many blocks a request has: `workload.blocks` in a study, a number or a"
    " table with `kind`.",
    "request-places": "Where on an array requests go: `workload.places` in a study, by name or as a"
    " table with `kind`.",
    "batches": "How many requests come at once: `workload.arrivals.batch` in a study, a number or"
    " a table with `kind`.",
    "mail-servers": "What `sojourn mail serve` is set to. The first table has the parts of the"
    " file; each of the others is one of them, and `[[...]]` may stand there several times.",
    "mail-splits": "How a message's recipients become envelopes: `mail.split`, by name or as a"
    " table with `kind`.",
    "mail-orders": "In what order recipients are served: `mail.order`, by name or as a table with"
    " `kind`.",
    "mail-timeouts": "How long to wait at each step of a session: `mail.timeouts`, by name or as a"
    " table with `kind`.",
    "mail-checkpoints": "When what is done is written: `mail.checkpoint`, by name or as a table"
    " with `kind`.",
    "mail-retries": "When to try again: `mail.retry`, by name or as a table with `kind`.",
    "internets": "What a list sends to: `internet` in a study of mail, by name or as a table with"
    " `kind` that says what is different.",
    "message-arrivals": "When messages come to a list: `list.arrivals` in a study of mail, a table"
    " with `kind`.",
    "policies": "What a list server may decide in one way or another. `split.chunks` is"
    " `policy.split` in a study of mail, by the name `chunks` or as a table with `kind`; the others"
    " alike.",
    "causes": "What can be taken away to see by how much it holds delivery back: `without` in a"
    " study of mail. `sojourn mail plan` takes away one after the other.",
    "priorities": "What data packets carry as priority: `scheme.priority` in a study, by name or as"
    " a table with `kind`.",
}


def page(topic: str, entries: list[Entry]) -> str:
    """The page of one topic, in Markdown."""
    lines = [f"# {topic.capitalize()}", "", PLACES.get(topic, "")]
    tables = [entry for entry in entries if entry["source"]]
    for entry in entries:
        if not entry["source"]:
            lines += ["", f"## {entry['name']}", "", entry["summary"]]
            lines += _parameters(entry["parameters"])
    if tables:
        lines += ["", "## Size tables", "", "What `workload.sizes` can name, beside a file."]
        rows = [[f"`{e['name']}`", e["summary"], e["source"]] for e in tables]
        lines += _table(["name", "what it is", "where it comes from"], rows)
    return "\n".join(lines) + "\n"


def _parameters(parameters: list[Parameter]) -> list[str]:
    rows = [
        [
            f"`{parameter['name']}`",
            f"`{parameter['default']}`" if parameter["default"] else "*required*",
            f"{parameter['summary']} *Takes {parameter['type']}.*",
        ]
        for parameter in parameters
    ]
    return _table(["parameter", "default", "what it does"], rows) if rows else []


def _table(heads: list[str], rows: list[list[str]]) -> list[str]:
    lines = [heads, ["---"] * len(heads), *rows]
    cells = [[cell.replace("|", r"\|") for cell in line] for line in lines]
    return ["", *(f"| {' | '.join(line)} |" for line in cells)]


if __name__ == "__main__":
    PAGES.mkdir(parents=True, exist_ok=True)
    for name, listed in registry.topics().items():
        (PAGES / f"{name}.md").write_text(page(name, listed), encoding="utf-8")
    (PAGES / "control.md").write_text(control_reference.page(), encoding="utf-8")
