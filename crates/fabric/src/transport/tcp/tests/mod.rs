//! A single sender, for tests that follow it ACK by ACK: what it hears is said by the test, and
//! what it sends at once is the answer. No time passes between ACKs but what is said.

mod linux;
mod new_reno;
mod sack;

use super::CongestionControl;
use super::Windowed;
use super::transmit::Sender;
use crate::flow::Flow;
use crate::packet::{Kind, Packet};
use crate::topology::{SingleSwitch, Topology};
use crate::transport::{AckPriority, End, Outbox, Priority, Setup, Transport, Wake};
use sojourn_core::parameters::defaults;
use sojourn_core::{Rate, Span, Streams, Time};

/// A flow of so many full packets from one host of a switch to another.
pub(super) fn setup(packets: u32) -> Setup {
    let topology = Topology::SingleSwitch(SingleSwitch { hosts: 2, ..defaults() });
    let count: crate::flow::Packets = defaults();
    let bytes = u64::from(packets) * count.payload.0;
    Setup {
        digest_windows: false,
        flows: [Flow::new(0, 1, bytes, Time::ZERO)].into(),
        packets: count,
        priority: Priority::None(defaults()),
        ack_priority: AckPriority::Highest,
        network: topology.graph().network().into(),
        nic: [Rate::gbps(10), Rate::gbps(10)].into(),
        streams: Streams::new(1, 0),
        exchanges: [].into(),
        connections: None,
    }
}

/// A flow on its way.
pub(super) struct Trace<C: CongestionControl> {
    windowed: Windowed<C>,
    outbox: Outbox,
    wakes: Vec<Wake>,
}

impl<C: CongestionControl + Clone> Trace<C> {
    /// A flow of so many full packets begins.
    pub(super) fn begin(control: &C, packets: u32) -> Trace<C> {
        let setup = setup(packets);
        let windowed = Windowed::new(control.clone(), setup);
        let mut trace = Trace {
            windowed,
            outbox: Outbox { capacity: usize::MAX, ..Outbox::default() },
            wakes: Vec::new(),
        };
        trace.windowed.start(0, &mut trace.outbox);
        trace
    }

    /// What was sent since this was asked last.
    pub(super) fn sent(&mut self) -> Vec<u32> {
        self.wakes.append(&mut self.outbox.wakes);
        self.outbox.packets.drain(..).map(|packet| packet.sequence).collect()
    }

    /// An ACK that says "`next` is next", caused by the packet that makes it so.
    pub(super) fn ack(&mut self, next: u32) -> Vec<u32> {
        self.hears(next, 0)
    }

    /// An ACK that says "`next` is next", caused by packet `cause` above it.
    pub(super) fn sack(&mut self, next: u32, cause: u32) -> Vec<u32> {
        self.hears(next, (cause - next) as u16)
    }

    fn hears(&mut self, sequence: u32, echo: u16) -> Vec<u32> {
        let answer = self.windowed.setup().answer(Kind::ACK, 0, sequence);
        self.windowed.receive(&Packet { echo, ..answer }, &mut self.outbox);
        self.sent()
    }

    /// So much time goes by, and no timer runs out.
    pub(super) fn pass(&mut self, span: Span) {
        self.outbox.now += span;
        assert!(self.outbox.now < self.sender().rto_deadline);
    }

    /// The retransmission timer runs out.
    pub(super) fn lapse(&mut self) -> Vec<u32> {
        let timeouts = self.windowed.tally(0).timeouts;
        while self.windowed.tally(0).timeouts == timeouts {
            self.wakes.append(&mut self.outbox.wakes);
            self.wakes.sort_by_key(|wake| wake.at);
            let wake = self.wakes.remove(0);
            self.outbox.now = wake.at;
            self.windowed.wake(wake, &mut self.outbox);
        }
        self.sent()
    }

    /// The next timer that was not put off runs out, whatever it is for.
    pub(super) fn wakes(&mut self) -> Vec<u32> {
        self.outbox.now = self.due();
        let wake = Wake { at: self.outbox.now, flow: 0, end: End::Sender };
        self.windowed.wake_alone(wake, &mut self.outbox);
        self.sent()
    }

    pub(super) fn now(&self) -> Time {
        self.outbox.now
    }

    pub(super) fn smoothed(&self) -> Span {
        self.sender().trip.smoothed()
    }

    pub(super) fn timeouts(&self) -> u32 {
        self.windowed.tally(0).timeouts
    }

    /// The window and its threshold: cwnd and ssthresh.
    pub(super) fn window(&self) -> (f64, f64) {
        let window = &self.sender().window;
        (window.cwnd, window.ssthresh)
    }

    /// When the timer runs out.
    pub(super) fn due(&self) -> Time {
        self.sender().rto_deadline
    }

    pub(super) fn recovering(&self) -> bool {
        self.sender().recovery.active
    }

    fn sender(&self) -> &Sender<C::State> {
        self.windowed.sender(0)
    }
}
