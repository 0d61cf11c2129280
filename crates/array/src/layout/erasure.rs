//! Erasure codes: any k of k + m blocks of a stripe give its data.

use super::block_run::Run;
use super::parity::{Done, Stripes};
use super::{Access, AccessPlan, Failed, Layout, LayoutPlan, MAX_DISKS, RebuildSource};
use crate::device::Op;
use sojourn_core::parameters::{Check, Refusal, Setting, Value};
use sojourn_core::{Ahead, choices, parameters};

parameters! {
    /// An erasure code of maximum distance, such as Reed and Solomon's: a stripe has `data` blocks
    /// and `parities` more, which rotate, and any `data` of them give all. A read goes to the disks
    /// that hold its blocks; a block that is lost is computed from `data` others of its stripe. A
    /// write of whole stripes reads nothing ahead; what is left over keeps all parities, as in
    /// RAID 6.
    pub struct Erasure: "erasure" {
        /// Number of data blocks in a stripe.
        pub data: u16 [1..=MAX_DISKS] = 4,
        /// Number of parity blocks in a stripe, which is the number of disks that may fail.
        pub parities: u16 [1..=MAX_DISKS] = 2,
        /// Numbers of failed disks, whose data is computed from the others.
        pub failed: Failed = Failed::default(),
        /// Disks to which a read goes.
        pub read: ReadFrom = ReadFrom::Data,
        /// Number of disks beyond `data` to which a read from all disks goes. By default it goes to
        /// every working disk.
        pub extra: Option<u16> = None,
        /// What happens to the accesses that a read from all disks no longer needs.
        pub late: Late = Late::GoOn,
    }
}

choices! {
    /// Disks to which a read goes.
    pub enum ReadFrom: "way to read" {
        /// Those that hold its blocks.
        Data = "data",
        /// More than it needs: a read of any part of a stripe reads so much of it on `data` +
        /// `extra` disks and is done with the first `data` (Joshi, Liu and Soljanin, *On the
        /// delay-storage trade-off in content download from coded distributed storage systems*,
        /// IEEE JSAC 32(5), 2014). `late` says what becomes of the rest.
        All = "all",
    }
}

choices! {
    /// What becomes of accesses that their read no longer needs.
    pub enum Late: "end of late accesses" {
        /// They are served like all others, and keep these waiting.
        GoOn = "go-on",
        /// Those that wait are dropped; those that a disk serves go on.
        Dropped = "dropped",
    }
}

impl Check for Erasure {
    fn check(&self) -> Result<(), Refusal> {
        if self.all() > MAX_DISKS {
            let expected = format!("at most {MAX_DISKS} disks, data and parities together");
            return Err(Refusal::of(&self.parities, expected).under("parities"));
        }
        self.failed.check(self.all(), self.parities)?;
        let refuse = |expected: String| Err(Refusal::of(&self.extra, expected).under("extra"));
        match (self.extra, self.read) {
            (Some(_), ReadFrom::Data) => refuse("nothing for read = \"data\"".to_owned()),
            (Some(extra), _) if extra > self.spare() => {
                refuse(format!("a whole number from 0 to {}, the disks to spare", self.spare()))
            }
            _ if self.late == Late::Dropped && self.readers_count() == self.data => {
                let expected = match self.read {
                    ReadFrom::Data => {
                        "go-on for read = \"data\", which reads no more than it needs"
                    }
                    ReadFrom::All => "go-on for reads from no more disks than they need",
                };
                Err(Refusal::of(&self.late, expected).under("late"))
            }
            _ => Ok(()),
        }
    }
}

impl LayoutPlan for Erasure {
    fn disks(&self) -> usize {
        self.all().into()
    }

    fn data_disks(&self) -> u64 {
        self.data.into()
    }

    fn ways(&self, op: Op) -> u64 {
        self.stripes().ways(op)
    }

    fn lay(&self, op: Op, blocks: u32, way: u64, plan: &mut AccessPlan) {
        if self.reads_all(op) {
            let start = (way % u64::from(self.all())) as u16;
            let each = blocks.div_ceil(self.data.into());
            for disk in self.readers(start) {
                plan.push(Access::new(disk, op, each));
            }
            plan.end_phase_of(self.data.into());
        } else {
            self.stripes().lay(op, blocks, way, plan);
        }
    }

    fn lay_at(&self, run: Run, _: &mut Ahead, plan: &mut AccessPlan) {
        if self.reads_all(run.op) {
            let unit = u64::from(run.unit);
            let row = |of: u64| of / u64::from(self.data);
            let start = self.stripes().disk_of(row(run.first / unit), 0);
            for piece in run.pieces() {
                let at = row(piece.unit) * unit + u64::from(piece.from);
                for disk in self.readers(start) {
                    plan.cover(disk, run.op, at, piece.to - piece.from);
                }
            }
            plan.end_phase_of(self.data.into());
        } else {
            self.stripes().lay_at(run, plan);
        }
    }

    fn one_phase(&self, op: Op) -> bool {
        op == Op::Read
    }

    fn only_for(&self, op: Op) -> Vec<(&'static str, Value)> {
        match (op, self.read, self.read.write()) {
            (Op::Read, ReadFrom::All, Some(all)) => vec![("read", all)],
            _ => Vec::new(),
        }
    }

    fn drops_late(&self) -> bool {
        self.late == Late::Dropped
    }

    fn rebuild_source(&self) -> Option<RebuildSource> {
        let rebuilt = Erasure { failed: Failed::default(), ..self.clone() };
        self.stripes().rebuild_source(Layout::Erasure(rebuilt))
    }
}

impl Erasure {
    /// All disks.
    fn all(&self) -> u16 {
        self.data + self.parities
    }

    /// The disks that can be lost beside those that have failed.
    fn spare(&self) -> u16 {
        self.parities - self.failed.disks().len() as u16
    }

    fn stripes(&self) -> Stripes<'_> {
        Stripes {
            disks: self.all(),
            parities: self.parities,
            failed: self.failed.disks(),
            write_start: None,
            pre_read: None,
            rewrite: None,
            done: Done::All,
        }
    }

    fn reads_all(&self, op: Op) -> bool {
        op == Op::Read && self.read == ReadFrom::All
    }

    /// How many disks a read of any part of a stripe goes to.
    fn readers_count(&self) -> u16 {
        match self.read {
            ReadFrom::Data => self.data,
            ReadFrom::All => self.data + self.extra.unwrap_or(self.spare()),
        }
    }

    /// The disks that a read from all goes to: those that are left from disk `start` on, cyclically,
    /// as many as it reads from.
    fn readers(&self, start: u16) -> impl Iterator<Item = u16> {
        let many = self.readers_count();
        let stripes = self.stripes();
        let disks = (0..self.all()).map(move |place| stripes.disk(start, place));
        disks.filter(|disk| !self.failed.disks().contains(disk)).take(many.into())
    }
}
