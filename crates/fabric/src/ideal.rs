//! The ideal scheduler: central, preemptive, shortest first, on the access links alone (pFabric
//! sections 2.1 and 3, scheme v).
//!
//! Flow level: at every moment flows are taken in non-decreasing order, and each is served at full
//! speed unless its source or its destination already serves an earlier one. That greedy matching
//! is the only one in which every waiting flow is blocked by an earlier one at one of its ends, so
//! it can be kept up to date: an arrival or a departure touches a few ends, and whoever is blocked
//! no longer takes its place, perhaps displacing others in turn. The order in which these are
//! looked at does not matter. The obvious way, sorting all flows at every event, is in the tests.

use crate::engine::{Cancelled, Progress};
use crate::flow::{Flow, Packets};
use sojourn_kernel::parameters::Check;
use sojourn_kernel::{Rate, Span, Time, choices, parameters};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::atomic::Ordering;

parameters! {
    /// The ideal: a central scheduler serves flows preemptively in non-decreasing order, as many
    /// at once as the hosts' links allow; the fabric between them is never in the way (pFabric
    /// sections 2.1 and 3, scheme v).
    pub struct Ideal: "Ideal" {
        /// What flows are ordered by.
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

/// Where a flow stands among others: lower is served first. Ties go to the flow that came first.
type Rank = (Span, u32);

/// What the scheduler knows of one flow.
#[derive(Clone, Copy, Debug)]
struct Job {
    /// Its source and its destination; destinations are numbered after the sources.
    ends: [u32; 2],
    /// What it is ordered by when it is ordered by size.
    size: Span,
    /// Time of service it still needs, while it waits.
    left: Span,
    /// When it will be done, while it is served; [`Time::NEVER`] while it waits.
    done: Time,
}

/// How often the run looks at its [`Progress`], in flows that arrive.
const LOOK_EVERY: usize = 1 << 12;

struct Scheduler {
    order: Order,
    now: Time,
    jobs: Vec<Job>,
    /// The flow that each end serves.
    served: Vec<Option<u32>>,
    /// The flows that wait at each end, best first.
    waiting: Vec<Vec<(Rank, u32)>>,
    /// Ends that may serve somebody better than they do.
    loose: Vec<u32>,
    /// (when, who); out of date where the flow's own time differs.
    departures: BinaryHeap<Reverse<(Time, u32)>>,
}

impl Ideal {
    /// When the last byte of each flow leaves its source, `flows` being in order of arrival and
    /// `nic` the speed of each host's link.
    pub fn departures(
        &self,
        flows: &[Flow],
        packets: &Packets,
        nic: &[Rate],
        progress: &Progress,
    ) -> Result<Vec<Time>, Cancelled> {
        let mut scheduler = Scheduler {
            order: self.order,
            now: Time::ZERO,
            jobs: Vec::with_capacity(flows.len()),
            served: vec![None; 2 * nic.len()],
            waiting: vec![Vec::new(); 2 * nic.len()],
            loose: Vec::new(),
            departures: BinaryHeap::new(),
        };
        let mut departed = vec![Time::NEVER; flows.len()];
        for (index, flow) in flows.iter().enumerate() {
            scheduler.depart_until(flow.arrived, &mut departed);
            scheduler.arrive(flow, service(flow, packets, nic), nic.len() as u32);
            if index.is_multiple_of(LOOK_EVERY) {
                progress.finished.store(index as u64, Ordering::Relaxed);
                progress.simulated_ps.store(flow.arrived.ps(), Ordering::Relaxed);
                if progress.cancelled.load(Ordering::Relaxed) {
                    return Err(Cancelled);
                }
            }
        }
        scheduler.depart_until(Time::NEVER, &mut departed);
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
        self.jobs.push(Job {
            ends: [flow.from.into(), hosts + u32::from(flow.to)],
            size: service,
            left: service,
            done: Time::NEVER,
        });
        if self.blocked(id) {
            self.wait(id);
        } else {
            self.serve(id);
            self.settle();
        }
    }

    /// Lets every flow go that is done by `until`: all of one moment first, then others take their
    /// places.
    fn depart_until(&mut self, until: Time, departed: &mut [Time]) {
        while let Some(&Reverse((at, _))) = self.departures.peek()
            && at <= until
        {
            self.now = at;
            while let Some(&Reverse((time, id))) = self.departures.peek()
                && time == at
            {
                self.departures.pop();
                let job = &mut self.jobs[id as usize];
                if job.done == at {
                    job.done = Time::NEVER;
                    departed[id as usize] = at;
                    for end in job.ends {
                        self.served[end as usize] = None;
                        self.loose.push(end);
                    }
                }
            }
            self.settle();
        }
    }

    /// Where `id` stands now.
    fn rank(&self, id: u32) -> Rank {
        let job = &self.jobs[id as usize];
        let measure = match self.order {
            Order::Size => job.size,
            Order::Remaining if job.done == Time::NEVER => job.left,
            Order::Remaining => job.done - self.now,
        };
        (measure, id)
    }

    /// Whether one of the ends of `id` serves an earlier flow.
    fn blocked(&self, id: u32) -> bool {
        let rank = self.rank(id);
        let ends = self.jobs[id as usize].ends;
        ends.iter().any(|&end| self.served[end as usize].is_some_and(|s| self.rank(s) < rank))
    }

    /// Serves `id`, which is not blocked, in the place of whoever its ends serve.
    fn serve(&mut self, id: u32) {
        for end in self.jobs[id as usize].ends {
            if let Some(other) = self.served[end as usize] {
                self.displace(other);
            }
        }
        let job = &mut self.jobs[id as usize];
        job.done = self.now + job.left;
        self.departures.push(Reverse((job.done, id)));
        for end in job.ends {
            self.served[end as usize] = Some(id);
        }
    }

    fn displace(&mut self, id: u32) {
        let job = &mut self.jobs[id as usize];
        job.left = job.done - self.now;
        job.done = Time::NEVER;
        for end in job.ends {
            self.served[end as usize] = None;
            self.loose.push(end);
        }
        self.wait(id);
    }

    fn wait(&mut self, id: u32) {
        let entry = (self.rank(id), id);
        for end in self.jobs[id as usize].ends {
            let waiting = &mut self.waiting[end as usize];
            let place = waiting.partition_point(|other| *other < entry);
            waiting.insert(place, entry);
        }
    }

    /// Serves those who are blocked no longer, until all who wait are blocked.
    fn settle(&mut self) {
        while let Some(end) = self.loose.pop() {
            let free = (0..self.waiting[end as usize].len())
                .map(|place| self.waiting[end as usize][place].1)
                .take_while(|&id| {
                    let served = self.served[end as usize];
                    served.is_none_or(|served| self.rank(id) < self.rank(served))
                })
                .find(|&id| !self.blocked(id));
            if let Some(id) = free {
                let entry = (self.rank(id), id);
                for end in self.jobs[id as usize].ends {
                    let waiting = &mut self.waiting[end as usize];
                    let place = waiting.binary_search(&entry).expect("it waits at both ends");
                    waiting.remove(place);
                }
                self.serve(id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use sojourn_kernel::parameters::defaults;

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
                .departures(&flows, &packets, &nic, &Progress::default())
                .expect("nobody cancelled it");
            prop_assert_eq!(quick, obvious(order, &flows, &packets, &nic));
        }
    }
}
