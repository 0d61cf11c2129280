//! Buffers of switches that papers and data sheets describe: each a kind with other defaults, and its
//! source.

use super::{Buffer, Kind};
use sojourn_core::parameters::{Entry, Setting, Table, Value};

/// A kind with other defaults.
pub(super) struct Preset {
    pub(super) name: &'static str,
    summary: &'static str,
    kind: &'static str,
    settings: &'static [(&'static str, &'static str)],
}

pub(super) const PRESETS: &[Preset] = &[
    Preset {
        name: "sram-4mb",
        summary: "The small switch of the big-buffers paper (Arista, 2016, figure 1): \"4 MBytes \
                  of shared packet buffer\". It names no threshold, so any port may take all.",
        kind: "shared",
        settings: &[("size", "4MB"), ("alpha", "none")],
    },
    Preset {
        name: "sram-12mb",
        summary: "On-chip memory as the big-buffers paper describes it (Arista, 2016, page 1): \
                  \"typically 12 MBytes of packet buffer memory for 128 10G ports\", shared by as \
                  many ports as the switch has here.",
        kind: "shared",
        settings: &[("size", "12MB")],
    },
    Preset {
        name: "sram-port",
        summary: "The same 12 MB counted by port, as the big-buffers paper does (Arista, 2016, \
                  page 1, \"approximately 100 KBytes per 10GigE port\"): 12 MB over 128 ports.",
        kind: "per-port",
        settings: &[("size", "93.75KB")],
    },
    Preset {
        name: "trident2",
        summary: "Broadcom Trident II and II+: 16 MB, shared (Pepelnjak, blog.ipspace.net, June \
                  2019, for II+). The threshold is a setting of the switch; alpha here is 1.",
        kind: "shared",
        settings: &[("size", "16MB")],
    },
    Preset {
        name: "dram-port",
        summary: "Memory outside of the chip, counted by port, as in the big-buffers paper \
                  (Arista, 2016, page 1): \"typically provides 100 MBytes of packet buffer per \
                  10GigE port\". Here at ports of any speed.",
        kind: "per-port",
        settings: &[("size", "100MB")],
    },
    Preset {
        name: "dram-256mb",
        summary: "The large switch of the big-buffers paper (Arista, 2016, figure 1): \"256 \
                  MBytes shared packet buffer\". Its per-flow queueing is the queue drr.",
        kind: "shared",
        settings: &[("size", "256MB"), ("alpha", "none")],
    },
    Preset {
        name: "jericho",
        summary: "Broadcom Jericho and Jericho+ as in Arista's 7500R: 4 GB a chip, and a queue of \
                  a port of 10, 40 or 100 Gb/s capped at 50, 200 or 500 MB, 40 ms at each speed \
                  (J. Warner, people.ucsc.edu/~warner/Bufs, arista7500R).",
        kind: "deep",
        settings: &[("size", "4GB"), ("cap", "40ms")],
    },
];

impl Preset {
    /// Its settings, those in `own` laid over them.
    pub(super) fn changed(&self, own: &Table) -> Table {
        let mut table = Table::default();
        table.set("kind", Value::Text(self.kind.to_owned()));
        for (key, text) in self.settings {
            table.set(key, Value::Text((*text).to_owned()));
        }
        for (key, value) in own.iter() {
            table.set(key, value.clone());
        }
        table
    }

    /// What is known about it: its kind's parameters with its own defaults.
    pub(super) fn entry(&self) -> Entry {
        let preset = Buffer::read(&Value::Text(self.name.to_owned())).expect("a preset");
        let Some(Value::Table(table)) = preset.write() else { unreachable!("a table") };
        let kinds = Kind::entries().into_iter().find(|entry| entry.name == self.kind);
        let mut entry = kinds.expect("its kind");
        for field in &mut entry.parameters {
            field.default = table.get(field.name).cloned();
        }
        Entry { name: self.name, summary: self.summary, ..entry }
    }
}
