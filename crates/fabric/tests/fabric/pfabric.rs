//! What the pFabric paper promises of priority scheduling and dropping, against exact schedules.

use crate::common::*;
use sojourn_core::{Distribution, Exponential, SizeTable, Span, Streams, Workload};
use sojourn_fabric::Flow;
use std::collections::BTreeSet;

/// On the single switch, what a flow's time has beside its turn at the port to the receiver: its
/// first packet on the first link, two links of 383 ns there and back, the ACK of 32 ns on both.
const PIPELINE: f64 = (1200.0 + 4.0 * 383.0 + 2.0 * 32.0) * 1e-9;

/// Poisson arrivals of web search flows into the last of 201 hosts, at a load of its link: from so
/// many other hosts that one seldom sends two flows at a time.
fn into_one_receiver(load: f64, flows: usize) -> Vec<Flow> {
    let sizes = websearch();
    let wire = sizes.mean() + sizes.mean_packets(FULL) * 40.0;
    let gaps = Exponential { mean: wire * 800e-12 / load };
    let (mut gap, mut size) = {
        let streams = Streams::new(3, 0);
        (streams.stream("gaps", 0), streams.stream("sizes", 0))
    };
    let mut now = 0;
    (0..flows)
        .map(|i| {
            now += Span::from_seconds(gaps.sample(&mut gap)).ps();
            flow(i as u16 % 200, 200, sizes.draw(&mut size), now)
        })
        .collect()
}

fn websearch() -> SizeTable {
    Workload::find("websearch").expect("it comes with the crate").sizes(None)
}

/// (arrival, service) in picoseconds: all bytes on the wire at 10 Gb/s.
fn jobs(flows: &[Flow]) -> Vec<(u64, u64)> {
    let wire = |flow: &Flow| flow.bytes + flow.bytes.div_ceil(FULL) * 40;
    flows.iter().map(|flow| (flow.arrived.ps(), wire(flow) * 800)).collect()
}

/// Mean sojourn in seconds under shortest remaining processing time, preemptive, one server.
fn srpt(jobs: &[(u64, u64)]) -> f64 {
    let mut present: BTreeSet<(u64, usize)> = BTreeSet::new();
    let (mut now, mut total) = (0, 0);
    let mut arrivals = jobs.iter().enumerate().peekable();
    loop {
        let arrives = arrivals.peek().map_or(u64::MAX, |(_, job)| job.0);
        match present.pop_first() {
            Some((left, job)) if left <= arrives - now => {
                now += left;
                total += now - jobs[job].0;
            }
            served => {
                let Some((job, &(_, work))) = arrivals.next() else {
                    return total as f64 / jobs.len() as f64 / 1e12;
                };
                if let Some((left, served)) = served {
                    present.insert((left - (arrives - now), served));
                }
                now = arrives;
                present.insert((work, job));
            }
        }
    }
}

/// Mean sojourn in seconds, first come first served, one server.
fn first_come_first_served(jobs: &[(u64, u64)]) -> f64 {
    let mut free = 0;
    let sojourns = jobs.iter().map(|&(arrives, work)| {
        free = arrives.max(free) + work;
        free - arrives
    });
    sojourns.sum::<u64>() as f64 / jobs.len() as f64 / 1e12
}

#[test]
fn the_exact_schedules_are_right() {
    // Job 0 is served for 4, then job 1 for its 3, job 0 for 2 more, job 2 (of 1), job 0 for 4.
    let few = [(0, 10), (4, 3), (9, 1)];
    assert_eq!(srpt(&few), (14 + 3 + 1) as f64 / 3.0 / 1e12);
    assert_eq!(first_come_first_served(&few), (10 + 9 + 5) as f64 / 3.0 / 1e12);
}

/// No schedule of one link has a smaller mean than SRPT, so nothing is below it. What LineRate and
/// pFabric's port have above it: a packet is not interrupted (at most 1.2 us a flow); the number a
/// packet carries is a round trip old (4 us and what it waited); a flow that was pushed out has to
/// be heard of again (up to one time-out of 40 us). Flows take 1370 us in the mean, and are pushed
/// out about once: a few times ten over some thousand, 2 %.
#[test]
fn line_rate_over_pfabric_is_srpt() {
    for load in [0.5, 0.8] {
        let flows = into_one_receiver(load, 600);
        let exact = srpt(&jobs(&flows));
        let mean =
            |name| Lab::new(single_switch(201), known(name)).run(&flows).mean_fct() - PIPELINE;
        let line_rate = mean("LineRate+pFabric") / exact;
        assert!((1.0..1.02).contains(&line_rate), "load {load}: {line_rate} of SRPT");
        // MinTCP starts slowly again whenever it was pushed out.
        let min_tcp = mean("MinTCP+pFabric") / exact;
        assert!((1.0..1.25).contains(&min_tcp), "load {load}: {min_tcp} of SRPT");
    }
}

/// Without priorities the same link is far from it: in line as a whole, and in line packet by
/// packet, as TCP shares it.
#[test]
fn first_in_first_out_is_far_from_srpt() {
    let flows = into_one_receiver(0.8, 600);
    let exact = srpt(&jobs(&flows));
    assert!(first_come_first_served(&jobs(&flows)) > 4.0 * exact);
    let run = Lab::new(single_switch(201), known("TCP+DropTail")).run(&flows);
    assert!(run.mean_fct() > 1.8 * exact, "{} of SRPT", run.mean_fct() / exact);
}

/// Section 2.3: "if two elephant flows sending at line rate collide at the last-hop access link,
/// half the bandwidth they consume is wasted". In 10 ms each host sends 8333 packets of 1.2 us,
/// and half of all are dropped, but for the 15 that wait and the few under way.
#[test]
fn two_elephants_at_line_rate_waste_half_of_what_they_send() {
    let collide = |name: &str| {
        let mut lab = Lab::new(single_switch(3), known(name));
        lab.drain = Span::from_ms(10);
        let run = lab.run(&[flow(0, 2, 100_000_000, 0), flow(1, 2, 100_000_000, 0)]);
        assert_eq!(run.figure("unfinished"), 2);
        run.figure("packets_dropped_at_switches")
    };
    let wasted = collide("LineRate+pFabric");
    assert!((8333 - 25..=8333).contains(&wasted), "{wasted} of 16666 packets");
    // "This simple scheme is sufficient to avoid congestion collapse."
    let wasted = collide("MinTCP+pFabric");
    assert!(wasted < 833, "{wasted} packets");
}

/// Section 2.3: packets dropped in an incast are resent "before the bottleneck switch runs out of
/// higher priority packets, essentially without impacting performance". Of 40 answers of 12 packets
/// at once most are dropped at first, and yet the link is busy with something new for most of the
/// time until the last is done; the rest goes to packets sent twice. TCP waits for its timer.
#[test]
fn an_incast_keeps_its_link_busy() {
    let flows: Vec<Flow> = (0..40).map(|from| flow(from, 40, 12 * FULL, 0)).collect();
    let work = 40.0 * 12.0 * 1.2e-6;
    let busy = |name| {
        let run = Lab::new(single_switch(41), known(name)).run(&flows);
        assert!(run.drops() > 0, "{name}");
        let last = run.fcts().into_iter().max().expect("flows");
        work / (last as f64 / 1e12 - PIPELINE)
    };
    for name in ["LineRate+pFabric", "MinTCP+pFabric"] {
        assert!((0.85..=1.0).contains(&busy(name)), "{name}: {}", busy(name));
    }
    assert!(busy("TCP+DropTail") < 0.85);
}
