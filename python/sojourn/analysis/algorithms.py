"""Classes of users that the cases of a run were simulated with, and in what those of two differ."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

from sojourn._internal.classes import of_case
from sojourn.store.ledger import Ledger, Value, written
from sojourn.store.run_directory import as_named

_SET = "set."
_SHOWN = 16  # digits of a hash, as in the names of files that a run keeps
_MODES = {True: "compiled", False: "not compiled"}

Values = tuple[Value, ...]


@dataclass(frozen=True)
class Algorithm:
    """A class of a user's file, in one table of a scheme, with what it was given.

    `part` is the table's name, such as `transport`. Of `compiled` and of a parameter there is more
    than one value where it is swept.
    """

    part: str
    scheme: str
    name: str
    file: str
    sha256: str
    compiled: Values
    parameters: Mapping[str, Values]

    def words(self) -> str:
        """All there is to say of it."""
        file = f"{self.file} (SHA-256 {self.sha256[:_SHOWN]})"
        modes = " and ".join(_MODES[bool(mode)] for mode in self.compiled)
        values = [f"{name} = {_written(given)}" for name, given in self.parameters.items()]
        return ", ".join([f"{self.name} of {file}", modes, *values])

    def to_dict(self) -> dict[str, object]:
        """As JSON has it."""
        return asdict(self)


def algorithms(ledger: Ledger) -> list[Algorithm]:
    """The classes that the cases of a run were simulated with."""
    found: dict[tuple[str, ...], list[Mapping[str, Value]]] = {}
    for record in ledger:
        for table, own in of_case(record.parameters).items():
            identity = [str(own.get(key, "")) for key in ("class", "file", "sha256")]
            scheme = str(record.parameters.get("scheme.name", ""))
            found.setdefault((table, scheme, *identity), []).append(own)
    return [
        Algorithm(
            part=table.rpartition(".")[2],
            scheme=scheme,
            name=name,
            file=as_named(file),
            sha256=sha256,
            compiled=_distinct(own.get("compiled", False) for own in cases),
            parameters={
                key.removeprefix(_SET): _distinct(own[key] for own in cases if key in own)
                for key in dict.fromkeys(key for own in cases for key in own)
                if key.startswith(_SET)
            },
        )
        for (table, scheme, name, file, sha256), cases in found.items()
    ]


def facts(found: Sequence[Algorithm]) -> dict[str, str]:
    """What is said of each, by what it is: the transport, or that of a scheme among several."""
    several = len({one.scheme for one in found}) > 1
    said: dict[str, list[str]] = {}
    for one in found:
        label = f"{one.part} of {one.scheme}" if several else one.part
        said.setdefault(label, []).append(one.words())
    return {label: "; ".join(words) for label, words in said.items()}


def differing(a: Sequence[Algorithm], b: Sequence[Algorithm]) -> dict[str, list[str]]:
    """In what the classes of two runs differ, by their part: `class`, `code`, a parameter, ..."""
    parts = dict.fromkeys(one.part for one in (*a, *b))
    found = {}
    for part in parts:
        first, second = (_traits([one for one in own if one.part == part]) for own in (a, b))
        if first and second:
            names = dict.fromkeys((*first, *second))
            found[part] = [name for name in names if first.get(name) != second.get(name)]
    return {part: names for part, names in found.items() if names}


def _traits(found: Sequence[Algorithm]) -> dict[str, set[Value]]:
    """What there is of each trait in some classes."""
    traits: dict[str, set[Value]] = {}
    for one in found:
        own = {"class": (one.name,), "code": (one.sha256,), "compiled": one.compiled}
        for name, values in {**own, **one.parameters}.items():
            traits.setdefault(name, set()).update(values)
    return traits


def _distinct(values: Iterable[Value]) -> Values:
    return tuple(dict.fromkeys(values))


def _written(values: Values) -> str:
    texts = [written(value) for value in values]
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
