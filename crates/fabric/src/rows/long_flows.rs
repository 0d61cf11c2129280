//! What the receivers of long flows got: in windows of many lengths, so that one run says how evenly flows
//! share at each of them; and at each host together, beside what its link can carry.

use super::Played;
use crate::engine::Outcome;
use crate::workload::Role;
use sojourn_core::{Column, Rows, Time};
use std::collections::BTreeMap;

/// The name of that table.
pub(super) const AVERAGES: &str = "averages";

/// A row for each long flow and time over which its goodput is averaged, by length of that time, start
/// and flow; none without such flows.
pub(super) fn averages(of: Played<'_>, outcome: &Outcome) -> Rows {
    let jobs = of.jobs;
    let with_rows = jobs.owners.iter().zip(&*jobs.flows);
    let with_rows = with_rows.filter(|(owner, _)| owner.role == Role::Flow).enumerate();
    let long = with_rows.filter(|(_, (_, flow))| flow.is_endless()).map(|(row, _)| row);
    let watched = long.zip(&*jobs.watches).zip(&outcome.progress);
    let mut found = Vec::new();
    for ((row, watch), received) in watched {
        for own in of.averaging.of(watch) {
            let at = |time| received[of.averaging.place(time)];
            let bytes = at(own.start + own.over) - at(own.start);
            found.push((own.over, own.start, row, bytes));
        }
    }
    if found.is_empty() {
        return Rows::default();
    }
    found.sort_unstable();
    Rows {
        columns: vec![
            ("over_ps", Column::Ps(found.iter().map(|own| own.0.ps() as i64).collect())),
            ("start_ps", Column::Ps(found.iter().map(|own| own.1.ps() as i64).collect())),
            ("job", Column::Int(found.iter().map(|own| own.2 as i64).collect())),
            ("received_bytes", Column::Int(found.iter().map(|own| own.3 as i64).collect())),
        ],
    }
}

/// The largest share of what its link can carry that any host received of long flows, in whole packets
/// without the first, which may have left before the measuring window; none without such flows.
pub(super) fn received_share(of: Played<'_>, outcome: &Outcome) -> Option<f64> {
    let (jobs, network, packets) = (of.jobs, of.network, of.packets);
    let mut received: BTreeMap<(u16, Time, Time), u64> = BTreeMap::new();
    for (watch, at) in jobs.watches.iter().zip(&outcome.progress) {
        let place = |time| at[of.averaging.place(time)];
        let to = jobs.flows[watch.flow as usize].to;
        *received.entry((to, watch.from, watch.until)).or_default() +=
            place(watch.until) - place(watch.from);
    }
    let share = |((host, from, until), bytes): ((u16, Time, Time), u64)| {
        let link = network.links.iter().find(|link| link.to == u32::from(host));
        let count = (bytes / packets.payload.0).saturating_sub(1);
        let busy = link.expect("a host has a link").spec.rate.span(u64::from(packets.full()));
        count as f64 * busy.seconds() / (until - from).seconds()
    };
    received.into_iter().map(share).max_by(f64::total_cmp)
}
