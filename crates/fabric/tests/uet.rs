//! Ultra Ethernet's transport against the consortium's reference simulator.

#[path = "fabric/common.rs"]
#[expect(dead_code, reason = "shared with the tests of all transports")]
mod common;

use common::*;
use sojourn_core::parameters::defaults;
use sojourn_core::{Bytes, Span};
use sojourn_fabric::topology::{FatTree, Topology};
use sojourn_fabric::{Hosts, Packets};

/// 16 hosts at 100 Gb/s, links of 1 us, packets of 4150 bytes: as uet-htsim by default.
fn lab(scheme: &str) -> Lab {
    let tree = FatTree { k: 4, rate: gbps(100), delay: Span::from_us(1) };
    let packets = Packets { payload: Bytes(4086), header: Bytes(64), ack: Bytes(64) };
    let hosts = Hosts { overhead: 0.0, ..defaults() };
    Lab { packets, hosts, ..Lab::new(Topology::FatTree(tree), known(scheme)) }
}

/// Completion times at the sender, in microseconds, of one flow from host 0: as uet-htsim says (40ccb05),
/// within 10 ns.
#[test]
fn single_flows_take_as_long_as_in_the_reference() {
    let flows = [
        (1, 1, [4.0206; 2]),
        (1, 40_860, [7.6622; 2]),
        (1, 2_000_000, [166.851, 167.871]),
        (2, 4_086, [9.3485; 2]),
        (2, 200_000, [25.2674; 2]),
        (2, 2_000_000, [171.525, 172.619]),
        (13, 1, [12.0619; 2]),
        (13, 4_086, [14.0227; 2]),
        (13, 40_860, [17.0107; 2]),
        (13, 65_536, [19.0206; 2]),
        (13, 200_000, [29.9416; 2]),
        (13, 300_000, [38.0696; 2]),
        (13, 2_000_000, [176.200, 177.368]),
    ];
    for (to, bytes, times) in flows {
        for (scheme, us) in ["UET NSCC", "UET RCCC"].into_iter().zip(times) {
            let run = lab(scheme).run(&[flow(0, to, bytes, 0)]);
            let time = run.fcts()[0] as f64 / 1e6;
            println!("{scheme}, {bytes} B to {to}: {time} of {us}");
            assert_eq!(run.sum("retransmits"), 0);
            assert!((time - us).abs() <= 0.010, "{scheme}, {bytes} B to {to}: {time} of {us}");
        }
    }
}
