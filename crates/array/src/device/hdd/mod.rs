//! Hard disks: platters that turn under a head on an arm.

mod chances;
mod data_sheets;
mod geometry;
mod independent;
mod mechanical;
mod quantiles;
mod seek;
mod track;
mod zoned;

pub use data_sheets::{Atlas10K, Hp97560, St39102Lw, St3500630Ns};
pub use geometry::{Arm, Geometry, Spot};
pub use independent::{Independent, IndependentService};
pub use mechanical::{Mechanical, MechanicalService, Spindles};
pub use track::{Rotation, Track};
pub use zoned::{Platters, Zoned};

use sojourn_core::variants;

variants! {
    /// How the heads of disks get to the places of accesses.
    pub enum Positioning: "positioning" {
        Independent(Independent),
        Mechanical(Mechanical),
    }
}
