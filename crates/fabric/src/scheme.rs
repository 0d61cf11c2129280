//! Schemes: a transport, a queue and a way to balance, under one name; or the ideal scheduler.

use crate::ideal::Ideal;
use crate::path::Balance;
use crate::pfc::Pfc;
use crate::python::surround;
use crate::queue::{
    BUFFER, CoDel, ControlLaw, Counting, Dequeue, Ecn, FqCoDel, PFabric, Pie, QueueKind, TrimMark,
    check_lossless,
};
use crate::transport::{
    AckPriority, Bbr, Control, Cubic, Dctcp, LineRate, MinTcp, NewReno, Priority, RateControl,
    Roce, Swift, TcpOptions, TransportKind, Uet, WindowLimits,
};
use sojourn_core::parameters::{
    Check, Entry, Parameters, Refusal, Setting, Shape, Table, Value, defaults,
};
use sojourn_core::{Bytes, Execution, Span, parameters};
use std::num::NonZeroU32;

/// How flows are carried.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "a case has one, and hardly any is ideal")]
pub enum Scheme {
    /// Packet by packet.
    Packets(PacketScheme),
    /// By the ideal scheduler, flow by flow.
    Ideal(Ideal),
}

parameters! {
    /// A scheme that a study puts together: its parts, under a name.
    pub struct PacketScheme: "scheme" {
        /// Name in results. The name of a known scheme starts from that scheme.
        pub name: String,
        /// Transport of the flows.
        pub transport: TransportKind,
        /// Queue discipline of the ports, including those of hosts.
        pub queue: QueueKind,
        /// How a packet's path is chosen among the shortest ones.
        pub balance: Balance = Balance::Ecmp,
        /// Priority of data packets.
        pub priority: Priority = Priority::None(defaults()),
        /// Priority of acknowledgements.
        pub ack_priority: AckPriority = AckPriority::Highest,
        /// How switches stop each other, and hosts, instead of dropping packets; by default not at all.
        pub pfc: Option<Pfc> = None,
    }
}

impl Check for PacketScheme {
    fn check(&self) -> Result<(), Refusal> {
        self.check_telemetry()?;
        if self.pfc.is_some() { check_lossless(&self.queue) } else { Ok(()) }
    }
}

/// A known scheme: its name, what it is, and how it is made.
struct Known {
    name: &'static str,
    summary: &'static str,
    make: fn() -> (TransportKind, QueueKind, Priority),
    balance: Balance,
    pfc: Option<fn() -> Pfc>,
}

/// The schemes of the pFabric paper, section 3. What its text leaves open is as in its authors'
/// published code: SACK, and the same initial window of 12 packets for all. TCP's time-out starts
/// at its floor because there flows run over connections that have long measured their round trip.
/// Behind them the peers that people ask for, with the same windows, timers and buffers where they
/// have such, and hosts of today.
const KNOWN: &[Known] = &[
    Known {
        name: "TCP+DropTail",
        summary: "TCP NewReno without fast retransmit, over 225 KB drop-tail queues, sprayed; \
                  minimum time-out 200 us (pFabric section 3, scheme i).",
        make: || sprayed_tcp(QueueKind::DropTail(defaults())),
        balance: Balance::Spray,
        pfc: None,
    },
    Known {
        name: "DCTCP",
        summary: "DCTCP without fast retransmit, over 225 KB queues that mark from 22.5 KB, \
                  sprayed; minimum time-out 200 us (pFabric section 3, scheme ii).",
        make: || {
            let transport = TransportKind::Dctcp(sprayed_dctcp());
            (transport, QueueKind::Ecn(defaults::<Ecn>()), Priority::None(defaults()))
        },
        balance: Balance::Spray,
        pfc: None,
    },
    Known {
        name: "MinTCP+pFabric",
        summary: "MinTCP over pFabric ports of 22.5 KB, which send the best flow's earliest packet first, \
                  priority by remaining size, sprayed; time-out 40 us (pFabric section 3, scheme iii, and its \
                  authors' code: with queue.dequeue = \"best\", the text's, a flow alone takes up to 1.5 \
                  times as long).",
        make: || {
            let transport = TransportKind::MinTcp(defaults::<MinTcp>());
            // Packets that leave later have less to go, so the text's rule has a flow overtake itself: the
            // ACKs of its first packets come late, and its window is empty before.
            let queue = PFabric { dequeue: Dequeue::EarliestOfFlow, ..defaults() };
            (transport, QueueKind::PFabric(queue), Priority::Remaining(defaults()))
        },
        balance: Balance::Spray,
        pfc: None,
    },
    Known {
        name: "LineRate+pFabric",
        summary: "No rate control over pFabric ports of 22.5 KB, priority by remaining size, \
                  sprayed; time-out 40 us (pFabric section 3, scheme iv).",
        make: || {
            let transport = TransportKind::LineRate(defaults::<LineRate>());
            (transport, QueueKind::PFabric(defaults::<PFabric>()), Priority::Remaining(defaults()))
        },
        balance: Balance::Spray,
        pfc: None,
    },
    Known {
        name: "PIAS",
        summary: "DCTCP without fast retransmit, over 8 levels of strict priority by bytes sent, which share 225 KB \
                  and mark from 22.5 KB, sprayed; thresholds for web search (PIAS, NSDI 2015).",
        make: || {
            let transport = TransportKind::Dctcp(sprayed_dctcp());
            (transport, QueueKind::Levels(defaults()), Priority::Sent(defaults()))
        },
        balance: Balance::Spray,
        pfc: None,
    },
    Known {
        name: "NDP",
        summary: "NDP, pulled by its receivers, over ports that trim beyond eight packets, sprayed; \
                  first window 20 packets (SIGCOMM 2017).",
        make: || {
            (
                TransportKind::Ndp(defaults()),
                QueueKind::Trim(defaults()),
                Priority::None(defaults()),
            )
        },
        balance: Balance::Spray,
        pfc: None,
    },
    Known {
        name: "UET NSCC",
        summary: "Ultra Ethernet with the sender's window, over ports that trim and mark, each packet by an \
                  entropy value of its own: good ones again, else bad ones skipped (UEC 1.0, section 3.6). \
                  Wants packets of 4150 B: payload 4086 B, header and ack 64 B.",
        make: || uet(Control::Nscc),
        balance: Balance::EntropyValue,
        pfc: None,
    },
    Known {
        name: "UET RCCC",
        summary: "Ultra Ethernet with credit of the receiver, over ports that trim and, inside of the fabric, mark; \
                  else as UET NSCC.",
        make: || uet(Control::Rccc),
        balance: Balance::EntropyValue,
        pfc: None,
    },
    Known {
        name: "UET NSCC+RCCC",
        summary: "Ultra Ethernet with both, the sender's window and credit of the receiver; else as UET RCCC.",
        make: || uet(Control::Both),
        balance: Balance::EntropyValue,
        pfc: None,
    },
    Known {
        name: "RoCE DCQCN",
        summary: "RoCE v2 under DCQCN, over queues that mark from 5 KB on, each flow on one path, and switches that \
                  stop each other (PFC) above 60 KB at a port (Zhu et al., SIGCOMM 2015: values for 40 Gb/s).",
        make: || roce(RateControl::Dcqcn(defaults()), QueueKind::Red(defaults())),
        balance: Balance::Ecmp,
        pfc: Some(defaults),
    },
    Known {
        name: "RoCE PFC only",
        summary: "RoCE v2 at the speed of each host's link: pauses alone slow flows down; else as RoCE DCQCN.",
        make: || roce(RateControl::LineSpeed(defaults()), drop_tail()),
        balance: Balance::Ecmp,
        pfc: Some(defaults),
    },
    Known {
        name: "HPCC",
        summary: "HPCC, whose windows follow the load that ports measure, each flow on one path, over switches that \
                  stop each other (PFC) above 60 KB at a port (Li et al., SIGCOMM 2019).",
        make: || {
            let transport = TransportKind::Hpcc(defaults());
            (transport, QueueKind::Telemetry(defaults()), Priority::None(defaults()))
        },
        balance: Balance::Ecmp,
        pfc: Some(defaults),
    },
    Known {
        name: "Swift",
        summary: "Swift without fast retransmit, over 225 KB drop-tail queues, sprayed; target 20 us \
                  and 3 us a switch, minimum time-out 200 us (SIGCOMM 2020).",
        make: || {
            let TcpOptions { min_rto, initial_rto, fast_retransmit, .. } = sprayed();
            let swift =
                Swift { window: window(), min_rto, initial_rto, fast_retransmit, ..defaults() };
            (
                TransportKind::Swift(swift),
                QueueKind::DropTail(defaults()),
                Priority::None(defaults()),
            )
        },
        balance: Balance::Spray,
        pfc: None,
    },
    Known {
        name: "TCP+CoDel",
        summary: "TCP NewReno without fast retransmit, over 225 KB queues under CoDel with a target of 50 us and \
                  an interval of 1 ms, sprayed; minimum time-out 200 us (RFC 8289).",
        make: || {
            let queue = CoDel {
                law: datacentre(),
                buffer: BUFFER,
                counting: Counting::Bytes,
                ..defaults()
            };
            sprayed_tcp(QueueKind::CoDel(queue))
        },
        balance: Balance::Spray,
        pfc: None,
    },
    Known {
        name: "TCP+FQ-CoDel",
        summary: "TCP NewReno without fast retransmit, over 225 KB of flow queues under CoDel with a target of \
                  50 us and an interval of 1 ms, sprayed; minimum time-out 200 us (RFC 8290).",
        make: || {
            let queue = FqCoDel {
                law: datacentre(),
                buffer: BUFFER,
                counting: Counting::Bytes,
                ..defaults()
            };
            sprayed_tcp(QueueKind::FqCoDel(queue))
        },
        balance: Balance::Spray,
        pfc: None,
    },
    Known {
        name: "TCP+PIE",
        summary: "TCP NewReno without fast retransmit, over 225 KB queues under PIE with a target of 50 us, \
                  sprayed; minimum time-out 200 us (RFC 8033).",
        make: || {
            let target = Span::from_us(50);
            let queue = Pie {
                target,
                update: target,
                alpha: 37.5,
                beta: 375.0,
                max_burst: Span::from_us(500),
                buffer: BUFFER,
                counting: Counting::Bytes,
                ..defaults()
            };
            sprayed_tcp(QueueKind::Pie(queue))
        },
        balance: Balance::Spray,
        pfc: None,
    },
    Known {
        name: "Linux CUBIC",
        summary: "TCP CUBIC on a host with Linux, over drop-tail queues, each flow on one path: losses found by \
                  time (RACK), probes for the last packets of a flight, PRR, F-RTO, a time-out of the round \
                  trip and 200 ms or more, in ticks of 4 ms.",
        make: || {
            let cubic = Cubic { hystart: true, options: TcpOptions::linux(), ..defaults() };
            (TransportKind::Cubic(cubic), drop_tail(), Priority::None(defaults()))
        },
        balance: Balance::Ecmp,
        pfc: None,
    },
    Known {
        name: "Linux Reno",
        summary: "TCP NewReno on a host with Linux; else as Linux CUBIC.",
        make: || {
            let reno = NewReno { options: TcpOptions::linux(), ..defaults() };
            (TransportKind::NewReno(reno), drop_tail(), Priority::None(defaults()))
        },
        balance: Balance::Ecmp,
        pfc: None,
    },
    Known {
        name: "Linux BBR",
        summary: "BBR, version 1, on a host with Linux: it sends at the rate that the path delivers, whatever is lost; \
                  else as Linux CUBIC.",
        make: || {
            let bbr = Bbr { options: TcpOptions::linux(), ..defaults() };
            (TransportKind::Bbr(bbr), drop_tail(), Priority::None(defaults()))
        },
        balance: Balance::Ecmp,
        pfc: None,
    },
    Known {
        name: "Linux DCTCP",
        summary: "DCTCP on a host with Linux, over queues that mark from 65 packets, 97.5 KB, which Linux's page \
                  on DCTCP has for 10 Gb/s; else as Linux CUBIC.",
        make: || {
            let dctcp = Dctcp { options: TcpOptions::linux(), ..defaults() };
            let queue = Ecn { threshold: Bytes(97_500), ..defaults() };
            (TransportKind::Dctcp(dctcp), QueueKind::Ecn(queue), Priority::None(defaults()))
        },
        balance: Balance::Ecmp,
        pfc: None,
    },
];

/// CoDel for round trips between the hosts of a data centre.
fn datacentre() -> ControlLaw {
    ControlLaw { target: Span::from_us(50), interval: Span::from_ms(1) }
}

fn sprayed_tcp(queue: QueueKind) -> (TransportKind, QueueKind, Priority) {
    let tcp = NewReno { window: window(), options: sprayed() };
    (TransportKind::NewReno(tcp), queue, Priority::None(defaults()))
}

fn uet(control: Control) -> (TransportKind, QueueKind, Priority) {
    // What waits for a host was asked for, where receivers give credit.
    let queue = TrimMark { marks_to_hosts: control == Control::Nscc, ..defaults() };
    let transport = TransportKind::Uet(Uet { control, ..defaults() });
    (transport, QueueKind::TrimMark(queue), Priority::None(defaults()))
}

fn roce(rate: RateControl, queue: QueueKind) -> (TransportKind, QueueKind, Priority) {
    (TransportKind::Roce(Roce { rate, ..defaults() }), queue, Priority::None(defaults()))
}

fn drop_tail() -> QueueKind {
    QueueKind::DropTail(defaults())
}

fn window() -> WindowLimits {
    WindowLimits { initial_window: NonZeroU32::new(12).expect("12"), window_cap: None }
}

/// TCP's options where packets are sprayed over paths: out of order says nothing of losses.
fn sprayed() -> TcpOptions {
    let rto = Span::from_us(200);
    TcpOptions {
        min_rto: rto,
        initial_rto: Some(rto),
        fast_retransmit: false,
        limited_transmit: false,
        abc_limit: None,
        ..defaults()
    }
}

fn sprayed_dctcp() -> Dctcp {
    Dctcp { window: window(), options: sprayed(), ..defaults() }
}

impl PacketScheme {
    /// HPCC needs ports that measure, and packets that carry what these say.
    fn check_telemetry(&self) -> Result<(), Refusal> {
        if !matches!(self.transport, TransportKind::Hpcc(_)) {
            return Ok(());
        }
        if !matches!(self.queue, QueueKind::Telemetry(_)) {
            let expected = "\"telemetry\" for the transport hpcc, which follows what ports measure";
            return Err(
                Refusal::value(&Value::Text(self.queue.name().to_owned()), expected).under("queue")
            );
        }
        if matches!(self.balance, Balance::Entropy | Balance::EntropyValue) {
            let expected =
                "\"ecmp\" for the transport hpcc, whose packets have no room for an entropy";
            return Err(Refusal::of(&self.balance, expected).under("balance"));
        }
        Ok(())
    }

    /// The known scheme called `name`.
    pub fn known(name: &str) -> Option<PacketScheme> {
        let known = KNOWN.iter().find(|known| known.name == name)?;
        let (transport, queue, priority) = (known.make)();
        Some(PacketScheme {
            name: name.to_owned(),
            transport,
            queue,
            balance: known.balance,
            priority,
            ack_priority: AckPriority::Highest,
            pfc: known.pfc.map(|pfc| pfc()),
        })
    }

    /// Calls `simulate`, which runs a simulation as `execution` says, in the way in which the Python
    /// classes of the scheme are fastest.
    pub(crate) fn surround<R>(&self, execution: Execution<'_>, simulate: impl FnOnce() -> R) -> R {
        let transport = self.transport.class().into_iter();
        surround(&transport.chain(self.queue.classes()).collect::<Vec<_>>(), execution, simulate)
    }

    /// A table with the name of a known scheme changes that one; another says all.
    fn read_over_known(table: &Table) -> Result<PacketScheme, Refusal> {
        let known = match table.get("name") {
            Some(Value::Text(name)) => PacketScheme::known(name),
            _ => None,
        };
        if let Some(scheme) = known {
            let mut merged = scheme.write_table();
            merge(&mut merged, table);
            return PacketScheme::read_table(&merged);
        }
        PacketScheme::read_table(table).map_err(|refusal| match table.get("name") {
            Some(name) if refusal.given.is_none() && !refusal.unknown_key => {
                let expected = "known scheme, or transport and queue too";
                Refusal::name(name, expected, Scheme::names()).under("name")
            }
            _ => refusal,
        })
    }
}

impl Scheme {
    /// The names of all known schemes.
    fn names() -> Vec<&'static str> {
        KNOWN.iter().map(|known| known.name).chain([Ideal::NAME]).collect()
    }

    /// The known schemes, documented.
    pub fn entries() -> Vec<Entry> {
        let entry = |known: &Known| {
            let scheme = PacketScheme::known(known.name).expect("a scheme of the list");
            let mut entry = PacketScheme::entry();
            let table = scheme.write_table();
            for field in &mut entry.parameters {
                field.default = table.get(field.name).cloned();
            }
            Entry { name: known.name, summary: known.summary, ..entry }
        };
        KNOWN.iter().map(entry).chain([Ideal::entry()]).collect()
    }
}

/// A known scheme by its name, or a table: with the name of a known scheme, what it says changes
/// that one; with another name it says all.
impl Setting for Scheme {
    fn expected() -> String {
        "the name of a known scheme, or a table with name, transport and queue".to_owned()
    }

    fn shape() -> Shape {
        Shape::Kind {
            what: "scheme",
            key: "name",
            entries: Scheme::entries,
            other: Some(PacketScheme::entry),
        }
    }

    fn read(value: &Value) -> Result<Scheme, Refusal> {
        match value {
            Value::Text(name) if name == Ideal::NAME => Ok(Scheme::Ideal(defaults())),
            Value::Text(name) => PacketScheme::known(name)
                .map(Scheme::Packets)
                .ok_or_else(|| Refusal::name(value, "scheme", Scheme::names())),
            Value::Table(table) => match table.get("name") {
                Some(Value::Text(name)) if name == Ideal::NAME => {
                    let mut own = table.clone();
                    own.remove("name");
                    Ideal::read_table(&own).map(Scheme::Ideal)
                }
                _ => PacketScheme::read_over_known(table).map(Scheme::Packets),
            },
            _ => Err(Refusal::value(value, Self::expected())),
        }
    }

    fn write(&self) -> Option<Value> {
        Some(Value::Table(match self {
            Scheme::Packets(scheme) => scheme.write_table(),
            Scheme::Ideal(ideal) => {
                let mut table = Table::default();
                table.set("name", Value::Text(Ideal::NAME.to_owned()));
                merge(&mut table, &ideal.write_table());
                table
            }
        }))
    }
}

/// Lays `over` on `base`: tables are merged, unless they name another kind.
fn merge(base: &mut Table, over: &Table) {
    for (key, value) in over.iter() {
        match (base.get_mut(key), value) {
            (Some(Value::Table(below)), Value::Table(above))
                if above.get("kind").is_none() || above.get("kind") == below.get("kind") =>
            {
                merge(below, above);
            }
            _ => base.set(key, value.clone()),
        }
    }
}
