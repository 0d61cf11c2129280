//! Distribution functions against simulation.

use crate::common::{half_width, mean, sojourns, table, text};
use sojourn_array::ArrayCase;
use sojourn_core::parameters::{Parameters, Table, Value};
use sojourn_core::{Execution, Progress, Streams};

/// Reads of the paper's disks.
fn case(layout: Value, rate: &str, blocks: i64, more: &[(&str, Value)]) -> ArrayCase {
    let (others, arrivals): (Vec<_>, Vec<_>) = more
        .iter()
        .cloned()
        .partition(|(key, _)| ["join", "controller", "scheduling"].contains(key));
    let poisson = [vec![("kind", text("poisson")), ("rate", text(rate))], arrivals].concat();
    let workload = table(&[
        ("kind", text("synthetic")),
        ("arrivals", table(&poisson)),
        ("blocks", Value::Int(blocks)),
        ("requests", Value::Int(400_000)),
    ]);
    let mut case = Table::default();
    let parts = [("disk", text("ST3500630NS")), ("layout", layout), ("workload", workload)];
    for (part, value) in parts.into_iter().chain(others) {
        case.set(part, value);
    }
    ArrayCase::read_table(&case).unwrap_or_else(|refusal| panic!("{refusal:?}"))
}

/// Holds the simulated shares that are done by some times between those that are known, and says how
/// far apart the latter are at the most.
fn between(case: &ArrayCase, what: &str) -> f64 {
    let known = case.distribution().unwrap().unwrap_or_else(|| panic!("{what}: nothing"));
    assert!(known.least.is_sorted() && known.most.is_sorted(), "{what}");
    let apart = known.least.iter().zip(&known.most).map(|(low, high)| high - low);
    assert!(apart.clone().all(|apart| apart > -1e-9), "{what}");
    let run = case.run(Streams::new(41, 0), Execution::new(&Progress::default()));
    let sojourns = sojourns(&run.unwrap().unwrap().rows);
    let places = (1..40).map(|part| part * known.times_ps.len() / 80);
    for place in places {
        let time = known.times_ps[place] / 1e9;
        let done: Vec<f64> = sojourns.iter().map(|&it| f64::from(u8::from(it <= time))).collect();
        let (share, within) = (mean(&done), half_width(&done) + 2e-3);
        let (low, high) = (known.least[place], known.most[place]);
        assert!(
            low - within < share && share < high + within,
            "{what}: {share} ± {within} are done by {time} ms, known {low} to {high}"
        );
    }
    apart.fold(0.0, f64::max)
}

#[test]
fn distributions_lie_between_what_is_known() {
    let array = |kind: &str| table(&[("kind", text(kind)), ("disks", Value::Int(4))]);
    let geometric = table(&[("kind", text("geometric")), ("mean", Value::Float(3.0))]);
    let bulks = ("batch", geometric);
    let together = ("join", text("split-merge"));
    let overhead = ("controller", table(&[("overhead", text("5ms"))]));
    for (layout, rate, blocks, more, exact, what) in [
        (text("single"), "0.04/ms", 1, vec![], true, "M/G/1"),
        (text("single"), "0.015/ms", 1, vec![bulks.clone(), overhead], true, "M^X/G/1"),
        (array("raid01"), "0.04/ms", 1, vec![bulks.clone()], true, "bulks thinned"),
        (array("raid01"), "0.02/ms", 4, vec![together.clone()], true, "split-merge"),
        (array("raid01"), "0.008/ms", 4, vec![together, bulks.clone()], true, "both"),
        (array("raid01"), "0.01/ms", 4, vec![], false, "full stripes in light traffic"),
        (array("raid01"), "0.05/ms", 4, vec![], false, "full stripes in heavy traffic"),
        (array("raid01"), "0.01/ms", 4, vec![bulks], false, "full stripes in bulks"),
        (array("raid01"), "0.04/ms", 2, vec![], false, "half stripes"),
    ] {
        let apart = between(&case(layout, rate, blocks, &more), what);
        assert_eq!(apart < 1e-9, exact, "{what}: {apart} apart");
        assert!(apart < 0.9, "{what}: {apart} apart says little");
    }
}

#[test]
fn there_is_none_where_nothing_is_known() {
    let array = || table(&[("kind", text("raid01")), ("disks", Value::Int(4))]);
    let none = |case: &ArrayCase| case.distribution().unwrap().is_none();
    assert!(none(&case(array(), "0.07/ms", 4, &[])), "more comes than is served");
    assert!(none(&case(array(), "0.01/ms", 4, &[("scheduling", text("rpo"))])));
    assert!(none(&case(array(), "0.01/ms", 3, &[("batch", Value::Int(2))])), "bulks of two");
    assert!(none(&case(array(), "0.01/ms", 5, &[])), "accesses that differ");
}
