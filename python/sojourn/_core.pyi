"""The compiled half of sojourn: studies parsed, cases simulated. No statistics, no files."""

from collections.abc import Mapping
from typing import Any, TypeAlias, final

import numpy as np
import numpy.typing as npt
from typing_extensions import disjoint_base

__all__ = [
    "AckFields",
    "Call",
    "Cancelled",
    "CandidateList",
    "Case",
    "CaseFailed",
    "Decomposition",
    "Estimate",
    "FileNeed",
    "Flow",
    "InputError",
    "MailLog",
    "Outcome",
    "PacketFields",
    "Plan",
    "Progress",
    "Random",
    "Resource",
    "StreamFields",
    "Study",
    "StudyError",
    "Threshold",
    "WindowFields",
    "as_written",
    "beta_quantile",
    "build_info",
    "c_addresses",
    "cbrt",
    "draw_below",
    "draw_uniform",
    "exp",
    "log",
    "mail_address",
    "mail_canonical",
    "mail_log_formats",
    "mail_provider",
    "power",
    "quantity",
    "registry",
    "schema",
    "student_t_probability",
    "student_t_quantile",
    "thresholds",
    "vocabulary",
]

_Value: TypeAlias = bool | int | float | str
_Column: TypeAlias = npt.NDArray[np.generic] | tuple[npt.NDArray[np.uint8], list[str]]

class InputError(ValueError):
    """What a user gave cannot be used; `str()` is one whole line for him, the exit code is 2."""

class StudyError(InputError):
    """A study that cannot be run as written; `str()` has a line for each mistake, at most ten."""

class CaseFailed(Exception):  # noqa: N818
    """Code that came with the study failed: one line, and the traceback below it."""

class Cancelled(Exception):  # noqa: N818
    """The case was stopped by `Progress.cancel`; it has no outcome."""

_Array: TypeAlias = npt.NDArray[Any]

@final
class FileNeed:
    """A file that a study names."""

    @property
    def id(self) -> str:
        """What it is handed in as."""

    @property
    def part(self) -> tuple[str, str]:
        """The part of the study that names it, and its kind: `("transport", "python")`."""

    @property
    def name(self) -> str:
        """The name, as the study has it."""

    @property
    def settings(self) -> dict[str, object]:
        """The settings beside it that are set of `sha256`, `class`, `compiled` and `drawn`."""

@final
class Call:
    """The call of a function that draws a table of flows."""

    @property
    def id(self) -> str:
        """What its table is handed in as: it differs where anything does that the function gets."""

    @property
    def file(self) -> str:
        """The file that has the function."""

    @property
    def folder(self) -> str | None:
        """A folder of tables that were drawn before, which is looked up instead."""

    @property
    def function(self) -> str:
        """The function."""

    @property
    def settings(self) -> dict[str, Any]:
        """Further arguments by name."""

    @property
    def rates(self) -> list[int]:
        """The speed of each host's link, in bits a second."""

    @property
    def seed(self) -> list[int]:
        """Four numbers, the seed of its random numbers."""

@final
class Resource:
    """What a study needs, or why it is of no use.

    `name` is that of the file in a resolved study: an absolute path, or a place in a run directory.
    `shown` is what messages call it, and `origin` is handed back as it is.
    """

    @staticmethod
    def unread(shown: str, expected: str) -> Resource:
        """A file of no use: what was expected, with the reason."""

    @staticmethod
    def text(name: str, data: bytes) -> Resource:
        """A text or a trace, copied."""

    @staticmethod
    def file(name: str, descriptor: int) -> Resource:
        """A text or a trace in an open file, which may be closed afterwards.

        Raises:
            OSError: the process has no further file descriptor.
        """

    @staticmethod
    def table(
        name: str,
        shown: str,
        sha256: str,
        columns: tuple[int, list[tuple[str, _Array, _Array | None]]],
        origin: object,
    ) -> Resource:
        """A table of flows: rows and columns as `sojourn.store.flow_tables` has them."""

    @staticmethod
    def functions(name: str, sha256: str | None, folder: str | None, origin: object) -> Resource:
        """A file with functions that draw flows, or a folder with what they drew before."""

    @staticmethod
    def code(name: str, runnable: object, origin: object) -> Resource:
        """A class: a `sojourn.control.runnable.Runnable`."""

    @property
    def origin(self) -> Any:
        """What it was made with; None where there is no more to say of it."""

@final
class Study:
    """A study file, checked and with its defaults filled in."""

    @staticmethod
    def needs(
        text: str,
        source: str,
        overrides: list[tuple[str, str]],
        resources: Mapping[str, Resource] = ...,
    ) -> list[FileNeed | Call]:
        """What a study needs beside its text and was not handed in; arguments as of `parse`.

        Calls of functions are known once the files with these were handed in: ask again.
        """

    @staticmethod
    def parse(
        text: str,
        source: str,
        overrides: list[tuple[str, str]],
        resources: Mapping[str, Resource] = ...,
    ) -> Study:
        """Read a study. No file is opened: `sojourn.execution.inputs.parse` reads them.

        Args:
            text: the TOML text.
            source: the file's name, for messages.
            overrides: `(PATH, VALUE)` pairs put over the text, VALUE a TOML value or a bare word.
            resources: what the study needs, by the ids of its needs.

        Raises:
            StudyError: the text or an override is not a study that can be run, or something that it
                needs is missing.
        """

    @property
    def resources(self) -> dict[str, Resource]:
        """What it was read with, by the ids of its needs."""

    @property
    def hints(self) -> list[str]:
        """What its author should know, though it can be run, each in a line."""

    @property
    def title(self) -> str:
        """The study's title."""

    @property
    def model(self) -> str:
        """Which system it simulates: a name that `model` in a study takes."""

    @property
    def replications(self) -> int:
        """How often each case is run, each time with random streams of its own."""

    @property
    def seed(self) -> int:
        """The seed every random stream derives from."""

    def resolved(self) -> str:
        """The study as TOML with overrides applied and every default written out."""

    def cases(self) -> list[Case]:
        """The cross product of the sweep, last axis fastest."""

@final
class Case:
    """One point of the study: a pure description, cheap to hold."""

    @property
    def index(self) -> int:
        """Its place in the cross product, from 0."""

    @property
    def axes(self) -> dict[str, _Value]:
        """The swept parameters under short names: `{"scheme": "DCTCP", "load": 0.5}`."""

    @property
    def parameters(self) -> dict[str, _Value]:
        """Every resolved parameter under its dotted path: `{"topology.k": 6, ...}`."""

    @property
    def jobs(self) -> int:
        """How many jobs (flows, requests) it simulates."""

    @property
    def kinds(self) -> list[str]:
        """The kinds of jobs that its rows can have: `["query", "response"]`."""

    def run(
        self,
        replication: int,
        progress: Progress,
        resources: Mapping[str, Resource] = ...,
        *,
        rows: bool = True,
        threads: int = 1,
    ) -> Outcome:
        """Simulate the case without holding the interpreter's lock.

        Args:
            replication: from 0; the same number gives the same rows.
            progress: where to count, and where to ask for an early end.
            resources: the tables of its `calls`; those of the study are there anyway.
            rows: keep a row a job; without, an array's memory does not grow with its requests.
            threads: how many at most, where packets cross a fabric; others take one. The rows are
                the same.

        Raises:
            CaseFailed: code that came with the study failed.
            Cancelled: `progress.cancel()` was called.
            StudyError: the case turned out to be impossible.
        """

    def calls(self, replication: int) -> list[Call]:
        """The calls of functions that draw the tables of a replication.

        Raises:
            StudyError: the case turned out to be impossible.
        """

    def known(self, percentiles: list[float]) -> dict[str, int | float | str]:
        """What is known of an array's sojourn times without simulating them.

        Args:
            percentiles: in per cent.

        Returns:
            `disks` and `data_disks`; where formulas apply, `offered_utilisation` and one or more of
            `exact_`, `least_`, `most_`, `about_` and `scaled_mean_sojourn_ps`;
            `least_p99_sojourn_ps` and the like, whatever the load; `analysis`, their source, or why
            there are none.

        Raises:
            StudyError: the case turned out to be impossible.
        """

    def distribution(self) -> tuple[dict[str, _Column], str] | None:
        """How an array's sojourn times are distributed, without simulating them.

        Returns:
            Columns and the formulas in words: `sojourn_ps`, rising, and of each such time the share
            of requests that are done by then, at `least` and at `most`; the same where it is known
            exactly. None where no formula applies, and of another model.

        Raises:
            StudyError: the case turned out to be impossible.
        """

    def access_sizes(self, replication: int) -> dict[str, tuple[int, int]]:
        """The smallest and the largest access of a replication, in blocks, by operation.

        Empty for a model that is no array.

        Raises:
            StudyError: the case turned out to be impossible, or its requests wait for others.
        """

    def offered(self, replication: int) -> dict[str, _Column]:
        """What a replication asks of the disks of an array, as the simulator plans it.

        One element an access, in columns as an outcome's: `request` (from 0, those without rows
        too), `arrived_ps` and `request_blocks` of the request, `disk`, `op`, `blocks`, `phase`, and
        `at`, the first block on the disk, where requests have addresses; none of another model.

        Raises:
            StudyError: the case turned out to be impossible.
        """

@final
class Estimate:
    """A study of fabrics that are estimated from their links."""

    @staticmethod
    def needs(
        text: str,
        source: str,
        overrides: list[tuple[str, str]],
        resources: Mapping[str, Resource] = ...,
    ) -> list[FileNeed | Call]:
        """What it needs and was not handed in; as `Study.needs`."""

    @staticmethod
    def parse(
        text: str,
        source: str,
        overrides: list[tuple[str, str]],
        resources: Mapping[str, Resource] = ...,
    ) -> Estimate:
        """Read a study, with a table `estimate` in it or without; arguments as of `Study.parse`.

        Raises:
            StudyError: it is no study that can be run, or a case of it cannot be estimated.
        """

    @property
    def study(self) -> Study:
        """What is estimated."""

    @property
    def hints(self) -> list[str]:
        """What its author should know, though it can be run, each in a line."""

    @property
    def parameters(self) -> dict[str, _Value]:
        """How it is estimated: `{"estimate.access": "once", ...}`."""

    def resolved(self) -> str:
        """The study as TOML, and how it is estimated, with every default written out."""

    def decompose(
        self, case: Case, replication: int, resources: Mapping[str, Resource] = ...
    ) -> Decomposition:
        """Draw the flows of one replication, and find the links that each crosses.

        Args:
            case: a case of this study.
            replication: from 0; the same number gives the same flows.
            resources: the tables of the case's `calls`; those of the study are there anyway.

        Raises:
            StudyError: the case turned out to be impossible.
        """

@final
class Decomposition:
    """One replication of a case, its flows on the links that they cross."""

    def links(self) -> list[int]:
        """The links to be simulated, by number, those with most packets first."""

    def crossings(self) -> list[int]:
        """How often packets of data cross links in the whole fabric, and in those of all links.

        Simulating the one takes to the other about as these are.
        """

    def simulate(self, link: int, progress: Progress) -> tuple[npt.NDArray[np.int64], int]:
        """Simulate one link alone, without holding the interpreter's lock.

        Returns:
            For each of its flows, by time of arrival, by how many picoseconds it takes longer on
            account of the link, the largest number where it does not finish; and the number of
            events.

        Raises:
            Cancelled: `progress.cancel()` was called.
        """

    def combine(self, times: list[tuple[int, npt.NDArray[np.int64], int]]) -> Outcome:
        """The rows of all flows, from what every one of `links` gave: link, delays, events.

        Raises:
            ValueError: a link is missing, or was not simulated with these flows.
        """

@final
class Plan:
    """A plan file, checked and with its defaults filled in."""

    @staticmethod
    def needs(
        text: str,
        source: str,
        overrides: list[tuple[str, str]],
        resources: Mapping[str, Resource] = ...,
    ) -> list[FileNeed | Call]:
        """What it needs and was not handed in; as `Study.needs`."""

    @staticmethod
    def parse(
        text: str,
        source: str,
        overrides: list[tuple[str, str]],
        resources: Mapping[str, Resource] = ...,
    ) -> Plan:
        """Read a plan; as `Study.parse`.

        Raises:
            StudyError: the text or an override is not a plan that can be run.
        """

    @property
    def title(self) -> str:
        """What it is called."""

    @property
    def target(self) -> str:
        """What a candidate has to meet: `p99 <= 40ms`."""

    @property
    def percentile(self) -> float | None:
        """Of the target, in per cent; None where it is about the mean."""

    @property
    def limit_ps(self) -> int:
        """What the target's number is to be below."""

    @property
    def inclusive(self) -> bool:
        """Whether the limit itself meets the target: `<=`."""

    @property
    def capacity_bytes(self) -> int | None:
        """How much the array has to hold."""

    @property
    def replications(self) -> int:
        """How often a candidate is simulated at most."""

    @property
    def lists(self) -> list[CandidateList]:
        """The candidates: a list for each offer, or a single one where there is none."""

@final
class CandidateList:
    """The candidates of a disk on offer, or of all disks of a sweep."""

    @property
    def study(self) -> Study:
        """Its cases are the candidates that are possible."""

    @property
    def counts(self) -> list[int]:
        """The numbers of disks on offer; empty where the layouts say that."""

    @property
    def refused(self) -> list[tuple[int, dict[str, _Value], str, str]]:
        """Candidates that cannot be had: index, swept parameters, the disk's name, and why."""

    def name(self, case: Case) -> str:
        """What tables call the disk of a candidate; empty where it is not known."""

    def priced_disk(self, case: Case) -> tuple[float, int | None]:
        """What a disk of a candidate costs, and how many bytes it holds."""

@final
class Progress:
    """How far a running case is; safe to read and to cancel from any thread."""

    def __new__(cls) -> Progress: ...
    @property
    def done(self) -> int:
        """Jobs finished so far."""

    @property
    def simulated_ps(self) -> int:
        """Simulated time so far, in picoseconds."""

    @property
    def helped_s(self) -> float:
        """Processor time of the threads that helped the one that runs the case, in seconds."""

    @property
    def went_alone(self) -> bool:
        """Whether it went on without them for a time: other programs had the processors."""

    def take_over(self, done: int, simulated_ps: int) -> None:
        """Take over how far a case is that another process runs."""

    def cancel(self) -> None:
        """Ask the case to stop; its `run` raises `Cancelled` soon after.

        A hook of a Python class ends first: nothing is raised in it.
        """

@final
class Outcome:
    """What a case measured."""

    @property
    def columns(self) -> dict[str, _Column]:
        """One array a column, all of one length, one element a job, in column order.

        A tuple is a dictionary column: codes and the names they stand for. In an int64 column
        named `*_ps`, -1 is null; in a float64 column, NaN is.
        """

    @property
    def beside(self) -> dict[str, dict[str, _Column]]:
        """Tables beside the jobs, by name, each like `columns`.

        `series` says what stations were doing at certain times, `averages` what long flows got in
        windows of many lengths, `pauses` who stopped whom, and `trace` what became of one flow's
        packets. A case without a table has no key for it.
        """

    @property
    def figures(self) -> dict[str, int | float | str]:
        """Totals of the case: events, hops, drops, utilisation, the definition of the ideal."""

@final
class MailLog:
    """A delivery log being read: bytes go in, tables come out. Times are as the log has them.

    Microseconds from 1970 by the clock that wrote the log; only what happened from `since_us` to
    before `until_us` is told. `format` names the mailer whose lines they are, where programs are
    called otherwise than it calls them.
    """

    @staticmethod
    def tally(
        width_us: int,
        *,
        format: str | None = None,  # noqa: A002
        since_us: int | None = None,
        until_us: int | None = None,
    ) -> MailLog:
        """Count attempts by intervals of this width, by domain, and by the message's age.

        Raises:
            ValueError: there is no such mailer.
        """

    @staticmethod
    def rows(
        recipient: str | None = None,
        *,
        format: str | None = None,  # noqa: A002
        since_us: int | None = None,
        until_us: int | None = None,
    ) -> MailLog:
        """Keep attempts: all, those for an address, or with `@` in front those for a domain.

        Raises:
            ValueError: there is no such mailer.
        """

    @staticmethod
    def waiting(
        *,
        format: str | None = None,  # noqa: A002
        since_us: int | None = None,
        until_us: int | None = None,
    ) -> MailLog:
        """Keep who was deferred and has come to no end since.

        Raises:
            ValueError: there is no such mailer.
        """

    def begin(self, source: str, newest_us: int) -> None:
        """Begin a file, whose last line was written about that time: stamps may have no year."""

    def feed(self, piece: bytes) -> None:
        """Take the file's next bytes, wherever they end."""

    def finish(self) -> None:
        """The file is at its end."""

    def counts(self) -> dict[str, int | None]:
        """How many `lines`, of them `used`, `passed` and `malformed`; `first_us` and `last_us`.

        `unread`: passed lines that look like deliveries; `passed_on`: recipients whose message
        came into a queue of the same machine again; `put_off`: recipients who were not tried, as it
        was not yet time to; `open`: messages not at their end; `given_up`: those of which there
        were too many.
        """

    def problems(self) -> list[tuple[str, int, str, str]]:
        """The first few that could not be read: source, line, why, how it begins."""

    def unread(self) -> list[tuple[str, int, str, str]]:
        """The first few passed lines that look like deliveries, as `problems` has them."""

    def table(
        self, name: str
    ) -> dict[str, npt.NDArray[np.int64] | tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]]:
        """A table's columns: whole numbers, or texts as offsets and octets; -1 where there is none.

        Of a tally `bins`, `ages`, `domains`, `times_of_ages`, `times_of_domains`; else `rows`,
        which are those since the last call, or `waiting`.

        Raises:
            ValueError: it is not kept.
        """

    @property
    def left_out(self) -> int:
        """Waiting recipients that there was no room for."""

def mail_log_formats() -> list[str]:
    """The mailers whose logs can be read."""

def registry() -> str:
    """Everything a study can name, as JSON.

    An object of lists (`workloads`, `topologies`, `schemes`, `disks`, `layouts`, ...) of entries
    `{"name", "summary", "source", "parameters"}`; a parameter is
    `{"name", "type", "default", "summary"}`, its default null where a value is required.
    """

def schema() -> str:
    """The JSON Schema of study files, draft 2020-12, with units as patterns."""

@final
class Threshold:
    """A bound for a number of the results of a study."""

    @property
    def key(self) -> str:
        """Its keys in the study's table `expect`, with dots between: `query.p99`."""

    @property
    def text(self) -> str:
        """The comparison as the study has it: `< 5 ms`."""

    @property
    def kinds(self) -> list[str]:
        """The kinds of jobs that it is about."""

    @property
    def column(self) -> str:
        """The column of the rows that it is about, such as `sojourn_ps`."""

    @property
    def percentile(self) -> float | None:
        """The percentile in per cent, None for the mean."""

    @property
    def relation(self) -> str:
        """`<`, `<=`, `>` or `>=`."""

    @property
    def bound(self) -> float:
        """The bound, in the unit of the column."""

def thresholds(text: str, source: str) -> list[Threshold]:
    """The thresholds of the study of a run directory.

    Raises:
        StudyError: the text is no study, or they are none.
    """

def vocabulary() -> str:
    """What each model calls its jobs, and what is asked of them, as JSON.

    An object of models: `{"work": [[unit, total], ...], "percentiles", "kinds", "told"}`, where
    `told` are lists of totals to be said with their words; a kind of job is
    `{"name", "label", "plural", "part_of", "metrics", "bins", "note"}`, one of its metrics
    `{"column", "name", "unit", "per_unit", "shown"}`, a bin of sizes `{"name", "above", "upto"}`
    with null where it has no upper end.
    """

def quantity(text: str) -> int:
    """A quantity as a study writes it, in whole base units: picoseconds, bytes or bits a second.

    Raises:
        ValueError: it is no time, size or speed.
    """

def student_t_probability(degrees: float, value: float) -> float:
    """With which probability Student's t stays below this value.

    Raises:
        ValueError: there are no such degrees of freedom.
    """

def student_t_quantile(degrees: float, probability: float) -> float:
    """What Student's t stays below with this probability.

    Raises:
        ValueError: the degrees of freedom are not above zero, or it is no probability.
    """

def beta_quantile(a: float, b: float, probability: float) -> float:
    """What a Beta(a, b) stays below with this probability.

    Raises:
        ValueError: a parameter is not above zero, or it is no probability.
    """

def build_info() -> dict[str, str]:
    """How the extension was built: `version` and `profile`; `commit`, if `make wheel` built it."""

def mail_address(text: str) -> str:
    """An address as it stands in an envelope: its domain in lower case.

    Raises:
        ValueError: it is none; why.
    """

def mail_canonical(text: str) -> str:
    """The spelling by which an address is compared with others.

    Raises:
        ValueError: it is none; why.
    """

def mail_provider(host: str) -> str | None:
    """The registered domain of a mail host, for which limits of a provider are set.

    None where the name has none.
    """

@disjoint_base
class AckFields:
    """The fields of an ACK, which the engine writes directly; `sojourn.control.Ack` has them."""

    cumulative: int
    arrived: int
    marked: bool
    snd_una: int
    snd_nxt: int
    repairing: bool
    rtt: int
    delay: int
    now: int
    in_flight: int
    delivered: int
    delivered_before: int
    delivery_rate: int
    limited: bool

@disjoint_base
class WindowFields:
    """The fields of a controller that the engine shares with it, see `sojourn.control.Control`."""

    cwnd: float
    ssthresh: float
    timer: int

@disjoint_base
class PacketFields:
    """The fields of a packet, which the engine writes; `sojourn.control.Packet` has them."""

    size: int
    ect: bool
    backlog: int
    qlen: int
    sojourn_time: int
    now: int

@disjoint_base
class StreamFields:
    """The field of a queue that the engine shares with it, see `sojourn.control.Queue`."""

    __stream__: Random

@final
class Random:
    """A stream of random numbers, for a queue without a simulation."""

    def __new__(cls, seed: int = 1) -> Random:
        """Create the stream of a seed, from 0 to 2**64 - 1."""

@final
class Flow:
    """A flow as it starts.

    Attributes:
        hops: switches on its path.
        bytes: its size.
        payload: bytes that a full packet carries.
        rate: the rate of its host's link, in bits a second.
    """

    def __new__(
        cls,
        *,
        hops: int = 1,
        bytes: int = 1,  # noqa: A002
        payload: int = 1460,
        rate: int = 10_000_000_000,
    ) -> Flow:
        """A flow by hand, to try a class without a simulation."""

    hops: int
    bytes: int
    payload: int
    rate: int

def cbrt(x: float, /) -> float:
    """Return the real cube root, the same to the last bit on all machines."""

def power(base: float, exponent: float, /) -> float:
    """Return `base` to the power of `exponent`, the same to the last bit on all machines."""

def exp(x: float, /) -> float:
    """Return e to the power of `x`, the same to the last bit on all machines."""

def log(x: float, /) -> float:
    """Return the natural logarithm, the same to the last bit on all machines; NaN below 0."""

def draw_uniform(stream: Random, /) -> float:
    """Return the next number of a stream, uniform on (0, 1)."""

def draw_below(stream: Random, n: int, /) -> int:
    """Return the next whole number of a stream, uniform on 0 to `n` - 1.

    Raises:
        ValueError: `n` is less than 1.
    """

def c_addresses() -> list[tuple[str, int]]:
    """Where the functions of C are that do the same as these, by name: for a compiler."""

def as_written(kind: str, value: float) -> str:
    """A value of a field's type (`time`, `float`, ...) as a study writes it: `"20us"`, `0.7`."""
