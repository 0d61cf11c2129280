//! The geometry of a disk: where its sectors are, and how long a head takes from one to another.

use super::Zoned;
use super::seek::Curve;
use crate::device::Op;
use sojourn_core::parameters::{Refusal, Value};
use sojourn_core::{Span, Time};
use std::sync::Arc;

/// The sectors of a zoned disk: track by track within a cylinder, cylinder by cylinder from the
/// outermost on. Sectors per track fall in a straight line, in whole sectors; the cylinders with
/// the same number are a zone. Each track begins a little later on the circle than the one before,
/// by the sectors that pass while heads are switched or the arm moves on, so that a transfer goes
/// on at once. Not modelled: sectors set aside, sectors of later tracks that are read first.
#[derive(Clone, Debug)]
pub struct Geometry {
    zones: Arc<[Zone]>,
    heads: u32,
    /// The time of a full rotation in picoseconds.
    rotation: u64,
    head_switch: u64,
    curves: [Curve; 2],
    stroke: f64,
    /// Sectors in a block.
    sectors: u64,
    blocks: u64,
}

/// Cylinders with as many sectors a track.
#[derive(Clone, Copy, Debug)]
struct Zone {
    /// The number of its first sector on the disk.
    first: u64,
    cylinder: u32,
    /// Sectors on each of its tracks.
    track: u64,
    /// By how many sectors a track begins later than the one before: on the same cylinder, and on
    /// the cylinder before.
    skews: [u64; 2],
}

/// A track, and where on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    zone: usize,
    cylinder: u32,
    head: u32,
    /// The sector on the track.
    sector: u64,
}

/// Where an access begins, and where it leaves the head.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spot {
    /// The cylinder where it begins.
    pub cylinder: u32,
    head: u16,
    /// The angle at which its first sector begins, in picoseconds of a rotation.
    angle: u64,
    end: (u32, u16),
}

/// A disk's arm and spindle.
#[derive(Clone, Copy, Debug, Default)]
pub struct Arm {
    /// The cylinder that the arm is on.
    pub cylinder: u32,
    head: u16,
    /// Whether the arm last moved towards the outermost cylinder.
    pub outwards: bool,
    /// The platter's angle at time zero, in picoseconds of a rotation.
    phase: u64,
}

impl Geometry {
    /// The geometry that a data sheet describes, for blocks of `block` bytes.
    pub fn new(sheet: &Zoned, block: u64) -> Result<Geometry, Refusal> {
        if !block.is_multiple_of(sheet.sector.0) {
            let given = Value::Text(sheet.sector.to_string());
            let expected = format!("a size that divides the block of {block} bytes, for addresses");
            return Err(Refusal::value(&given, expected).under("sector"));
        }
        let rotation = sheet.rotation.0.ps();
        let sectors = |sector_ps: f64| (rotation as f64 / sector_ps).round();
        let outer = sectors(sheet.outer_track.sector_ps(sheet.rotation.0));
        let inner = sectors(sheet.inner_track.sector_ps(sheet.rotation.0));
        let head_switch = sheet.head_switch.unwrap_or(sheet.read_track_seek).ps();
        let to_next_cylinder = sheet.read_track_seek.max(sheet.write_track_seek).ps();
        let heads = u32::from(sheet.heads);
        let last = f64::from(sheet.cylinders - 1);
        let mut zones: Vec<Zone> = Vec::new();
        let mut first = 0;
        for cylinder in 0..sheet.cylinders {
            let track = (outer - (outer - inner) * f64::from(cylinder) / last).round() as u64;
            if zones.last().is_none_or(|zone| zone.track != track) {
                // One sector more than pass in the time, so that none is missed.
                let skew = |ps: u64| {
                    (u128::from(ps) * u128::from(track) / u128::from(rotation)) as u64 + 1
                };
                let skews = [skew(head_switch), skew(to_next_cylinder)];
                zones.push(Zone { first, cylinder, track, skews });
            }
            first += track * u64::from(heads);
        }
        let sectors = block / sheet.sector.0;
        Ok(Geometry {
            zones: zones.into(),
            heads,
            rotation,
            head_switch,
            curves: sheet.curves(),
            stroke: last,
            sectors,
            blocks: first / sectors,
        })
    }

    /// The number of whole blocks that the disk holds.
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// An arm over the outermost cylinder; the first sector there passes `phase` after time zero.
    pub fn arm(&self, phase: Span) -> Arm {
        Arm { phase: self.rotation - phase.ps() % self.rotation, ..Arm::default() }
    }

    /// The time of a full rotation.
    pub fn rotation(&self) -> Span {
        Span::from_ps(self.rotation)
    }

    fn place(&self, sector: u64) -> Place {
        let zone = self.zones.partition_point(|zone| zone.first <= sector) - 1;
        let Zone { first, cylinder, track, .. } = self.zones[zone];
        let (tracks, sector) = ((sector - first) / track, (sector - first) % track);
        Place {
            zone,
            cylinder: cylinder + (tracks / u64::from(self.heads)) as u32,
            head: (tracks % u64::from(self.heads)) as u32,
            sector,
        }
    }

    /// The angle at which a sector begins, in picoseconds of a rotation.
    fn angle(&self, place: Place) -> u64 {
        let zone = &self.zones[place.zone];
        let cylinders = u64::from(place.cylinder - zone.cylinder);
        let switches = cylinders * u64::from(self.heads - 1) + u64::from(place.head);
        let later = switches * zone.skews[0] + cylinders * zone.skews[1];
        self.turned(zone, (place.sector + later) % zone.track)
    }

    /// The time in which `sectors` sectors of a zone pass under the head.
    fn turned(&self, zone: &Zone, sectors: u64) -> u64 {
        (u128::from(sectors) * u128::from(self.rotation) / u128::from(zone.track)) as u64
    }

    /// The first sector of the track behind that of `place`.
    fn next_track(&self, place: Place) -> Place {
        if place.head + 1 < self.heads {
            return Place { head: place.head + 1, sector: 0, ..place };
        }
        let cylinder = place.cylinder + 1;
        let next_zone = self.zones.get(place.zone + 1);
        let zone =
            place.zone + usize::from(next_zone.is_some_and(|zone| zone.cylinder == cylinder));
        Place { zone, cylinder, head: 0, sector: 0 }
    }

    /// The transfer time of `blocks` blocks from block `at` on, with the tracks and cylinders that it
    /// crosses, once the head is over the first.
    pub fn transfer(&self, op: Op, at: u64, blocks: u32) -> Span {
        let mut place = self.place(at * self.sectors);
        let mut left = u64::from(blocks) * self.sectors;
        let start = self.angle(place);
        let mut took = 0;
        loop {
            let zone = &self.zones[place.zone];
            let here = left.min(zone.track - place.sector);
            left -= here;
            // From angle to angle, so that whole tracks take whole rotations.
            if here == zone.track {
                took += self.rotation;
            } else {
                let end = Place { sector: place.sector + here, ..place };
                took += self.ahead(start + took, self.angle(end));
            }
            if left == 0 {
                return Span::from_ps(took);
            }
            let next = self.next_track(place);
            took += match next.cylinder == place.cylinder {
                true => self.head_switch,
                false => self.seek(op, 1),
            };
            took += self.ahead(start + took, self.angle(next));
            place = next;
        }
    }

    /// The places where an access to `blocks` blocks from block `at` on begins and ends.
    pub fn spot(&self, at: u64, blocks: u32) -> Spot {
        let first = at * self.sectors;
        let place = self.place(first);
        let end = self.place(first + u64::from(blocks) * self.sectors - 1);
        Spot {
            cylinder: place.cylinder,
            head: place.head as u16,
            angle: self.angle(place),
            end: (end.cylinder, end.head as u16),
        }
    }

    /// The time that the arm, or a switch of heads, takes from `arm` to a spot, starting at `now`,
    /// and the time that the head then waits for the first sector.
    #[inline]
    pub fn approach(&self, arm: &Arm, op: Op, spot: &Spot, now: Time) -> (Span, Span) {
        let move_takes = match arm.cylinder.abs_diff(spot.cylinder) {
            0 if arm.head == spot.head => 0,
            0 => self.head_switch,
            distance => self.seek(op, distance),
        };
        let wait = self.ahead(now.ps() + move_takes + arm.phase, spot.angle);
        (Span::from_ps(move_takes), Span::from_ps(wait))
    }

    /// Puts the arm where an access leaves it.
    #[inline]
    pub fn leave(&self, arm: &mut Arm, spot: &Spot) {
        if arm.cylinder != spot.cylinder {
            arm.outwards = spot.cylinder < arm.cylinder;
        }
        (arm.cylinder, arm.head) = spot.end;
    }

    /// The time until the platter is at `angle`, where its angle is now `now` modulo a rotation.
    #[inline]
    fn ahead(&self, now: u64, angle: u64) -> u64 {
        (angle + self.rotation - now % self.rotation) % self.rotation
    }

    /// The time of a seek over `distance` cylinders, at least one.
    #[inline]
    fn seek(&self, op: Op, distance: u32) -> u64 {
        let Curve { a, b } = self.curves[op as usize];
        (a + b * (f64::from(distance) / self.stroke).sqrt()).round() as u64
    }
}
