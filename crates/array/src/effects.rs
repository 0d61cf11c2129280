//! Settings that have no effect beside the others of a case.

use crate::case::ArrayCase;
use crate::device::Op;
use crate::engine::Join;
use crate::workload::{Part, Places};
use sojourn_core::Span;
use sojourn_core::parameters::{Refusal, Value};

impl ArrayCase {
    /// Refuses settings that contradict others: they belong to another way of positioning, or to other devices.
    pub(crate) fn check_effects(&self) -> Result<(), Refusal> {
        let text = |name: &str| Value::Text(name.to_owned());
        let positioning = self.positioning().name().to_owned();
        let mechanical = self.positioning().is_mechanical();
        let addresses = match (mechanical, self.stripe.get()) {
            _ if self.workload.has_addresses() => Some("requests that have an address".to_owned()),
            _ if self.disk.arms() > 1 => Some(format!("disks with {} arms", self.disk.arms())),
            (true, _) => Some(format!("positioning = {positioning:?}")),
            (false, 2..) => Some(format!("stripe = {}", self.stripe)),
            (false, _) => None,
        };
        if let Some(addresses) = addresses {
            if !self.workload.has_addresses() {
                let expected = format!("places with an address, such as uniform, for {addresses}");
                let refusal = Refusal::value(&text("anywhere"), expected);
                return Err(refusal.under("places").under("workload"));
            }
            if let Some(given) = self.layout.without_addresses() {
                let expected = format!(
                    "nothing for {addresses}: only to workload.places = \"anywhere\" does it say where \
                     writes start"
                );
                return Err(Refusal::value(&given, expected).under("write_start").under("layout"));
            }
        }
        let hard_disk = self.disk.is_hard_disk();
        let no_head = || format!("disk = {:?}, which has no head", self.disk.name());
        let not_by_chance = match (mechanical, hard_disk) {
            (true, _) => Some(format!("positioning = {positioning:?}")),
            (_, false) => Some(no_head()),
            _ => None,
        };
        if let (Some(what), Some((key, given))) = (not_by_chance, self.layout.by_chance()) {
            let expected =
                format!("nothing for {what}: it applies only to independent positioning");
            return Err(Refusal::value(&given, expected).under(key).under("layout"));
        }
        if !hard_disk && !self.scheduling.is_in_order() {
            let expected = format!("fcfs for {}", no_head());
            return Err(Refusal::value(&text(self.scheduling.name()), expected).under("scheduling"));
        }
        if self.controller.parity > Span::ZERO && !self.layout.has_parity() {
            let expected = format!("0s for layout = {:?}, which has none", self.layout.name());
            let refusal = Refusal::of(&self.controller.parity, expected);
            return Err(refusal.under("parity").under("controller"));
        }
        Ok(())
    }

    /// The settings that have no effect in this case, though they may in others of a sweep.
    pub(crate) fn without_effect(&self) -> Vec<Refusal> {
        let parts = self.workload.parts();
        let of_parts = parts.iter().flat_map(|part| {
            let refusals = [self.unseen(part), counted_in_vain(part)];
            refusals.into_iter().flatten().map(|refusal| part.refuse(refusal))
        });
        let mut found: Vec<Refusal> = of_parts.collect();
        found.extend(self.of_other_requests(&parts));
        found.extend(self.alone());
        found
    }

    /// Why no device looks at places, where that is so: with independent positioning, and on devices without
    /// a head, an address only says which disks a request goes to.
    fn ignores_places(&self) -> Option<String> {
        match (self.positioning().is_mechanical(), self.disk.is_hard_disk()) {
            (true, _) => None,
            (false, true) => Some(
                "positioning = \"independent\", which does not look where requests go".to_owned(),
            ),
            (false, false) => Some(format!("disk = {:?}, which has no head", self.disk.name())),
        }
    }

    /// Why the places of a trace's requests change no service, where that is so.
    pub(crate) fn unseen_trace(&self) -> Option<String> {
        let because = self.ignores_places().filter(|_| self.workload.is_replayed())?;
        let what = if self.disk.arms() > 1 { "disks and their arms" } else { "disks" };
        Some(format!(
            "with {because}, a request takes as long wherever it goes: the trace's places only choose \
             {what}"
        ))
    }

    /// The places of requests that no device looks at.
    fn unseen(&self, part: &Part<'_>) -> Option<Refusal> {
        let mut because = self.ignores_places()?;
        if self.disk.is_hard_disk() {
            because.push_str("; positioning = \"mechanical\" does");
        }
        if part.places.are_local() {
            let others = if self.disk.arms() > 1 { "" } else { ", or anywhere," };
            let expected = format!("uniform{others} for {because}");
            let given = Value::Text(part.places.name().to_owned());
            return Some(Refusal::value(&given, expected).under("places"));
        }
        match part.places {
            Places::Uniform(uniform) if uniform.align.get() > 1 && self.is_one_copy() => {
                let expected = format!("1 for one disk's worth of data and {because}");
                Some(Refusal::of(&uniform.align, expected).under("align").under("places"))
            }
            _ => None,
        }
    }

    /// What is set for writes where all requests read, and for reads where all write.
    fn of_other_requests(&self, parts: &[Part<'_>]) -> Vec<Refusal> {
        if parts.is_empty() {
            return Vec::new();
        }
        let mut found = Vec::new();
        for (op, none, what) in [
            (Op::Write, parts.iter().all(|part| part.reads == 1.0), "reads = 1, without writes"),
            (Op::Read, parts.iter().all(|part| part.reads == 0.0), "reads = 0, without reads"),
        ] {
            if !none {
                continue;
            }
            let refuse = |(key, given): (&'static str, Value)| {
                let expected = format!("nothing for workload.{what}");
                Refusal::value(&given, expected).under(key).under("layout")
            };
            found.extend(self.layout.only_for(op).into_iter().map(refuse));
            if op == Op::Write && self.controller.parity > Span::ZERO {
                let expected = format!("0s for workload.{what}");
                let refusal = Refusal::of(&self.controller.parity, expected);
                found.push(refusal.under("parity").under("controller"));
            }
        }
        found
    }

    /// Whether each disk holds the same: an address says nothing of where a request goes.
    pub(crate) fn is_one_copy(&self) -> bool {
        self.layout.data_disks() == 1 && !self.layout.has_parity()
    }

    /// What is set for several disks where there is one, or where each holds the same.
    fn alone(&self) -> Option<Refusal> {
        let in_turn = self.scheduling.is_in_order() && self.disk.servers() == 1;
        if self.join != Join::ForkJoin && in_turn && self.layout.disks() == 1 {
            let expected =
                "fork-join for one disk, which takes requests one after the other anyway";
            return Some(Refusal::of(&self.join, expected).under("join"));
        }
        if self.stripe.get() > 1 && self.is_one_copy() {
            let expected = "1 for one disk's worth of data, which is not dealt out to disks";
            return Some(Refusal::of(&self.stripe, expected).under("stripe"));
        }
        None
    }
}

/// The way in which a rate counts bulks of one request.
fn counted_in_vain(part: &Part<'_>) -> Option<Refusal> {
    let counts = part.arrivals.counts_in_vain()?;
    let expected = "bulks for batch = 1: a bulk of one is a request";
    Some(Refusal::of(&counts, expected).under("rate_counts").under("arrivals"))
}
