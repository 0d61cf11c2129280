//! Completion times of all flows, from the delays of the links that were simulated.

use super::delay_buckets::{DelayBuckets, Sample};
use super::link_model::{LOST, LinkTimes};
use super::{Acks, Decomposition, Draws};
use crate::engine::{Outcome, PacketCounts};
use crate::flow::Ideals;
use crate::flow::{Completion, Flow};
use crate::rows::{BUSIEST_LINK, FAILED_ASSUMPTIONS, report};
use crate::transport::Tally;
use sojourn_core::parameters::Value;
use sojourn_core::{Column, Keep, Report, Span, Stream, Time};
use std::fmt;

/// Columns that the simulation of a whole fabric counts and an estimate does not know.
const UNKNOWN: [&str; 2] = ["retransmits", "timeouts"];

/// The delays that the simulation of a link gave.
struct Known<'a> {
    /// Delays of the flows that cross it, in order.
    own: &'a [i64],
    like: DelayBuckets,
}

/// Other links were simulated than the decomposition has, or with other flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OtherLinks;

impl fmt::Display for OtherLinks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the links are not those that were to be simulated")
    }
}

impl Decomposition {
    /// The rows of all flows: of each, its time in an empty fabric, and a delay for each link of its
    /// path, that of a flow which crossed the link, or the one simulated for it. A column `method`
    /// marks them.
    ///
    /// What was not simulated, or not with the flows of this decomposition, is refused.
    pub fn combine(&self, times: &[LinkTimes]) -> Result<Report, OtherLinks> {
        self.check(times)?;
        let delays = self.delays(times);
        let (network, flows) = (&self.ready.network, &self.ready.jobs.flows);
        let mut best = Ideals::new(network, &self.ready.packets);
        let ideals = self.ready.jobs.ideal_times(&mut best, self.ready.completion);
        let ends = (0..).zip(&**flows).map(|(number, flow)| {
            let found = self.delay(number, flow, &delays);
            let mut end = |completion, delay: fn([u64; 2]) -> u64| {
                let delay = Span::from_ps(delay(found?));
                let at = flow.arrived + best.alone(flow, completion) + delay;
                (at <= self.ready.horizon).then_some(at)
            };
            let received = end(Completion::Receiver, |[out, _]| out);
            let acknowledged = end(Completion::Sender, |[_, both]| both);
            (received.unwrap_or(Time::NEVER), acknowledged.unwrap_or(Time::NEVER))
        });
        let (received, acknowledged): (Vec<Time>, Vec<Time>) = ends.unzip();
        let last = acknowledged.iter().copied().filter(|at| *at != Time::NEVER).max();
        let outcome = Outcome {
            without_route: Vec::new(),
            tallies: vec![Tally::default(); flows.len()],
            began: Vec::new(),
            watched: Vec::new(),
            progress: Vec::new(),
            delivered: Vec::new(),
            samples: Vec::new(),
            ranks: None,
            counts: PacketCounts::default(),
            memory_peaks: Vec::new(),
            headroom_peaks: Vec::new(),
            pauses: Vec::new(),
            each_pause: Vec::new(),
            seen: Vec::new(),
            blocked: Vec::new(),
            port_peaks: Vec::new(),
            busy: vec![Span::ZERO; network.links.len()],
            ended: last.unwrap_or(self.ready.horizon),
            received,
            acknowledged,
        };
        let Report { mut rows, beside, totals } =
            report(Keep::Rows, self.ready.played(), &ideals, &outcome);
        rows.columns.retain(|(name, _)| !UNKNOWN.contains(name));
        let count = rows.ints("job").len();
        rows.push("method", Column::of_names(vec![0; count], &["estimate"]));
        let known = |(name, _): &(String, Value)| {
            ["unfinished", "simulated_ps", "ideal"].contains(&name.as_str())
        };
        let totals = totals.into_iter().filter(known).chain(self.totals(times)).collect();
        Ok(Report { rows, beside, totals })
    }

    fn check(&self, times: &[LinkTimes]) -> Result<(), OtherLinks> {
        let mut given: Vec<u32> = times.iter().map(|times| times.link).collect();
        let mut wanted = self.links();
        given.sort_unstable();
        wanted.sort_unstable();
        let whole = |times: &LinkTimes| times.delays.len() == self.crossings.of(times.link).len();
        match given == wanted && times.iter().all(whole) {
            true => Ok(()),
            false => Err(OtherLinks),
        }
    }

    /// The delays of each link.
    fn delays<'a>(&self, times: &'a [LinkTimes]) -> Vec<Option<Known<'a>>> {
        let mut known = Vec::new();
        known.resize_with(self.simulated.len(), || None);
        for LinkTimes { link, delays: own, .. } in times {
            let sample = |(flow, &delay): (Flow, &i64)| {
                let packets = self.ready.packets.count(flow.bytes);
                Sample { bytes: flow.bytes, packets, delay }
            };
            let like =
                DelayBuckets::new(self.flows(*link).zip(own).map(sample).collect(), &self.settings);
            known[*link as usize] = Some(Known { own, like });
        }
        known
    }

    /// The delay of a flow on the links of its path, in picoseconds, and that with the links of its last
    /// acknowledgement; none where one of them never lets it through.
    fn delay(&self, number: u32, flow: &Flow, known: &[Option<Known<'_>>]) -> Option<[u64; 2]> {
        let packets = self.ready.packets.count(flow.bytes);
        let mut stream = self.ready.streams.stream("estimate", number.into());
        let mut of_link = |link: u32| {
            let simulated = self.simulated[link as usize];
            let known = known[simulated as usize]
                .as_ref()
                .expect("a link of the combination was simulated");
            if self.settings.draws == Draws::Own && simulated == link {
                let place = self.crossings.of(link).binary_search(&number);
                let own = known.own[place.expect("a flow of a link crosses it")];
                return (own != LOST).then_some(own);
            }
            known.like.draw(flow.bytes, packets, &mut stream)
        };
        let network = &self.ready.network;
        let out: Option<i64> = self.crossings.path(network, number, flow).map(&mut of_link).sum();
        let back = match self.settings.acks {
            Acks::Wait => self.back(number, flow, known, &mut stream),
            Acks::Free => 0,
        };
        // What a link saves a flow that waited before it counts too, but none is quicker than alone.
        out.map(|out| [out, out + back].map(|delay| delay.max(0) as u64))
    }

    /// How long the last acknowledgement of a flow waits: not at all where no other flow is, or where
    /// that one did not finish.
    fn back(
        &self,
        number: u32,
        flow: &Flow,
        known: &[Option<Known<'_>>],
        stream: &mut Stream,
    ) -> i64 {
        let of_link = |link: u32| {
            let known = known[self.simulated[link as usize] as usize].as_ref();
            known.and_then(|known| known.like.draw(1, 1, stream)).unwrap_or(0)
        };
        self.crossings.path_back(&self.ready.network, number, flow).map(of_link).sum()
    }

    fn totals(&self, times: &[LinkTimes]) -> Vec<(String, Value)> {
        let used = self.crossings.used().count();
        let arrivals = self.ready.jobs.last_arrival().unwrap_or(Time::ZERO).seconds();
        let load = |link: u32| {
            let bytes: u64 =
                self.flows(link).map(|flow| self.ready.packets.on_the_wire(flow.bytes)).sum();
            let rate = self.ready.network.links[link as usize].spec.rate.bits_per_second();
            bytes as f64 * 8.0 / (rate as f64 * arrivals)
        };
        let loads = self.crossings.used().map(load).filter(|load| load.is_finite());
        let counts = [
            ("events", times.iter().map(|times| times.events).sum()),
            ("links", used as u64),
            ("links_simulated", times.len() as u64),
            ("flows_a_link", self.flows_a_link() as u64),
        ];
        let busiest = (BUSIEST_LINK.to_owned(), Value::Float(loads.fold(0.0, f64::max)));
        let counts = counts.map(|(name, count)| (name.to_owned(), Value::Int(count as i64)));
        let doubts =
            self.doubts().map(|doubts| (FAILED_ASSUMPTIONS.to_owned(), Value::Text(doubts)));
        counts.into_iter().chain([busiest]).chain(doubts).collect()
    }
}
