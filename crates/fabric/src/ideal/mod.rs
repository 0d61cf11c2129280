//! The ideal scheduler: central, preemptive, shortest first, on the access links alone (pFabric
//! sections 2.1 and 3, scheme v).
//!
//! Flow level: at every moment flows are taken in non-decreasing order, and each is served at full
//! speed unless its source or its destination already serves an earlier one. That greedy matching
//! is the only one in which every waiting flow is blocked by an earlier one at one of its ends, so
//! it can be kept up to date: an arrival or a departure touches a few ends, and what is blocked
//! no longer takes its place, perhaps displacing others in turn. The order in which these are
//! looked at does not matter. The obvious way, sorting all flows at every event, is in the tests.

mod tournament;

use crate::engine::{Cancelled, Progress};
use crate::flow::{Flow, Packets};
use sojourn_core::parameters::Check;
use sojourn_core::{Rate, Span, Time, choices, parameters};
use std::sync::atomic::Ordering;
use tournament::Tournament;

parameters! {
    /// The ideal: a central scheduler serves flows preemptively in non-decreasing order, as many
    /// at once as the hosts' links allow; the fabric between them is never in the way (pFabric
    /// sections 2.1 and 3, scheme v).
    pub struct Ideal: "Ideal" {
        /// Order in which flows are served.
        pub order: Order = Order::Remaining,
    }
}

impl Check for Ideal {}

choices! {
    /// What the ideal scheduler orders flows by.
    pub enum Order: "order of flows" {
        /// What is left of them: shortest remaining processing time.
        Remaining = "remaining",
        /// Their whole size: shortest job first.
        Size = "size",
    }
}

/// What the scheduler knows of one flow.
#[derive(Clone, Copy, Debug)]
struct Job {
    /// Its source and its destination; destinations are numbered after the sources.
    ends: [u32; 2],
    /// What it is ordered by when it is ordered by size.
    size: Span,
    /// Time of service it still needs, while it waits.
    left: Span,
    /// When it will be done, while it is served.
    done: Time,
}

/// Where a flow stands among others: lower is served first. Ties go to the flow that came first.
type Rank = (Span, u32);

/// A flow that waits at an end. While it does, its rank stays.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    measure: Span,
    id: u32,
    /// The end at which it waits too.
    other: u32,
}

impl Waiting {
    fn rank(&self) -> Rank {
        (self.measure, self.id)
    }
}

/// Where the flow stands that an end serves: its size, or when it will be done. What is left of it
/// shrinks as time goes by, and so does what is left until then.
type Standing = (Span, u32);

/// An end that serves no flow.
const UNSERVED: Standing = (Span::MAX, u32::MAX);

/// How often the run looks at its [`Progress`], in flows that arrive.
const LOOK_EVERY: usize = 1 << 12;

struct Scheduler {
    order: Order,
    now: Time,
    jobs: Vec<Job>,
    /// The flow that each end serves.
    served: Vec<Standing>,
    /// The flows that wait at each end, best last.
    waiting: Vec<Vec<Waiting>>,
    /// Ends that may serve a better flow than they do.
    loose: Vec<u32>,
    /// When each source is done with the flow it serves.
    departures: Tournament,
}

impl Ideal {
    /// When the last byte of each flow leaves its source, `flows` being in order of arrival and
    /// `nic` the speed of each host's link; [`Time::NEVER`] where that is beyond `horizon`.
    pub fn departures(
        &self,
        flows: &[Flow],
        packets: &Packets,
        nic: &[Rate],
        horizon: Time,
        progress: &Progress,
    ) -> Result<Vec<Time>, Cancelled> {
        let mut scheduler = Scheduler {
            order: self.order,
            now: Time::ZERO,
            jobs: Vec::with_capacity(flows.len()),
            served: vec![UNSERVED; 2 * nic.len()],
            waiting: vec![Vec::new(); 2 * nic.len()],
            loose: Vec::new(),
            departures: Tournament::new(nic.len()),
        };
        let mut departed = vec![Time::NEVER; flows.len()];
        for (index, flow) in flows.iter().enumerate() {
            scheduler.depart_until(flow.arrived, &mut departed);
            scheduler.arrive(flow, service(flow, packets, nic), nic.len() as u32);
            if index.is_multiple_of(LOOK_EVERY) {
                progress.finished.store(index as u64, Ordering::Relaxed);
                progress.simulated_ps.store(flow.arrived.ps(), Ordering::Relaxed);
                if progress.is_cancelled() {
                    return Err(Cancelled);
                }
            }
        }
        scheduler.depart_until(horizon, &mut departed);
        Ok(departed)
    }
}

/// How long a flow needs when it is served: all its bytes, headers too, at the slower of its ends.
pub(crate) fn service(flow: &Flow, packets: &Packets, nic: &[Rate]) -> Span {
    let rate = nic[usize::from(flow.from)].min(nic[usize::from(flow.to)]);
    rate.span(packets.on_the_wire(flow.bytes))
}

impl Scheduler {
    fn arrive(&mut self, flow: &Flow, service: Span, hosts: u32) {
        self.now = flow.arrived;
        let id = self.jobs.len() as u32;
        let ends = [flow.from.into(), hosts + u32::from(flow.to)];
        self.jobs.push(Job { ends, size: service, left: service, done: Time::NEVER });
        let standing = self.standing((service, id));
        if ends.iter().any(|&end| self.served[end as usize] < standing) {
            self.wait(id);
        } else {
            self.serve(standing);
            self.settle();
        }
    }

    /// Lets every flow go that is done by `until`: all of one moment first, then others take their
    /// places.
    fn depart_until(&mut self, until: Time, departed: &mut [Time]) {
        while let (at, _) = self.departures.first()
            && at <= until
            && at != Time::NEVER
        {
            self.now = at;
            while let (time, source) = self.departures.first()
                && time == at
            {
                let (_, id) = self.served[source as usize];
                departed[id as usize] = at;
                self.release(id);
            }
            self.settle();
        }
    }

    /// Where a flow of that rank stands if it is served now.
    fn standing(&self, (measure, id): Rank) -> Standing {
        match self.order {
            Order::Size => (measure, id),
            Order::Remaining => (self.now.since(Time::ZERO) + measure, id),
        }
    }

    /// Serves a flow that neither of its ends has to leave for an earlier one, in the place of
    /// whichever flow they serve.
    fn serve(&mut self, standing: Standing) {
        let (_, id) = standing;
        let ends = self.jobs[id as usize].ends;
        for end in ends {
            let (_, other) = self.served[end as usize];
            if other != UNSERVED.1 {
                self.displace(other);
            }
        }
        let job = &mut self.jobs[id as usize];
        job.done = self.now + job.left;
        self.departures.set(ends[0], job.done);
        for end in ends {
            self.served[end as usize] = standing;
        }
    }

    fn displace(&mut self, id: u32) {
        let job = &mut self.jobs[id as usize];
        job.left = job.done - self.now;
        self.release(id);
        self.wait(id);
    }

    /// The ends of a flow serve it no longer.
    fn release(&mut self, id: u32) {
        let ends = self.jobs[id as usize].ends;
        self.departures.set(ends[0], Time::NEVER);
        for end in ends {
            self.served[end as usize] = UNSERVED;
            self.loose.push(end);
        }
    }

    fn wait(&mut self, id: u32) {
        let Job { ends: [from, to], size, left, .. } = self.jobs[id as usize];
        let measure = match self.order {
            Order::Size => size,
            Order::Remaining => left,
        };
        for (end, other) in [(from, to), (to, from)] {
            let own = Waiting { measure, id, other };
            let waiting = &mut self.waiting[end as usize];
            waiting.insert(place(waiting, own.rank()), own);
        }
    }

    /// Serves those who are blocked no longer, until all who wait are blocked.
    fn settle(&mut self) {
        while let Some(end) = self.loose.pop() {
            let served = self.served[end as usize];
            let waiting = self.waiting[end as usize].iter().rev();
            let better = waiting
                .map(|own| (*own, self.standing(own.rank())))
                .take_while(|(_, standing)| *standing < served);
            let mut better =
                better.filter(|(own, standing)| *standing < self.served[own.other as usize]);
            if let Some((own, standing)) = better.next() {
                for end in [end, own.other] {
                    let waiting = &mut self.waiting[end as usize];
                    waiting.remove(place(waiting, own.rank()));
                }
                self.serve(standing);
            }
        }
    }
}

/// Where a flow of that rank waits among others, or would.
fn place(waiting: &[Waiting], rank: Rank) -> usize {
    waiting.partition_point(|other| other.rank() > rank)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use sojourn_core::parameters::defaults;

    /// The obvious way: at every arrival and departure, sort all flows and match anew.
    fn obvious(order: Order, flows: &[Flow], packets: &Packets, nic: &[Rate]) -> Vec<Time> {
        let size: Vec<Span> = flows.iter().map(|flow| service(flow, packets, nic)).collect();
        let mut left = size.clone();
        let mut departed = vec![Time::NEVER; flows.len()];
        let mut now = Time::ZERO;
        loop {
            let mut present: Vec<usize> = (0..flows.len())
                .filter(|&i| flows[i].arrived <= now && left[i] > Span::ZERO)
                .collect();
            present.sort_by_key(|&i| match order {
                Order::Remaining => (left[i], i),
                Order::Size => (size[i], i),
            });
            let (mut sources, mut sinks) = (vec![false; nic.len()], vec![false; nic.len()]);
            let served: Vec<usize> = present
                .into_iter()
                .filter(|&i| {
                    let (from, to) = (usize::from(flows[i].from), usize::from(flows[i].to));
                    let free = !sources[from] && !sinks[to];
                    if free {
                        (sources[from], sinks[to]) = (true, true);
                    }
                    free
                })
                .collect();
            let arrival = flows.iter().map(|flow| flow.arrived).filter(|&at| at > now).min();
            let departure = served.iter().map(|&i| now + left[i]).min();
            let Some(next) = arrival.into_iter().chain(departure).min() else {
                return departed;
            };
            for i in served {
                left[i] -= next - now;
                if left[i] == Span::ZERO {
                    departed[i] = next;
                }
            }
            now = next;
        }
    }

    proptest! {
        /// Bit for bit, also through arrivals and departures of the same moment.
        #[test]
        fn agrees_with_the_obvious_way(
            hosts in 2u16..7,
            draws in prop::collection::vec((any::<u16>(), any::<u16>(), 1u64..9, 0u64..4), 1..60),
            by_size in any::<bool>(),
            mixed in any::<bool>(),
        ) {
            let packets: Packets = defaults();
            let nic: Vec<Rate> = (0..hosts)
                .map(|host| Rate::gbps(if mixed && host % 2 == 1 { 40 } else { 10 }))
                .collect();
            let mut now = Time::ZERO;
            let flows: Vec<Flow> = draws
                .iter()
                .map(|&(from, to, size, gap)| {
                    now += Span::from_ns(1_200) * gap;
                    let from = from % hosts;
                    let to = (from + 1 + to % (hosts - 1)) % hosts;
                    let bytes = size * 1_460;
                    Flow::new(from, to, bytes, now)
                })
                .collect();
            let order = if by_size { Order::Size } else { Order::Remaining };
            let quick = Ideal { order }
                .departures(&flows, &packets, &nic, Time::NEVER, &Progress::default())
                .expect("no thread cancelled it");
            prop_assert_eq!(quick, obvious(order, &flows, &packets, &nic));
        }
    }
}
