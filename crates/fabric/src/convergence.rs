//! Routes that learn of links that fail, and flows that are left without one.

use crate::flow::Flow;
use crate::topology::{Network, Routes};
use sojourn_core::Time;
use std::collections::BTreeSet;
use std::ops::Range;

/// Cables that routes leave out for some time.
#[derive(Clone, Debug)]
pub(crate) struct Outage {
    /// From when until when.
    pub(crate) known: Range<Time>,
    /// The ports that send on them; one of the two of a cable suffices.
    pub(crate) ports: Vec<u32>,
    /// Whether nothing gets through. Where it does, packets without another way go on over the cable.
    pub(crate) are_dead: bool,
}

/// The routes of a fabric from a time on.
#[derive(Clone, Debug)]
pub(crate) struct Detour {
    /// From when on. Switches change over at the begin of the first window from then on.
    pub(crate) from: Time,
    pub(crate) routes: Routes,
    /// For each host a number, the same for those that reach each other.
    parts: Vec<u32>,
}

/// How routes change over a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Convergence {
    detours: Vec<Detour>,
}

impl Convergence {
    /// How the routes of `network` change with `outages`.
    pub(crate) fn of(outages: &[Outage], network: &Network) -> Convergence {
        let ends = outages.iter().flat_map(|outage| [outage.known.start, outage.known.end]);
        let times: BTreeSet<Time> = ends.filter(|&at| at != Time::NEVER).collect();
        let detour = |from| {
            let known = || outages.iter().filter(|outage| outage.known.contains(&from));
            let ports = |outage: &Outage| outage.ports.clone();
            let out = known().flat_map(ports).collect();
            let dead = known().filter(|outage| outage.are_dead).flat_map(ports).collect();
            Detour {
                from,
                routes: network.routes_without(&out, &dead),
                parts: network.parts_without(&dead),
            }
        };
        Convergence { detours: times.into_iter().map(detour).collect() }
    }

    /// The changes of routes, by time.
    pub(crate) fn detours(&self) -> &[Detour] {
        &self.detours
    }

    /// From when on each of `flows` has no route for good; [`Time::NEVER`] for one that always finds one again.
    /// Empty where routes never change.
    pub(crate) fn cuts(&self, flows: &[Flow]) -> Vec<Time> {
        let cut = |flow: &Flow| {
            let parted = |detour: &&Detour| {
                detour.parts[usize::from(flow.from)] != detour.parts[usize::from(flow.to)]
            };
            let last = self.detours.iter().rev().take_while(parted).last();
            last.map_or(Time::NEVER, |detour| detour.from)
        };
        if self.detours.is_empty() { Vec::new() } else { flows.iter().map(cut).collect() }
    }
}
