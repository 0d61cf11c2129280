"""Disks on offer: the tables `plan.offer`, each with a name, counts, layouts and a price."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import PurePath
from typing import Any

from sojourn._core import SpecError
from sojourn._internal import registry
from sojourn._internal.errors import InputError
from sojourn.planning.plan_file import Path, PlanFile

OFFER = "offer"

_MOST_OFFERS = 100
_MOST_COUNTS = 1000
_LARGEST_COUNT = 1_000_000
_LONGEST_NAME = 40

_COUNTS = (
    "a count such as 12, a list of different ones such as [12, 24], or"
    " { from = 6, to = 24, step = 6 }"
)


@dataclass(frozen=True)
class Offer:
    """A disk on offer.

    Attributes:
        path: where the plan has it.
        name: what tables and pictures call it.
        disk: the device, as a study names it.
        counts: how many of it an array may have; none where the layouts say that.
        layouts: as a study names them; those with a parameter `disks` once for each count.
        terms: price and capacity of one disk, for the parser of plans to check.
    """

    path: Path
    name: str
    disk: object
    counts: tuple[int, ...]
    layouts: list[object]
    terms: dict[str, object]


def read_offers(file: PlanFile) -> list[Offer]:
    """The offers of a plan.

    Raises:
        SpecError: one cannot be understood.
    """
    given = file.plan[OFFER]
    path = ("plan", OFFER)
    if not isinstance(given, list) or not all(isinstance(one, dict) for one in given):
        raise file.refused(path, "tables: write [[plan.offer]] above each", given)
    if not 1 <= len(given) <= _MOST_OFFERS:
        raise SpecError(
            f"{file.place(path)}: plan.offer has {len(given)} tables, expected 1 to {_MOST_OFFERS}"
        )
    _check_surroundings(file, given)
    offers: list[Offer] = []
    for place, table in enumerate(given):
        offers.append(_offer(file, (*path, place), table, {offer.name for offer in offers}))
    return offers


def device_name(disk: object) -> str:
    """What to call a device: its kind, or the name of the file that its times are from."""
    if not isinstance(disk, Mapping):
        return str(disk)
    file, kind = disk.get("file"), disk.get("kind")
    named = PurePath(file).stem if isinstance(file, str) else ""
    return (named or str(kind or "disk"))[:_LONGEST_NAME]


def _check_surroundings(file: PlanFile, offers: Sequence[Mapping[str, object]]) -> None:
    """Refuse what would have no effect beside offers."""
    if "disks" in file.plan:
        raise file.refused(("plan", "disks"), "no such list beside plan.offer", file.plan["disks"])
    sweep = file.document.get("sweep")
    for part, key in (("disk", "disk"), ("layout", "layouts")):
        if isinstance(sweep, dict) and part in sweep:
            raise file.refused(("sweep", part), f"{key} in plan.offer instead", sweep[part])
        if part in file.document and all(key in offer for offer in offers):
            expected = f"none, as each plan.offer has {key}"
            raise file.refused((part,), expected, file.document[part])


def _offer(file: PlanFile, path: Path, table: Mapping[str, Any], taken: set[str]) -> Offer:
    terms = [entry["name"] for entry in registry.entry("tables", OFFER)["parameters"]]
    file.check_keys(path, table, ["name", "disk", "disks", "layouts", *terms])
    disk = table.get("disk", file.document.get("disk"))
    if disk is None:
        raise file.refused((*path, "disk"), "a disk: `sojourn list disks` has them")
    price = table.get("price")
    if isinstance(price, float) and not isfinite(price):
        raise file.refused((*path, "price"), "a finite number", price)
    counts = _counts(file, (*path, "disks"), table.get("disks"))
    return Offer(
        path=path,
        name=_name(file, (*path, "name"), table.get("name"), device_name(disk), taken),
        disk=disk,
        counts=counts,
        layouts=_layouts(file, path, table, counts),
        terms={key: table[key] for key in terms if key in table},
    )


def _name(file: PlanFile, path: Path, given: object, otherwise: str, taken: set[str]) -> str:
    if given is None:
        numbered = (f"{otherwise} {number}" for number in range(2, _MOST_OFFERS + 2))
        return otherwise if otherwise not in taken else next(n for n in numbered if n not in taken)
    if not isinstance(given, str) or not 0 < len(given.strip()) <= _LONGEST_NAME:
        raise file.refused(path, f"a text of 1 to {_LONGEST_NAME} characters", given)
    if not given.isprintable():
        raise file.refused(path, "printable characters", given)
    if given.strip() in taken:
        raise file.refused(path, "a name that no other offer has", given)
    return given.strip()


def _counts(file: PlanFile, path: Path, given: object) -> tuple[int, ...]:
    """The numbers of disks that an offer names, none where it names none."""
    match given:
        case None:
            return ()
        case int() if not isinstance(given, bool):
            found: Sequence[object] = [given]
        case list():
            found = given
        case dict():
            found = _range(file, path, given)
        case _:
            raise file.refused(path, _COUNTS, given)
    if not 1 <= len(found) <= _MOST_COUNTS:
        raise SpecError(
            f"{file.place(path)}: plan.offer.disks has {len(found)} counts, expected 1 to"
            f" {_MOST_COUNTS}"
        )
    counts = tuple(one for one in found if isinstance(one, int) and not isinstance(one, bool))
    if len(set(counts)) < len(found) or not 1 <= min(counts) <= max(counts) <= _LARGEST_COUNT:
        raise file.refused(path, _COUNTS, given)
    return counts


def _range(file: PlanFile, path: Path, given: Mapping[str, object]) -> range:
    file.check_keys(path, given, ["from", "to", "step"])
    numbers = [given.get("from"), given.get("to"), given.get("step", 1)]
    match numbers:
        case [int(first), int(last), int(step)] if (
            not any(isinstance(one, bool) for one in numbers)
            and 1 <= first <= last <= _LARGEST_COUNT
            and step >= 1
        ):
            return range(first, last + 1, step)
    raise file.refused(path, _COUNTS, given)


def _layouts(
    file: PlanFile, path: Path, table: Mapping[str, Any], counts: Sequence[int]
) -> list[object]:
    given = table.get("layouts")
    where: Path = (*path, "layouts")
    if given is None:
        if "layout" not in file.document:
            raise file.refused(where, 'a list such as ["raid10", "raid6"]')
        given, where = [file.document["layout"]], ("layout",)
    if not isinstance(given, list) or not given:
        raise file.refused(where, 'a list such as ["raid10", "raid6"]', given)
    return [layout for one in given for layout in _sized(file, where, one, counts)]


def _sized(file: PlanFile, path: Path, layout: object, counts: Sequence[int]) -> Iterator[object]:
    """A layout with each of the counts, or as it is where it has no parameter `disks`."""
    table = dict(layout) if isinstance(layout, dict) else {"kind": layout}
    if not counts or not _has_disks(table.get("kind")):
        yield layout
        return
    if "disks" in table:
        expected = "no disks in a layout beside plan.offer.disks"
        raise file.refused(path, expected, layout)
    yield from (table | {"disks": count} for count in counts)


def _has_disks(kind: object) -> bool:
    """Whether a layout has a parameter `disks`; an unknown one may, and is refused later."""
    try:
        entry = registry.entry("layouts", str(kind))
    except InputError:
        return True
    return any(parameter["name"] == "disks" for parameter in entry["parameters"])
