//! Days and nights.

use super::{Asked, Mailing, Process};
use sojourn_core::parameters::{Check, Refusal, Value};
use sojourn_core::{Frequency, Gaps, Span, Stream, Time, parameters};

parameters! {
    /// A Poisson process whose rate is that of the day from `morning` to `evening`, and a share of
    /// it at night. Time begins at midnight.
    pub struct Daily: "daily" {
        /// Mean rate of messages by day.
        pub rate: Frequency,
        /// Rate at night, as a share of that by day.
        pub night: f64 [0.0..=1.0] = 0.15,
        /// Start of the day, after midnight.
        pub morning: Span = Span::from_s(8 * 3600),
        /// End of the day, after midnight.
        pub evening: Span = Span::from_s(22 * 3600),
        /// Time on the first day until which nothing arrives, because the upstream machine is down.
        /// Messages from before arrive then.
        pub held: Span = Span::ZERO,
    }
}

const DAY: Span = Span::from_s(86_400);

impl Check for Daily {
    fn check(&self) -> Result<(), Refusal> {
        if self.held > DAY {
            let given = Value::Text(self.held.to_string());
            return Err(Refusal::value(&given, "a time within a day").under("held"));
        }
        if self.morning >= self.evening || self.evening > DAY {
            let given = Value::Text(self.evening.to_string());
            let expected = "a time after the morning, within a day";
            return Err(Refusal::value(&given, expected).under("evening"));
        }
        Ok(())
    }
}

impl Daily {
    /// Of a Poisson process with the day's rate, those at night stay with the night's share.
    fn next(&self, mut last: Time, stream: &mut Stream) -> Time {
        loop {
            last = last.after(Gaps::Poisson(self.rate).draw(stream));
            let of_day = Span::from_ps(last.ps() % DAY.ps());
            let by_day = self.morning <= of_day && of_day < self.evening;
            if stream.uniform() < self.night || by_day {
                return last;
            }
        }
    }
}

impl Process for Daily {
    fn mailings(&self, asked: Asked<'_>) -> Result<Vec<Mailing>, Refusal> {
        let held = Time::ZERO + self.held;
        asked.into_mailings(|last, stream| self.next(last, stream), |time| time.max(held))
    }
}
