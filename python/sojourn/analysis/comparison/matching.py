"""Which cases two runs share."""

from collections.abc import Sequence
from dataclasses import dataclass

from sojourn._internal.errors import InputError
from sojourn.analysis.sample import Group, Warmup, groups_of
from sojourn.store.columns import Column, Columns, Key, groups, paths_of
from sojourn.store.ledger import Ledger, Record, Value, written
from sojourn.store.stored_run import StoredRun

_SHOWN = 5
_COMPLETION = "completion"


@dataclass(frozen=True)
class Pair:
    """A case that two runs share: the parameters that say which, and each run's records of it."""

    case: dict[str, Value | None]
    runs: tuple[StoredRun, StoredRun]
    records: tuple[Sequence[Record], Sequence[Record]]

    def groups(self, *, warmup: Warmup) -> tuple[dict[str, Group], dict[str, Group]]:
        """Each run's jobs of the case, by kind, all replications together.

        Raises:
            InputError: rows are missing or cannot be read.
        """

        def of(side: int) -> dict[str, Group]:
            directory, ledger = self.runs[side].directory, Ledger(self.records[side])
            found = groups_of(directory, ledger, (), warmup=warmup)
            return {group.kind: Group(self.case, group.kind, group.sample) for group in found}

        return of(0), of(1)


def pairs(
    a: StoredRun, b: StoredRun, apart_in: Column | None = None
) -> tuple[list[Pair], tuple[int, int]]:
    """The cases that agree in all parameters that either run sweeps, but the one they may not.

    Two runs of one case each are a pair, whatever their parameters are.

    Returns:
        The pairs in A's order, and how many cases of each run are in none.

    Raises:
        InputError: there is none, or no case is finished; or flows are complete at their receivers
            in one run and at their senders in the other.
    """
    _refuse_other_completions(a, b)
    columns = Columns.of(a.directory, a.ledger), Columns.of(b.directory, b.ledger)
    swept = dict.fromkeys([*columns[0].axes, *columns[1].axes])
    apart = apart_in.name if apart_in else ""
    names = [n for n in swept if n != apart and apart not in (_swept(a, n), _swept(b, n))]
    if all(len({record.case for record in run.ledger}) == 1 for run in (a, b)):
        return [Pair({}, (a, b), ([*a.ledger], [*b.ledger]))], (0, 0)
    of_a, of_b = (
        groups(run.ledger, [_column(run, own, name, other) for name in names])
        for run, own, other in ((a, columns[0], b), (b, columns[1], a))
    )
    shared = [key for key in of_a if key in of_b]
    if not shared:
        raise InputError(_apart(a, b, names, list(of_a), list(of_b)))
    found = [
        Pair(dict(zip(names, key, strict=True)), (a, b), (of_a[key], of_b[key])) for key in shared
    ]
    return found, (len(of_a) - len(shared), len(of_b) - len(shared))


def _refuse_other_completions(a: StoredRun, b: StoredRun) -> None:
    ends = [
        {
            record.parameters[_COMPLETION]
            for record in run.ledger
            if _COMPLETION in record.parameters
        }
        for run in (a, b)
    ]
    if all(ends) and not ends[0] & ends[1]:
        here, there = (str(next(iter(end))) for end in ends)
        raise InputError(
            f"{a.path} and {b.path} cannot be compared: flows are complete at the {here} in one and"
            f" at the {there} in the other; run one of them with --set {_COMPLETION}={there}"
        )


def _column(run: StoredRun, columns: Columns, name: str, other: StoredRun) -> Column:
    """The column of `run` that holds what `other`, or itself, sweeps under that name."""
    if name in columns.axes:
        return Column(name, name)
    swept = _swept(other, name)
    if swept in columns.parameters:
        return Column(name, swept)
    try:
        return columns.find(name)
    except InputError:
        raise InputError(
            f"{run.path}: no parameter {name!r}, by which the other run's cases differ"
        ) from None


def _swept(run: StoredRun, axis: str) -> str:
    """The whole path of the parameter that a run sweeps as `axis`, which is that for short."""
    records = [record for record in run.ledger if axis in record.axes]
    paths = dict.fromkeys(path for record in records for path in record.parameters)
    same = (
        path
        for path in paths_of(axis, paths)
        if all(record.parameters.get(path) == record.axes[axis] for record in records)
    )
    return next(same, axis)


def _apart(
    a: StoredRun, b: StoredRun, names: Sequence[str], of_a: Sequence[Key], of_b: Sequence[Key]
) -> str:
    """What keeps two runs apart: the first parameter without a common value, if it is one."""
    said = f"{a.path} and {b.path} share no case"
    for place, name in enumerate(names):
        there, here = (dict.fromkeys(key[place] for key in keys) for keys in (of_a, of_b))
        if not there.keys() & here.keys():
            return f"{said}: {name} is {_listed(list(there))} and {_listed(list(here))}"
    return f"{said}: no combination of {', '.join(names)} is in both"


def _listed(values: Sequence[Value | None]) -> str:
    shown = [*map(written, values[:_SHOWN])]
    return ", ".join([*shown, *(["..."] if len(values) > _SHOWN else [])])
