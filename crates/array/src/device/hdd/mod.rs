//! Hard disks: platters that turn under a head on an arm.

mod arms;
mod data_sheets;
mod geometry;
mod independent;
mod mechanical;
pub mod scheduling;
mod seek;
mod track;
mod zoned;

pub use arms::Arms;
pub use data_sheets::{Atlas10K, ExosX24, Hp97560, Hs760, St39102Lw, St3500630Ns};
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
        let arms = match sheet.actuators {
            1 => Arms::default(),
            several => Arms::new(several, self.blocks(context.block)? / u64::from(several)),
        };
        Ok(match context.positioning {
            Positioning::Independent(_) => {
                then.with(IndependentService { drive, arms, scheduling })
            }
            Positioning::Mechanical(params) => {
                let geometry = Geometry::new(&sheet.of_arm(), context.block)?;
                let spindles = params.spindles;
                then.with(MechanicalService { geometry, drive, arms, scheduling, spindles })
            }
        })
    }

    fn blocks(&self, block: u64) -> Result<u64, Refusal> {
        let sheet = self.sheet();
        let of_arm = match sheet.sector.0 {
            sector if block.is_multiple_of(sector) => {
                Geometry::new(&sheet.of_arm(), block)?.blocks()
            }
            // Blocks that are no whole number of sectors cannot be placed, but they can be counted.
            sector => Geometry::new(&sheet.of_arm(), sector)?.blocks() * sector / block,
        };
        Ok(of_arm * u64::from(sheet.actuators))
    }

    fn arms(&self) -> usize {
        self.sheet().actuators.into()
    }

    fn is_hard_disk(&self) -> bool {
        true
    }
}
