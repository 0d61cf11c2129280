//! When messages come to a list.

mod daily;
mod poisson;
mod regular;

pub use daily::Daily;
pub use poisson::Poisson;
pub use regular::Regular;

use sojourn_core::{Span, Stream, Time, variants};

variants! {
    /// When messages come to a list.
    pub enum Arrivals: "process of arrivals" => arrivals {
        Poisson(Poisson),
        Regular(Regular),
        Daily(Daily),
    }
}

/// A process of arrivals.
trait Process {
    /// When the next message comes after one at `last`.
    fn next(&self, last: Time, stream: &mut Stream) -> Time;

    /// When a message comes through that came at `time`.
    fn comes(&self, time: Time) -> Time {
        time
    }
}

impl Arrivals {
    /// When so many messages come; nothing where they do not within `longest`.
    pub(super) fn times(&self, count: u32, longest: Span, mut stream: Stream) -> Option<Vec<Time>> {
        let (mut last, mut times) = (Time::ZERO, Vec::new());
        for _ in 0..count {
            last = arrivals!(self, |process| process.next(last, &mut stream));
            times.push(arrivals!(self, |process| process.comes(last)));
            if last > Time::ZERO + longest {
                return None;
            }
        }
        Some(times)
    }
}
