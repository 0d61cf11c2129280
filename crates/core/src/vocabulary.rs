//! The vocabulary of a model: its words for jobs, and what is measured of them.

/// The words of one model. Tables, pictures, comparisons and benchmarks take theirs from here, so
/// that none of them knows a model.
#[derive(Debug)]
pub struct Vocabulary {
    /// The units of work that benchmarks count, each with the total of a run that holds the count. A
    /// benchmark takes the first one that is not zero.
    pub work: &'static [(&'static str, &'static str)],
    /// The percentiles that are shown where none are asked for, in per cent.
    pub percentiles: &'static [f64],
    /// The parameters that say how many jobs arrive, as far as a study has them: what makes a run
    /// longer.
    pub lengths: &'static [&'static str],
    /// All kinds of jobs, the most important first.
    pub kinds: &'static [JobKind],
    /// Totals of a case that have a separate table: a column each, of those that a run has.
    /// `jobs_per_s`, `bytes_per_s` and `jobs_present` come from the rows.
    pub totals: &'static [Metric],
    /// The column of the rows whose values have separate lines in the table of totals, if any.
    pub split: Option<&'static str>,
    /// Work beside the jobs; a line below a run's table says how far it got.
    pub background: &'static [BackgroundWork],
    /// Parameters whose values legends put in words.
    pub phrases: &'static [Phrase],
    /// Totals that say why the numbers of a case may not be trusted.
    pub doubts: Doubts,
}

/// Totals that say why the numbers of a case may not be trusted.
#[derive(Debug)]
pub struct Doubts {
    /// Totals that a caution tells of, the gravest first.
    pub cautions: &'static [Caution],
    /// Totals that hold the busy share of the busiest station of a kind.
    pub stations: &'static [Station],
    /// Totals that hold how much work is offered to a station, as a share of what it can do. From 1
    /// on there is no steady state.
    pub offered: &'static [&'static str],
    /// The total with the depth of a closed loop, which only a case with such a loop has. The depth
    /// bounds the jobs that wait, so a station may be busy all the time and no queue grows.
    pub closed_loop: Option<&'static str>,
    /// Totals that say that a case came to no good end; `sojourn run` then ends with exit code 1.
    pub failures: &'static [&'static str],
}

/// A total that a caution tells of.
#[derive(Debug)]
pub struct Caution {
    /// Its name. A total that holds words has several of them with `; ` between.
    pub total: &'static str,
    /// The value from which on the caution is given; none for a total that holds words.
    pub from: Option<f64>,
    /// The caution. `{}` stands for the words or for the largest value in per cent, and `{cases}`
    /// for the cases it is about.
    pub text: &'static str,
}

/// The busiest station of a kind.
#[derive(Debug)]
pub struct Station {
    /// The total that holds the share of the time that it was busy.
    pub total: &'static str,
    /// The share from which on it is busy all the time.
    pub full: f64,
    /// The caution that is given then; `{cases}` stands for the cases it is about.
    pub text: &'static str,
}

/// Work beside the jobs, by its name and the totals of a run that hold its progress.
#[derive(Debug)]
pub struct BackgroundWork {
    /// Its name in a sentence.
    pub name: &'static str,
    /// The total that holds the bytes that are done.
    pub done: &'static str,
    /// The total that holds all its bytes.
    pub of: &'static str,
    /// The total that holds its end in picoseconds; a run in which it did not end has none.
    pub ended: &'static str,
}

/// The words for the values of a parameter.
#[derive(Debug)]
pub struct Phrase {
    /// The parameter's own name, without the table that holds it.
    pub parameter: &'static str,
    /// The words for the value `none`.
    pub none: &'static str,
    /// The words for one value, which `{}` stands for.
    pub one: &'static str,
    /// The words for several values, which `{}` stands for.
    pub several: &'static str,
}

/// One kind of job, as the rows' column `kind` names it.
#[derive(Debug)]
pub struct JobKind {
    /// The value of the column.
    pub name: &'static str,
    /// How tables call it: `query`, `message, half served`.
    pub label: &'static str,
    /// The plural, in a sentence.
    pub plural: &'static str,
    /// The kind that these are parts of; pictures show that one alone.
    pub part_of: Option<&'static str>,
    /// The metrics of such a job, the most important first.
    pub metrics: &'static [Metric],
    /// The bins of sizes that are shown apart where a run has jobs in more than one of them.
    pub bins: &'static [SizeBin],
    /// The meaning of the time of such a job, where its name does not say that.
    pub note: &'static str,
}

/// Something that is measured of a job, or of a case.
#[derive(Debug)]
pub struct Metric {
    /// The column of the rows that holds it, or the total.
    pub column: &'static str,
    /// Its name for users.
    pub name: &'static str,
    /// The unit that it is shown in.
    pub unit: &'static str,
    /// How many of the column's units that is.
    pub per_unit: f64,
    /// Whether tables and pictures show it without being asked.
    pub shown: bool,
}

/// Sizes in bytes above `above` and up to `upto`.
#[derive(Debug)]
pub struct SizeBin {
    /// The name of the bin.
    pub name: &'static str,
    /// The end that is outside of it.
    pub above: f64,
    /// The end that is inside of it.
    pub upto: f64,
}

impl Doubts {
    /// A model whose totals say nothing of this kind.
    pub const NONE: Doubts =
        Doubts { cautions: &[], stations: &[], offered: &[], closed_loop: None, failures: &[] };
}

impl Station {
    /// A station that is idle at no time, whatever waits for it.
    pub const fn any(total: &'static str) -> Station {
        let text = "a station is busy all the time{cases}: the load is at its capacity or over it";
        Station { total, full: 0.99, text }
    }
}

impl Metric {
    /// The time over the best possible one.
    pub const fn slowdown(shown: bool) -> Metric {
        Metric { column: "slowdown", name: "slowdown", unit: "", per_unit: 1.0, shown }
    }

    /// The sojourn time under the `name` that a model gives it, in milliseconds.
    pub const fn time_in_ms(name: &'static str) -> Metric {
        Metric { column: "sojourn_ps", name, unit: "ms", per_unit: 1e9, shown: true }
    }

    /// The sojourn time under the `name` that a model gives it, in seconds.
    pub const fn time_in_s(name: &'static str) -> Metric {
        Metric { column: "sojourn_ps", name, unit: "s", per_unit: 1e12, shown: true }
    }
}
