//! What holds on every fabric, under every scheme: on random small ones, the same each time.

use crate::common::*;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use sojourn_core::parameters::{Entry, Setting, Table, Value, defaults};
use sojourn_core::{Bytes, Rate, Span, Streams, Time};
use sojourn_fabric::queue::QueueKind;
use sojourn_fabric::topology::{FatTree, Forwarding, LeafSpine, SingleSwitch, Topology};
use sojourn_fabric::transport::{AckPriority, Deadline, Priority, Sent, TransportKind};
use sojourn_fabric::{Balance, Buffer, Flow, PacketScheme, Packets, Scheme};
use sojourn_properties::cases;
use std::fmt::Debug;

/// What hosts take for a packet so that hardly two of them ever come to one switch at one moment: their
/// order would depend on the time. Behind several switches packets that went apart still meet.
const NO_TIES: f64 = 100.0;

/// Rates in Mb/s. A byte takes a whole number of picoseconds at the first four, not at the others.
const RATES: [u64; 7] = [1_000, 10_000, 25_000, 40_000, 3_000, 7_300, 9_999];
/// Delays in picoseconds.
const DELAYS: [u64; 5] = [0, 1, 383_000, 384_000, 5_000_001];

fn topologies(rates: &'static [u64], delays: &'static [u64]) -> impl Strategy<Value = Topology> {
    let rate = move || select(rates).prop_map(|mbps| Rate::new(mbps * 1_000_000).expect("some"));
    let delay = move || select(delays).prop_map(Span::from_ps);
    let single_switch = (2u32..9, rate(), delay(), prop::option::of(rate()));
    let leaf_spine = {
        let times = select(&[1u64, 2, 4][..]);
        (1u32..4, 2u32..5, 1u32..4, 1u32..4, rate(), times, delay(), delay())
    };
    let fat_tree = (select(&[2u32, 4][..]), rate(), delay());
    prop_oneof![
        single_switch.prop_map(|(hosts, rate, delay, uplink)| Topology::SingleSwitch(
            SingleSwitch { hosts, rate, delay, uplink, delay_spread: Span::ZERO, clock_ppm: 0 }
        )),
        leaf_spine.prop_map(|(racks, hosts, spines, uplinks, rate, times, delay, host_delay)| {
            let uplink_rate = Rate::new(rate.bits_per_second() * times).expect("some");
            Topology::LeafSpine(LeafSpine {
                racks,
                hosts,
                spines,
                uplinks,
                rate,
                uplink_rate,
                delay,
                host_delay,
                delay_spread: Span::ZERO,
                clock_ppm: 0,
            })
        }),
        fat_tree.prop_map(|(k, rate, delay)| Topology::FatTree(FatTree { k, rate, delay })),
    ]
}

/// What the settings of transports and queues are drawn from, by their names; those that are not
/// here keep their defaults. Fixed timers are longer than all packets of all flows take on the
/// slowest link: senders that never back off can keep each other's ACKs out of a small buffer for
/// ever.
const SETTINGS: &[(&str, &[&str])] = &[
    ("initial_window", &["1", "2", "3", "5", "8", "13", "21", "29"]),
    ("window_cap", &["none", "none", "1", "4", "11", "29"]),
    ("min_rto", &["100us", "200us", "1ms"]),
    ("initial_rto", &["200us", "1ms"]),
    ("rto", &["1ms", "3ms"]),
    ("fast_retransmit", &["true", "false"]),
    ("dupthresh", &["1", "3", "8"]),
    ("limited_transmit", &["true", "false"]),
    ("abc_limit", &["none", "1", "2"]),
    ("sack", &["true", "true", "false"]),
    ("rack", &["true", "false"]),
    ("tail_loss_probe", &["true", "false"]),
    ("prr", &["true", "false"]),
    ("f_rto", &["true", "false"]),
    ("hystart", &["true", "false"]),
    ("timeout_rule", &["rfc6298", "linux"]),
    ("known_round_trip", &["true", "false"]),
    ("restart_after_idle", &["true", "false"]),
    ("clock_tick", &["none", "none", "100us"]),
    ("ack_delay", &["none", "10us", "300us"]),
    ("initial_alpha", &["0.0", "0.3", "1.0"]),
    ("base_target", &["1us", "20us"]),
    ("fs_range", &["0s", "100us"]),
    ("min_cwnd", &["0.001", "0.5", "1.0"]),
    ("buffer", &["1500B", "4KB", "22.5KB", "225KB"]),
    ("headers", &["1500B", "12KB"]),
    ("threshold", &["0B", "1500B", "4KB", "22.5KB"]),
    ("levels", &["1", "2", "8"]),
    ("counting", &["bytes", "packets"]),
    ("quantum", &["1500B", "4KB"]),
    ("victim", &["longest", "arriving"]),
    ("control", &["nscc", "rccc", "nscc+rccc"]),
    ("spraying", &["oblivious", "bitmap", "reps", "mixed"]),
    ("ack_every", &["1B", "5KB", "16KB"]),
    ("timed_out_entropy", &["lost", "zero"]),
    ("last_hop_trims", &["ignored", "quick-adapt"]),
    ("untimed_acks", &["average", "nothing"]),
    ("oversubscription", &["none", "1", "4"]),
    ("rate", &["line-rate", "dcqcn", "dcqcn-vendor"]),
    ("window", &["none", "1B", "20KB"]),
    ("kmin", &["0B", "4KB"]),
    ("pmax", &["0.01", "1.0"]),
    ("marks_to_hosts", &["true", "false"]),
    ("trims", &["true", "true", "false"]),
    ("between", &["weighted", "strict"]),
    ("ties", &["random", "arrival"]),
    ("dequeue", &["best", "earliest-of-flow"]),
];
/// Any variant of those in `entries`, however it is set.
fn any_of<T: Setting + Debug>(entries: Vec<Entry>) -> impl Strategy<Value = T> {
    let choices = prop::collection::vec(any::<Index>(), SETTINGS.len());
    (select(entries), choices).prop_filter_map("settings that go together", |(entry, choices)| {
        let mut table = Table::default();
        table.set("kind", Value::Text(entry.name.to_owned()));
        for ((name, values), choice) in SETTINGS.iter().zip(choices) {
            if entry.parameters.iter().any(|field| field.name == *name) {
                table.set(name, value(choice.get::<&str>(values)));
            }
        }
        T::read(&Value::Table(table)).ok()
    })
}

/// Whole schemes, also the known ones as they are. LineRate gets the queue it is made for: in
/// front of another its packets keep ACKs out for ever. So does NDP: in front of a queue that holds a
/// single packet and trims none, all that timed out goes again at once, for ever in one phase.
fn schemes(priorities: Vec<Priority>) -> impl Strategy<Value = PacketScheme> {
    let balance =
        select(&[Balance::Spray, Balance::Ecmp, Balance::Entropy, Balance::EntropyValue][..]);
    let ack_priority = select(&[AckPriority::Highest, AckPriority::Data][..]);
    let parts = (any_of(TransportKind::entries()), any_of(QueueKind::entries()));
    let own = (parts, balance, select(priorities), ack_priority).prop_map(
        |((transport, queue), balance, priority, ack_priority)| match transport {
            TransportKind::LineRate(_) => {
                PacketScheme { transport, balance, ..known("LineRate+pFabric") }
            }
            TransportKind::Ndp(_)
                if !matches!(queue, QueueKind::Trim(_) | QueueKind::TrimMark(_)) =>
            {
                PacketScheme { transport, balance, ..known("NDP") }
            }
            _ => PacketScheme { balance, priority, ack_priority, ..scheme(transport, queue) },
        },
    );
    let known = Scheme::entries().into_iter().filter_map(|entry| PacketScheme::known(entry.name));
    prop_oneof![4 => own, 1 => select(known.collect::<Vec<_>>())]
}

/// Those that look at no clock.
fn timeless() -> Vec<Priority> {
    let few = Sent { thresholds: vec![Bytes(3_000), Bytes(20_000)] };
    vec![
        Priority::Remaining(defaults()),
        Priority::Size(defaults()),
        Priority::Sent(few),
        Priority::None(defaults()),
    ]
}

fn priorities() -> Vec<Priority> {
    let demoting = Deadline { demote: true, ..defaults() };
    let timed = [Priority::Deadline(defaults()), Priority::Deadline(demoting)];
    timeless().into_iter().chain(timed).collect()
}

fn packets() -> impl Strategy<Value = Packets> {
    let sizes = select(&[(1460, 40, 40), (1460, 40, 40), (500, 20, 64), (1000, 58, 84)][..]);
    sizes.prop_map(|(payload, header, ack)| Packets {
        payload: Bytes(payload),
        header: Bytes(header),
        ack: Bytes(ack),
    })
}

fn forwarding() -> impl Strategy<Value = Forwarding> {
    select(&[Forwarding::StoreAndForward, Forwarding::StoreAndForward, Forwarding::CutThrough][..])
}

/// Every other one is the disciplines' own; the others are small.
fn buffers() -> impl Strategy<Value = Buffer> {
    let small = select(vec![
        buffer("per-port", &[("size", "22.5KB"), ("cell", "208B")]),
        buffer("static", &[("size", "120KB")]),
        buffer("shared", &[("size", "30KB")]),
        buffer("shared", &[("size", "20KB"), ("alpha", "0.5")]),
        buffer("shared", &[("size", "20KB"), ("alpha", "none"), ("cell", "256B")]),
        buffer("reserved", &[("size", "60KB"), ("alpha", "2")]),
        buffer("deep", &[("size", "1MB"), ("cap", "60us")]),
        buffer("jericho", &[]),
    ]);
    prop_oneof![1 => Just(Buffer::default()), 1 => small]
}

/// Anything that can run: up to 30 flows of up to 40 KB within 300 us, many at the same moments.
fn labs() -> impl Strategy<Value = (Lab, Vec<Flow>)> {
    let fabric = (topologies(&RATES, &DELAYS), forwarding());
    let parts = (fabric, schemes(priorities()), buffers(), packets(), any::<u64>());
    let lab = parts.prop_map(|((topology, forwarding), scheme, buffer, packets, seed)| Lab {
        buffer,
        packets,
        forwarding,
        streams: Streams::new(seed, 0),
        ..Lab::new(topology, scheme)
    });
    (lab, draws()).prop_map(|(lab, draws)| {
        let flows = flows(&lab.topology, draws);
        (lab, flows)
    })
}

/// What a flow is made of: two hosts, a size, an arrival and a deadline.
type Drawn = (u16, u16, u64, u64, Option<u64>);

fn draws() -> impl Strategy<Value = Vec<Drawn>> {
    let arrival = prop_oneof![0u64..300_000_000, (0u64..20).prop_map(|us| us * 10_000_000)];
    let deadline = prop::option::of(1u64..1_000_000_000);
    let flow = (any::<u16>(), any::<u16>(), 1u64..40_000, arrival, deadline);
    prop::collection::vec(flow, 1..30)
}

fn flows(topology: &Topology, draws: Vec<Drawn>) -> Vec<Flow> {
    let hosts = topology.graph().hosts() as u16;
    let mut flows: Vec<Flow> = draws
        .into_iter()
        .map(|(a, b, bytes, ps, deadline)| {
            let from = a % hosts;
            let mut flow = flow(from, (from + 1 + b % (hosts - 1)) % hosts, bytes, ps);
            flow.deadline = deadline.map_or(Time::NEVER, |ps| flow.arrived + Span::from_ps(ps));
            flow.class = (bytes % 4) as u8;
            flow
        })
        .collect();
    flows.sort_by_key(|flow| flow.arrived);
    flows
}

const HOUR: u64 = 3_600_000_000_000_000;

fn later(flows: &[Flow], by: Span) -> Vec<Flow> {
    let later = |time: Time| if time == Time::NEVER { time } else { time + by };
    let moved = |flow: &Flow| Flow {
        arrived: later(flow.arrived),
        deadline: later(flow.deadline),
        ..*flow
    };
    flows.iter().map(moved).collect()
}

proptest! {
    // An idle hour and a second run make each case slow.
    #![proptest_config(cases(60))]

    /// Time has no marks on it: everything some picoseconds later gives the same sojourn times and the
    /// same totals, wherever the engine's windows begin.
    #[test]
    fn the_hour_does_not_matter((mut lab, mut flows) in labs(), by in 1u64..10_000_000_000) {
        prop_assume!(matches!(lab.topology, Topology::SingleSwitch(_)) && !has_a_clock(&lab));
        lab.hosts.overhead = NO_TIES;
        flows.push(flow(0, 1, 1, HOUR));
        // The last window is simulated to its end, which depends on the hour. So both runs are cut an
        // hour after the last acknowledgement, as the last flow starts: it has sent its one packet, and
        // there is nothing else.
        flows.push(flow(0, 1, 1, 2 * HOUR));
        lab.drain = Span::ZERO;
        let (now, then) = (lab.run(&flows), lab.run(&later(&flows, Span::from_ps(by))));
        for column in ["sojourn_ps", "retransmits", "timeouts"] {
            prop_assert_eq!(now.rows.ints(column), then.rows.ints(column), "{}", column);
        }
        for run in [&now, &then] {
            prop_assert_eq!((run.figure("unfinished"), run.figure("packets_in_network")), (1, 1));
        }
        for total in ["packets_injected", "packets_marked", "hops"] {
            prop_assert_eq!(now.figure(total), then.figure(total), "{}", total);
        }
        prop_assert_eq!(now.drops(), then.drops());
    }
}

proptest! {
    #![proptest_config(cases(300))]

    /// Everything arrives in the end, nothing faster than it can, and no packet is lost from
    /// sight: an hour later the fabric is empty, and a last packet finds it so.
    #[test]
    fn packets_are_conserved_and_nothing_is_faster_than_the_ideal((lab, mut flows) in labs()) {
        flows.push(flow(0, 1, 1, HOUR));
        let run = lab.run(&flows);
        let [sojourn, ideal, finished, arrived] =
            ["sojourn_ps", "ideal_ps", "finished_ps", "arrived_ps"].map(|name| run.rows.ints(name));
        for i in 0..flows.len() {
            prop_assert!(sojourn[i] >= ideal[i], "flow {i}: {} < {}", sojourn[i], ideal[i]);
            prop_assert_eq!(finished[i], arrived[i] + sojourn[i]);
            prop_assert_eq!(arrived[i] as u64, flows[i].arrived.ps());
        }
        prop_assert!(run.rows.floats("slowdown").iter().all(|slowdown| *slowdown >= 1.0));
        prop_assert!(finished[..flows.len() - 1].iter().all(|&at| at < HOUR as i64));
        let last = flows.len() - 1;
        let held = setting(&lab.scheme.transport, "ack_delay").unwrap_or(Span::ZERO);
        // When the receiver holds the ACK back, or until the sender has lost its patience.
        prop_assert!((ideal[last]..=ideal[last] + held.ps() as i64).contains(&sojourn[last]));

        let totals = ["packets_injected", "packets_delivered", "packets_in_network"];
        let [injected, delivered, under_way] = totals.map(|name| run.figure(name));
        prop_assert_eq!(injected, delivered + run.drops() + under_way);
        let sent = run.sum("packets") + run.sum("retransmits");
        // A packet is answered once; under NDP by a PULL too, under RoCE by a CNP, and under Ultra Ethernet by a
        // PULL, and its senders may ask as well.
        let answers = match lab.scheme.transport.name() {
            "ndp" | "roce" => 2,
            "uet" => 3,
            _ => 1,
        };
        prop_assert!(sent < injected && injected <= (1 + answers) * sent);
        // What the last flow resent for lack of patience is all that can still be there.
        prop_assert!(under_way <= 2 * run.rows.ints("retransmits")[last]);
    }

    /// One case gives one set of rows and totals.
    #[test]
    fn the_same_case_gives_the_same_results((lab, flows) in labs()) {
        // As texts, in which what is not a number equals itself.
        let [once, again] = [(); 2].map(|()| format!("{:?}", lab.run(&flows)));
        prop_assert_eq!(once, again);
    }

    /// A run that is cut short knows the same as a long one, so far; what is not done by then is
    /// reported as not done, and is a row like any other.
    #[test]
    fn a_short_run_is_the_beginning_of_a_long_one(
        (mut lab, flows) in labs(), drain in 0u64..200_000_000
    ) {
        let long = lab.run(&flows);
        lab.drain = Span::from_ps(drain);
        let short = lab.run(&flows);
        let horizon = (flows[flows.len() - 1].arrived.ps() + drain) as i64;
        let expected: Vec<i64> = long.rows.ints("finished_ps").iter()
            .map(|&at| if at <= horizon { at } else { -1 })
            .collect();
        prop_assert_eq!(short.rows.ints("finished_ps"), &expected);
        let unfinished = expected.iter().filter(|&&at| at == -1).count();
        prop_assert_eq!(short.figure("unfinished"), unfinished as i64);
        let slowdowns = short.rows.floats("slowdown");
        prop_assert_eq!(slowdowns.iter().filter(|slowdown| slowdown.is_nan()).count(), unfinished);
    }
}

proptest! {
    #![proptest_config(cases(300))]

    /// Links half as fast and twice as long, timers and gaps twice as long: everything takes twice
    /// as long, but for a picosecond a packet, as hosts draw what they take.
    #[test]
    fn a_slower_world_is_the_same_world(
        topology in topologies(&RATES[..4], &DELAYS),
        forwarding in forwarding(),
        scheme in schemes(timeless()),
        draws in draws(),
    ) {
        prop_assume!(matches!(topology, Topology::SingleSwitch(_)));
        let mut lab = Lab { forwarding, ..Lab::new(topology, scheme) };
        prop_assume!(!has_a_clock(&lab) && !has_times_of_its_own(&lab.scheme.transport));
        lab.hosts.overhead = NO_TIES;
        if setting(&lab.scheme.transport, "min_rto").is_some() {
            // An estimate is rounded; out of its reach, the floor is what counts.
            set(&mut lab.scheme.transport, "min_rto", "100ms");
        }
        if let TransportKind::Swift(swift) = &mut lab.scheme.transport {
            // So is the pause between the packets of a smaller window.
            swift.min_cwnd = 1.0;
        }
        let mut flows = flows(&lab.topology, draws);
        let fast = lab.run(&flows);
        // No sender doubles its timer up to the minute where that ends.
        prop_assume!(fast.rows.ints("timeouts").iter().all(|&timeouts| timeouts < 8));
        slow_down(&mut lab);
        for flow in &mut flows {
            flow.arrived = Time::from_ps(2 * flow.arrived.ps());
            flow.deadline = Time::NEVER;
        }
        let slow = lab.run(&flows);
        for (slow, fast) in slow.fcts().into_iter().zip(fast.fcts()) {
            prop_assert!(slow.abs_diff(2 * fast) <= 1000, "{slow} ps and {fast} ps");
        }
        prop_assert_eq!(slow.drops(), fast.drops());
        prop_assert_eq!(slow.figure("packets_injected"), fast.figure("packets_injected"));
    }

    /// One flow at a time under MinTCP: nothing is dropped, nothing is sent twice, and nothing is
    /// waited for but a short last packet behind the full one before it.
    #[test]
    fn min_tcp_is_ideal_in_an_idle_fabric(
        topology in topologies(&RATES[1..4], &DELAYS[..4]),
        forwarding in forwarding(),
        queue in select(vec![pfabric(), drop_tail(22_500), QueueKind::Ecn(defaults())]),
        balance in select(&[Balance::Spray, Balance::Ecmp][..]),
        draws in draws(),
    ) {
        let transport = TransportKind::MinTcp(defaults());
        let scheme = PacketScheme {
            balance, priority: Priority::Remaining(defaults()), ..scheme(transport, queue)
        };
        let mut flows = flows(&topology, draws);
        for (i, flow) in (0..).zip(&mut flows) {
            flow.arrived = Time::from_ps(i * 1_000_000_000);
            flow.bytes %= 11 * FULL;
            flow.bytes += 1;
            flow.deadline = Time::NEVER;
        }
        let lab = Lab { forwarding, ..Lab::new(topology, scheme) };
        let run = lab.run(&flows);
        prop_assert_eq!((run.drops(), run.sum("timeouts"), run.sum("retransmits")), (0, 0, 0));
        let times = run.fcts().into_iter().zip(run.rows.ints("ideal_ps"));
        for (flow, (fct, &ideal)) in flows.iter().zip(times) {
            let last = lab.packets.wire(lab.packets.last_payload(flow.bytes));
            let behind = if lab.packets.count(flow.bytes) == 1 { 0 } else { u64::from(last) * 800 };
            prop_assert!((ideal as u64..=ideal as u64 + behind).contains(&fct));
        }
        prop_assert_eq!(run.figure("packets_injected"), 2 * run.sum("packets"));
    }
}

/// Doubles all times of a lab.
fn slow_down(lab: &mut Lab) {
    lab.topology = Topology::read(&slower(&lab.topology.write().expect("a table"))).expect("one");
    let transport = slower(&lab.scheme.transport.write().expect("a table"));
    lab.scheme.transport = TransportKind::read(&transport).expect("a transport");
    let queue = slower(&lab.scheme.queue.write().expect("a table"));
    lab.scheme.queue = QueueKind::read(&queue).expect("a queue");
}

/// Whether something happens at times that depend on nothing but the seed: PIE's adjustments, ticks of a host's
/// clock.
fn has_a_clock(lab: &Lab) -> bool {
    matches!(lab.scheme.queue, QueueKind::Pie(_))
        || setting(&lab.scheme.transport, "clock_tick").is_some()
}

/// Whether there are times that nobody can set: Linux's two milliseconds, Ultra Ethernet's 15 us, and those for
/// which BBR remembers.
fn has_times_of_its_own(transport: &TransportKind) -> bool {
    if ["uet", "bbr"].contains(&transport.name()) {
        return true;
    }
    let Some(Value::Table(table)) = transport.write() else { return false };
    table.get("rack") == Some(&Value::Bool(true))
}

/// Rates halved, times doubled.
fn slower(value: &Value) -> Value {
    if let Value::Table(table) = value {
        let mut slow = Table::default();
        table.iter().for_each(|(key, value)| slow.set(key, slower(value)));
        return Value::Table(slow);
    }
    let rate = Rate::read(value).ok().and_then(|rate| Rate::new(rate.bits_per_second() / 2));
    let rate = rate.and_then(|rate| rate.write());
    let span = || Span::read(value).ok().and_then(|span| (span * 2).write());
    rate.or_else(span).unwrap_or_else(|| value.clone())
}

/// A time that `part` is set to.
fn setting(part: &TransportKind, key: &str) -> Option<Span> {
    let Some(Value::Table(table)) = part.write() else { return None };
    table.get(key).and_then(|value| Span::read(value).ok())
}

fn set(part: &mut TransportKind, key: &str, text: &str) {
    let Some(Value::Table(mut table)) = part.write() else { unreachable!("a table") };
    table.set(key, Value::Text(text.to_owned()));
    *part = TransportKind::read(&Value::Table(table)).expect("a transport");
}
