//! TCP NewReno (RFC 5681, 6582, 6298).

use super::congestion::{Acked, CongestionControl, Rules, Window};
use super::parameters::{TcpOptions, WindowLimits};
use sojourn_core::parameters;
use sojourn_core::parameters::Check;

parameters! {
    /// TCP NewReno: slow start, congestion avoidance, fast retransmit and recovery (RFC 5681,
    /// 6582), estimated time-outs (RFC 6298).
    pub struct NewReno: "new-reno" {
        /// The window within its limits.
        pub window: WindowLimits [flatten],
        /// Retransmission, acknowledgements and the begin of a connection.
        pub options: TcpOptions [flatten],
    }
}

impl Check for NewReno {}

impl CongestionControl for NewReno {
    type State = ();

    fn rules(&self) -> Rules {
        self.options.rules(&self.window)
    }

    #[inline]
    fn acked(&self, window: &mut Window, _: &mut (), acked: &Acked) {
        if acked.cumulative > 0 {
            window.grow_by(acked, self.options.growth());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_core::parameters::defaults;

    /// RFC 5681 (3.1) with RFC 3465: an ACK of two packets opens the window by two in slow start, and
    /// by two over the window in congestion avoidance; a duplicate by nothing.
    #[test]
    fn the_window_grows_by_what_is_acknowledged() {
        let new_reno: NewReno = defaults();
        let mut window = Window { cwnd: 10.0, ssthresh: 12.0 };
        for (cumulative, cwnd) in [(2, 12.0), (2, 12.0 + 2.0 / 12.0), (0, 12.0 + 2.0 / 12.0)] {
            let acked = Acked { cumulative, snd_una: 4, snd_nxt: 14, ..Acked::default() };
            new_reno.acked(&mut window, &mut (), &acked);
            assert_eq!(window.cwnd, cwnd);
        }
    }
}
