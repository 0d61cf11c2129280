//! A device known only by how long its accesses took: an SSD, a volume of a cloud, any device
//! measured.

use super::chances::evenly;
use super::{
    DeviceContext, Kind, MOST_SERVERS, Op, Plain, Service, ServiceModel, ServiceStart,
    ServiceTimes, Task, WithDevice,
};
use crate::Moments;
use crate::layout::Access;
use sojourn_core::files::rows;
use sojourn_core::parameters::{Check, Name, Refusal};
use sojourn_core::resource::FileName;
use sojourn_core::{Span, Streams, parameters};
use std::num::NonZeroU32;
use std::sync::Arc;

parameters! {
    /// A disk that takes as long as was measured: each access draws one of the service times in a
    /// file, all alike likely. The stand-in for an SSD, or anything else without a head.
    /// The file is a CSV whose first line is `op,service`; then one access a line, `read` or `write`
    /// and a time with its unit (`read,85us`). Where it has no writes, they take as long as reads,
    /// and the other way round. For addresses it holds 1 PiB.
    /// Comments at its head may say what was measured, as `sojourn array fit` writes them: the size
    /// of each access (`# learnt.size = "16KiB"`), and the accesses per second of the lightest and
    /// the heaviest load (`# learnt.rates = [7.0, 62.8]`). A run that asks for others says so.
    pub struct Empirical: "empirical" {
        /// Name in tables, legends and plans. By default its kind.
        pub name: Option<Name> = None,
        /// The file, relative to the study.
        pub file: FileName,
        /// Additional time for each block of an access after the first.
        pub more: Span = Span::ZERO,
        /// Number of accesses that are served at once, first come, first served.
        pub servers: NonZeroU32 = NonZeroU32::MIN,
        /// Fraction by which each concurrent access lengthens an access, as with servers that share
        /// a bandwidth. This is a load-dependent service.
        pub slowdown: f64 [0.0..=10.0] = 0.0,
    }
}

impl Check for Empirical {
    fn check(&self) -> Result<(), Refusal> {
        if self.servers.get() > MOST_SERVERS.into() {
            let expected = format!("a whole number from 1 to {MOST_SERVERS}");
            return Err(Refusal::of(&self.servers, expected).under("servers"));
        }
        if self.slowdown > 0.0 && self.servers == NonZeroU32::MIN {
            let expected = "0 for servers = 1, which serves no other one beside";
            return Err(Refusal::of(&self.slowdown, expected).under("slowdown"));
        }
        Ok(())
    }
}

impl Kind for Empirical {
    fn ready<W: WithDevice>(&self, _: &DeviceContext<'_>, then: W) -> Result<W::Output, Refusal> {
        let text = self.file.text().map_err(|refusal| refusal.under("file"))?;
        let refuse = |expected: String| self.file.refused(expected).under("file");
        let [mut reads, mut writes] = parse(&text)
            .map_err(|why| refuse(format!("a list of service times, but in its {why}")))?;
        if reads.is_empty() {
            reads.clone_from(&writes);
        }
        if writes.is_empty() {
            writes.clone_from(&reads);
        }
        reads.sort_unstable();
        writes.sort_unstable();
        let servers = Kind::servers(self);
        Ok(then.with(Measured {
            times: [reads.into(), writes.into()],
            more: self.more,
            servers,
            slowdown: self.slowdown,
        }))
    }

    fn block_time(&self) -> Option<(&'static str, Span)> {
        Some(("more", self.more))
    }

    fn servers(&self) -> usize {
        self.servers.get() as usize
    }
}

/// The longest service time that a file may have.
const LONGEST: Span = Span::from_s(3600);

/// Reads the times of reads and of writes.
fn parse(text: &str) -> Result<[Vec<Span>; 2], String> {
    let mut rows = rows(text).map(|row| row.map_err(|quote| quote.to_string()));
    match rows.next().transpose()? {
        Some(head) if head.cells().eq(["op", "service"]) => {}
        Some(head) => {
            return Err(format!("line {}: {:?}, expected op,service", head.line, head.text()));
        }
        None => return Err("line 1: \"\", expected op,service".to_owned()),
    }
    let mut times = [Vec::new(), Vec::new()];
    for row in rows {
        let row = row?;
        let access = || {
            let [op, time] = row.cells().collect::<Vec<_>>().try_into().ok()?;
            let op = match op {
                "read" => Op::Read,
                "write" => Op::Write,
                _ => return None,
            };
            let time: Span = time.parse().ok()?;
            (Span::ZERO < time && time <= LONGEST).then_some((op, time))
        };
        let (op, time) = access().ok_or_else(|| {
            let (line, given) = (row.line, row.text());
            format!("line {line}: {given:?}, expected a line such as read,85us, at most {LONGEST}")
        })?;
        times[op as usize].push(time);
    }
    match times.iter().all(Vec::is_empty) {
        true => Err("last line: expected at least one access below it".to_owned()),
        false => Ok(times),
    }
}

/// A device of measured service times, ready to be accessed.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The service times of reads and of writes, shortest first.
    times: [Arc<[Span]>; 2],
    more: Span,
    /// The number of accesses that it serves at once.
    servers: usize,
    /// The share of its time by which each other one makes an access longer.
    slowdown: f64,
}

impl Measured {
    /// The service time that is longer than a share `chance` of all, alone at the device.
    #[inline]
    fn time(&self, chance: u32, op: Op, blocks: u32) -> Span {
        let times = &self.times[op as usize];
        let rank = (u64::from(chance) * times.len() as u64) >> u32::BITS;
        times[rank as usize] + self.more * u64::from(blocks - 1)
    }
}

impl ServiceModel for Measured {
    type Spot = ();
    type State = ();
    type InOrder = Plain<Measured>;

    fn state(&self, _: Streams, _: u64) {}

    #[inline]
    fn transfer(&self, chance: u32, access: &Access) -> Span {
        self.time(chance, access.op, access.blocks)
    }

    fn spot(&self, _: &Access) {}

    #[inline]
    fn start(&self, (): &mut (), task: &Task<()>, start: ServiceStart) -> Service {
        if self.slowdown == 0.0 {
            return Service::of(task.transfer);
        }
        let longer = task.transfer.ps() as f64 * self.slowdown * start.others as f64;
        Service::of(task.transfer + Span::from_ps(longer.round() as u64))
    }

    fn longest(&self, blocks: u32) -> f64 {
        let times = self.times.iter().filter_map(|times| times.last());
        let first = times.max().map_or(0.0, |time| time.ps() as f64);
        let alone = first + self.more.ps() as f64 * f64::from(blocks - 1);
        alone * (1.0 + self.slowdown * (self.servers - 1) as f64)
    }

    fn servers(&self) -> usize {
        self.servers
    }

    fn depends_on_load(&self) -> bool {
        self.slowdown > 0.0
    }

    fn service_times(&self) -> Option<&dyn ServiceTimes> {
        Some(self)
    }
}

impl ServiceTimes for Measured {
    fn moments(&self, op: Op, blocks: Moments) -> Moments {
        let times = self.times[op as usize].iter().map(|time| time.ps() as f64);
        let count = times.len() as f64;
        let (sum, squares) = times.fold((0.0, 0.0), |(a, b), time| (a + time, b + time * time));
        let first = Moments { mean: sum / count, square: squares / count };
        // Each block after the first adds as much as any other.
        let more =
            Moments { mean: blocks.mean - 1.0, square: blocks.square - 2.0 * blocks.mean + 1.0 };
        first.plus(more.times(Moments::constant(self.more.ps() as f64)))
    }

    fn equally_likely(&self, op: Op, blocks: u32) -> Vec<f64> {
        evenly(1 << 16).map(|chance| self.time(chance, op, blocks).ps() as f64).collect()
    }
}
