//! When requests arrive, and how many at once.

use super::counts::{Batch, Law};
use sojourn_kernel::parameters::{Check, Refusal, Setting};
use sojourn_kernel::{Frequency, Span, Stream, choices, parameters, variants};
use sojourn_queueing::{Distribution, Exponential};

variants! {
    /// When requests arrive.
    pub enum Arrivals: "process of arrivals" => with_arrivals {
        Poisson(Poisson),
        Mmpp(Mmpp),
    }
}

parameters! {
    /// A Poisson process, of single requests or of bulks of them (paper section 3.4).
    pub struct Poisson: "poisson" {
        /// How often requests arrive, or bulks of them.
        pub rate: Frequency,
        /// How many requests arrive at once.
        pub batch: Batch = Batch::Constant(1),
        /// Whether the rate is that of bulks or of the requests in them.
        pub rate_counts: RateCounts = RateCounts::Bulks,
    }
}

parameters! {
    /// Bursts: a Markov-modulated Poisson process of two states, quiet and burst, each of which lasts
    /// for an exponential time.
    pub struct Mmpp: "mmpp" {
        /// How often requests arrive while it is quiet.
        pub quiet_rate: Frequency,
        /// How often they arrive in a burst.
        pub burst_rate: Frequency,
        /// How long it is quiet on average.
        pub quiet_time: Span,
        /// How long a burst lasts on average.
        pub burst_time: Span,
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

impl Check for Poisson {}

impl Check for Mmpp {
    fn check(&self) -> Result<(), Refusal> {
        for (key, span) in [("quiet_time", self.quiet_time), ("burst_time", self.burst_time)] {
            if span == Span::ZERO {
                let given = span.write().expect("a time");
                return Err(Refusal::value(&given, "a time above zero").under(key));
            }
        }
        Ok(())
    }
}

/// An arrival process, ready to be drawn from.
#[derive(Clone, Debug)]
pub(super) enum Process {
    Poisson { gap: Exponential, batch: Law },
    Mmpp { gaps: [Exponential; 2], stays: [Exponential; 2], burst: bool, left: f64 },
}

impl Arrivals {
    pub(super) fn process(&self) -> Process {
        with_arrivals!(self, |params| params.process())
    }

    /// How many requests a second arrive on average.
    pub(super) fn requests_per_second(&self) -> f64 {
        with_arrivals!(self, |params| params.requests_per_second())
    }
}

impl Poisson {
    fn process(&self) -> Process {
        let batch = self.batch.law();
        let mean = 1.0 / self.rate.per_second();
        let gap = match self.rate_counts {
            RateCounts::Bulks => mean,
            RateCounts::Requests => mean * batch.mean(),
        };
        Process::Poisson { gap: Exponential { mean: gap }, batch }
    }

    fn requests_per_second(&self) -> f64 {
        match self.rate_counts {
            RateCounts::Bulks => self.rate.per_second() * self.batch.law().mean(),
            RateCounts::Requests => self.rate.per_second(),
        }
    }
}

impl Mmpp {
    fn process(&self) -> Process {
        let gap = |rate: Frequency| Exponential { mean: 1.0 / rate.per_second() };
        let stay = |span: Span| Exponential { mean: span.seconds() };
        Process::Mmpp {
            gaps: [gap(self.quiet_rate), gap(self.burst_rate)],
            stays: [stay(self.quiet_time), stay(self.burst_time)],
            burst: true,
            left: 0.0,
        }
    }

    fn requests_per_second(&self) -> f64 {
        let (quiet, burst) = (self.quiet_time.seconds(), self.burst_time.seconds());
        let requests = quiet * self.quiet_rate.per_second() + burst * self.burst_rate.per_second();
        requests / (quiet + burst)
    }
}

impl Process {
    /// Draws the time until the next arrival, and how many requests it brings.
    #[inline]
    pub(super) fn next(&mut self, stream: &mut Stream) -> (Span, u32) {
        match self {
            Process::Poisson { gap, batch } => {
                let gap = Span::from_seconds(gap.sample(stream));
                (gap, batch.draw(stream))
            }
            Process::Mmpp { gaps, stays, burst, left } => {
                // What is left of an exponential gap when the state changes is forgotten.
                let mut waited = 0.0;
                loop {
                    let gap = gaps[usize::from(*burst)].sample(stream);
                    if gap < *left {
                        *left -= gap;
                        return (Span::from_seconds(waited + gap), 1);
                    }
                    waited += *left;
                    *burst = !*burst;
                    *left = stays[usize::from(*burst)].sample(stream);
                }
            }
        }
    }
}
