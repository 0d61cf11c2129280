//! Known drives: zoned disks with the values of their data sheets as defaults.

use super::zoned::MOST_ARMS;
use super::{DataSheet, Rotation, Track, Zoned};
use sojourn_core::parameters::{Check, Name, Refusal};
use sojourn_core::{Bytes, Span, parameters};

/// Declares a drive: the parameters of [`Zoned`], each with this drive's value.
macro_rules! drive {
    (
        $(#[doc = $doc:literal])+
        $type:ident: $name:literal {
            cylinders: $cylinders:expr,
            rotation: $rotation:expr,
            seeks: $seeks:expr,
            tracks: [$outer:expr, $inner:expr],
            heads: $heads:literal, $head_switch:expr,
            actuators: $actuators:literal,
        }
    ) => {
        parameters! {
            $(#[doc = $doc])+
            pub struct $type: $name {
                /// Name in tables, legends and plans. By default its kind.
                pub name: Option<Name> = None,
                /// Number of cylinders.
                pub cylinders: u32 [2..=u32::MAX] = $cylinders,
                /// Time of a full rotation.
                pub rotation: Rotation = Rotation($rotation),
                /// Time of a seek to the next track, before a read.
                pub read_track_seek: Span = $seeks[0],
                /// Time of a seek over the full stroke, before a read.
                pub read_full_seek: Span = $seeks[1],
                /// Time of a seek to the next track, before a write.
                pub write_track_seek: Span = $seeks[2],
                /// Time of a seek over the full stroke, before a write.
                pub write_full_seek: Span = $seeks[3],
                /// The outermost track, by its sectors or by the time of a sector.
                pub outer_track: Track = $outer,
                /// The innermost track, by its sectors or by the time of a sector.
                pub inner_track: Track = $inner,
                /// Bytes per sector.
                pub sector: Bytes = Bytes(512),
                /// How many heads.
                pub heads: u8 [1..=u8::MAX] = $heads,
                /// How long a switch to another head of the same cylinder takes.
                pub head_switch: Option<Span> = Some($head_switch),
                /// How many arms work by themselves, each with an equal part of heads and addresses.
                pub actuators: u8 [1..=MOST_ARMS] = $actuators,
            }
        }

        impl DataSheet for $type {
            fn sheet(&self) -> Zoned {
                Zoned {
                    name: self.name.clone(),
                    cylinders: self.cylinders,
                    rotation: self.rotation,
                    read_track_seek: self.read_track_seek,
                    read_full_seek: self.read_full_seek,
                    write_track_seek: self.write_track_seek,
                    write_full_seek: self.write_full_seek,
                    outer_track: self.outer_track,
                    inner_track: self.inner_track,
                    sector: self.sector,
                    heads: self.heads,
                    head_switch: self.head_switch,
                    actuators: self.actuators,
                }
            }
        }

        impl Check for $type {
            fn check(&self) -> Result<(), Refusal> {
                self.sheet().check()
            }
        }
    };
}

drive! {
    /// Seagate Barracuda ES ST3500630NS, 500 GB, 7200 rpm: the paper's disk, with the values of its
    /// section 4. The sector times are the authors' measurements; 60801 cylinders is the logical
    /// geometry that the drive reports. The 16 heads are ours, as many as so many cylinders need to
    /// hold its 500 GB, and so is their switch, as long as the seek to the next track.
    St3500630Ns: "ST3500630NS" {
        cylinders: 60_801,
        rotation: Span::from_us(8330),
        seeks: [Span::from_us(800), Span::from_ms(17), Span::from_ms(1), Span::from_ms(18)],
        tracks: [Track::Time(Span::from_ns(5976)), Track::Time(Span::from_ns(12_064))],
        heads: 16, Span::from_us(800),
        actuators: 1,
    }
}

drive! {
    /// HP 97560, 1.3 GB, 4002 rpm, one zone of 72 sectors a track (Ruemmler and Wilkes, *An
    /// introduction to disk drive modeling*, IEEE Computer 27(3), 1994). Their seek curve, a root up
    /// to 383 cylinders and a line beyond, becomes a root through its two ends, 3.64 ms and 23.69 ms.
    /// 19 heads, 1.6 ms from one to another.
    Hp97560: "HP97560" {
        cylinders: 1962,
        rotation: Span::from_ps(60_000_000_000_000 / 4002),
        seeks: [Span::from_us(3640), Span::from_us(23_688), Span::from_us(3640), Span::from_us(23_688)],
        tracks: [Track::Sectors(72), Track::Sectors(72)],
        heads: 19, Span::from_us(1600),
        actuators: 1,
    }
}

drive! {
    /// Quantum Atlas 10K, 9.2 GB, 10025 rpm, as extracted and validated for DiskSim (Bucy, Schindler,
    /// Schlosser, Ganger, *The DiskSim simulation environment*, CMU-PDL-08-101, 2008): 24 zones of
    /// 334 to 229 sectors, 1.245 ms to the next cylinder and 10.828 ms over the full stroke, a write
    /// settles 0.487 ms longer. The straight line between the outermost and innermost zones holds
    /// 5 % less than the drive, whose zones are wider outside; the root through the two seeks makes
    /// the mean seek 6.3 ms, where the curve that was extracted gives 5.6.
    Atlas10K: "Atlas10K" {
        cylinders: 10_042,
        rotation: Span::from_ps(60_000_000_000_000 / 10_025),
        seeks: [
            Span::from_us(1245),
            Span::from_us(10_828),
            Span::from_us(1245 + 487),
            Span::from_us(10_828 + 487)
        ],
        tracks: [Track::Sectors(334), Track::Sectors(229)],
        heads: 6, Span::from_us(176),
        actuators: 1,
    }
}

drive! {
    /// Seagate Cheetah 9LP ST39102LW, 9.1 GB, 10045 rpm, from the same source: 11 zones of 254 to 167
    /// sectors, 0.831 ms to the next cylinder and 10.627 ms over the full stroke, a write settles
    /// 0.461 ms longer. The straight line holds 1 % less than the drive; the root makes the mean seek
    /// 6.0 ms, where the curve that was extracted gives 5.5.
    St39102Lw: "ST39102LW" {
        cylinders: 6962,
        rotation: Span::from_ps(60_000_000_000_000 / 10_045),
        seeks: [
            Span::from_us(831),
            Span::from_us(10_627),
            Span::from_us(831 + 461),
            Span::from_us(10_627 + 461)
        ],
        tracks: [Track::Sectors(254), Track::Sectors(167)],
        heads: 12, Span::from_us(30),
        actuators: 1,
    }
}

/// What data sheets of hard disks of 20 TB and more no longer say is of older models of 7200 rpm: to the
/// next track 0.23 ms before a read and 0.32 ms before a write (Western Digital, specification of the
/// Ultrastar DC HC310), and on average 8.0 and 8.6 ms (data sheet of the Ultrastar He10), which a root through
/// the shortest seek gives with these over the full stroke.
const SEEKS_OF_TODAY: [Span; 4] =
    [Span::from_us(230), Span::from_us(14_997), Span::from_us(320), Span::from_us(16_057)];

drive! {
    /// Seagate Exos X24, 24 TB, 7200 rpm, ten platters, 285 MB/s at most (Blocks & Files, October 2023).
    /// The outermost track holds what passes at this rate in a rotation and a switch to the next track,
    /// the innermost half of it (as on the Exos 10E2400, 266 to 130 MB/s, and the Constellation.2), and
    /// 648,940 cylinders hold the capacity. Seeks are taken from older models: to the next track of the Ultrastar
    /// DC HC310, on average of the Ultrastar He10. Its data sheet promises 168 random reads of 4 KiB a second
    /// at depth 16 without its cache.
    ExosX24: "ExosX24" {
        cylinders: 648_940,
        rotation: Span::from_ps(8_333_333_333),
        seeks: SEEKS_OF_TODAY,
        tracks: [Track::Sectors(4816), Track::Sectors(2408)],
        heads: 20, Span::from_us(320),
        actuators: 1,
    }
}

drive! {
    /// Western Digital Ultrastar DC HS760, 20 TB, 7200 rpm, two actuators with nine surfaces each, 582 MB/s
    /// together (AnandTech, *Western Digital Unveils Dual Actuator Ultrastar DC HS760*, 2023). It shows itself as
    /// two units of 10 TB: here the first half of the addresses is the first arm's. The innermost track,
    /// cylinders and seeks are derived as for the Exos X24.
    Hs760: "HS760" {
        cylinders: 588_400,
        rotation: Span::from_ps(8_333_333_333),
        seeks: SEEKS_OF_TODAY,
        tracks: [Track::Sectors(4918), Track::Sectors(2459)],
        heads: 18, Span::from_us(320),
        actuators: 2,
    }
}
