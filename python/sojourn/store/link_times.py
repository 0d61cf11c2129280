"""What the simulation of links gave, and the file that keeps it while a case is under way."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sojourn.store import rows


@dataclass(frozen=True)
class LinkTimes:
    """What the simulation of a link gave, as `Decomposition.simulate` says, and what it took."""

    link: int
    delays: npt.NDArray[np.int64]
    events: int
    wall_s: float
    cpu_s: float


class LinkTimesFile:
    """The links of one case that were simulated before it was interrupted."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self, links: Collection[int]) -> dict[int, LinkTimes]:
        """Those of `links` that are there.

        Raises:
            RunDirectoryError: the file cannot be read.
        """
        if not self._path.exists():
            return {}
        table = rows.read(self._path, ["link", "delays", "events", "wall_s", "cpu_s"])
        own, delays = table.drop_columns(["delays"]).to_pylist(), table["delays"]
        return {
            one["link"]: LinkTimes(delays=rows.numbers(delays[i].values), **one)
            for i, one in enumerate(own)
            if one["link"] in links
        }

    def write(self, found: Mapping[int, LinkTimes]) -> None:
        """Keep these; nothing is written where there are none."""
        if not found:
            return
        self._path.parent.mkdir(exist_ok=True)
        lengths = [len(times.delays) for times in found.values()]
        ends = np.cumsum([0, *lengths])
        delays = np.concatenate([times.delays for times in found.values()])
        table = {
            name: [getattr(times, name) for times in found.values()]
            for name in ("link", "events", "wall_s", "cpu_s")
        }
        rows.write(
            pa.table(table | {"delays": pa.LargeListArray.from_arrays(ends, delays)}), self._path
        )

    def drop(self) -> None:
        """The case is finished: nothing need be kept."""
        self._path.unlink(missing_ok=True)
        if self._path.parent.exists() and not any(self._path.parent.iterdir()):
            self._path.parent.rmdir()
