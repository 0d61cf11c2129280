//! CUBIC (RFC 9438): between losses the window follows a cube of time.

use super::congestion::{Acked, CongestionControl, Rules, Window};
use super::hystart::HyStart;
use super::parameters::{TcpOptions, WindowLimits};
use crate::transport::Setup;
use sojourn_core::parameters::{Check, Refusal, Setting};
use sojourn_core::{Span, Time, parameters};

parameters! {
    /// CUBIC (RFC 9438): after a loss the window first grows back quickly to where it was, stays
    /// there for a while, and then looks for more, by a cube of the time since, whatever the round
    /// trip; and never more slowly than Reno would. Slow start is RFC 5681's, or HyStart's. Not
    /// modelled: HyStart++, spurious losses (section 4.9), ECN.
    pub struct Cubic: "cubic" {
        /// The window within its limits.
        pub window: WindowLimits [flatten],
        /// Speed of the window's growth, in packets per second cubed (RFC 9438 section 5: 0.4).
        pub c: f64 = 0.4,
        /// Share of the window that remains after a loss (RFC 9438 section 4.6: 0.7).
        pub beta: f64 = 0.7,
        /// Whether a flow gives capacity to others if its window is smaller than at the previous
        /// loss (RFC 9438 section 4.7).
        pub fast_convergence: bool = true,
        /// Whether slow start ends when ACKs arrive without a pause for half a round trip, or late
        /// (HyStart, as in Linux). Without it slow start ends with a loss. Only with `rack`.
        pub hystart: bool = false,
        /// Retransmission, acknowledgements and the begin of a connection.
        pub options: TcpOptions [flatten],
    }
}

impl Check for Cubic {
    fn check(&self) -> Result<(), Refusal> {
        let refuse = |key: &str, value: f64, expected: &str| {
            Err(Refusal::value(&value.write().expect("a number"), expected).under(key))
        };
        if !(self.c > 0.0 && self.c.is_finite()) {
            return refuse("c", self.c, "a number above 0");
        }
        if !(self.beta > 0.0 && self.beta < 1.0) {
            return refuse("beta", self.beta, "a number above 0 and below 1");
        }
        if self.hystart && !self.options.linux.rack {
            let expected = "false, or rack = true too: it needs a round trip of each ACK";
            return Err(Refusal::of(&true, expected).under("hystart"));
        }
        Ok(())
    }
}

/// What CUBIC keeps for one flow; windows in packets.
#[derive(Clone, Debug, Default)]
pub struct Epoch {
    /// When congestion avoidance began (`epoch_start`); none while it has not.
    began: Option<Time>,
    /// Where the cube is flat (`W_max`).
    flat: f64,
    /// When it is, in seconds from the beginning (`K`).
    flat_after: f64,
    /// What Reno's window would be (`W_est`).
    reno: f64,
    /// The window when ssthresh was last set (`cwnd_prior`).
    prior: f64,
    /// Whether the last reduction was a time-out (section 4.8).
    timed_out: bool,
    hystart: HyStart,
    /// The payload of a full packet, in bytes.
    payload: u64,
}

impl Cubic {
    /// The window `after` seconds of congestion avoidance (section 4.2, figure 1).
    fn cube(&self, epoch: &Epoch, after: f64) -> f64 {
        let distance = after - epoch.flat_after;
        self.c * (distance * distance * distance) + epoch.flat
    }

    /// Congestion avoidance begins with a window of `size`. After a time-out the cube starts where it
    /// is flat (section 4.8), else where it comes to `W_max` at `K` (section 4.2, figure 2).
    fn begin(&self, epoch: &mut Epoch, size: f64, now: Time) {
        if epoch.timed_out {
            epoch.flat = size;
        }
        epoch.flat_after = cube_root((epoch.flat - size) / self.c);
        epoch.reno = size;
        epoch.began = Some(now);
    }

    /// Sections 4.6 and 4.7: the new threshold, and where the next cube is flat.
    fn reduce(&self, window: &mut Window, epoch: &mut Epoch, flight: u32) {
        let converge = self.fast_convergence && window.cwnd < epoch.flat;
        epoch.flat = window.cwnd * if converge { (1.0 + self.beta) / 2.0 } else { 1.0 };
        epoch.prior = window.cwnd;
        epoch.began = None;
        window.ssthresh = (f64::from(flight) * self.beta).max(2.0);
    }
}

/// The real cube root, by Newton's method: the same on all machines, which the libraries' is not.
pub fn cube_root(value: f64) -> f64 {
    if value == 0.0 {
        return 0.0;
    }
    let size = value.abs();
    // A third of the exponent: within a factor of two.
    let mut root = f64::from_bits(size.to_bits() / 3 + ((1023 - 341) << 52));
    for _ in 0..6 {
        root = (2.0 * root + size / (root * root)) / 3.0;
    }
    root.copysign(value)
}

impl CongestionControl for Cubic {
    type State = Epoch;

    fn rules(&self) -> Rules {
        self.options.rules(&self.window)
    }

    fn start(&self, _: &mut Window, epoch: &mut Epoch, flow: u32, setup: &Setup) {
        epoch.payload = setup.packets.payload.0;
        epoch.hystart.begin(0, setup.flows[flow as usize].arrived);
    }

    /// Sections 4.2 to 4.5.
    fn acked(&self, window: &mut Window, epoch: &mut Epoch, acked: &Acked) {
        if acked.cumulative == 0 {
            return;
        }
        if self.hystart
            && let Some(sample) = acked.sample
            && epoch.began.is_none_or(|began| acked.now - began >= Span::from_s(1))
            && epoch.hystart.ends_at(window, acked, sample, epoch.payload)
        {
            window.ssthresh = window.cwnd;
        }
        if window.cwnd < window.ssthresh {
            window.grow_by(acked, self.options.growth());
            return;
        }
        let began = epoch.began.unwrap_or_else(|| {
            self.begin(epoch, window.cwnd, acked.now);
            acked.now
        });
        let covered = f64::from(acked.cumulative);
        let alpha = match epoch.reno < epoch.prior {
            true => 3.0 * (1.0 - self.beta) / (1.0 + self.beta),
            false => 1.0,
        };
        epoch.reno += alpha * covered / window.cwnd;
        let after = seconds(acked.now - began);
        if self.cube(epoch, after) < epoch.reno {
            window.cwnd = epoch.reno;
        } else {
            let target = self.cube(epoch, after + seconds(acked.rtt));
            let growth = target.clamp(window.cwnd, 1.5 * window.cwnd) - window.cwnd;
            let counted = if self.options.abc_limit.is_some() { covered } else { 1.0 };
            window.cwnd += counted * growth / window.cwnd;
        }
    }

    fn paused(&self, _: &mut Window, epoch: &mut Epoch, pause: Span) {
        // A window that was not used does not grow (Linux, `cubictcp_cwnd_event`).
        epoch.began = epoch.began.map(|began| began + pause);
    }

    fn lost(&self, window: &mut Window, epoch: &mut Epoch, flight: u32, _: Time) {
        self.reduce(window, epoch, flight);
        epoch.timed_out = false;
        window.cwnd = window.ssthresh;
    }

    fn timed_out(&self, window: &mut Window, epoch: &mut Epoch, flight: u32, now: Time) {
        let prior = epoch.prior;
        self.reduce(window, epoch, flight);
        if window.cwnd <= 1.0 {
            // The same packet again: ssthresh is held, and with it what it was set from.
            epoch.prior = prior;
        }
        epoch.timed_out = true;
        epoch.hystart.timed_out(0, now);
        window.cwnd = 1.0;
    }
}

fn seconds(span: Span) -> f64 {
    span.ps() as f64 / 1e12
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_core::parameters::defaults;
    use std::num::NonZeroU32;

    /// A flow whose timer never ran out, at a window of `size` in congestion avoidance.
    fn avoiding(size: f64) -> (Cubic, Window, Epoch) {
        (defaults(), Window { cwnd: size, ssthresh: 2.0 }, Epoch::default())
    }

    /// An ACK of one packet after `ms`, where a round trip takes 100 ms.
    fn ack(ms: u64) -> Acked {
        Acked {
            cumulative: 1,
            arrived: 1,
            rtt: Span::from_ms(100),
            now: Time::ZERO + Span::from_ms(ms),
            ..Acked::default()
        }
    }

    fn near(value: f64, expected: f64) {
        assert!((value - expected).abs() <= 1e-12 * expected.abs(), "{value} is not {expected}");
    }

    #[test]
    fn cube_roots_are_exact_to_the_last_digits() {
        for root in [1e-9, 0.3, 0.5, 1.0, 4.217, 5.0, 1000.0, 1e6] {
            near(cube_root(root * root * root), root);
            near(cube_root(-root * root * root), -root);
        }
        assert_eq!(cube_root(0.0), 0.0);
    }

    /// Section 4.6, and figures 1 and 2 by hand: a window of 1000 falls to 700 and is back at 1000
    /// after K = (300 / 0.4)^(1/3) = 9.0856 s; there it lingers: 999.6 a second before, 1000.4 a
    /// second after.
    #[test]
    fn the_window_is_a_cube_of_time() {
        let (cubic, mut window, mut epoch) = avoiding(1000.0);
        cubic.lost(&mut window, &mut epoch, 1000, Time::ZERO);
        assert_eq!((window.cwnd, window.ssthresh), (700.0, 700.0));
        cubic.begin(&mut epoch, window.cwnd, Time::ZERO);
        near(epoch.flat_after, 750f64.cbrt());
        near(cubic.cube(&epoch, 0.0), 700.0);
        let k = epoch.flat_after;
        near(cubic.cube(&epoch, k), 1000.0);
        near(cubic.cube(&epoch, k - 1.0), 999.6);
        near(cubic.cube(&epoch, k + 1.0), 1000.4);
        near(cubic.cube(&epoch, k + 10.0), 1400.0);
    }

    /// Sections 4.4 and 4.5: an ACK opens the window by (target - cwnd) / cwnd, where the target is
    /// the cube a round trip later, at most 1.5 windows.
    #[test]
    fn an_ack_goes_for_what_the_cube_will_be_in_a_round_trip() {
        let (cubic, mut window, mut epoch) = avoiding(1000.0);
        cubic.lost(&mut window, &mut epoch, 1000, Time::ZERO);
        let cube = |after: f64| 1000.0 + 0.4 * (after - 750f64.cbrt()).powi(3);
        // The first ACK begins; at that moment Reno is ahead by its first step.
        cubic.acked(&mut window, &mut epoch, &ack(5000));
        near(window.cwnd, 700.0 + 0.9 / 1.7 / 700.0);
        window.cwnd = 700.0;
        cubic.acked(&mut window, &mut epoch, &ack(5100));
        near(window.cwnd, 700.0 + (cube(0.2) - 700.0) / 700.0);
        // Half a minute in which nothing was heard: half a window more, not the cube's thousands.
        window.cwnd = 800.0;
        cubic.acked(&mut window, &mut epoch, &ack(40_000));
        near(window.cwnd, 800.5);
        // Above the cube it stays.
        window.cwnd = 1200.0;
        cubic.acked(&mut window, &mut epoch, &ack(14_000));
        assert_eq!(window.cwnd, 1200.0);
        // One ACK counts as one, or with appropriate byte counting as what it covers.
        for (limit, counted) in [(None, 1.0), (Some(NonZeroU32::MIN), 2.0)] {
            let cubic = Cubic {
                options: TcpOptions { abc_limit: limit, ..cubic.clone().options },
                ..cubic.clone()
            };
            window.cwnd = 900.0;
            let two = Acked { cumulative: 2, ..ack(13_000) };
            cubic.acked(&mut window, &mut epoch, &two);
            near(window.cwnd, 900.0 + counted * (cube(8.1) - 900.0) / 900.0);
        }
    }

    /// Section 4.3: where the cube is slower than Reno the window is W_est, which grows by alpha =
    /// 3 (1 - 0.7) / (1 + 0.7) a window until it is where the loss was, and then by one.
    #[test]
    fn it_is_never_slower_than_reno() {
        let (cubic, mut window, mut epoch) = avoiding(10.0);
        cubic.lost(&mut window, &mut epoch, 10, Time::ZERO);
        let (alpha, mut reno) = (0.9 / 1.7, 7.0);
        for microsecond in 0..80 {
            let now = Time::ZERO + Span::from_us(microsecond);
            let acked = Acked { now, rtt: Span::from_us(10), ..ack(0) };
            reno += if reno < 10.0 { alpha / reno } else { 1.0 / reno };
            cubic.acked(&mut window, &mut epoch, &acked);
            near(window.cwnd, reno);
        }
        assert!(reno > 11.0);
    }

    /// Section 4.7: who is below the last W_max leaves it at (1 + 0.7) / 2 of the window.
    #[test]
    fn a_shrinking_flow_makes_room() {
        for (fast_convergence, flat) in [(true, 680.0), (false, 800.0)] {
            let cubic = Cubic { fast_convergence, ..defaults() };
            let (_, mut window, mut epoch) = avoiding(1000.0);
            cubic.lost(&mut window, &mut epoch, 1000, Time::ZERO);
            window.cwnd = 800.0;
            cubic.lost(&mut window, &mut epoch, 800, Time::ZERO);
            near(epoch.flat, flat);
            near(window.cwnd, 560.0);
            window.cwnd = 900.0;
            cubic.lost(&mut window, &mut epoch, 900, Time::ZERO);
            near(epoch.flat, 900.0);
        }
    }

    /// Section 4.8: slow start from one up to 0.7 of the flight, and then from where the cube is
    /// flat. The same packet again changes nothing.
    #[test]
    fn after_a_time_out_the_cube_starts_where_it_is_flat() {
        let (cubic, mut window, mut epoch) = avoiding(20.0);
        cubic.timed_out(&mut window, &mut epoch, 20, Time::ZERO);
        assert_eq!((window.cwnd, window.ssthresh, epoch.prior), (1.0, 14.0, 20.0));
        cubic.timed_out(&mut window, &mut epoch, 1, Time::ZERO);
        assert_eq!((window.cwnd, epoch.prior), (1.0, 20.0));
        window.ssthresh = 14.0;
        for size in 2..=14 {
            cubic.acked(&mut window, &mut epoch, &ack(0));
            assert_eq!(window.cwnd, f64::from(size));
            assert_eq!(epoch.began, None);
        }
        cubic.acked(&mut window, &mut epoch, &ack(1000));
        assert_eq!((epoch.flat, epoch.flat_after), (14.0, 0.0));
        near(cubic.cube(&epoch, 5.0), 64.0);
    }

    /// Section 4.6: at least two packets after a loss.
    #[test]
    fn a_small_window_falls_to_two() {
        let (cubic, mut window, mut epoch) = avoiding(2.5);
        cubic.lost(&mut window, &mut epoch, 2, Time::ZERO);
        assert_eq!((window.cwnd, window.ssthresh), (2.0, 2.0));
    }
}
