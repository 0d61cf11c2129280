//! The zoned disk of the paper's section 2, from a data sheet alone.

use super::seek::{Curve, Distance};
use super::{DataSheet, Rotation, Track};
use crate::Moments;
use crate::device::chances::evenly;
use crate::device::quantiles::Quantiles;
use crate::device::{Op, ServiceTimes};
use sojourn_core::parameters::{Check, Name, Refusal};
use sojourn_core::{Bytes, Span, parameters};
use std::sync::Arc;

parameters! {
    /// A zoned disk from its data sheet (paper section 2). Every access goes to a random place,
    /// wherever the head is: the seek is that between two random cylinders, outer ones the likelier
    /// by the sectors that they hold, and takes a + b sqrt(cylinders); the rotation is evenly spread.
    /// Sectors per track fall in a straight line from the outermost cylinder to the innermost.
    /// With `positioning = "mechanical"` arm and platter are where the last access left them.
    /// Not modelled: caches, settling beside the seek curve.
    pub struct Zoned: "zoned" {
        /// Name in tables, legends and plans. By default its kind.
        pub name: Option<Name> = None,
        /// Number of cylinders.
        pub cylinders: u32 [2..=u32::MAX],
        /// Time of a full rotation.
        pub rotation: Rotation,
        /// Time of a seek to the next track, before a read.
        pub read_track_seek: Span,
        /// Time of a seek over the full stroke, before a read.
        pub read_full_seek: Span,
        /// Time of a seek to the next track, before a write.
        pub write_track_seek: Span,
        /// Time of a seek over the full stroke, before a write.
        pub write_full_seek: Span,
        /// The outermost track, by its sectors or by the time of a sector.
        pub outer_track: Track,
        /// The innermost track, not denser than the outermost.
        pub inner_track: Track,
        /// Bytes per sector.
        pub sector: Bytes = Bytes(512),
        /// Number of heads, one per surface. It sets how much a cylinder holds. Like the time of a
        /// switch between heads, it matters only for mechanical positioning and addresses.
        pub heads: u8 [1..=u8::MAX] = 1,
        /// Time of a switch to another head of the same cylinder. By default the time of a read's
        /// seek to the next track.
        pub head_switch: Option<Span> = None,
        /// Number of independent arms. Each has an equal part of the heads and of the addresses in
        /// order, and its own queue. With more than one, requests have addresses, and the arm of
        /// the first block does an access.
        pub actuators: u8 [1..=MOST_ARMS] = 1,
    }
}

impl Check for Zoned {
    fn check(&self) -> Result<(), Refusal> {
        if self.head_switch > Some(LONGEST_SEEK) {
            let expected = format!("at most {LONGEST_SEEK}");
            return Err(Refusal::of(&self.head_switch, expected).under("head_switch"));
        }
        if !self.heads.is_multiple_of(self.actuators) {
            let expected = format!("a number that divides heads = {}", self.heads);
            return Err(Refusal::of(&self.actuators, expected).under("actuators"));
        }
        if self.sector.0 == 0 {
            return Err(Refusal::of(&self.sector, "at least \"1B\"").under("sector"));
        }
        for (key, track, full) in [
            ("read_full_seek", self.read_track_seek, self.read_full_seek),
            ("write_full_seek", self.write_track_seek, self.write_full_seek),
        ] {
            if full < track || full > LONGEST_SEEK {
                let expected = format!(
                    "at least the seek to the next track, {track}, and at most {LONGEST_SEEK}"
                );
                return Err(Refusal::of(&full, expected).under(key));
            }
        }
        let rotation = self.rotation.0;
        self.outer_track.check(rotation).map_err(|refusal| refusal.under("outer_track"))?;
        self.inner_track.check(rotation).map_err(|refusal| refusal.under("inner_track"))?;
        if self.inner_track.sector_ps(rotation) < self.outer_track.sector_ps(rotation) {
            let expected = "a track that is not denser than the outermost";
            return Err(Refusal::of(&self.inner_track, expected).under("inner_track"));
        }
        Ok(())
    }
}

/// The most arms of a disk.
pub(super) const MOST_ARMS: u8 = 8;
/// The longest seek that a data sheet may give.
const LONGEST_SEEK: Span = Span::from_s(1);

impl Zoned {
    /// The seek curves of a read and of a write.
    pub(super) fn curves(&self) -> [Curve; 2] {
        let stroke = f64::from(self.cylinders - 1);
        [
            Curve::new(stroke, self.read_track_seek, self.read_full_seek),
            Curve::new(stroke, self.write_track_seek, self.write_full_seek),
        ]
    }
}

impl DataSheet for Zoned {
    fn sheet(&self) -> Zoned {
        self.clone()
    }
}

/// A zoned disk, ready to be accessed wherever the head is: how long the parts of an access take. Each
/// is drawn as a chance, a share of 2^32: the time at a chance is longer than this share of all times.
#[derive(Clone, Debug)]
pub struct Platters {
    laws: Arc<Laws>,
}

#[derive(Debug)]
struct Laws {
    /// Seek and rotation together, of a read and of a write.
    positions: [Quantiles; 2],
    /// The transfer of one block.
    block: Quantiles,
    curves: [Curve; 2],
    distance: Distance,
    rotation: Span,
    /// The times of a sector on the outermost track and on the innermost, in picoseconds.
    sector: [f64; 2],
    sectors: f64,
}

impl Platters {
    /// A disk whose blocks have `block` bytes.
    pub fn new(sheet: &Zoned, block: u64) -> Platters {
        let curves = sheet.curves();
        let rotation = sheet.rotation.0;
        let sector = [sheet.outer_track, sheet.inner_track].map(|track| track.sector_ps(rotation));
        let [outer, inner] = sector;
        let sectors = block as f64 / sheet.sector.0 as f64;
        let distance = Distance::new(outer / inner);
        // A sector takes (1/outer² - u (1/outer² - 1/inner²))^(-1/2), u evenly spread.
        let fast = 1.0 / (outer * outer);
        let spread = fast - 1.0 / (inner * inner);
        let laws = Laws {
            positions: [0, 1].map(|op| positions(curves[op], &distance, rotation)),
            block: Quantiles::new(|share| sectors / (fast - share * spread).sqrt()),
            curves,
            distance,
            rotation,
            sector,
            sectors,
        };
        Platters { laws: Arc::new(laws) }
    }

    /// Mean and mean square of the transfer of one block.
    fn block(&self) -> Moments {
        let Laws { sector: [outer, inner], sectors, .. } = *self.laws;
        let mean = 2.0 * outer * inner / (outer + inner);
        // The limit of the logarithm where the track has one density.
        let ratio = (inner / outer).powi(2) - 1.0;
        let log = if ratio < 1e-9 { 1.0 } else { libm::log1p(ratio) / ratio };
        let square = inner * inner * log;
        Moments { mean: sectors * mean, square: sectors.powi(2) * square }
    }
}

/// The distribution of a seek between two random places and the rotation behind it.
fn positions(curve: Curve, distance: &Distance, rotation: Span) -> Quantiles {
    let Curve { a, b } = curve;
    let rotation = rotation.ps() as f64;
    if b == 0.0 {
        return Quantiles::new(|share| a + share * rotation);
    }
    // The share of positionings up to a time is that of the seeks up to it, averaged over a
    // rotation; and its slope, to find the time of a share by Newton's steps between two bounds.
    let roots = |time: f64| ((time - a) / b, (time - rotation - a) / b);
    let upto = |time: f64| {
        let (x, y) = roots(time);
        (distance.summed(x) - distance.summed(y)) * b / rotation
    };
    let slope = |time: f64| {
        let (x, y) = roots(time);
        (distance.upto(x) - distance.upto(y)) / rotation
    };
    let (mut least, most) = (a, a + b + rotation);
    Quantiles::new(|share| {
        if share >= 1.0 {
            return most;
        }
        let (mut low, mut high, mut time) = (least, most, least);
        while high - low > 0.25 {
            let off = upto(time) - share;
            if off < 0.0 {
                low = time;
            } else {
                high = time;
            }
            let next = time - off / slope(time);
            let inside = low < next && next < high;
            let step = if inside { (next - time).abs() } else { f64::INFINITY };
            time = if inside { next } else { (low + high) / 2.0 };
            if step < 0.25 {
                break;
            }
        }
        least = time;
        time
    })
}

impl Platters {
    /// The time to transfer `blocks` blocks at a place.
    #[inline]
    pub fn transfer(&self, place: u32, blocks: u32) -> Span {
        self.laws.block.at(place) * u64::from(blocks)
    }

    /// The positioning time to a random place, seek and rotation together; it does not fall as
    /// `chance` rises.
    #[inline]
    pub fn position(&self, op: Op, chance: u32) -> Span {
        self.laws.positions[op as usize].at(chance)
    }

    /// The positioning time to a random place on the present track.
    #[inline]
    pub fn rotate(&self, chance: u32) -> Span {
        let product = u128::from(self.laws.rotation.ps()) * u128::from(chance);
        Span::from_ps((product >> u32::BITS) as u64)
    }

    /// The time of a full rotation.
    pub fn rotation(&self) -> Span {
        self.laws.rotation
    }

    /// An upper bound for the time of an access of `blocks` blocks, in picoseconds.
    pub(super) fn longest(&self, blocks: u32) -> f64 {
        let [reads, writes] = &self.laws.positions;
        let transfer = self.laws.block.longest() * f64::from(blocks);
        reads.longest().max(writes.longest()) + transfer
    }
}

/// The number of positioning times, and of transfer times, that the times of an access combine.
const POSITIONS: u32 = 1 << 10;
const TRANSFERS: u32 = 1 << 7;

impl ServiceTimes for Platters {
    fn moments(&self, op: Op, blocks: Moments) -> Moments {
        let Curve { a, b } = self.laws.curves[op as usize];
        let root = self.laws.distance.root();
        let seek = Moments {
            mean: a + b * root.mean,
            square: a * a + 2.0 * a * b * root.mean + b * b * root.square,
        };
        let rotation = self.laws.rotation.ps() as f64;
        let rotation = Moments { mean: rotation / 2.0, square: rotation.powi(2) / 3.0 };
        seek.plus(rotation).plus(self.block().times(blocks))
    }

    /// Each of many quantiles of the positioning time with each of the transfer time.
    fn equally_likely(&self, op: Op, blocks: u32) -> Vec<f64> {
        let transfers: Vec<Span> =
            evenly(TRANSFERS).map(|place| self.transfer(place, blocks)).collect();
        let access = |chance| {
            let position = self.position(op, chance);
            transfers.iter().map(move |transfer| (position + *transfer).ps() as f64)
        };
        evenly(POSITIONS).flat_map(access).collect()
    }
}
