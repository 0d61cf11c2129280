//! What the tests of the parts share.

use crate::case::{FabricCase, Ready};
use crate::flow::{Completion, Flow};
use crate::hosts::Hosts;
use crate::path::Balance;
use crate::scheme::{PacketScheme, Scheme};
use crate::switch_memory::Buffer;
use crate::topology::{Forwarding, Topology};
use crate::workload::{Arrivals, Csv};
use sojourn_core::parameters::defaults;
use sojourn_core::resource::{Resource, no_tables};
use sojourn_core::{Span, Streams, Time};

/// A fabric with these flows, hashed, under plain TCP.
pub(super) fn ready(topology: Topology, flows: &[Flow]) -> Ready {
    let scheme = PacketScheme { balance: Balance::Ecmp, ..PacketScheme::known("DCTCP").unwrap() };
    let line = |flow: &Flow| format!("{},{},{},{}\n", flow.from, flow.to, flow.bytes, flow.arrived);
    let lines: String = flows.iter().map(line).collect();
    let text = format!("src,dst,size_bytes,arrival\n{lines}");
    let case = FabricCase {
        window_digest: false,
        message_rows: false,
        failure: Vec::new(),
        topology,
        workload: Arrivals::Csv(Csv { file: Resource::text("flows.csv", &text).into() }).into(),
        background: None,
        scheme: Scheme::Packets(scheme),
        buffer: Buffer::default(),
        core_buffer: None,
        packets: defaults(),
        hosts: Hosts::EXACT,
        forwarding: Forwarding::StoreAndForward,
        completion: Completion::Sender,
        drain: Span::from_s(1),
        sample: None,
        trace: None,
    };
    case.ready(Streams::new(3, 1), &no_tables).expect("the case can run")
}

/// So many flows between `hosts` hosts, so rare that none meets another.
pub(super) fn sparse(hosts: u16, number: u64) -> Vec<Flow> {
    let mut stream = Streams::new(7, 0).stream("flows", 0);
    let flow = |place: u64| {
        let from = stream.below(hosts.into()) as u16;
        let to = (from + 1 + stream.below(u64::from(hosts) - 1) as u16) % hosts;
        let at = Time::ZERO + Span::from_us(100 * place);
        Flow::new(from, to, 1 + stream.below(20_000), at)
    };
    (0..number).map(flow).collect()
}
