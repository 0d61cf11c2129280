//! The arithmetic against lists of what waits, and the settings.

use super::*;
use proptest::prelude::*;
use proptest::sample::select;
use sojourn_core::parameters::Table;

fn settings(pairs: &[(&str, &str)]) -> Value {
    let mut table = Table::default();
    for (key, text) in pairs {
        let value = text.parse().map_or(Value::Text((*text).to_owned()), Value::Float);
        table.set(key, value);
    }
    Value::Table(table)
}

fn plan(pairs: &[(&str, &str)], ports: usize) -> MemoryPlan {
    let buffer = Buffer::read(&settings(pairs)).expect("a buffer");
    buffer
        .plan(&vec![Rate::gbps(10); ports])
        .expect("a buffer that fits the ports")
        .expect("a memory")
}

/// A fraction, so that the twin's thresholds are exact.
const ALPHAS: [(&str, u64, u64); 5] =
    [("none", u32::MAX as u64, 1), ("0.125", 1, 8), ("0.75", 3, 4), ("1", 1, 1), ("16", 16, 1)];

proptest! {
    /// Against lists of what waits at each port, summed anew at every step: who may come in, what
    /// is free. A queue below its reserve always may, whatever the others do.
    #[test]
    fn agrees_with_sums_over_lists(
        (alpha, times, over) in select(ALPHAS.to_vec()),
        cell in select(vec![1u64, 64, 208, 1000]),
        reserve in 0u64..6_000,
        steps in prop::collection::vec((0usize..4, 1u16..9_000, any::<bool>()), 1..200),
    ) {
        let size = 24_000 + 30_000;
        let plan = plan(&[
            ("kind", "reserved"),
            ("size", &format!("{size}B")),
            ("reserve", &format!("{reserve}B")),
            ("alpha", alpha),
            ("cell", &format!("{cell}B")),
        ], 4);
        let (mut memory, mut shares) = Memory::new(&plan);
        let mut queues = vec![Vec::<u16>::new(); 4];
        let room = |size: &u16| u64::from(*size).div_ceil(cell) * cell;
        for (port, packet, leaves) in steps {
            if leaves {
                if let Some(gone) = queues[port].pop() {
                    memory.give(&mut shares[port], gone);
                }
            } else {
                let held = |queue: &Vec<u16>| queue.iter().map(room).sum::<u64>();
                let beyond = |held: u64| held.saturating_sub(reserve);
                let used: u64 = queues.iter().map(|queue| beyond(held(queue))).sum();
                let free = size - 4 * reserve - used;
                let with = held(&queues[port]) + room(&packet);
                let more = beyond(with) - beyond(held(&queues[port]));
                let may = more == 0 || more <= free && beyond(with) * over <= free * times;
                prop_assert_eq!(memory.take(&mut shares[port], packet), may);
                prop_assert!(may || with > reserve);
                if may {
                    queues[port].push(packet);
                }
            }
            let held: Vec<u64> = queues.iter().map(|queue| queue.iter().map(room).sum()).collect();
            prop_assert_eq!(shares.iter().map(Share::held).collect::<Vec<_>>(), held.clone());
            prop_assert_eq!(memory.held(), held.iter().sum::<u64>());
        }
    }

    /// Whole cells, for every packet and every cell there can be.
    #[test]
    fn rooms_are_whole_cells(size in 1u16..9_001, cell in 1u64..9_001) {
        let plan = plan(&[("kind", "shared"), ("size", "1MB"), ("cell", &format!("{cell}B"))], 1);
        let expected = u64::from(size).div_ceil(cell) * cell;
        prop_assert_eq!(u64::from(Memory::new(&plan).0.cells(size)), expected);
    }
}

/// Arista's caps for Jericho, and the parts of 12 MB over 128 ports.
#[test]
fn presets_give_the_numbers_of_their_sources() {
    let queues = |name: &str, gbps: &[u64]| -> Vec<u64> {
        let buffer = Buffer::read(&Value::Text(name.to_owned())).expect("a preset");
        let ports: Vec<Rate> = gbps.iter().map(|&gbps| Rate::gbps(gbps)).collect();
        let plan = buffer.plan(&ports).expect("a buffer that fits the ports").expect("a memory");
        plan.queues.iter().map(|quota| quota.cap).collect()
    };
    assert_eq!(queues("jericho", &[10, 40, 100]), [50_000_000, 200_000_000, 500_000_000]);
    assert_eq!(queues("sram-port", &[10, 40]), [12_000_000 / 128; 2]);
    assert_eq!(queues("dram-port", &[10]), [100_000_000]);
}

/// A preset is read, changed, and written as itself.
#[test]
fn a_preset_keeps_its_name() {
    for entry in Buffer::entries().iter().skip(Kind::entries().len()) {
        let plain = Buffer::read(&Value::Text(entry.name.to_owned())).expect("a preset");
        assert_eq!(plain.name(), entry.name);
        assert_eq!(Buffer::read(&plain.write().expect("a table")).expect("itself"), plain);
    }
    let changed = settings(&[("kind", "trident2"), ("alpha", "8")]);
    let changed = Buffer::read(&changed).expect("a preset").write().expect("a table");
    let expected =
        settings(&[("kind", "trident2"), ("size", "16MB"), ("alpha", "8"), ("cell", "1B")]);
    assert_eq!(changed, expected);
}
