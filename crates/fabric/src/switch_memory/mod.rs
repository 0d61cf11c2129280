//! Switch memory: where the packets wait that a switch cannot send at once.
//!
//! A kind of buffer is one file here: its parameters, and the [`MemoryPlan`] it makes for the ports of a
//! switch. The plan is data; what it means for each packet is the arithmetic of `Memory`, the
//! same for all kinds.
//!
//! What counts: a packet takes memory from its arrival until its port begins to send it. One that
//! finds its port idle goes straight through and takes none. So what is taken are exactly the
//! packets that wait, as in the buffer of a discipline, and each port adds one packet that is on its
//! way out, whatever the memory.

mod deep;
mod partitioned;
mod per_port;
mod presets;
mod reserved;
mod shared;
mod sharing;
mod tiers;

pub use deep::Deep;
pub use partitioned::Partitioned;
pub use per_port::PerPort;
pub use reserved::Reserved;
pub use shared::Shared;
pub use sharing::{Depth, MemoryPlan, Quota};
pub(crate) use sharing::{Inflow, Memory, Share};
pub(crate) use tiers::Tiers;

use presets::PRESETS;
use sojourn_core::parameters::{
    Check, Entry, Refusal, Setting, Shape, Value, kind_of, unknown_kind,
};
use sojourn_core::{Bytes, Rate, parameters, variants};

variants! {
    /// How the memory of a switch is given to its ports.
    pub enum Kind: "buffer" => with_kind {
        Private(Private),
        PerPort(PerPort),
        Partitioned(Partitioned),
        Shared(Shared),
        Reserved(Reserved),
        Deep(Deep),
    }
}

parameters! {
    /// Each port has the buffer that its discipline asks for, and no other port can use it: the
    /// `buffer` of the scheme's `queue`. The disciplines of the pFabric paper are so.
    pub struct Private: "private" {}
}

impl Check for Private {}

impl Private {
    fn plan(&self, _: &[Rate]) -> Result<Option<MemoryPlan>, Refusal> {
        Ok(None)
    }
}

/// What memory a switch has: a kind, or a preset, which is a kind with other defaults.
#[derive(Clone, Debug, PartialEq)]
pub struct Buffer {
    kind: Kind,
    preset: Option<&'static str>,
}

impl Default for Buffer {
    /// As each discipline has it.
    fn default() -> Buffer {
        Kind::Private(Private {}).into()
    }
}

impl From<Kind> for Buffer {
    fn from(kind: Kind) -> Buffer {
        Buffer { kind, preset: None }
    }
}

impl Buffer {
    /// Its name: that of the preset, or of the kind.
    pub fn name(&self) -> &'static str {
        self.preset.unwrap_or(self.kind.name())
    }

    /// All kinds and presets, documented.
    pub fn entries() -> Vec<Entry> {
        Kind::entries().into_iter().chain(PRESETS.iter().map(presets::Preset::entry)).collect()
    }

    /// What memory a switch with ports of these speeds has; nothing where each port has the buffer
    /// of its discipline. Refused where the ports want more than there is.
    pub fn plan(&self, ports: &[Rate]) -> Result<Option<MemoryPlan>, Refusal> {
        with_kind!(&self.kind, |kind| kind.plan(ports))
    }

    /// Whether each port has the buffer of its discipline.
    fn is_private(&self) -> bool {
        matches!(self.kind, Kind::Private(_))
    }

    /// Refuses what cannot run: with packets of up to `largest` bytes, in a switch with this plan of it.
    fn check(&self, plan: &MemoryPlan, largest: u16) -> Result<(), Refusal> {
        let (memory, mut shares) = Memory::new(plan);
        if shares.iter_mut().all(|share| memory.clone().take(share, largest)) {
            return Ok(());
        }
        let Some(Value::Table(settings)) = self.write() else { unreachable!("a table") };
        let capped = settings.get("cap").filter(|_| plan.shared >= largest.into());
        let (key, given) = match capped {
            Some(cap) => ("cap", cap),
            None => ("size", settings.get("size").expect("a memory has a size")),
        };
        let expected = format!(
            "room for a full packet of {largest}B at each of the {} ports of an empty switch",
            plan.queues.len()
        );
        Err(Refusal::value(given, expected).under(key))
    }
}

impl Setting for Buffer {
    fn expected() -> String {
        Kind::expected()
    }

    fn shape() -> Shape {
        Shape::Kind { what: "buffer", key: "kind", entries: Buffer::entries, other: None }
    }

    fn read(value: &Value) -> Result<Buffer, Refusal> {
        let kinds = Kind::entries().into_iter().map(|entry| entry.name);
        let names: Vec<_> = kinds.chain(PRESETS.iter().map(|preset| preset.name)).collect();
        let (name, own) = kind_of(value, "buffer", &names)?;
        if let Some(preset) = PRESETS.iter().find(|preset| preset.name == name) {
            let kind = Kind::read(&Value::Table(preset.changed(&own)))?;
            return Ok(Buffer { kind, preset: Some(preset.name) });
        }
        match names.contains(&name.as_str()) {
            true => Kind::read(value).map(Buffer::from),
            false => Err(unknown_kind(value, &name, "buffer", &names)),
        }
    }

    fn write(&self) -> Option<Value> {
        let Some(Value::Table(mut table)) = self.kind.write() else { unreachable!("a table") };
        table.set("kind", Value::Text(self.name().to_owned()));
        Some(Value::Table(table))
    }
}

/// Refuses what is no cell.
fn check_cell(cell: Bytes) -> Result<(), Refusal> {
    if (1..=LARGEST_CELL).contains(&cell.0) {
        return Ok(());
    }
    Err(Refusal::of(&cell, "\"1B\" to \"9KB\"").under("cell"))
}

/// A jumbo frame.
const LARGEST_CELL: u64 = 9_000;

/// Refuses what is no share of the free memory.
fn check_alpha(alpha: Option<f64>) -> Result<(), Refusal> {
    match alpha {
        Some(alpha) if !(0.001..=1024.0).contains(&alpha) => {
            Err(Refusal::of(&alpha, "0.001 to 1024, or \"none\"").under("alpha"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
