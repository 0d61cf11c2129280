//! RAID 01 and RAID 5 a second time, as plainly as can be: one heap, lists, and the text of sections
//! 3.2 and 3.3. It agrees with the engine to the picosecond.

use crate::common::{Chances, layout, paper_disk, paper_raid5, scenario, scheduling, simulate};
use sojourn_array::device::Op;
use sojourn_array::device::hdd::Platters;
use sojourn_array::workload::Request;
use sojourn_core::{Span, Stream, Streams, Time};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Plain,
    PreRead,
    /// The second phase: whether it is read-modify-write, and how it found its disk.
    Second {
        modify: bool,
        busy: bool,
        was_last: bool,
    },
}

#[derive(Clone, Copy, Debug)]
struct Sub {
    job: usize,
    disk: usize,
    op: Op,
    blocks: u32,
    kind: Kind,
}

struct Twin {
    disks: usize,
    raid5: bool,
    rpo: bool,
    starts: Stream,
    drive: Platters,
    places: Vec<Chances>,
    moves: Vec<Chances>,
    rotations: Vec<Chances>,
    queues: Vec<Vec<Sub>>,
    priority: Vec<Vec<Sub>>,
    serving: Vec<Option<Sub>>,
    last: Vec<Option<usize>>,
    /// (time, 0 for an end and 1 for an arrival, disk or job).
    heap: BinaryHeap<Reverse<(Time, u8, usize)>>,
    remembered: BTreeMap<(usize, usize), u32>,
    second: Vec<Vec<Sub>>,
    pre_reads: Vec<usize>,
    left: Vec<usize>,
}

impl Twin {
    fn run(mut self, requests: &[Request]) -> Vec<Time> {
        let mut finished = vec![Time::NEVER; requests.len()];
        for (job, request) in requests.iter().enumerate() {
            self.heap.push(Reverse((request.arrived, 1, job)));
        }
        while let Some(Reverse((now, what, which))) = self.heap.pop() {
            if what == 1 {
                self.arrive(which, &requests[which], now);
                continue;
            }
            let disk = which;
            let sub = self.serving[disk].take().unwrap();
            self.last[disk] = Some(sub.job);
            self.left[sub.job] -= 1;
            if self.left[sub.job] == 0 {
                finished[sub.job] = now;
            }
            if sub.kind == Kind::PreRead {
                self.pre_reads[sub.job] -= 1;
                if self.pre_reads[sub.job] == 0 {
                    for second in std::mem::take(&mut self.second[sub.job]) {
                        self.arrive_again(second, disk, now);
                    }
                }
            }
            if self.serving[disk].is_none() {
                let from = match self.priority[disk].is_empty() {
                    true => &mut self.queues[disk],
                    false => &mut self.priority[disk],
                };
                if !from.is_empty() {
                    let next = from.remove(0);
                    self.serve(next, now);
                }
            }
        }
        finished
    }

    fn arrive(&mut self, job: usize, request: &Request, now: Time) {
        let subs = self.fork(job, request.op, request.blocks as usize);
        for sub in &subs {
            let stream = &mut self.places[sub.disk];
            let remembered = self.remembered.entry((job, sub.disk));
            remembered.or_insert_with(|| stream.next());
        }
        self.left[job] = subs.len();
        for sub in subs {
            match sub.kind {
                Kind::Second { .. } => self.second[job].push(sub),
                _ => {
                    self.pre_reads[job] += usize::from(sub.kind == Kind::PreRead);
                    match self.serving[sub.disk] {
                        None => self.serve(sub, now),
                        Some(_) => self.queues[sub.disk].push(sub),
                    }
                }
            }
        }
    }

    /// The subtasks of a request, those of the second phase last.
    fn fork(&mut self, job: usize, op: Op, blocks: usize) -> Vec<Sub> {
        let n = self.disks;
        let sub = |disk, op, blocks, kind| Sub { job, disk, op, blocks, kind };
        let mut on = Vec::new();
        let mut add = |disk: usize| match on.iter_mut().find(|(other, _)| *other == disk) {
            Some((_, blocks)) => *blocks += 1,
            None => on.push((disk, 1)),
        };
        match (self.raid5, op) {
            (false, _) => {
                let ways = if op == Op::Read { n } else { n / 2 };
                let way = self.starts.below(ways as u64) as usize;
                let (start, side) = (way % (n / 2), way / (n / 2));
                if op == Op::Read {
                    for j in 0..blocks {
                        let side = if j < blocks.div_ceil(2) { side } else { 1 - side };
                        add(side * n / 2 + (start + j) % (n / 2));
                    }
                } else {
                    (0..blocks).for_each(|j| add((start + j) % (n / 2)));
                    (0..blocks).for_each(|j| add(n / 2 + (start + j) % (n / 2)));
                }
            }
            (true, Op::Read) => {
                let way = self.starts.below((n * n) as u64) as usize;
                let (start, parity) = (way / n, way % n);
                let positions = (0..).filter(|i| (start + i) % n != (parity + i / n) % n);
                positions.take(blocks).for_each(|i| add((start + i) % n));
            }
            (true, Op::Write) => {
                let parity = self.starts.below(n as u64) as usize;
                let (full, over) = (blocks / (n - 1), blocks % (n - 1));
                let data: Vec<usize> = (0..n).filter(|&disk| disk != parity).collect();
                let mut subs = Vec::new();
                if full > 0 {
                    subs.extend((0..n).map(|d| sub(d, Op::Write, full as u32, Kind::Plain)));
                }
                if over > 0 {
                    let modify = 2 * over < n - 1;
                    let written: Vec<usize> =
                        data[..over].iter().copied().chain([parity]).collect();
                    let ahead = if modify { written.clone() } else { data[over..].to_vec() };
                    subs.extend(ahead.iter().map(|&d| sub(d, Op::Read, 1, Kind::PreRead)));
                    let kind = Kind::Second { modify, busy: false, was_last: false };
                    subs.extend(written.iter().map(|&d| sub(d, Op::Write, 1, kind)));
                }
                return subs;
            }
        }
        on.into_iter().map(|(disk, blocks)| sub(disk, op, blocks, Kind::Plain)).collect()
    }

    fn arrive_again(&mut self, sub: Sub, last: usize, now: Time) {
        let Kind::Second { modify, .. } = sub.kind else { unreachable!("only second phases") };
        let busy = self.serving[sub.disk].is_some() || !self.priority[sub.disk].is_empty();
        let kind = Kind::Second { modify, busy, was_last: sub.disk == last };
        let sub = Sub { kind, ..sub };
        match busy {
            true => self.priority[sub.disk].push(sub),
            false => self.serve(sub, now),
        }
    }

    fn serve(&mut self, sub: Sub, now: Time) {
        let drive = &self.drive;
        let own = self.last[sub.disk] == Some(sub.job);
        let (moves, rotations) = (&mut self.moves[sub.disk], &mut self.rotations[sub.disk]);
        let waiting = self.queues[sub.disk].len() + self.priority[sub.disk].len();
        let draws = if self.rpo { waiting + 1 } else { 1 };
        let mut seek = || (0..draws).map(|_| drive.position(sub.op, moves.next())).min().unwrap();
        let positioning = match sub.kind {
            Kind::Plain => seek(),
            Kind::PreRead if own => Span::ZERO,
            Kind::PreRead => seek(),
            Kind::Second { modify: true, busy: true, .. } => seek(),
            Kind::Second { modify: true, .. } if !own => seek(),
            Kind::Second { modify: true, was_last: true, .. } => drive.rotation(),
            Kind::Second { modify: true, .. } => drive.rotate(rotations.next()),
            Kind::Second { busy: true, .. } if own => Span::ZERO,
            Kind::Second { .. } if own => drive.rotate(rotations.next()),
            Kind::Second { .. } => seek(),
        };
        let place = self.remembered[&(sub.job, sub.disk)];
        let ends = now + positioning + drive.transfer(place, sub.blocks);
        self.serving[sub.disk] = Some(sub);
        self.heap.push(Reverse((ends, 0, sub.disk)));
    }
}

fn twin(disks: usize, raid5: bool, rpo: bool, seed: u64, requests: &[Request]) -> Vec<Time> {
    let streams = Streams::new(seed, 0);
    let each = |purpose: &str| {
        (0..disks as u64).map(|disk| Chances::new(streams.stream(purpose, disk))).collect()
    };
    let twin = Twin {
        disks,
        raid5,
        rpo,
        starts: streams.stream("starts", 0),
        drive: paper_disk(),
        places: each("places"),
        moves: each("moves"),
        rotations: each("rotations"),
        queues: vec![Vec::new(); disks],
        priority: vec![Vec::new(); disks],
        serving: vec![None; disks],
        last: vec![None; disks],
        heap: BinaryHeap::new(),
        remembered: BTreeMap::new(),
        second: vec![Vec::new(); requests.len()],
        pre_reads: vec![0; requests.len()],
        left: vec![0; requests.len()],
    };
    twin.run(requests)
}

/// Requests at a mean distance of `gap_ms`, of which `reads` in ten read.
fn requests(count: usize, gap_ms: f64, reads: u64, most: u64, seed: u64) -> Vec<Request> {
    let mut stream = Streams::new(seed, 1).stream("test", 0);
    let mut arrived = Time::ZERO;
    (0..count)
        .map(|_| {
            arrived += Span::from_seconds(-gap_ms / 1e3 * stream.uniform().ln());
            let op = if stream.below(10) < reads { Op::Read } else { Op::Write };
            Request { arrived, op, blocks: 1 + stream.below(most) as u32, at: None }
        })
        .collect()
}

#[test]
fn the_engine_is_its_twin_to_the_picosecond() {
    let mut seconds = 0;
    for (kind, disks) in [("raid01", 4), ("raid01", 6), ("raid5", 3), ("raid5", 4), ("raid5", 7)] {
        for (gap, reads, rpo) in [(100.0, 5, false), (40.0, 2, false), (70.0, 0, true)] {
            for seed in 0..4 {
                let requests = requests(2_000, gap, reads, 3 * disks as u64, seed);
                let layout = match kind {
                    "raid5" => paper_raid5(disks as i64),
                    _ => layout(kind, disks as i64),
                };
                let mut scenario = scenario(layout, requests.len(), seed);
                if rpo {
                    scenario.model.scheduling = scheduling("rpo");
                }
                let (records, figures) = simulate(&scenario, &requests);
                let finished: Vec<Time> = records.iter().map(|record| record.finished).collect();
                let twin = twin(disks, kind == "raid5", rpo, seed, &requests);
                let first = (0..requests.len()).find(|&job| finished[job] != twin[job]);
                assert_eq!(first, None, "{kind} {disks} disks, gap {gap}, seed {seed}");
                seconds += figures.partial_positionings.min(figures.no_positionings);
            }
        }
    }
    assert!(seconds > 1000, "the cases of second phases hardly occur: {seconds}");
}
