//! Lists of flows between eight hosts.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sojourn_fabric::workload::{Drawn, parse_flows};

const HOSTS: usize = 8;

fuzz_target!(|text: &str| {
    match parse_flows(text, HOSTS, u64::MAX) {
        Ok(Drawn { flows, graph, .. }) => {
            assert!(!flows.is_empty());
            assert!(!graph.is_empty() || flows.is_sorted_by_key(|flow| flow.arrived));
            for (number, flow) in flows.iter().enumerate() {
                let hosts = [flow.from, flow.to];
                assert!(
                    flow.from != flow.to && hosts.iter().all(|&host| usize::from(host) < HOSTS)
                );
                assert!(flow.bytes > 0 && flow.deadline > flow.arrived);
                for &parent in graph.parents(number) {
                    let parent = parent as usize;
                    assert!(parent < number && flows[parent].to == flow.from);
                    assert!(flows[parent].arrived + graph.delay(number) <= flow.arrived);
                }
            }
        }
        Err(error) => assert!((1..=text.lines().count().max(1)).contains(&error.line)),
    }
});
