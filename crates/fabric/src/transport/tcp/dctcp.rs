//! DCTCP (RFC 8257): the window shrinks by as much as the marks say.

use super::congestion::{Acked, CongestionControl, Rules, Window};
use super::parameters::{TcpOptions, WindowLimits};
use sojourn_core::parameters;
use sojourn_core::parameters::Check;

parameters! {
    /// DCTCP (RFC 8257): NewReno, and at most once a window of data the window shrinks by
    /// alpha/2, where alpha is the smoothed share of marked packets. Wants a queue that marks:
    /// `ecn` or `levels`.
    pub struct Dctcp: "dctcp" {
        /// The window within its limits.
        pub window: WindowLimits [flatten],
        /// Weight of the newest window in alpha (RFC 8257 section 3.3: 1/16).
        pub gain: f64 [0.0..=1.0] = 0.0625,
        /// Alpha of a new flow (RFC 8257 section 3.3: 1; the pFabric authors' code: 0).
        pub initial_alpha: f64 [0.0..=1.0] = 1.0,
        /// Retransmission, acknowledgements and the begin of a connection.
        pub options: TcpOptions [flatten],
    }
}

impl Check for Dctcp {}

/// What DCTCP keeps for one flow.
#[derive(Clone, Debug, Default)]
pub struct Marks {
    /// Smoothed share of marked packets; none before the first window is over.
    alpha: Option<f64>,
    arrived: u32,
    marked: u32,
    /// The window under observation ends when this packet is acknowledged.
    observed: u32,
    /// No second reduction before this packet is acknowledged.
    reduced: u32,
}

impl CongestionControl for Dctcp {
    type State = Marks;

    fn rules(&self) -> Rules {
        Rules { ecn: true, ..self.options.rules(&self.window) }
    }

    fn acked(&self, window: &mut Window, marks: &mut Marks, acked: &Acked) {
        marks.arrived += acked.arrived;
        marks.marked += if acked.marked { acked.arrived } else { 0 };
        let mut alpha = marks.alpha.unwrap_or(self.initial_alpha);
        if acked.snd_una > marks.observed {
            let share = f64::from(marks.marked) / f64::from(marks.arrived.max(1));
            alpha += self.gain * (share - alpha);
            *marks = Marks {
                alpha: Some(alpha),
                arrived: 0,
                marked: 0,
                observed: acked.snd_nxt,
                reduced: marks.reduced,
            };
        }
        if acked.marked {
            if acked.snd_una >= marks.reduced {
                window.cwnd = (window.cwnd * (1.0 - alpha / 2.0)).max(1.0);
                window.ssthresh = window.cwnd.max(2.0);
                marks.reduced = acked.snd_nxt + 1;
            }
        } else if acked.cumulative > 0 {
            window.grow_by(acked, self.options.growth());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_core::parameters::defaults;

    fn ack(upto: u32, next: u32, marked: bool) -> Acked {
        let (snd_una, snd_nxt) = (upto, next);
        Acked { cumulative: 1, arrived: 1, marked, snd_una, snd_nxt, ..Acked::default() }
    }

    /// By hand, g = 1/16 from alpha = 1: a window of ten with two marks.
    #[test]
    fn alpha_and_window_follow_the_rfc() {
        let dctcp = Dctcp { initial_alpha: 1.0, ..defaults() };
        let (mut window, mut marks) = (Window { cwnd: 10.0, ssthresh: 5.0 }, Marks::default());
        dctcp.acked(&mut window, &mut marks, &ack(1, 10, true));
        // First window: one packet, marked: alpha stays 1, the window is halved.
        assert_eq!((marks.alpha, window.cwnd, window.ssthresh), (Some(1.0), 5.0, 5.0));
        for upto in 2..=10 {
            dctcp.acked(&mut window, &mut marks, &ack(upto, 15, upto == 4));
        }
        // One reduction a window: the mark at 4 came before packet 10 was acknowledged.
        assert!(window.cwnd > 5.0);
        dctcp.acked(&mut window, &mut marks, &ack(11, 16, false));
        let share = 1.0 / 10.0;
        assert_eq!(marks.alpha, Some(1.0 + (share - 1.0) / 16.0));
    }
}
