//! Swift: a delay target, reached from both sides (Kumar et al., SIGCOMM 2020).

use super::congestion::{Acked, CongestionControl, FastRetransmit, Rules, Window};
use super::parameters::WindowLimits;
use super::rto::{Departures, TimeOutRule, Timer};
use crate::packet::LONGEST_TIMER;
use crate::transport::Setup;
use crate::transport::check_timer;
use sojourn_core::parameters::{Check, Refusal, Setting};
use sojourn_core::{Span, Time, parameters};
use std::num::NonZeroU32;

parameters! {
    /// Swift: the window grows additively while the round trip of an ACK is below a target, and
    /// shrinks in proportion to the excess, at most once a round trip, when it is above. The target
    /// grows with the hops of the path and with the smallness of the window, of which less than one
    /// packet is paced (SIGCOMM 2020, section 3 and algorithm 1). Not modelled: the second window,
    /// for the delay of the hosts, which take no time here; nor does the window move during a fast
    /// recovery. Defaults are those of an open simulator, csg-htsim, which calls them guesses; what
    /// fits depends on the fabric.
    pub struct Swift: "swift" {
        /// The window within its limits.
        pub window: WindowLimits [flatten],
        /// Smallest window, in packets.
        pub min_cwnd: f64 = 0.001,
        /// Target without hops and scaling (section 3.5): the delay that a few flows need to keep a
        /// link busy.
        pub base_target: Span = Span::from_us(20),
        /// Addition to the target for each switch of the path (section 3.5).
        pub hop_scale: Span = Span::from_us(3),
        /// Largest addition to the target for small windows (section 3.5).
        pub fs_range: Span = Span::from_us(100),
        /// Window, in packets, up to which the addition is largest.
        pub fs_min_cwnd: f64 = 0.1,
        /// Window, in packets, from which there is no addition.
        pub fs_max_cwnd: f64 = 100.0,
        /// Growth of the window per round trip, in packets.
        pub ai: f64 = 1.0,
        /// Share of the excess over the target by which the window shrinks.
        pub beta: f64 = 0.8,
        /// Largest share of the window that it loses at once.
        pub max_mdf: f64 = 0.5,
        /// Number of consecutive time-outs after which the window falls to its minimum.
        pub retx_reset_threshold: NonZeroU32 = NonZeroU32::new(5).expect("5"),
        /// Shortest retransmission time-out. If it is shorter than the delay of a full queue,
        /// time-outs are spurious; if it is long, a lost tail waits for it.
        pub min_rto: Span = Span::from_ms(200),
        /// Retransmission time-out before a round trip is measured. By default it is `min_rto`,
        /// because the connection is open and has measured a round trip.
        pub initial_rto: Option<Span> = None,
        /// Whether three duplicate ACKs mean a loss. Schemes that spray packets over paths disable
        /// it.
        pub fast_retransmit: bool = true,
        /// Whether ACKs say which packets have arrived, so that those are not resent.
        pub sack: bool = true,
    }
}

impl Check for Swift {
    fn check(&self) -> Result<(), Refusal> {
        check_timer("min_rto", self.min_rto)?;
        self.initial_rto.map_or(Ok(()), |span| check_timer("initial_rto", span))?;
        let within = |key: &str, value: f64, fits: bool, expected: &str| match fits {
            true => Ok(()),
            false => Err(Refusal::value(&value.write().expect("a number"), expected).under(key)),
        };
        for (key, value) in [("beta", self.beta), ("max_mdf", self.max_mdf)] {
            within(key, value, (0.0..=1.0).contains(&value), "a number from 0 to 1")?;
        }
        for (key, value) in
            [("ai", self.ai), ("min_cwnd", self.min_cwnd), ("fs_min_cwnd", self.fs_min_cwnd)]
        {
            within(key, value, value > 0.0 && value.is_finite(), "a number above 0")?;
        }
        let above = self.fs_max_cwnd > self.fs_min_cwnd && self.fs_max_cwnd.is_finite();
        within("fs_max_cwnd", self.fs_max_cwnd, above, "a number above fs_min_cwnd")?;
        within("min_cwnd", self.min_cwnd, self.min_cwnd <= 1.0, "at most 1")
    }
}

/// What Swift keeps for one flow.
#[derive(Clone, Debug, Default)]
pub struct Delays {
    /// Switches on the path.
    hops: u32,
    /// When packets left.
    departures: Departures,
    /// The latest round trip.
    rtt: Span,
    /// When the window last shrank.
    decreased: Option<Time>,
    /// Time-outs in a row.
    timeouts: u32,
}

impl Delays {
    /// Whether the window may shrink: once in a round trip.
    fn may_decrease(&self, now: Time) -> bool {
        self.decreased.is_none_or(|last| now - last >= self.rtt)
    }
}

impl Swift {
    /// The target of a flow with a window of `cwnd` packets over `hops` switches, in picoseconds
    /// (section 3.5).
    fn target(&self, cwnd: f64, hops: u32) -> f64 {
        let range = self.fs_range.ps() as f64;
        let alpha = range / (1.0 / self.fs_min_cwnd.sqrt() - 1.0 / self.fs_max_cwnd.sqrt());
        let beta = -alpha / self.fs_max_cwnd.sqrt();
        let flows = (alpha / cwnd.sqrt() + beta).clamp(0.0, range);
        self.base_target.ps() as f64 + f64::from(hops) * self.hop_scale.ps() as f64 + flows
    }

    /// Multiplies the window by `factor`, if it may shrink.
    fn shrink(&self, window: &mut Window, delays: &mut Delays, factor: f64, now: Time) {
        if delays.may_decrease(now) {
            window.cwnd = (window.cwnd * factor).max(self.min_cwnd);
            delays.decreased = Some(now);
        }
    }
}

impl CongestionControl for Swift {
    type State = Delays;

    const ASKS_FOR_MORE: bool = true;

    // Its target grows with the number of links on the whole path.
    const ESTIMABLE_BY_LINK: bool = false;

    fn rules(&self) -> Rules {
        Rules {
            initial_window: self.window.initial_window.get().into(),
            initial_ssthresh: f64::INFINITY,
            window_cap: self.window.cap(),
            timer: Timer::estimated(self.min_rto, self.initial_rto, false, TimeOutRule::Rfc6298),
            fast_retransmit: self.fast_retransmit.then(FastRetransmit::default),
            sack: self.sack,
            ack_delay: None,
            quick_acks: 0,
            ecn: false,
            paced: true,
            handshake: false,
            known_round_trip: false,
            restart_after_idle: false,
            tick: None,
            rack: None,
        }
    }

    fn start(&self, _: &mut Window, delays: &mut Delays, flow: u32, setup: &Setup) {
        delays.hops = setup.hops(flow);
    }

    fn sent(&self, _: &mut Window, delays: &mut Delays, sequence: u32, now: Time) {
        delays.departures.note(sequence, now);
    }

    fn gap(&self, window: &mut Window, delays: &mut Delays, _: Span) -> Span {
        match window.cwnd < 1.0 {
            true => Span::from_ps((delays.rtt.ps() as f64 / window.cwnd) as u64).min(LONGEST_TIMER),
            false => Span::ZERO,
        }
    }

    fn acked(&self, window: &mut Window, delays: &mut Delays, acked: &Acked) {
        let Some(rtt) = delays.departures.round_trip(acked.cause, acked.snd_una, acked.now) else {
            return;
        };
        delays.rtt = rtt;
        delays.timeouts = 0;
        let (delay, target) = (rtt.ps() as f64, self.target(window.cwnd, delays.hops));
        if delay < target {
            window.cwnd += self.ai * f64::from(acked.arrived) / window.cwnd.max(1.0);
        } else {
            let factor = 1.0 - self.beta * (delay - target) / delay;
            self.shrink(window, delays, factor.max(1.0 - self.max_mdf), acked.now);
        }
    }

    fn lost(&self, window: &mut Window, delays: &mut Delays, _: u32, now: Time) {
        delays.timeouts = 0;
        self.shrink(window, delays, 1.0 - self.max_mdf, now);
        window.ssthresh = window.cwnd;
    }

    fn timed_out(&self, window: &mut Window, delays: &mut Delays, _: u32, now: Time) {
        delays.timeouts += 1;
        if delays.timeouts >= self.retx_reset_threshold.get() {
            window.cwnd = self.min_cwnd;
            delays.decreased = Some(now);
        } else {
            self.shrink(window, delays, 1.0 - self.max_mdf, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_core::parameters::defaults;

    fn us(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    /// A flow over 5 switches that sent packets 0 to 99 at 0 us, with a window of this size.
    fn sending(size: f64) -> (Swift, Window, Delays) {
        let (swift, mut delays): (Swift, _) = (defaults(), Delays { hops: 5, ..Delays::default() });
        let mut window = Window { cwnd: size, ssthresh: f64::INFINITY };
        (0..100).for_each(|sequence| swift.sent(&mut window, &mut delays, sequence, us(0)));
        (swift, window, delays)
    }

    /// Packet `sequence` is acknowledged, in order.
    fn ack(sequence: u32, now: Time) -> Acked {
        let upto = sequence + 1;
        Acked {
            cumulative: 1,
            arrived: 1,
            snd_una: upto,
            snd_nxt: 100,
            cause: Some(sequence),
            now,
            ..Acked::default()
        }
    }

    fn near(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-9 * expected, "{value} is not {expected}");
    }

    /// 20 us, 3 us for each of 5 switches, and alpha / sqrt(cwnd) + beta with alpha = 100 us /
    /// (sqrt(10) - 1/10) and beta = -alpha / 10: all of the 100 us at a window of 0.1, nothing from
    /// 100 on.
    #[test]
    fn the_target_is_that_of_the_paper() {
        let swift: Swift = defaults();
        let alpha = 100.0 / (10f64.sqrt() - 0.1);
        for (cwnd, flows) in [
            (0.001, 100.0),
            (0.1, 100.0),
            (1.0, alpha * 0.9),
            (4.0, alpha * 0.4),
            (16.0, alpha * 0.15),
            (100.0, 0.0),
            (400.0, 0.0),
        ] {
            near(swift.target(cwnd, 5), (35.0 + flows) * 1e6);
        }
        near(swift.target(100.0, 1), 23e6);
    }

    /// Below the target: ai / cwnd for each packet, ai when the window is below one.
    #[test]
    fn grows_by_one_packet_a_round_trip() {
        let (swift, mut window, mut delays) = sending(10.0);
        swift.acked(&mut window, &mut delays, &ack(0, us(30)));
        near(window.cwnd, 10.1);
        swift.acked(&mut window, &mut delays, &Acked { arrived: 3, ..ack(1, us(30)) });
        near(window.cwnd, 10.1 + 3.0 / 10.1);
        window.cwnd = 0.25;
        swift.acked(&mut window, &mut delays, &ack(2, us(30)));
        near(window.cwnd, 1.25);
    }

    /// Above it: by beta times the share of the delay that is too much, at most by half, and once a
    /// round trip. A window of 100 has a target of 35 us.
    #[test]
    fn shrinks_with_the_excess() {
        for (rtt, factor) in [(35, 1.0), (40, 0.9), (70, 0.6), (700, 0.5)] {
            let (swift, mut window, mut delays) = sending(100.0);
            swift.acked(&mut window, &mut delays, &ack(0, us(rtt)));
            near(window.cwnd, 100.0 * factor);
        }
        let (swift, mut window, mut delays) = sending(100.0);
        swift.acked(&mut window, &mut delays, &ack(0, us(70)));
        for now in [71, 90, 110] {
            swift.acked(&mut window, &mut delays, &ack(1, us(now)));
            near(window.cwnd, 60.0);
        }
        (2..90).for_each(|sequence| swift.sent(&mut window, &mut delays, sequence, us(90)));
        swift.acked(&mut window, &mut delays, &ack(2, us(150)));
        let target = swift.target(60.0, 5) / 1e6;
        near(window.cwnd, 60.0 * (1.0 - 0.8 * (60.0 - target) / 60.0));
    }

    /// A time-out halves the window, the fifth in a row leaves the minimum; an ACK breaks the row.
    #[test]
    fn times_out() {
        let (swift, mut window, mut delays) = sending(64.0);
        swift.acked(&mut window, &mut delays, &ack(0, us(10)));
        swift.acked(&mut window, &mut delays, &ack(1, us(10)));
        let sizes: Vec<f64> = (1..=5)
            .map(|i| {
                swift.timed_out(&mut window, &mut delays, 9, us(200 * i));
                window.cwnd
            })
            .collect();
        let first = sizes[0];
        assert_eq!(sizes, [first, first / 2.0, first / 4.0, first / 8.0, 0.001]);
        near(first, (64.0 + 1.0 / 64.0 + 1.0 / (64.0 + 1.0 / 64.0)) / 2.0);
        swift.acked(&mut window, &mut delays, &ack(2, us(1010)));
        swift.timed_out(&mut window, &mut delays, 9, us(9000));
        near(window.cwnd, swift.min_cwnd);
    }

    /// Half a packet a round trip of 30 us is one in 60 us; from one packet on nothing is held back.
    #[test]
    fn less_than_a_packet_is_paced() {
        let (swift, mut window, mut delays) = sending(0.5);
        delays.rtt = Span::from_us(30);
        assert_eq!(swift.gap(&mut window, &mut delays, Span::from_ns(1200)), Span::from_us(60));
        window.cwnd = 1.0;
        assert_eq!(swift.gap(&mut window, &mut delays, Span::from_ns(1200)), Span::ZERO);
    }
}
