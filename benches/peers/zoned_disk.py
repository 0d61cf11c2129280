"""The zoned disk of the paper's section 2 in plain Python, for programs that have none."""

import random
from bisect import bisect
from itertools import accumulate
from math import sqrt
from typing import Any


class ZonedDisk:
    """How long an access to a random place takes, wherever the head is; in milliseconds."""

    def __init__(self, about: dict[str, Any], chance: random.Random) -> None:
        self.chance = chance
        self.rotation, self.sectors = about["rotation"], about["sectors"]
        cylinders = about["cylinders"]
        self.b = (about["full_seek"] - about["track_seek"]) / (sqrt(cylinders - 1) - 1)
        self.a = about["track_seek"] - self.b
        most, least = (self.rotation / about[f"{end}_sector"] for end in ("outer", "inner"))
        step = (most - least) / (cylinders - 1)
        self.tracks = [most - step * cylinder for cylinder in range(cylinders)]
        self.upto = list(accumulate(self.tracks))

    def cylinder(self) -> int:
        """That of a random sector."""
        return bisect(self.upto, self.chance.random() * self.upto[-1])

    def access(self) -> float:
        """Seek, rotation, and the transfer of a block."""
        place = self.cylinder()
        seek = self.a + self.b * sqrt(abs(self.cylinder() - place))
        transfer = self.sectors * self.rotation / self.tracks[self.cylinder()]
        return float(seek + self.chance.random() * self.rotation + transfer)
