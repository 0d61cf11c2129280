//! What a case offers an array, without a disk to serve it: what a measurement issues.

use crate::ArrayCase;
use crate::engine::Plans;
use sojourn_core::files::Open;
use sojourn_core::parameters::Refusal;
use sojourn_core::{Column, Rows, Streams};

impl ArrayCase {
    /// The accesses of one replication, one a row, in the order in which the simulator plans them:
    /// the same requests at the same times on the same disks. Columns: `request` (its number, from
    /// 0, those without rows too), `arrived_ps` and `request_blocks` (of the request), `disk`, `op`,
    /// `blocks`, `phase` (from 0; a later one begins when the one before it is done); and `at`, the
    /// first block on the disk, where that is more than a place as likely as any other: those are
    /// drawn on what is measured, which need not be as large.
    pub fn offered(&self, streams: Streams, open: Open<'_>) -> Result<Rows, Refusal> {
        let (_, workload) = self.ready(open)?;
        let all = u64::from(workload.numbers.warmup) + u64::from(workload.numbers.requests);
        let mut plans = Plans::new(&self.layout, &self.layout, self.stripe.get(), streams);
        let (mut numbers, mut arrivals, mut sizes) = (Vec::new(), Vec::new(), Vec::new());
        let (mut disks, mut ops) = (Vec::new(), Vec::new());
        let (mut blocks, mut phases, mut at) = (Vec::new(), Vec::new(), Vec::new());
        let drawn_there = self.has_even_places();
        let of_workload = |refusal: Refusal| refusal.under("workload");
        let mut requests = workload.requests(streams, open).map_err(of_workload)?;
        for (number, request) in (0..all as i64).zip(&mut requests) {
            let plan = plans.of(&request, false);
            let plan = plans.plan(plan);
            for phase in 0..plan.phases() {
                for access in plan.phase(phase) {
                    numbers.push(number);
                    arrivals.push(request.arrived.ps() as i64);
                    sizes.push(request.blocks.into());
                    disks.push(access.disk.into());
                    ops.push(access.op as u8);
                    blocks.push(access.blocks.into());
                    phases.push(phase as i64);
                    at.extend(request.at.filter(|_| !drawn_there).map(|_| access.at as i64));
                }
            }
        }
        requests.finish().map_err(of_workload)?;
        let mut columns = vec![
            ("request", Column::Int(numbers)),
            ("arrived_ps", Column::Ps(arrivals)),
            ("request_blocks", Column::Int(sizes)),
            ("disk", Column::Int(disks)),
            ("op", Column::Name(ops, vec!["read", "write"])),
            ("blocks", Column::Int(blocks)),
            ("phase", Column::Int(phases)),
        ];
        if !at.is_empty() {
            columns.push(("at", Column::Int(at)));
        }
        Ok(Rows { columns })
    }
}
