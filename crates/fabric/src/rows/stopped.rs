//! Who stopped whom: each port that pauses stopped, the node that has it, and the node that sent the pauses.

use crate::engine::{Outcome, Pauses};
use crate::topology::{Link, Network};
use sojourn_core::{Column, Rows};

/// The name of the table.
pub(super) const PAUSES: &str = "pauses";

/// A row for each port that was stopped, in order of ports.
pub(super) fn stopped(outcome: &Outcome, network: &Network) -> Rows {
    let pauses = outcome.pauses.iter().zip(&network.links);
    let stopped: Vec<(&Pauses, &Link)> = pauses.filter(|(pauses, _)| pauses.count > 0).collect();
    if stopped.is_empty() {
        return Rows::default();
    }
    let hosts = network.hosts as u32;
    let ints = |of: &dyn Fn(&Pauses, &Link) -> u64| {
        Column::Int(stopped.iter().map(|(pauses, link)| of(pauses, link) as i64).collect())
    };
    let number = |node: u32| u64::from(if node < hosts { node } else { node - hosts });
    let kinds = stopped.iter().map(|(_, link)| u8::from(link.from >= hosts)).collect();
    let times = stopped.iter().map(|(pauses, _)| pauses.time.ps() as i64).collect();
    Rows {
        columns: vec![
            ("switch", ints(&|_, link| number(link.to))),
            ("stopped", Column::of_names(kinds, &["host", "switch"])),
            ("number", ints(&|_, link| number(link.from))),
            ("pauses", ints(&|pauses, _| pauses.count)),
            ("paused_ps", Column::Ps(times)),
        ],
    }
}
