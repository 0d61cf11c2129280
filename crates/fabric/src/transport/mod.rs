//! Transports: what the two ends of a flow do.
//!
//! A transport does no I/O and reads no clock. The engine calls it when a flow begins, when a packet has
//! come, and when a wake-up it asked for is due; it answers with packets to send and wake-ups to set
//! ([`Outbox`]). The engine and the slow reference beside it drive the same code.
//!
//! The TCP family (`tcp/`) shares one reliable, window-limited sender; a member of it is one file with
//! its parameters and its rules for the window ([`CongestionControl`]).

mod ledger;
mod ndp;
mod priority;
mod roce;
mod scoreboard;
mod tcp;
mod traced;
mod uet;

pub use ndp::{Ndp, NdpRunning};
pub use priority::{
    AckPriority, Deadline, Leaving, Priority, Remaining, Sent, Size, Unprioritised,
};
pub use roce::{
    Dcqcn, DcqcnVendor, Hpcc, HpccRunning, LineSpeed, RateControl, Recovery, Roce, RoceRunning,
    TargetRate,
};
pub use tcp::{
    Acked, Bbr, CongestionControl, Cubic, Dctcp, Delivery, FastRetransmit, LineRate, LinuxRecovery,
    MinTcp, NewReno, PythonControl, PythonTransport, RackRules, Rules, Swift, TcpOptions,
    TimeOutRule, Timer, Window, WindowLimits, Windowed, cube_root,
};
pub use traced::{Happening, Seen, Speed, Traced};
pub use uet::{
    Bitmap, Control, Exchange, LastHopTrims, Mixed, Oblivious, Reps, Spraying, TimedOut, Uet,
    UetRunning, Untimed,
};

use crate::flow::{Flow, Packets};
use crate::packet::{Kind, LONGEST_TIMER, NIL, Packet};
use crate::python::{ControllerClass, PythonClass};
use crate::ranks::Connections;
use crate::topology::{Hop, Network};
use sojourn_core::parameters::{Parameters, Refusal};
use sojourn_core::{CodeFailed, Rate, Span, Streams, Time, variants};

/// Declares the transports, one line each: the registry of their parameters, and the running
/// transport that the engine drives.
macro_rules! transports {
    ($($variant:ident($params:ty),)+) => {
        variants! {
            /// Transport of the flows.
            pub enum TransportKind: "transport" { $($variant($params),)+ }
        }

        /// A transport at work on the flows of one simulation.
        #[derive(Debug)]
        pub enum Running {
            $(#[doc = concat!("See [`", stringify!($params), "`].")]
            $variant(<$params as TransportParameters>::Running),)+
            /// Any of these, which watches a flow.
            Traced(Box<Traced>),
        }

        impl Running {
            /// Takes up all flows of `setup`.
            pub fn new(kind: &TransportKind, setup: Setup) -> Running {
                match kind {
                    $(TransportKind::$variant(params) => Running::$variant(params.run(setup)),)+
                }
            }
        }

        impl TransportKind {
            /// Whether a flow's time on a path is the sum of what each of its links does to it alone.
            pub(crate) fn is_estimable_by_link(&self) -> bool {
                match self {
                    $(TransportKind::$variant(params) => estimable_by_link(params),)+
                }
            }

            /// The names of the kinds of which that holds.
            pub(crate) fn estimable_by_link() -> Vec<&'static str> {
                let all = [$((
                    <<$params as TransportParameters>::Running as Transport>::ESTIMABLE_BY_LINK,
                    <$params as Parameters>::NAME,
                ),)+];
                all.iter().filter(|(holds, _)| *holds).map(|(_, name)| *name).collect()
            }
        }

        impl Transport for Running {
            #[inline]
            fn start(&mut self, flow: u32, outbox: &mut Outbox) {
                match self {
                    $(Running::$variant(running) => running.start(flow, outbox),)+
                    Running::Traced(traced) => traced.start(flow, outbox),
                }
            }
            fn extend(&mut self, flow: u32, end: u32, outbox: &mut Outbox) {
                match self {
                    $(Running::$variant(running) => running.extend(flow, end, outbox),)+
                    Running::Traced(traced) => traced.extend(flow, end, outbox),
                }
            }
            fn first_missing(&self, flow: u32) -> u32 {
                match self {
                    $(Running::$variant(running) => running.first_missing(flow),)+
                    Running::Traced(traced) => traced.inner().first_missing(flow),
                }
            }
            #[inline]
            fn receive(&mut self, packet: &Packet, outbox: &mut Outbox) {
                match self {
                    $(Running::$variant(running) => running.receive(packet, outbox),)+
                    Running::Traced(traced) => traced.receive(packet, outbox),
                }
            }
            #[inline]
            fn wake(&mut self, wake: Wake, outbox: &mut Outbox) {
                match self {
                    $(Running::$variant(running) => running.wake(wake, outbox),)+
                    Running::Traced(traced) => traced.wake(wake, outbox),
                }
            }
            fn resume(&mut self, flow: u32, outbox: &mut Outbox) {
                match self {
                    $(Running::$variant(running) => running.resume(flow, outbox),)+
                    Running::Traced(traced) => traced.resume(flow, outbox),
                }
            }
            fn urgency(&self, flow: u32, now: Time) -> Option<u32> {
                match self {
                    $(Running::$variant(running) => running.urgency(flow, now),)+
                    Running::Traced(traced) => traced.inner().urgency(flow, now),
                }
            }
            fn asked(&self) -> Asked {
                match self {
                    $(Running::$variant(running) => running.asked(),)+
                    Running::Traced(traced) => traced.inner().asked(),
                }
            }
            fn tally(&self, flow: u32) -> Tally {
                match self {
                    $(Running::$variant(running) => running.tally(flow),)+
                    Running::Traced(traced) => traced.inner().tally(flow),
                }
            }
            fn begin_watch(&mut self, flow: u32) {
                match self {
                    $(Running::$variant(running) => running.begin_watch(flow),)+
                    Running::Traced(traced) => traced.begin_watch(flow),
                }
            }
            fn received(&self, flow: u32) -> u64 {
                match self {
                    $(Running::$variant(running) => running.received(flow),)+
                    Running::Traced(traced) => traced.inner().received(flow),
                }
            }
            fn failure(&self) -> Option<&CodeFailed> {
                match self {
                    $(Running::$variant(running) => running.failure(),)+
                    Running::Traced(traced) => traced.failure(),
                }
            }
            fn speed(&self, flow: u32, now: Time) -> Speed {
                match self {
                    $(Running::$variant(running) => running.speed(flow, now),)+
                    Running::Traced(traced) => traced.inner().speed(flow, now),
                }
            }
            fn take_seen(&mut self) -> Vec<Seen> {
                match self { Running::Traced(traced) => traced.take_seen(), _ => Vec::new() }
            }
        }
    };
}

transports! {
    NewReno(NewReno),
    Dctcp(Dctcp),
    MinTcp(MinTcp),
    LineRate(LineRate),
    Ndp(Ndp),
    Swift(Swift),
    Cubic(Cubic),
    Bbr(Bbr),
    Uet(Uet),
    Roce(Roce),
    Hpcc(Hpcc),
    Python(PythonTransport),
}

/// The parameters of a transport, and what runs under them.
pub trait TransportParameters {
    /// The transport at work.
    type Running: Transport;

    /// Takes up all flows of `setup`.
    fn run(&self, setup: Setup) -> Self::Running;
}

impl<C: CongestionControl + Clone> TransportParameters for C {
    type Running = Windowed<C>;

    fn run(&self, setup: Setup) -> Windowed<C> {
        Windowed::new(self.clone(), setup)
    }
}

impl TransportParameters for PythonTransport {
    type Running = Windowed<PythonControl>;

    fn run(&self, setup: Setup) -> Windowed<PythonControl> {
        Windowed::new(PythonControl::new(self), setup)
    }
}

impl TransportParameters for Uet {
    type Running = UetRunning;

    fn run(&self, setup: Setup) -> UetRunning {
        UetRunning::new(self, setup)
    }
}

impl TransportParameters for Ndp {
    type Running = NdpRunning;

    fn run(&self, setup: Setup) -> NdpRunning {
        NdpRunning::new(self, setup)
    }
}

fn estimable_by_link<P: TransportParameters>(_: &P) -> bool {
    P::Running::ESTIMABLE_BY_LINK
}

impl TransportKind {
    /// The time within which it expects the answer to a packet over so many switches, whatever it has
    /// measured, and what it is called. None where it learns the round trip.
    pub(crate) fn patience(&self, switches: u32) -> Option<(&'static str, Span)> {
        match self {
            TransportKind::MinTcp(MinTcp { rto, .. })
            | TransportKind::LineRate(LineRate { rto, .. }) => Some(("the time-out (rto)", *rto)),
            TransportKind::Swift(Swift { base_target, hop_scale, .. }) => {
                let hops = *hop_scale * u64::from(switches);
                Some(("Swift's target (base_target, hop_scale)", base_target.saturating_add(hops)))
            }
            _ => None,
        }
    }

    /// For so many flows, what the ends of each write for each other because no packet has room for it;
    /// nothing where packets say all. A simulation has one of them, on all threads.
    pub fn exchanges(&self, flows: usize) -> std::sync::Arc<[Exchange]> {
        match self {
            TransportKind::Uet(_) => {
                std::iter::repeat_with(Exchange::default).take(flows).collect()
            }
            _ => std::sync::Arc::default(),
        }
    }

    /// The class that it is, where it is one.
    pub(crate) fn class(&self) -> Option<&dyn PythonClass> {
        match self {
            TransportKind::Python(python) => Some(&**python.code.class::<dyn ControllerClass>()),
            _ => None,
        }
    }

    /// Refuses what cannot run where a host takes `packet` to send a full packet.
    pub(crate) fn check_packet(&self, packet: Span) -> Result<(), Refusal> {
        match self {
            TransportKind::Ndp(ndp) => ndp.check_packet(packet),
            _ => Ok(()),
        }
    }
}

/// The shortest timer: a shorter one would run out again and again while a packet is on its first link.
const SHORTEST_TIMER: Span = Span::from_ns(100);

/// Refuses a timer that would run out at once, or later than a run can last.
fn check_timer(key: &str, span: Span) -> Result<(), Refusal> {
    if !(SHORTEST_TIMER..=LONGEST_TIMER).contains(&span) {
        let expected = format!("a time from {SHORTEST_TIMER} to {LONGEST_TIMER}");
        return Err(Refusal::of(&span, expected).under(key));
    }
    Ok(())
}

/// What every transport knows before it begins.
#[derive(Clone, Debug)]
pub struct Setup {
    /// All flows that will ever start.
    pub flows: std::sync::Arc<[Flow]>,
    /// Sizes of packets.
    pub packets: Packets,
    /// The priority of data packets.
    pub priority: Priority,
    /// The priority of acknowledgements.
    pub ack_priority: AckPriority,
    /// The fabric that the flows run in.
    pub network: std::sync::Arc<Network>,
    /// Rate of each host's link.
    pub nic: std::sync::Arc<[Rate]>,
    /// The random streams.
    pub streams: Streams,
    /// What the ends of each flow write for each other, on whatever threads they are simulated; see
    /// [`TransportKind::exchanges`].
    pub exchanges: std::sync::Arc<[Exchange]>,
    /// What those of the flows carry that are connections: the size of such a flow is that of all its packets, if
    /// they were full.
    pub connections: Option<std::sync::Arc<Connections>>,
    /// Whether [`Tally::window_digest`] is wanted.
    pub digest_windows: bool,
}

impl Setup {
    /// Switches on the path of `flow`.
    fn hops(&self, flow: u32) -> u32 {
        let flow = &self.flows[flow as usize];
        self.network.path(flow.from.into(), flow.to.into()).len() as u32 - 1
    }

    /// The round trip of the smallest packets of `flow` while nothing waits.
    fn idle_round_trip(&self, flow: u32) -> Span {
        let ends = &self.flows[flow as usize];
        let (from, to) = (usize::from(ends.from), usize::from(ends.to));
        let ways = [self.network.path(from, to), self.network.path(to, from)];
        let time = |hop: &Hop| hop.link.rate.span(self.packets.ack.0) + hop.link.delay;
        ways.iter().flatten().map(time).fold(Span::ZERO, Span::saturating_add)
    }

    /// Data packet `sequence` of `flow`; of the flow's packets, `arrived` are known to have arrived.
    #[inline(always)]
    fn data(&self, flow: u32, sequence: u32, arrived: u32, now: Time) -> Packet {
        let this = &self.flows[flow as usize];
        Packet {
            key: 0,
            next: NIL,
            flow,
            sequence,
            priority: self.number(flow, sequence, arrived, now),
            to: this.to,
            size: self.packets.wire(self.leaving(flow, sequence)),
            echo: 0,
            kind: Kind::DATA,
            marks: 0,
        }
    }

    /// Payload of packet `sequence` of `flow`.
    #[inline(always)]
    fn payload(&self, flow: u32, sequence: u32) -> u16 {
        let own = self.connections.as_ref().and_then(|all| all.payload(flow, sequence));
        own.unwrap_or_else(|| self.plain_payload(flow, sequence))
    }

    /// Payload of packet `sequence` of `flow`, which leaves.
    #[inline(always)]
    fn leaving(&self, flow: u32, sequence: u32) -> u16 {
        let own = self.connections.as_ref().and_then(|all| all.leaves(flow, sequence));
        own.unwrap_or_else(|| self.plain_payload(flow, sequence))
    }

    #[inline(always)]
    fn plain_payload(&self, flow: u32, sequence: u32) -> u16 {
        let full = self.packets.payload.0;
        full.min(self.flows[flow as usize].bytes - u64::from(sequence) * full) as u16
    }

    /// Whether `end` is one past the last packet that `flow` will ever have.
    fn is_last(&self, flow: u32, end: u32) -> bool {
        let is_connection = self.connections.as_ref().is_some_and(|all| all.has(flow));
        !is_connection || end == self.count(flow)
    }

    /// How many packets `flow` has in all.
    fn count(&self, flow: u32) -> u32 {
        self.packets.count(self.flows[flow as usize].bytes)
    }

    /// The priority of such a packet.
    #[inline(always)]
    fn number(&self, flow: u32, sequence: u32, arrived: u32, now: Time) -> u32 {
        let this = &self.flows[flow as usize];
        let full = self.packets.payload.0;
        let remaining = this.bytes.saturating_sub(u64::from(arrived) * full);
        let sent = u64::from(sequence) * full;
        self.priority.number(&Leaving { flow: this, remaining, sent, now, nic: &self.nic })
    }

    /// A packet of `kind` from the receiver of `flow` back to its sender, of the highest priority.
    #[inline]
    fn answer(&self, kind: Kind, flow: u32, sequence: u32) -> Packet {
        Packet {
            key: 0,
            next: NIL,
            flow,
            sequence,
            priority: 0,
            to: self.flows[flow as usize].from,
            size: self.packets.ack.0 as u16,
            echo: 0,
            kind,
            marks: 0,
        }
    }
}

/// A wake-up for one end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Wake {
    /// The time.
    pub at: Time,
    /// The flow.
    pub flow: u32,
    /// The end of the flow that wakes.
    pub end: End,
}

/// One end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// The host that the flow starts from.
    Sender,
    /// The host that the flow goes to.
    Receiver,
}

/// What a transport at one host asks for at one time.
#[derive(Debug, Default)]
pub struct Outbox {
    /// The current time.
    pub now: Time,
    /// Packets to hand to the host's port now, in this order.
    pub packets: Vec<Packet>,
    /// Wake-ups to set; one that is no longer wanted is ignored when it comes.
    pub wakes: Vec<Wake>,
    /// Flows whose sender has just learnt that all has arrived.
    pub finished: Vec<u32>,
    /// Flows whose last missing packet has just come to the receiver.
    pub arrived: Vec<u32>,
    /// Whether any of these three lists has something, or ranks have notes: the engine looks at one place for
    /// what is rare.
    pub(crate) asks: bool,
    /// Data packets that the host's port takes at this time.
    pub capacity: usize,
    /// Whether its flow would send more than that, and was not held yet: it is
    /// [resumed](Transport::resume) when the port takes more.
    pub held: bool,
}

impl Outbox {
    /// Sets a wake-up.
    #[inline]
    pub(crate) fn wake(&mut self, at: Time, flow: u32, end: End) {
        self.wakes.push(Wake { at, flow, end });
        self.asks = true;
    }

    /// Says that `flow` is over for one of its ends.
    #[inline]
    pub(crate) fn over(&mut self, flow: u32, end: End) {
        match end {
            End::Sender => self.finished.push(flow),
            End::Receiver => self.arrived.push(flow),
        }
        self.asks = true;
    }
}

/// When a host under backpressure has a flow send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// While a packet is still before the link, two packets at a time, as an operating system does.
    Ahead,
    /// When the link is free, one packet at a time, as a network interface with a transport of its own
    /// does: a packet leaves when it is sent, so that a transport knows when.
    AtTheLink,
}

/// Both ends of all flows of one simulation. A sender's state is touched only in calls for the flow's
/// source host, a receiver's only in calls for its destination, so that hosts can be simulated in any order
/// within a window.
pub trait Transport {
    /// Whether a fabric can be estimated from its links simulated one by one: a flow asks for nothing
    /// but what comes back over the links of its path, link by link.
    const ESTIMABLE_BY_LINK: bool = false;

    /// Starts `flow`, at its source.
    fn start(&mut self, flow: u32, outbox: &mut Outbox);

    /// Has `flow`, a connection, send its packets before `end` too, at its source; starts it where it has not begun.
    fn extend(&mut self, flow: u32, end: u32, outbox: &mut Outbox);

    /// The first packet of `flow` that its receiver misses.
    fn first_missing(&self, flow: u32) -> u32;

    /// Takes in `packet`, which has come to the host it is for.
    fn receive(&mut self, packet: &Packet, outbox: &mut Outbox);

    /// Handles a wake-up that is due.
    fn wake(&mut self, wake: Wake, outbox: &mut Outbox);

    /// Goes on with `flow`, which was held, as the host's port takes more. Only transports that look at
    /// [`Outbox::capacity`] hold flows.
    fn resume(&mut self, _flow: u32, _outbox: &mut Outbox) {}

    /// When a host under backpressure has a flow send.
    fn asked(&self) -> Asked {
        Asked::Ahead
    }

    /// The priority of the next packet of `flow`, lower first; none where all are equal.
    fn urgency(&self, _flow: u32, _now: Time) -> Option<u32> {
        None
    }

    /// Resends, time-outs and progress of one flow so far.
    fn tally(&self, flow: u32) -> Tally;

    /// Forgets the longest time-out of one flow so far, as a measurement of it begins.
    fn begin_watch(&mut self, flow: u32);

    /// Bytes of one flow that its receiver has, each counted once.
    fn received(&self, flow: u32) -> u64;

    /// How fast one flow sends at `now`.
    fn speed(&self, _flow: u32, _now: Time) -> Speed {
        Speed::default()
    }

    /// What was seen of the flow that is watched packet by packet, if one is.
    fn take_seen(&mut self) -> Vec<Seen> {
        Vec::new()
    }

    /// Why it cannot go on, where it runs code that came with the study.
    fn failure(&self) -> Option<&CodeFailed> {
        None
    }
}

/// Resends, time-outs and progress of one flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Packets sent more than once.
    pub retransmits: u32,
    /// Expirations of its retransmission timer.
    pub timeouts: u32,
    /// Probes for the loss of its last packets; none where its sender sends no probes.
    pub probes: Option<u32>,
    /// Congestion notifications (CNPs) that its sender got; none where its rate follows none.
    pub cnps: Option<u32>,
    /// Packets from its first on, without a gap, that its sender knows have arrived.
    pub acknowledged: u32,
    /// The longest time after which its retransmission timer expired, or will if it is backed off now, since
    /// a measurement of it began; zero for none.
    pub longest_timeout: Span,
    /// A hash of window and ssthresh after every ACK outside of a recovery, where that is
    /// [asked for](Setup::digest_windows) and the flow has a window; 0 else.
    pub window_digest: u64,
}

impl Tally {
    /// The difference to an `earlier` tally of the same flow; what has no difference is as it is now.
    pub fn since(self, earlier: Tally) -> Tally {
        Tally {
            retransmits: self.retransmits - earlier.retransmits,
            timeouts: self.timeouts - earlier.timeouts,
            probes: self.probes.map(|probes| probes - earlier.probes.unwrap_or(0)),
            cnps: self.cnps.map(|cnps| cnps - earlier.cnps.unwrap_or(0)),
            acknowledged: self.acknowledged - earlier.acknowledged,
            ..self
        }
    }

    /// Counts a time-out of `span`.
    fn timed_out(&mut self, span: Span) {
        self.timeouts += 1;
        self.longest_timeout = self.longest_timeout.max(span);
    }
}
