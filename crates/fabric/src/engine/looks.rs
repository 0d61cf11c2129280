//! Long flows, looked at: what their senders know when a watch begins and ends, and what their receivers
//! have at each instant.

use super::host::look_note;
use super::scenario::Scenario;
use crate::lists::Lists;
use crate::packet::Packet;
use crate::transport::{Tally, Transport};
use sojourn_core::Time;

/// What was seen so far of the watched flows of one side.
pub(super) struct Looks<'a> {
    scenario: &'a Scenario,
    /// The hosts that watched flows begin or end at.
    hosts: Vec<u16>,
    /// Number of the next instant.
    number: u32,
    /// The watches of the flows from each host, and of those to each host.
    from: Lists,
    to: Lists,
    /// What happened to each flow during its watch.
    pub(super) tallies: Vec<Tally>,
    /// Bytes that each flow's receiver had at each instant; empty where the receiver is on another side.
    pub(super) received: Vec<Vec<u64>>,
}

impl<'a> Looks<'a> {
    /// Nothing was seen yet.
    pub(super) fn new(scenario: &'a Scenario) -> Looks<'a> {
        let Scenario { watches, flows, network, .. } = scenario;
        let ends = (0..).zip(&**watches).map(|(n, watch)| (&flows[watch.flow as usize], n));
        let from = Lists::grouped(network.hosts, ends.clone().map(|(f, n)| (f.from.into(), n)));
        let to = Lists::grouped(network.hosts, ends.map(|(f, n)| (f.to.into(), n)));
        let has_any = |host: u32| !from.of(host).is_empty() || !to.of(host).is_empty();
        Looks {
            hosts: (0..network.hosts as u32)
                .filter(|&host| has_any(host))
                .map(|host| host as u16)
                .collect(),
            number: 0,
            from,
            to,
            tallies: vec![Tally::default(); watches.len()],
            received: vec![Vec::new(); watches.len()],
            scenario,
        }
    }

    /// The next instant; never after the last one, and where no flow is watched.
    pub(super) fn next_instant(&self) -> Time {
        match self.scenario.instants.get(self.number as usize) {
            Some(&instant) if !self.hosts.is_empty() => instant,
            _ => Time::NEVER,
        }
    }

    /// Goes on to the instant after, and returns the notes of all hosts for this one.
    pub(super) fn take_notes(&mut self) -> impl Iterator<Item = Packet> {
        let (at, number) = (self.next_instant(), self.number);
        debug_assert!(at != Time::NEVER);
        self.number += 1;
        self.hosts.iter().map(move |&host| look_note(at, host, number))
    }

    /// Looks at the flows of `host` at instant number `instant`. Returns how many watches ended.
    #[inline(never)]
    pub(super) fn look(
        &mut self,
        host: u16,
        instant: u32,
        transport: &mut impl Transport,
    ) -> usize {
        let Scenario { watches, instants, .. } = self.scenario;
        let now: Time = instants[instant as usize];
        let mut ended = 0;
        for &number in self.from.of(host.into()) {
            let watch = &watches[number as usize];
            let tally = &mut self.tallies[number as usize];
            if now == watch.from {
                *tally = transport.tally(watch.flow);
                transport.begin_watch(watch.flow);
            } else if now == watch.until {
                *tally = transport.tally(watch.flow).since(*tally);
                ended += 1;
            }
        }
        for &number in self.to.of(host.into()) {
            let bytes = transport.received(watches[number as usize].flow);
            self.received[number as usize].push(bytes);
        }
        ended
    }
}
