//! HyStart: slow start ends before it overfills a queue (Ha and Rhee 2011), as Linux's CUBIC has it.
//!
//! RFC 9406 describes a successor, which Linux has not.

use super::congestion::{Acked, Window};
use sojourn_core::{Span, Time};

/// Windows below this many packets are not looked at (`hystart_low_window`).
const LOW_WINDOW: f64 = 16.0;
/// ACKs this close to each other are a train (`hystart_ack_delta_us`).
const TRAIN: Span = Span::from_ms(2);
/// Samples of a round whose least is its delay (`HYSTART_MIN_SAMPLES`).
const SAMPLES: u8 = 8;
/// By how much a round may be delayed, at least and at most (`HYSTART_DELAY_MIN`, `HYSTART_DELAY_MAX`).
const DELAY: [Span; 2] = [Span::from_ms(4), Span::from_ms(16)];
/// What a host hands to its port at once, in bytes (`sk_gso_max_size`); four of them may be on their way.
const BURST: u64 = 1 << 16;

/// What HyStart knows of one flow.
#[derive(Clone, Debug)]
pub(super) struct HyStart {
    /// The round ends when more than this is acknowledged.
    ends: u32,
    began: Time,
    /// The last ACK of the train since then.
    train: Time,
    /// The flow's least round trip.
    least: Span,
    /// The least round trip of this round.
    least_of_round: Span,
    samples: u8,
    /// Whether slow start was ended.
    found: bool,
}

impl Default for HyStart {
    fn default() -> HyStart {
        HyStart {
            ends: 0,
            began: Time::ZERO,
            train: Time::ZERO,
            least: Span::MAX,
            least_of_round: Span::MAX,
            samples: 0,
            found: false,
        }
    }
}

impl HyStart {
    /// Starts again, after a time-out.
    pub(super) fn timed_out(&mut self, snd_nxt: u32, now: Time) {
        self.found = false;
        self.begin(snd_nxt, now);
    }

    /// Begins a round.
    pub(super) fn begin(&mut self, snd_nxt: u32, now: Time) {
        (self.ends, self.began, self.train) = (snd_nxt, now, now);
        (self.least_of_round, self.samples) = (Span::MAX, 0);
    }

    /// Whether slow start ends at an ACK that measured a round trip of `sample`. Packets have `payload` bytes.
    pub(super) fn ends_at(
        &mut self,
        window: &Window,
        acked: &Acked,
        sample: Span,
        payload: u64,
    ) -> bool {
        self.least = self.least.min(sample);
        if self.found || window.cwnd >= window.ssthresh {
            return false;
        }
        if acked.snd_una > self.ends {
            self.begin(acked.snd_nxt, acked.now);
        }
        if window.cwnd < LOW_WINDOW {
            return false;
        }
        if acked.now - self.train <= TRAIN {
            self.train = acked.now;
            // A paced window of twice this size would take so long for four bursts.
            let bursts = 2.0 * BURST as f64 / (window.cwnd * payload as f64);
            let bursts = Span::from_ps((acked.rtt.ps() as f64 * bursts) as u64);
            let threshold = self.least.saturating_add(bursts.min(Span::from_ms(1))) / 2;
            self.found |= acked.now - self.began > threshold;
        }
        self.least_of_round = self.least_of_round.min(sample);
        if self.samples < SAMPLES {
            self.samples += 1;
        } else {
            let late = (self.least / 8).clamp(DELAY[0], DELAY[1]);
            self.found |= self.least_of_round > self.least.saturating_add(late);
        }
        self.found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Window = Window { cwnd: 20.0, ssthresh: f64::INFINITY };

    /// An ACK of everything below `snd_una`, `us` after the start; the path's round trip is 10 ms.
    fn ack(hystart: &mut HyStart, snd_una: u32, us: u64, sample: Span) -> bool {
        let acked = Acked {
            cumulative: 1,
            snd_una,
            snd_nxt: snd_una + 20,
            rtt: Span::from_ms(10),
            now: Time::ZERO + Span::from_us(us),
            ..Acked::default()
        };
        hystart.ends_at(&WINDOW, &acked, sample, 1460)
    }

    /// ACKs that come without a pause for half of the least round trip and of four bursts: 10 ms and 1 ms.
    #[test]
    fn a_long_train_ends_slow_start() {
        for (pause, ends) in [(1_000, true), (2_500, false)] {
            let mut hystart = HyStart::default();
            hystart.begin(1000, Time::ZERO);
            let ended =
                (1..=10).find(|&n| ack(&mut hystart, n, u64::from(n) * pause, Span::from_ms(10)));
            assert_eq!(ended, ends.then_some(6), "5.5 ms have passed");
        }
    }

    /// Rounds of which nine samples are all late by more than an eighth, 4 ms at the least.
    #[test]
    fn a_late_round_ends_slow_start() {
        for (late, ends) in [(4_100, true), (3_900, false)] {
            let mut hystart = HyStart::default();
            assert!(!ack(&mut hystart, 1, 0, Span::from_ms(10)));
            // A pause between ACKs, so that they are no train; a new round begins after 21.
            let ended = (22..40).find(|&n| {
                let at = u64::from(n) * 3_000;
                ack(&mut hystart, n, at, Span::from_us(10_000 + late))
            });
            assert_eq!(ended, ends.then_some(30), "the ninth of the round");
        }
    }

    /// Small windows go on, and what was found stays so.
    #[test]
    fn small_windows_are_let_alone() {
        let mut hystart = HyStart::default();
        let small = Window { cwnd: 15.0, ..WINDOW };
        let acked = Acked {
            cumulative: 1,
            snd_una: 1,
            snd_nxt: 2,
            rtt: Span::from_us(10),
            now: Time::ZERO + Span::from_ms(1),
            ..Acked::default()
        };
        hystart.begin(1000, Time::ZERO);
        assert!(!hystart.ends_at(&small, &acked, Span::from_us(10), 1460));
        assert!(hystart.ends_at(&WINDOW, &acked, Span::from_us(10), 1460));
        assert!(!hystart.ends_at(&WINDOW, &acked, Span::from_us(10), 1460));
    }
}
