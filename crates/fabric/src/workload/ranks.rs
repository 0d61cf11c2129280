//! Programs of ranks as jobs of a case.

use super::{Drawn, WorkloadContext};
use crate::flow::Flow;
use crate::ranks::{PlanError, RankPlan, Server};
use sojourn_core::Time;
use sojourn_training::program::{Execution, Op, Program};
use std::sync::Arc;

/// The connections of `program`, whose ranks are on these `hosts`.
pub(super) fn drawn(
    program: Program,
    hosts: Vec<u16>,
    server: Server,
    context: &WorkloadContext<'_>,
) -> Result<Drawn, PlanError> {
    let payload = context.packets.payload.0;
    let plan = RankPlan::new(program, hosts, server, payload)?;
    let flow = |(from, to, packets)| {
        let bytes = u64::from(packets) * payload;
        Flow::new(plan.host(from), plan.host(to), bytes, Time::ZERO)
    };
    let mut drawn = Drawn { flows: plan.connections().map(flow).collect(), ..Drawn::default() };
    drawn.ranks = Some(Arc::new(plan));
    Ok(drawn)
}

/// How many collectives `program` has that are simulated message by message.
pub(super) fn collectives(program: &Program) -> usize {
    let calls = program.calls();
    let joins = program.nodes().filter_map(|at| match program.op(at) {
        Op::Collective { call, .. } => Some((at.rank, call)),
        _ => None,
    });
    let simulated =
        joins.filter(|&(_, call)| calls[call as usize].execution == Execution::Messages);
    let leads = |&(rank, call): &(u32, u32)| {
        let groups = program.groups(call).expect("a call has groups");
        groups.place(rank).is_some_and(|(_, index)| index == 0)
    };
    simulated.filter(leads).count()
}
