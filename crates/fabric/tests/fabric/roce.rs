//! RoCE and priority flow control: against uet-htsim without DCQCN, and what a lossless fabric promises.

use crate::common::*;
use proptest::prelude::*;
use sojourn_core::parameters::defaults;
use sojourn_core::{Bytes, Span, Streams};
use sojourn_fabric::pfc::{Acks, Dynamic, Fixed, Pfc, Thresholds};
use sojourn_fabric::topology::{
    Cable, FatTree, Forwarding, HostGroup, LeafSpine, Listed, SingleSwitch, Topology,
};
use sojourn_fabric::{Balance, Flow, Hosts, Packets};
use sojourn_properties::cases;

/// 16 hosts at 100 Gb/s, links of 1 us, packets of 4064 bytes, thresholds of 12 and 15 packets, and one class: as
/// uet-htsim's `htsim_roce`.
fn lab() -> Lab {
    let tree = FatTree { k: 4, rate: gbps(100), delay: Span::from_us(1) };
    let packets = Packets { payload: Bytes(4000), header: Bytes(64), ack: Bytes(64) };
    let hosts = Hosts { overhead: 0.0, ..defaults() };
    let mut scheme = known("RoCE PFC only");
    scheme.pfc = Some(Pfc { acks: Acks::WithData, ..defaults() });
    Lab { packets, hosts, ..Lab::new(Topology::FatTree(tree), scheme) }
}

/// Microseconds until the last of `flows` is acknowledged, their mean, and how often a port was stopped.
fn outcome(lab: &Lab, flows: &[Flow]) -> (f64, f64, i64) {
    let run = lab.run(flows);
    assert_eq!((run.drops(), run.sum("retransmits")), (0, 0));
    let times: Vec<f64> = run.fcts().iter().map(|&ps| ps as f64 / 1e6).collect();
    let mean = times.iter().sum::<f64>() / times.len() as f64;
    (times.into_iter().fold(0.0, f64::max), mean, run.figure("pauses"))
}

/// Completion times at the sender as uet-htsim (40ccb05) has them, within 10 ns.
#[test]
fn single_flows_take_as_long_as_in_the_reference() {
    for (to, bytes, us) in [(13, 2_000_000, 176.216), (1, 20_000_000, 1629.940)] {
        let (time, _, pauses) = outcome(&lab(), &[flow(0, to, bytes, 0)]);
        assert!((time - us).abs() <= 0.010, "{bytes} B to {to}: {time} of {us}");
        assert_eq!(pauses, 0);
    }
}

/// Tails within 0.5 % and pauses within 2 of uet-htsim, in a rack of four hosts.
#[test]
fn incasts_in_a_rack_pause_as_in_the_reference() {
    let three = [1, 2, 3].map(|from| flow(from, 0, 1_000_000, 0));
    let two = [flow(1, 0, 1_000_000, 0), flow(2, 0, 1_000_000, 0), flow(3, 1, 500_000, 0)];
    for (flows, us, mean_us, count) in [(three, 248.5, 245.7, 36), (two, 167.2, 126.7, 22)] {
        let tree = FatTree { k: 8, rate: gbps(100), delay: Span::from_us(1) };
        let lab = Lab { topology: Topology::FatTree(tree), ..lab() };
        let (tail, mean, pauses) = outcome(&lab, &flows);
        println!("tail {tail} of {us} us, mean {mean} of {mean_us}, pauses {pauses} of {count}");
        assert!((tail / us - 1.0).abs() <= 0.005, "tail {tail} of {us} us");
        assert!((pauses - count).abs() <= 2, "{pauses} pauses of {count}");
    }
}

/// A scenario of uet-htsim's RoCE without DCQCN, and what that has on eight seeds: the medians of the tail and of
/// the mean in microseconds, and of the pauses.
struct Known {
    name: &'static str,
    flows: Vec<Flow>,
    htsim: (f64, f64, f64),
    /// How far tail, mean and pauses may be off.
    off: (f64, f64, f64),
}

/// Flows from `senders` to host 0, and one of 500 KB to its neighbour where there is a victim.
fn incast(senders: impl IntoIterator<Item = u16>, bytes: u64, victim: bool) -> Vec<Flow> {
    let crowd = senders.into_iter().map(|from| flow(from, 0, bytes, 0));
    crowd.chain(victim.then(|| flow(2, 1, 500_000, 0))).collect()
}

/// The permutation of the reference is not known: here each host sends to the fifth after it.
fn known_scenarios() -> Vec<Known> {
    let incast_off = (0.01, f64::INFINITY, 0.2);
    let permutation = (0..16).map(|from| flow(from, (from + 5) % 16, 2_000_000, 0)).collect();
    let of = |name, flows, htsim, off| Known { name, flows, htsim, off };
    vec![
        of(
            "2 MB alone, 0 to 13",
            vec![flow(0, 13, 2_000_000, 0)],
            (176.216, 176.216, 0.0),
            (1e-4, 1e-4, 0.0),
        ),
        of(
            "20 MB alone, in a rack",
            vec![flow(0, 1, 20_000_000, 0)],
            (1629.940, 1629.940, 0.0),
            (1e-4, 1e-4, 0.0),
        ),
        of(
            "4 to 1, 2 MB, 3 pods",
            incast([4, 5, 8, 12], 2_000_000, false),
            (664.2, 621.0, 400.0),
            incast_off,
        ),
        of("15 to 1, 500 KB", incast(1..16, 500_000, false), (622.2, 481.0, 420.0), incast_off),
        of(
            "3 to 1, 2 MB, and a victim",
            incast([4, 8, 12], 2_000_000, true),
            (501.7, 365.0, 333.0),
            incast_off,
        ),
        of(
            "12 to 1, 1 MB, and a victim",
            incast(4..16, 1_000_000, true),
            (992.3, 768.0, 840.0),
            incast_off,
        ),
        of("permutation of 16, 2 MB", permutation, (514.0, 353.0, 588.0), (0.05, 0.1, 0.2)),
    ]
}

/// Medians of eight seeds are those of uet-htsim, whose paths are hashed too, by other hashes.
#[test]
fn medians_of_eight_seeds_are_those_of_the_reference() {
    for Known { name, flows, htsim, off } in known_scenarios() {
        let runs = (1..=8).map(|seed| {
            let seeded = Lab { streams: Streams::new(seed, 0), ..lab() };
            let (tail, mean, pauses) = outcome(&seeded, &flows);
            [tail, mean, pauses as f64]
        });
        let runs: Vec<[f64; 3]> = runs.collect();
        let median = |of: usize| {
            let mut values: Vec<f64> = runs.iter().map(|run| run[of]).collect();
            values.sort_by(f64::total_cmp);
            f64::midpoint(values[3], values[4])
        };
        let ours = (median(0), median(1), median(2));
        println!(
            "| {name} | {:.1} | {:.1} | {:.1} | {:.1} | {:.0} | {:.0} |",
            htsim.0, ours.0, htsim.1, ours.1, htsim.2, ours.2
        );
        let near = |ours: f64, other: f64, off: f64| (ours - other).abs() <= off * other;
        assert!(near(ours.0, htsim.0, off.0), "{name}: tail {} of {}", ours.0, htsim.0);
        assert!(near(ours.1, htsim.1, off.1), "{name}: mean {} of {}", ours.1, htsim.1);
        assert!(near(ours.2, htsim.2, off.2), "{name}: {} pauses of {}", ours.2, htsim.2);
    }
}

/// A lossless world: a fabric, packets, thresholds.
#[derive(Clone, Debug)]
struct World {
    lab: Lab,
    flows: Vec<Flow>,
}

fn thresholds() -> impl Strategy<Value = Thresholds> {
    let fixed = (2_000u64..60_000, 0.2..=1.0f64).prop_map(|(xoff, share)| {
        let xon = Bytes((xoff as f64 * share) as u64);
        Thresholds::Fixed(Fixed { xoff: Bytes(xoff), xon })
    });
    let dynamic = (0.01..1.0f64, 0u64..4_000, 0u64..10_000).prop_map(|(alpha, reserve, gap)| {
        Thresholds::Dynamic(Dynamic { alpha, reserve: Bytes(reserve), gap: Bytes(gap) })
    });
    prop_oneof![2 => fixed, 1 => dynamic]
}

fn fabrics() -> impl Strategy<Value = Topology> {
    let rates = prop::sample::select(vec![25u64, 40, 100, 400, 800]);
    let delays = prop::sample::select(vec![100u64, 10_000, 600_000, 1_000_000, 5_000_000]);
    (rates, delays, 0..4).prop_map(|(rate, delay, shape)| {
        let (rate, delay) = (gbps(rate), Span::from_ps(delay));
        match shape {
            0 => Topology::SingleSwitch(SingleSwitch { hosts: 6, rate, delay, ..defaults() }),
            1 => Topology::FatTree(FatTree { k: 4, rate, delay }),
            _ => Topology::LeafSpine(LeafSpine {
                racks: 3,
                hosts: 4,
                spines: 2,
                rate,
                uplink_rate: if shape == 2 { rate } else { gbps(100) },
                delay,
                ..defaults()
            }),
        }
    })
}

/// Flows that mostly go to one of three hosts, both ways.
fn crowds() -> impl Strategy<Value = Vec<(u16, u16, u64, u64)>> {
    let to = prop_oneof![3 => 0..3u16, 1 => any::<u16>()];
    prop::collection::vec((any::<u16>(), to, 1u64..300_000, 0..20_000u64), 4..24)
}

fn worlds() -> impl Strategy<Value = World> {
    let options = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    let sizes =
        prop::sample::select(vec![(1_000u64, 64u64), (4_000, 64), (1_460, 40), (8_900, 90)]);
    let flights = (fabrics(), crowds(), thresholds(), sizes, options, any::<u64>());
    flights.prop_map(|(topology, flows, thresholds, (payload, header), options, seed)| {
        let (with_data, late, cuts, dcqcn) = options;
        let acks = if with_data { Acks::WithData } else { Acks::OwnClass };
        let mut scheme = known(if dcqcn { "RoCE DCQCN" } else { "RoCE PFC only" });
        scheme.pfc = Some(Pfc { thresholds, acks, ..defaults() });
        let forwarding = if cuts { Forwarding::CutThrough } else { Forwarding::StoreAndForward };
        let hosts = topology.graph().hosts() as u16;
        let mut now = 0;
        let flow = |&(from, to, bytes, gap): &(u16, u16, u64, u64)| {
            now += gap;
            let from = from % hosts;
            let to = if to % hosts == from { (from + 1) % hosts } else { to % hosts };
            flow(from, to, bytes, now * 1000)
        };
        let flows = flows.iter().map(flow).collect();
        let lab = Lab {
            forwarding,
            packets: Packets { payload: Bytes(payload), header: Bytes(header), ack: Bytes(64) },
            hosts: Hosts { overhead: if late { 1.0 } else { 0.0 }, ..defaults() },
            streams: Streams::new(seed, 0),
            drain: Span::from_s(1),
            ..Lab::new(topology, scheme)
        };
        World { lab, flows }
    })
}

/// What `threads` find.
fn on(threads: usize, world: &World) -> Run {
    Run::on(&world.lab.ready(listed(&csv(&world.flows))), threads)
}

proptest! {
    #![proptest_config(cases(200))]

    /// Whatever the speeds, delays, packets and thresholds: nothing is lost, so nothing goes again, no
    /// port needs more than the headroom that was computed for it, and threads change nothing.
    #[test]
    fn nothing_is_lost_where_switches_stop_each_other(world in worlds(), threads in 2..4usize) {
        let run = on(1, &world);
        prop_assert_eq!((run.drops(), run.sum("retransmits"), run.sum("timeouts")), (0, 0, 0));
        prop_assert_eq!(run.figure("unfinished"), 0);
        prop_assert_eq!(&on(threads, &world), &run);
    }
}

/// Where switches are stopped themselves, and links are busy both ways, the headroom is needed but for less than a
/// packet; with one packet less, packets are lost and sent again.
#[test]
fn the_headroom_is_needed_to_the_last_packet() {
    let at = |other: u16| u64::from(other) * 977_000 % 90_000_000;
    let of = |other: u16| {
        let crowd = flow(other, 0, 500_000, at(other));
        [
            crowd,
            flow(0, other, 100_000, at(other)),
            flow(other, 15 - other.min(14), 100_000, at(other)),
        ]
    };
    let mut flows: Vec<Flow> = (1..16).flat_map(of).filter(|flow| flow.from != flow.to).collect();
    flows.sort_by_key(|flow| flow.arrived);
    let (headroom, packet) = (37_321, 4_064);
    let run = lab().run(&flows);
    let peak = run.figure("headroom_peak_bytes");
    assert!((headroom - packet..=headroom).contains(&peak), "{peak} B of {headroom}");
    assert_eq!((run.drops(), run.sum("retransmits")), (0, 0));
    let mut short = lab();
    let headroom = Some(Bytes((headroom - packet) as u64));
    short.scheme.pfc = Some(Pfc { acks: Acks::WithData, headroom, ..defaults() });
    let run = short.run(&flows);
    assert!(run.drops() > 0 && run.sum("retransmits") > 0, "{} drops", run.drops());
    assert_eq!(run.figure("unfinished"), 0);
}

/// Switches in a ring with a host on each; each host sends two switches on. The shortest paths are unique, and go
/// round.
fn ring(switches: u16) -> Lab {
    let names: Vec<String> = (0..switches).map(|switch| format!("s{switch}")).collect();
    let host = |switch: &String| HostGroup { switch: switch.clone(), ..defaults_of_host() };
    let rate = gbps(100);
    let links = (0..switches).map(|from| {
        let to = format!("s{}", (from + 1) % switches);
        Cable { from: format!("s{from}"), to, count: 1, rate: None, delay: None }
    });
    let topology = Listed {
        hosts: names.iter().map(host).collect(),
        links: links.collect(),
        switches: names,
        rate,
        delay: Span::from_us(1),
    };
    Lab { topology: Topology::Listed(topology), drain: Span::from_ms(20), ..lab() }
}

fn defaults_of_host() -> HostGroup {
    HostGroup { switch: String::new(), count: 1, rate: None, delay: None }
}

fn round(switches: u16, bytes: u64) -> Vec<Flow> {
    (0..switches).map(|from| flow(from, (from + 2) % switches, bytes, 0)).collect()
}

/// Five switches stop each other for ever, and the hosts behind them; a run that does not finish says so.
#[test]
fn a_ring_of_five_switches_deadlocks() {
    let run = ring(5).run(&round(5, 1_000_000));
    let words = run.words("deadlock");
    println!(
        "{words}, {} pauses, {} at hosts",
        run.figure("pauses"),
        run.figure("pauses_at_hosts")
    );
    assert_eq!((run.figure("unfinished"), run.drops()), (5, 0));
    let circle = "switch 0 -> 1 -> 2 -> 3 -> 4 -> 0, and behind them wait host 0, host 1, host 2, host 3, host 4";
    assert!(words.contains(circle), "{words}");
    for threads in [2, 3] {
        let ready = ring(5).ready(listed(&csv(&round(5, 1_000_000))));
        let several = Run::on(&ready, threads);
        // Slowdowns of flows without an end are no numbers, and so equal nothing.
        assert_eq!(several.rows.ints("received_bytes"), run.rows.ints("received_bytes"));
        assert_eq!(several.words("deadlock"), words);
        assert_eq!(several.figure("paused_ps"), run.figure("paused_ps"));
    }
}

/// A watchdog that drops ends it, and so do pauses that run out and are not sent again; both cost packets. (Flows that
/// begin at one moment fill the ring again in step, and the watchdog drops in vain.)
#[test]
fn a_watchdog_ends_a_deadlock() {
    for pfc in [
        Pfc { watchdog: Some(Span::from_ms(2)), ..defaults() },
        Pfc { refresh: false, ..defaults() },
    ] {
        let mut lab = ring(5);
        lab.scheme.pfc = Some(pfc);
        lab.drain = Span::from_s(1);
        let mut flows = round(5, 1_000_000);
        flows.iter_mut().zip(0..).for_each(|(flow, nth)| flow.arrived += Span::from_us(nth));
        let run = lab.run(&flows);
        assert_eq!(run.figure("unfinished"), 0);
        assert!(run.drops() > 0 && run.sum("retransmits") > 0);
        assert!(run.words_if_any("deadlock").is_none());
    }
}

/// Sprayed packets overtake each other, and a run says what that costs.
#[test]
fn spraying_has_flows_go_back() {
    let mut sprayed = lab();
    sprayed.scheme.balance = Balance::Spray;
    let flows: Vec<Flow> = (1..9).map(|from| flow(from, (from + 8) % 16, 500_000, 0)).collect();
    let run = sprayed.run(&flows);
    assert!(run.sum("retransmits") > 0);
    assert!(run.words("goes_back").contains(&format!("{} packets", run.sum("retransmits"))));
    assert!(lab().run(&flows).words_if_any("goes_back").is_none());
}

/// The series of switches that are stopped themselves say how often and for how long; hosts have none.
#[test]
fn pauses_are_in_the_series() {
    let sampled = Lab { sample: Some(Span::from_us(5)), ..lab() };
    let flows: Vec<Flow> = (4..16).map(|from| flow(from, 0, 500_000, 0)).collect();
    let run = sampled.run(&flows);
    let series = &run.series;
    let at_switches: i64 = series.ints("pauses").iter().sum();
    // Some come after the last look.
    let all = run.figure("pauses") - run.figure("pauses_at_hosts");
    assert!((all * 9 / 10..=all).contains(&at_switches), "{at_switches} of {all}");
    let shares = series.floats("paused");
    assert!(shares.iter().all(|share| (0.0..=1.000_001).contains(share)));
    // What is stopped sends nothing but its last packet and ACKs.
    let rows = shares.iter().zip(series.floats("busy"));
    assert!(rows.clone().any(|(&paused, &busy)| paused > 0.99 && busy < 0.2));
    assert!(rows.clone().all(|(&paused, &busy)| paused + busy < 1.2));
}
