//! Deadlines and classes: how they are drawn; and who meets deadlines under which priority.

use crate::common::*;
use sojourn_core::parameters::{Setting, Table, Value, defaults};
use sojourn_core::resource::{Resource, no_tables};
use sojourn_core::{Span, Streams, Time};
use sojourn_fabric::transport::{Deadline, Priority};
use sojourn_fabric::workload::{Workload, WorkloadContext};
use sojourn_fabric::{Flow, PacketScheme, Packets};
use std::sync::Arc;

const FLOWS: i64 = 40_000;

/// All-to-all arrivals with some terms.
fn with(terms: &[(&str, Value)]) -> Workload {
    let mut table = Table::default();
    table.set("kind", Value::Text("poisson".to_owned()));
    table.set("load", Value::Float(0.5));
    table.set("flows", Value::Int(FLOWS));
    for (key, value) in terms {
        table.set(key, value.clone());
    }
    Workload::read(&Value::Table(table)).expect("a workload")
}

/// The flows of a file, due 50 us from their arrival, with other terms.
fn due_soon(csv: &str, terms: &[(&str, Value)]) -> Workload {
    let mut table = Table::default();
    table.set("kind", Value::Text("csv".to_owned()));
    table.set("file", Value::File(Arc::new(Resource::text("flows.csv", csv))));
    table.set("deadline", Value::Text("50us".to_owned()));
    for (key, value) in terms {
        table.set(key, value.clone());
    }
    Workload::read(&Value::Table(table)).expect("a workload")
}

/// A law of deadlines as a study has it.
fn law(kind: &str, times: &[(&str, &str)]) -> (&'static str, Value) {
    let mut table = Table::default();
    table.set("kind", Value::Text(kind.to_owned()));
    for (key, time) in times {
        table.set(key, Value::Text((*time).to_owned()));
    }
    ("deadline", Value::Table(table))
}

fn drawn(workload: &Workload) -> Vec<Flow> {
    let (graph, packets) = (single_switch(4).graph(), defaults::<Packets>());
    let context =
        WorkloadContext { graph: &graph, packets: &packets, tables: &no_tables, tell: &|_| {} };
    workload.draw(&context, Streams::new(3, 0)).expect("flows").flows
}

fn flows(terms: &[(&str, Value)]) -> Vec<Flow> {
    drawn(&with(terms))
}

/// How long the flows that have a deadline may take, in milliseconds.
fn allowed(flows: &[Flow]) -> Vec<f64> {
    let due = flows.iter().filter(|flow| flow.deadline != Time::NEVER);
    due.map(|flow| (flow.deadline - flow.arrived).seconds() * 1e3).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[test]
fn a_bare_time_counts_from_the_arrival() {
    for flow in flows(&[("deadline", Value::Text("3ms".to_owned()))]) {
        assert_eq!(flow.deadline, flow.arrived + Span::from_ms(3));
    }
    assert_eq!(allowed(&flows(&[])), []);
}

#[test]
fn terms_change_nothing_else() {
    let plain = flows(&[]);
    let uniform = law("uniform", &[("least", "1ms"), ("most", "2ms")]);
    let all = flows(std::slice::from_ref(&uniform));
    let some = flows(&[uniform, ("deadline_share", Value::Float(0.3))]);
    for ((plain, all), some) in plain.iter().zip(&all).zip(&some) {
        assert_eq!(Flow { deadline: Time::NEVER, ..*all }, *plain);
        assert_eq!(Flow { deadline: Time::NEVER, ..*some }, *plain);
        assert!(some.deadline == all.deadline || some.deadline == Time::NEVER);
    }
}

/// Within four standard deviations.
#[test]
fn a_share_of_the_flows_and_only_small_ones() {
    let share = ("deadline_share", Value::Float(0.3));
    let deadline = ("deadline", Value::Text("1ms".to_owned()));
    let n = FLOWS as f64;
    let chosen = allowed(&flows(&[deadline.clone(), share])).len() as f64;
    assert!((chosen - 0.3 * n).abs() < 4.0 * (n * 0.3 * 0.7).sqrt(), "{chosen}");
    let flows = flows(&[deadline, ("deadline_upto", Value::Text("146KB".to_owned()))]);
    for flow in &flows {
        assert_eq!(flow.deadline != Time::NEVER, flow.bytes <= 146_000, "{} B", flow.bytes);
    }
    assert!(flows.iter().any(|flow| flow.bytes == 146_000));
}

/// The mean of max(f, X) is f + m exp(-f / m), and a share 1 - exp(-f / m) lies on the floor:
/// within four standard deviations.
#[test]
fn exponential_deadlines_have_their_mean_and_floor() {
    let (m, f, n) = (10.0f64, 4.0, FLOWS as f64);
    let free = allowed(&flows(&[law("exponential", &[("mean", "10ms")])]));
    assert!((mean(&free) - m).abs() < 4.0 * m / n.sqrt());
    let floored = allowed(&flows(&[law("exponential", &[("mean", "10ms"), ("floor", "4ms")])]));
    let above = (-f / m).exp();
    assert!((mean(&floored) - (f + m * above)).abs() < 4.0 * m / n.sqrt());
    let on_the_floor = floored.iter().filter(|&&ms| ms == 4.0).count() as f64;
    assert!((on_the_floor - n * (1.0 - above)).abs() < 4.0 * (n * above * (1.0 - above)).sqrt());
    assert!(floored.iter().zip(&free).all(|(&floored, &free)| floored == free.max(4.0)));
}

#[test]
fn uniform_deadlines_lie_between_their_ends() {
    let ms = allowed(&flows(&[law("uniform", &[("least", "2ms"), ("most", "8ms")])]));
    assert!(ms.iter().all(|ms| (2.0..=8.0).contains(ms)));
    assert!((mean(&ms) - 5.0).abs() < 4.0 * (36.0 / 12.0 / FLOWS as f64).sqrt());
}

/// Shares 1 : 0 : 3, within four standard deviations; nothing else changes.
#[test]
fn classes_have_their_shares() {
    let shares = [1.0, 0.0, 3.0].map(Value::Float).to_vec();
    let classed = flows(&[("classes", Value::List(shares))]);
    let counts = [0, 1, 2].map(|class| classed.iter().filter(|flow| flow.class == class).count());
    assert_eq!((counts[1], counts[0] + counts[2]), (0, FLOWS as usize));
    let n = FLOWS as f64;
    assert!((counts[0] as f64 - 0.25 * n).abs() < 4.0 * (n * 0.25 * 0.75).sqrt(), "{counts:?}");
    for (plain, classed) in flows(&[]).iter().zip(&classed) {
        assert_eq!(Flow { class: 0, ..*classed }, *plain);
    }
}

/// A file may name classes.
#[test]
fn flows_in_a_file_have_their_classes() {
    let text = "src,dst,size_bytes,arrival,class\n0,1,1000,1us,7\n1,2,1000,2us,\n";
    let classes: Vec<u8> = drawn(&listed(text)).iter().map(|flow| flow.class).collect();
    assert_eq!(classes, [7, 0]);
}

/// The flows of a job share its terms, counted from its soonest begin; others have theirs.
#[test]
fn a_job_has_its_terms_as_a_whole() {
    let text = "src,dst,size_bytes,arrival,after,delay,job\n\
                0,1,1000,3us,,,x\n1,2,1000,,0,9us,x\n2,3,1000,1us,,,\n1,3,1000,2us,,,y\n";
    let classes = ("classes", Value::List([1.0; 8].map(Value::Float).to_vec()));
    let flows = drawn(&due_soon(text, &[classes]));
    let due = |flow: &Flow| (flow.arrived.ps() / 1_000_000, flow.deadline.ps() / 1_000_000);
    let due: Vec<(u64, u64)> = flows.iter().map(due).collect();
    assert_eq!(due, [(1, 51), (2, 52), (3, 53), (12, 53)]);
    assert_eq!(flows[2].class, flows[3].class);
}

/// A flow in a file that names its deadline keeps it.
#[test]
fn a_deadline_of_its_own_stands() {
    let text = "src,dst,size_bytes,arrival,deadline\n0,1,1000,1us,7us\n1,2,1000,2us,\n";
    let flows = drawn(&due_soon(text, &[]));
    let deadlines: Vec<u64> = flows.iter().map(|flow| flow.deadline.ps() / 1_000_000).collect();
    assert_eq!(deadlines, [8, 52]);
}

/// MinTCP over pFabric into one host: when each flow is done, and whether it missed its deadline.
/// The access link sends a packet each 1200 ns; what leaves it in slot j (from 1) is acknowledged
/// 1583 + 1200 j + 1213 ns after the start (see `exact.rs`).
fn outcome(priority: Priority, flows: &[(u64, u64)]) -> Vec<(u64, bool)> {
    let scheme = PacketScheme { priority, ..known("MinTCP+pFabric") };
    let flow = |(from, &(packets, due_ns)): (u16, &(u64, u64))| Flow {
        deadline: Time::from_ps(due_ns * 1_000),
        ..flow(from, 3, packets * FULL, 0)
    };
    let flows: Vec<Flow> = (0..).zip(flows).map(flow).collect();
    let run = Lab::new(single_switch(4), scheme).run(&flows);
    let finished = run.rows.ints("finished_ps").iter();
    let pairs = finished.zip(run.rows.ints("deadline_ps"));
    pairs.map(|(done, due)| ((*done as u64 / 1_000 - 2_796) / 1_200, done > due)).collect()
}

/// Five packets due in 9 us, two due in 12 us. Shortest first, the two go first, and the five are
/// done in slot 7, at 11.196 us: late. Earliest deadline first, the five are done in slot 5, at
/// 8.796 us, and the two at 11.196 us: both in time.
#[test]
fn earliest_deadline_first_meets_both() {
    let flows = [(5, 9_000), (2, 12_000)];
    let srpt = outcome(Priority::Remaining(defaults()), &flows);
    assert_eq!(srpt, [(7, true), (2, false)]);
    let edf = outcome(Priority::Deadline(defaults()), &flows);
    assert_eq!(edf, [(5, false), (7, false)]);
}

/// Ten packets, 11.68 us of payload, due in 8 us; two due in 9 us. The ten go first although they
/// cannot make it, and the two miss theirs too, at 12 x 1200 + 2796 = 17.196 us; demoted, they
/// let the two pass, which are done in slot 2, at 5.196 us.
#[test]
fn demotion_saves_the_flow_that_can_make_it() {
    let flows = [(10, 8_000), (2, 9_000)];
    let edf = outcome(Priority::Deadline(defaults()), &flows);
    assert_eq!(edf, [(10, true), (12, true)]);
    let demoting = Deadline { demote: true, ..defaults() };
    let demoted = outcome(Priority::Deadline(demoting), &flows);
    assert_eq!(demoted, [(12, true), (2, false)]);
}
