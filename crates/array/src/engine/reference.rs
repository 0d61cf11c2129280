//! The event loop a second time, as plainly as can be: lists, and a look at everything before each
//! step. It agrees with the engine to the picosecond, for plans of any kind on devices with any number
//! of servers.

use super::events::{simulate_plan, sojourn_simulate};
use super::{Join, PlanCache, Scenario, Sink};
use crate::device::{Chances, Memoryless, Op, ServiceModel};
use crate::layout::{Access, AccessPlan, Layout};
use crate::workload::Request;
use sojourn_core::parameters::{Setting, Table, Value};
use sojourn_core::{Progress, Span, Stream, Streams, Time};

/// An access that is issued and not done.
#[derive(Clone, Copy, Debug)]
struct Issued {
    job: usize,
    phase: usize,
    access: Access,
    takes: Span,
    /// Where it is served, and until when.
    served: Option<(usize, Time)>,
}

/// A request under way: its accesses by phase, each with its service time, and what is done of them.
struct Job {
    phases: Vec<Vec<(Access, Span)>>,
    needs: Vec<Option<usize>>,
    done: Vec<Vec<Access>>,
    /// The phase that comes next, and when, where the controller holds it back.
    next: usize,
    begins: Option<Time>,
    finished: Option<Time>,
}

impl Job {
    /// How many of the accesses of a phase are done that meet a condition, and how many have to be.
    fn progress(&self, phase: usize, of: impl Fn(&Access) -> bool) -> (usize, usize) {
        let all = self.phases[phase].iter().filter(|(access, _)| of(access)).count();
        (self.done[phase].iter().filter(|access| of(access)).count(), all)
    }

    /// Whether a phase has accesses that the next one waits for.
    fn is_gated(&self, phase: usize) -> bool {
        self.phases[phase].iter().any(|(access, _)| access.gate)
    }

    /// Whether a phase leads on: to the next one where accesses have gates, else to the end.
    fn leads_on(&self, phase: usize) -> bool {
        let (done, all) = match self.is_gated(phase) {
            true => self.progress(phase, |access| access.gate),
            false => self.progress(phase, |access| access.counts),
        };
        done >= self.needs[phase].unwrap_or(all)
    }

    /// Whether the request waits for nothing more of a phase.
    fn is_over(&self, phase: usize) -> bool {
        let is_all = |(done, all): (usize, usize)| done == all;
        match (self.needs[phase], self.is_gated(phase)) {
            (None, _) => is_all(self.progress(phase, |access| access.counts)),
            (Some(_), false) => self.leads_on(phase),
            (Some(_), true) => {
                let others = self.progress(phase, |access| access.counts && !access.gate);
                self.leads_on(phase) && is_all(others)
            }
        }
    }
}

struct Reference {
    servers: usize,
    between_phases: Span,
    jobs: Vec<Job>,
    /// In order of issue.
    issued: Vec<Issued>,
    busy: Vec<Span>,
}

impl Reference {
    fn is_idle(&self, server: usize) -> bool {
        self.issued.iter().all(|access| access.served.is_none_or(|(other, _)| other != server))
    }

    fn issue(&mut self, job: usize, now: Time) {
        let phase = self.jobs[job].next;
        self.jobs[job].next += 1;
        for (access, takes) in self.jobs[job].phases[phase].clone() {
            let disk = usize::from(access.disk);
            // An access starts at once at an idle server where no other of its rank waits; first
            // phases wait behind later ones too.
            let ahead = |other: &Issued| {
                let same = usize::from(other.access.disk) == disk && other.served.is_none();
                same && (phase == 0 || other.phase > 0)
            };
            let waits = self.issued.iter().any(ahead);
            let idle = (disk * self.servers..(disk + 1) * self.servers)
                .find(|&server| self.is_idle(server));
            let served = idle.filter(|_| !waits).map(|server| (server, now + takes));
            if served.is_some() {
                self.busy[disk] += takes;
            }
            self.issued.push(Issued { job, phase, access, takes, served });
        }
    }

    /// Ends the access of a server.
    fn end(&mut self, server: usize, now: Time) {
        let served = |access: &Issued| access.served.is_some_and(|(other, _)| other == server);
        let place = self.issued.iter().position(served).unwrap();
        let ended = self.issued.remove(place);
        let job = &mut self.jobs[ended.job];
        job.done[ended.phase].push(ended.access);
        if job.finished.is_none() && (0..job.phases.len()).all(|phase| job.is_over(phase)) {
            job.finished = Some(now);
        }
        let is_last_begun = job.next == ended.phase + 1 && job.begins.is_none();
        if is_last_begun && job.next < job.phases.len() && job.leads_on(ended.phase) {
            match self.between_phases {
                Span::ZERO => self.issue(ended.job, now),
                delay => job.begins = Some(now + delay),
            }
        }
        if self.is_idle(server) {
            self.serve_next(server, now);
        }
    }

    /// Later phases first, each in order of issue.
    fn serve_next(&mut self, server: usize, now: Time) {
        let disk = server / self.servers;
        let waits =
            |access: &Issued| usize::from(access.access.disk) == disk && access.served.is_none();
        let urgent = self.issued.iter().position(|access| waits(access) && access.phase > 0);
        if let Some(place) = urgent.or_else(|| self.issued.iter().position(waits)) {
            let next = &mut self.issued[place];
            next.served = Some((server, now + next.takes));
            self.busy[disk] += next.takes;
        }
    }

    /// The next end of an access, and the server that it is at.
    fn next_end(&self) -> Option<(Time, usize)> {
        let served = self.issued.iter().filter_map(|access| access.served);
        served.map(|(server, at)| (at, server)).min()
    }

    /// The next beginning of a phase that was held back, and the request whose it is.
    fn next_phase(&self) -> Option<(Time, usize)> {
        let jobs = self.jobs.iter().enumerate();
        jobs.filter_map(|(job, it)| it.begins.map(|at| (at, job))).min()
    }

    /// Goes on until `until`.
    fn run(&mut self, until: Time) {
        loop {
            match (self.next_end(), self.next_phase()) {
                (Some((ends, server)), begins)
                    if ends <= until && begins.is_none_or(|(begins, _)| ends <= begins) =>
                {
                    self.end(server, ends);
                }
                (_, Some((begins, job))) if begins <= until => {
                    self.jobs[job].begins = None;
                    self.issue(job, begins);
                }
                _ => return,
            }
        }
    }
}

/// What is kept of requests: ends and least sojourn times.
#[derive(Default)]
struct Ends(Vec<(Time, Span)>);

impl Sink for Ends {
    fn arrived(&mut self, _: u64, _: &Request, ideal: Span) {
        self.0.push((Time::NEVER, ideal));
    }

    fn finished(&mut self, job: u64, at: Time) {
        assert_eq!(self.0[job as usize].0, Time::NEVER, "a request is done once");
        self.0[job as usize].0 = at;
    }
}

/// Requests at random times, a mean of `gap` apart.
fn requests(stream: &mut Stream, gap: Span, most: u64, blocks: Option<u64>) -> Vec<Request> {
    let mut arrived = Time::ZERO;
    let mut next = |_| {
        arrived += Span::from_seconds(-gap.seconds() * stream.uniform().ln());
        let op = if stream.below(3) == 0 { Op::Read } else { Op::Write };
        let at = blocks.map(|blocks| stream.below(blocks - most));
        Request { arrived, op, blocks: 1 + stream.below(most) as u32, at }
    };
    (0..400).map(&mut next).collect()
}

/// The reference with these requests, whose plans `plan` gives.
fn reference<'p>(
    scenario: &Scenario<Memoryless>,
    requests: &[Request],
    mut plan: impl FnMut(&Request) -> AccessPlan + 'p,
) -> Reference {
    let disks = scenario.layout.disks();
    let mut places: Vec<Chances> =
        (0..disks as u64).map(|disk| Chances::places(scenario.streams, disk)).collect();
    let mut reference = Reference {
        servers: scenario.model.servers,
        between_phases: scenario.overhead + scenario.parity,
        jobs: Vec::new(),
        issued: Vec::new(),
        busy: vec![Span::ZERO; disks],
    };
    for request in requests {
        let plan = plan(request);
        let mut timed = |access: &Access| {
            let chance = places[usize::from(access.disk)].next();
            (*access, scenario.model.transfer(chance, access))
        };
        let phases = 0..plan.phases();
        let job = Job {
            phases: phases
                .clone()
                .map(|i| plan.phase(i).iter().map(&mut timed).collect())
                .collect(),
            needs: phases.clone().map(|i| plan.needs(i).map(|needs| needs as usize)).collect(),
            done: phases.map(|_| Vec::new()).collect(),
            next: 0,
            begins: None,
            finished: None,
        };
        let arrives = request.arrived + scenario.overhead;
        reference.run(arrives);
        reference.jobs.push(job);
        reference.issue(reference.jobs.len() - 1, arrives);
    }
    reference.run(Time::NEVER);
    reference
}

fn layout(kind: &str, settings: &[(&str, Value)]) -> Layout {
    let mut table = Table::default();
    table.set("kind", Value::Text(kind.to_owned()));
    settings.iter().for_each(|(key, value)| table.set(key, value.clone()));
    Layout::read(&Value::Table(table)).expect("a layout")
}

fn scenario(layout: Layout, servers: usize, seed: u64) -> Scenario<Memoryless> {
    let held_back = if seed.is_multiple_of(2) { Span::ZERO } else { Span::from_us(700) };
    Scenario {
        layout,
        unit: 1 + (seed % 3) as u32,
        model: Memoryless { mean: 5e9, servers },
        join: Join::ForkJoin,
        overhead: held_back,
        parity: held_back,
        rebuild: None,
        requests: 400,
        streams: Streams::new(seed, 0),
    }
}

fn assert_same(what: &str, ends: &Ends, busy: &[Span], requests: &[Request], other: &Reference) {
    for (job, (&(finished, ideal), request)) in ends.0.iter().zip(requests).enumerate() {
        assert_eq!(Some(finished), other.jobs[job].finished, "{what}: request {job}");
        assert!(request.arrived + ideal <= finished, "{what}: {job} is quicker than it can be");
    }
    let shares = other.busy.iter().map(|&busy| busy / other.servers as u64);
    assert_eq!(busy, shares.collect::<Vec<_>>(), "{what}");
}

/// Small writes with parity, in two phases, on disks that serve one or several at once.
#[test]
fn parity_on_any_number_of_servers_is_the_reference() {
    for seed in 0..60 {
        let servers = [1, 2, 3, 7][seed as usize % 4];
        let (kind, disks) = [("raid5", 3), ("raid5", 5), ("raid6", 6)][seed as usize % 3];
        let done = if seed % 5 == 0 { "second-phase" } else { "all" };
        let done = ("done", Value::Text(done.to_owned()));
        let scenario = scenario(layout(kind, &[("disks", Value::Int(disks)), done]), servers, seed);
        let gap = Span::from_us(10_000 / servers as u64);
        let mut stream = Streams::new(seed, 1).stream("requests", 0);
        let blocks = if seed % 2 == 0 { None } else { Some(10_000) };
        let requests = requests(&mut stream, gap, 9, blocks);
        let from = requests.iter().copied();
        let run = sojourn_simulate(&scenario, from, Ends::default(), &Progress::default());
        let (ends, counts) = run.expect("nothing cancels it");
        let layout = &scenario.layout;
        let mut plans = PlanCache::new(layout, layout, scenario.unit, scenario.streams);
        let other = reference(&scenario, &requests, |request| {
            let number = plans.of(request, false);
            plans.plan(number).clone()
        });
        assert_same(&format!("{kind} {seed}"), &ends, &counts.busy, &requests, &other);
    }
}

/// A plan of up to three phases, of which some need only some of their accesses.
fn random_plan(stream: &mut Stream, disks: u64) -> AccessPlan {
    let mut plan = AccessPlan::new(disks as usize);
    let phases = 1 + stream.below(3);
    for phase in 0..phases {
        let first = stream.below(disks);
        let many = 1 + stream.below(disks);
        for place in 0..many {
            let disk = ((first + place) % disks) as u16;
            // All but the last phase lead on, by one access at least.
            let gate = phase + 1 < phases && (place == 0 || stream.below(3) > 0);
            let counts = phase + 1 == phases || stream.below(4) > 0;
            plan.push(Access { gate, counts, ..Access::new(disk, Op::Read, 1) });
        }
        match stream.below(2) {
            0 => plan.end_phase(),
            _ => plan.end_phase_of(1 + stream.below(many) as u32),
        }
    }
    plan
}

/// Phases that need only some of their accesses: first ones, last ones, and in between.
#[test]
fn phases_that_need_some_of_their_accesses_are_the_reference() {
    let mut some = 0;
    for seed in 0..150 {
        let mut stream = Streams::new(seed, 2).stream("plans", 0);
        let disks = 2 + stream.below(5);
        let plan = random_plan(&mut stream, disks);
        some += usize::from(!plan.waits_for_all());
        let servers = 1 + stream.below(3) as usize;
        let layout = layout("raid0", &[("disks", Value::Int(disks as i64))]);
        let scenario = scenario(layout, servers, seed);
        let gap = Span::from_us(plan.accesses().len() as u64 * 7_000 / (disks * servers as u64));
        let requests = requests(&mut stream, gap, 1, None);
        let from = requests.iter().copied();
        let (ends, counts) = simulate_plan(&scenario, &plan, from, Ends::default());
        let other = reference(&scenario, &requests, |_| plan.clone());
        assert_same(&format!("plan {seed}"), &ends, &counts.busy, &requests, &other);
    }
    assert!(some > 50, "{some}");
}
