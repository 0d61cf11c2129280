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
            window.grow_by(acked, self.options.abc_limit);
        }
    }
}
