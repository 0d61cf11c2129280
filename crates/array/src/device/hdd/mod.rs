//! Hard disks: platters that turn under a head on an arm.

mod data_sheets;
mod geometry;
mod independent;
mod mechanical;
mod quantiles;
pub mod scheduling;
mod seek;
mod track;
mod zoned;

pub use data_sheets::{Atlas10K, Hp97560, St39102Lw, St3500630Ns};
pub use geometry::{Arm, Geometry, Spot};
pub use independent::{Independent, IndependentService};
pub use mechanical::{Mechanical, MechanicalService, Spindles};
pub use track::{Rotation, Track};
pub use zoned::{Platters, Zoned};

use super::{DeviceContext, Kind, WithDevice};
use sojourn_core::parameters::Refusal;
use sojourn_core::variants;

variants! {
    /// How the heads of disks get to the places of accesses.
    pub enum Positioning: "positioning" {
        Independent(Independent),
        Mechanical(Mechanical),
    }
}

impl Positioning {
    /// Whether arms and platters are simulated.
    pub fn is_mechanical(&self) -> bool {
        matches!(self, Positioning::Mechanical(_))
    }
}

/// A hard disk, as a study sets it.
pub trait DataSheet {
    /// Its data sheet.
    fn sheet(&self) -> Zoned;
}

impl<D: DataSheet> Kind for D {
    fn ready<W: WithDevice>(
        &self,
        context: &DeviceContext<'_>,
        then: W,
    ) -> Result<W::Output, Refusal> {
        let sheet = self.sheet();
        let drive = Platters::new(&sheet, context.block);
        let scheduling = context.scheduling.clone();
        Ok(match context.positioning {
            Positioning::Independent(_) => then.with(IndependentService { drive, scheduling }),
            Positioning::Mechanical(params) => {
                let geometry = Geometry::new(&sheet, context.block)?;
                let spindles = params.spindles;
                then.with(MechanicalService { geometry, drive, scheduling, spindles })
            }
        })
    }

    fn blocks(&self, block: u64) -> Result<u64, Refusal> {
        let sheet = self.sheet();
        match sheet.sector.0 {
            sector if block.is_multiple_of(sector) => Ok(Geometry::new(&sheet, block)?.blocks()),
            // Blocks that are no whole number of sectors cannot be placed, but they can be counted.
            sector => Ok(Geometry::new(&sheet, sector)?.blocks() * sector / block),
        }
    }

    fn is_hard_disk(&self) -> bool {
        true
    }
}
