//! When requests arrive, and how many at once.

use super::LONGEST_GAP;
use super::counts::{Batch, Law};
use sojourn_core::parameters::{Check, Refusal};
use sojourn_core::{
    Distribution, Exponential, Frequency, Span, Stream, Streams, choices, parameters, variants,
};

variants! {
    /// When requests arrive.
    pub enum Arrivals: "process of arrivals" => with_arrivals {
        Poisson(Poisson),
        Mmpp(Mmpp),
        Closed(Closed),
    }
}

parameters! {
    /// A Poisson process, of single requests or of bulks of them (paper section 3.4).
    pub struct Poisson: "poisson" {
        /// Arrival rate of requests, or of bulks of them.
        pub rate: Frequency,
        /// Number of requests that arrive at once.
        pub batch: Batch = Batch::Constant(1),
        /// Whether the rate is that of bulks or of the requests in them.
        pub rate_counts: RateCounts = RateCounts::Bulks,
    }
}

parameters! {
    /// Bursts: a Markov-modulated Poisson process of two states, quiet and burst, each of which lasts
    /// for an exponential time.
    pub struct Mmpp: "mmpp" {
        /// Arrival rate in the quiet state.
        pub quiet_rate: Frequency,
        /// Arrival rate in a burst.
        pub burst_rate: Frequency,
        /// Mean duration of the quiet state.
        pub quiet_time: Span,
        /// Mean duration of a burst.
        pub burst_time: Span,
    }
}

parameters! {
    /// A closed loop, as a benchmark or a pool of threads makes it: a fixed number of requests is
    /// under way, and each that is done lets another one follow. The array sets the rate: response
    /// times say how long a request took under that depth, not what a given load would meet.
    pub struct Closed: "closed" {
        /// Number of requests that are outstanding or in their think time: the queue depth, fio's
        /// `iodepth`. A small one leaves disks idle; a large one adds waiting, but no throughput
        /// once all disks are busy.
        pub depth: u32 [1..=DEEPEST],
        /// Think time: the time from the end of a request to the next one in its slot.
        pub think: Span = Span::ZERO,
    }
}

choices! {
    /// What a rate of bulk arrivals counts.
    pub enum RateCounts: "way of counting arrivals" {
        /// Bulks.
        Bulks = "bulks",
        /// The requests in them.
        Requests = "requests",
    }
}

impl Check for Poisson {
    fn check(&self) -> Result<(), Refusal> {
        check_gap("rate", self.rate, self.gap())
    }
}

impl Check for Closed {
    fn check(&self) -> Result<(), Refusal> {
        match self.think <= LONGEST_GAP {
            true => Ok(()),
            false => {
                let expected = format!("at most {LONGEST_GAP}");
                Err(Refusal::of(&self.think, expected).under("think"))
            }
        }
    }
}

/// The deepest queue of a closed loop.
const DEEPEST: u32 = 1 << 20;

/// Refuses arrivals that come too seldom, `gap` picoseconds after each other on average, or so often
/// that most share a picosecond.
fn check_gap(key: &str, rate: Frequency, gap: f64) -> Result<(), Refusal> {
    let expected = match gap {
        ..1.0 => "at most \"1/ps\"".to_owned(),
        _ if gap <= LONGEST_GAP.ps() as f64 => return Ok(()),
        _ => format!("arrivals that come within {LONGEST_GAP} of each other on average"),
    };
    Err(Refusal::of(&rate, expected).under(key))
}

impl Check for Mmpp {
    fn check(&self) -> Result<(), Refusal> {
        for (key, span) in [("quiet_time", self.quiet_time), ("burst_time", self.burst_time)] {
            if span == Span::ZERO {
                return Err(Refusal::of(&span, "a time above zero").under(key));
            }
        }
        let both = self.mean_rate();
        let changes = 2.0 / (self.quiet_time.seconds() + self.burst_time.seconds());
        if changes > MOST_CHANGES * both {
            let expected = "longer states: they change over a million times between two requests";
            return Err(Refusal::of(&self.burst_time, expected).under("burst_time"));
        }
        if both < self.burst_rate.per_second() {
            return check_gap("quiet_rate", self.quiet_rate, 1e12 / both);
        }
        check_gap("burst_rate", self.burst_rate, 1e12 / both)
    }
}

/// The most changes of state between two requests on average; each takes a draw.
const MOST_CHANGES: f64 = 1e6;

/// The nearest whole picosecond. No run is long enough for what does not fit.
#[inline]
fn whole(ps: f64) -> Span {
    Span::from_ps((ps + 0.5) as i64 as u64)
}

/// An arrival process of one run. Its times are in picoseconds.
pub(super) enum Process {
    /// Requests of a closed loop, whose times are not drawn.
    Closed,
    Poisson {
        gaps: Gaps,
        batch: Law,
        batches: Stream,
    },
    Mmpp {
        gaps: [Exponential; 2],
        stays: [Exponential; 2],
        burst: bool,
        left: f64,
        stream: Stream,
    },
}

/// The number of gaps that are drawn at a time, so that one logarithm need not wait for the other.
const MANY: usize = 64;

/// Exponential gaps, drawn many at a time.
pub(super) struct Gaps {
    drawn: Box<[Span; MANY]>,
    next: usize,
    law: Exponential,
    stream: Stream,
}

impl Gaps {
    #[inline(always)]
    pub(super) fn next(&mut self) -> Span {
        if self.next >= MANY {
            self.refill();
        }
        let gap = self.drawn[self.next];
        self.next += 1;
        gap
    }

    #[inline(never)]
    fn refill(&mut self) {
        // A copy apart from `self`, so that the generator's state stays in registers.
        let mut stream = self.stream.clone();
        let mut gaps = [0.0; MANY];
        self.law.sample_many(&mut stream, &mut gaps);
        for (drawn, gap) in self.drawn.iter_mut().zip(gaps) {
            *drawn = whole(gap);
        }
        self.stream = stream;
        self.next = 0;
    }
}

impl Arrivals {
    /// The arrivals of one run, of tenant number `number`.
    pub(super) fn process(&self, streams: Streams, number: u64) -> Process {
        with_arrivals!(self, |params| params.process(streams, number))
    }

    /// How many requests a second arrive on average; none of a closed loop, which the array paces.
    pub(super) fn requests_per_second(&self) -> Option<f64> {
        match self {
            Arrivals::Poisson(params) => Some(params.requests_per_second()),
            Arrivals::Mmpp(params) => Some(params.mean_rate()),
            Arrivals::Closed(_) => None,
        }
    }

    /// The way of counting arrivals that is set though they come one by one.
    pub(crate) fn counts_in_vain(&self) -> Option<RateCounts> {
        match self {
            Arrivals::Poisson(params) if matches!(params.batch, Batch::Constant(1)) => {
                Some(params.rate_counts).filter(|&counts| counts != RateCounts::Bulks)
            }
            _ => None,
        }
    }

    /// The closed loop, if it is one.
    pub(super) fn closed(&self) -> Option<&Closed> {
        match self {
            Arrivals::Closed(closed) => Some(closed),
            _ => None,
        }
    }

    /// The index of dispersion of the requests' counts over a long time, where it is known.
    pub(super) fn dispersion(&self) -> Option<f64> {
        match self {
            Arrivals::Poisson(params) => {
                let batch = params.batch.law().moments()?;
                Some(batch.square / batch.mean)
            }
            Arrivals::Mmpp(params) => Some(params.dispersion()),
            Arrivals::Closed(_) => None,
        }
    }

    /// How many bulks a picosecond arrive as a Poisson process, if they do, and how large they are.
    pub(super) fn bulks(&self) -> Option<(f64, Law)> {
        match self {
            Arrivals::Poisson(params) => Some((1.0 / params.gap(), params.batch.law())),
            Arrivals::Mmpp(_) | Arrivals::Closed(_) => None,
        }
    }
}

impl Closed {
    fn process(&self, _: Streams, _: u64) -> Process {
        Process::Closed
    }
}

impl Poisson {
    /// The mean time between bulks, in picoseconds.
    fn gap(&self) -> f64 {
        let mean = 1e12 / self.rate.per_second();
        match self.rate_counts {
            RateCounts::Bulks => mean,
            RateCounts::Requests => mean * self.batch.law().mean(),
        }
    }

    fn process(&self, streams: Streams, number: u64) -> Process {
        let (law, stream) = (Exponential { mean: self.gap() }, streams.stream("arrivals", number));
        let gaps = Gaps { drawn: Box::new([Span::ZERO; MANY]), next: MANY, law, stream };
        let batches = streams.stream("batches", number);
        Process::Poisson { gaps, batch: self.batch.law(), batches }
    }

    fn requests_per_second(&self) -> f64 {
        match self.rate_counts {
            RateCounts::Bulks => self.rate.per_second() * self.batch.law().mean(),
            RateCounts::Requests => self.rate.per_second(),
        }
    }
}

impl Mmpp {
    fn process(&self, streams: Streams, number: u64) -> Process {
        let gap = |rate: Frequency| Exponential { mean: 1e12 / rate.per_second() };
        let stay = |span: Span| Exponential { mean: span.ps() as f64 };
        Process::Mmpp {
            gaps: [gap(self.quiet_rate), gap(self.burst_rate)],
            stays: [stay(self.quiet_time), stay(self.burst_time)],
            burst: true,
            left: 0.0,
            stream: streams.stream("arrivals", number),
        }
    }

    /// Source: Heffes and Lucantoni, "A Markov modulated characterization of packetized voice and
    /// data traffic and related statistical multiplexer performance", IEEE JSAC 4, 1986.
    fn dispersion(&self) -> f64 {
        let (quiet, burst) = (self.quiet_time.seconds(), self.burst_time.seconds());
        let apart = self.burst_rate.per_second() - self.quiet_rate.per_second();
        let requests = quiet * self.quiet_rate.per_second() + burst * self.burst_rate.per_second();
        1.0 + 2.0 * (apart * quiet * burst / (quiet + burst)).powi(2) / requests
    }

    fn mean_rate(&self) -> f64 {
        let (quiet, burst) = (self.quiet_time.seconds(), self.burst_time.seconds());
        let requests = quiet * self.quiet_rate.per_second() + burst * self.burst_rate.per_second();
        requests / (quiet + burst)
    }
}

impl Process {
    /// The gaps between requests, where nothing else is drawn.
    pub(super) fn gaps(&mut self) -> Option<&mut Gaps> {
        match self {
            Process::Poisson { gaps, batch: Law::Constant(1), .. } => Some(gaps),
            _ => None,
        }
    }

    /// Draws the time until the next arrival, and how many requests it brings.
    #[inline]
    pub(super) fn next(&mut self) -> (Span, u32) {
        match self {
            Process::Closed => (Span::ZERO, 1),
            Process::Poisson { gaps, batch, batches } => (gaps.next(), batch.draw(batches)),
            Process::Mmpp { gaps, stays, burst, left, stream } => {
                // An exponential gap has no memory: what is left of it when the state changes is
                // drawn anew.
                let mut waited = 0.0;
                loop {
                    let gap = gaps[usize::from(*burst)].sample(stream);
                    if gap < *left {
                        *left -= gap;
                        return (whole(waited + gap), 1);
                    }
                    waited += *left;
                    *burst = !*burst;
                    *left = stays[usize::from(*burst)].sample(stream);
                }
            }
        }
    }
}
