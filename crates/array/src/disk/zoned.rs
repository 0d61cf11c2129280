//! The zoned disk of the paper's section 2, from a data sheet alone.

use super::{Drive, Kind, Op, Ready, Rotation, Stage, Track};
use sojourn_kernel::parameters::{Check, Refusal, Setting};
use sojourn_kernel::{Bytes, Span, Stream, parameters};

parameters! {
    /// A zoned disk from its data sheet (paper section 2). Every access goes to a random place,
    /// wherever the head is: the seek is that between two random cylinders, outer ones the likelier
    /// by the sectors that they hold, and takes a + b sqrt(cylinders); the rotation is evenly spread.
    /// Sectors per track fall in a straight line from the outermost cylinder to the innermost.
    /// Not modelled: track switches, caches, settling beside the seek curve.
    pub struct Zoned: "zoned" {
        /// How many cylinders, at least 2.
        pub cylinders: u32,
        /// A full rotation.
        pub rotation: Rotation,
        /// Seek to the next track, before a read.
        pub read_track_seek: Span,
        /// Seek over the full stroke, before a read.
        pub read_full_seek: Span,
        /// Seek to the next track, before a write.
        pub write_track_seek: Span,
        /// Seek over the full stroke, before a write.
        pub write_full_seek: Span,
        /// The outermost track.
        pub outer_track: Track,
        /// The innermost track, not denser than the outermost.
        pub inner_track: Track,
        /// Bytes in a sector.
        pub sector: Bytes = Bytes(512),
    }
}

impl Check for Zoned {
    fn check(&self) -> Result<(), Refusal> {
        if self.cylinders < 2 {
            let given = self.cylinders.write().expect("a number");
            return Err(Refusal::value(&given, "at least 2 cylinders").under("cylinders"));
        }
        if self.sector.0 == 0 {
            let given = self.sector.write().expect("a size");
            return Err(Refusal::value(&given, "at least \"1B\"").under("sector"));
        }
        for (key, track, full) in [
            ("read_full_seek", self.read_track_seek, self.read_full_seek),
            ("write_full_seek", self.write_track_seek, self.write_full_seek),
        ] {
            if full < track || full > LONGEST_SEEK {
                let given = full.write().expect("a time");
                let expected = format!(
                    "at least the seek to the next track, {track}, and at most {LONGEST_SEEK}"
                );
                return Err(Refusal::value(&given, expected).under(key));
            }
        }
        let rotation = self.rotation.0;
        self.outer_track.check(rotation).map_err(|refusal| refusal.under("outer_track"))?;
        self.inner_track.check(rotation).map_err(|refusal| refusal.under("inner_track"))?;
        if self.inner_track.sector_ps(rotation) < self.outer_track.sector_ps(rotation) {
            let given = self.inner_track.write().expect("a track");
            let expected = "a track that is not denser than the outermost";
            return Err(Refusal::value(&given, expected).under("inner_track"));
        }
        Ok(())
    }
}

/// No head needs longer.
const LONGEST_SEEK: Span = Span::from_s(1);

impl Kind for Zoned {
    fn ready(&self, stage: &Stage<'_>) -> Result<Ready, Refusal> {
        Ok(Ready::Platters(Platters::new(self, stage.block)))
    }
}

/// A zoned disk, ready to be accessed. All times are in picoseconds.
#[derive(Clone, Debug)]
pub struct Platters {
    /// Seek time over a share y of the stroke is `a + b sqrt(y)`, for a read and for a write.
    seek: [Curve; 2],
    rotation: Span,
    rotation_ps: f64,
    /// Cylinders, as a share of the stroke from the outermost on, have the density
    /// 2 (1 - q y) / (1 + r), with r the densest sector's time over the least dense one's, q = 1 - r.
    q: f64,
    /// q (1 + r).
    slope: f64,
    /// The sector time is `(fast - u spread)^(-1/2)`: the inverse squares of the outermost's, and
    /// how much less the innermost's is.
    fast: f64,
    spread: f64,
    sectors: f64,
}

#[derive(Clone, Copy, Debug)]
struct Curve {
    a: f64,
    b: f64,
}

impl Platters {
    /// A disk whose blocks have `block` bytes.
    pub fn new(sheet: &Zoned, block: u64) -> Platters {
        let stroke = f64::from(sheet.cylinders - 1).sqrt();
        let curve = |track: Span, full: Span| {
            // Through (1 cylinder, track) and (all cylinders, full): paper [14], readings row 2.
            let rise = if stroke > 1.0 { (full - track).ps() as f64 / (stroke - 1.0) } else { 0.0 };
            Curve { a: track.ps() as f64 - rise, b: rise * stroke }
        };
        let rotation = sheet.rotation.0;
        let outer = sheet.outer_track.sector_ps(rotation);
        let inner = sheet.inner_track.sector_ps(rotation);
        let r = outer / inner;
        let fast = 1.0 / (outer * outer);
        Platters {
            seek: [
                curve(sheet.read_track_seek, sheet.read_full_seek),
                curve(sheet.write_track_seek, sheet.write_full_seek),
            ],
            rotation,
            rotation_ps: rotation.ps() as f64,
            q: 1.0 - r,
            slope: (1.0 - r) * (1.0 + r),
            fast,
            spread: fast - 1.0 / (inner * inner),
            sectors: block as f64 / sheet.sector.0 as f64,
        }
    }

    /// The distance between two random cylinders, as a share of the stroke.
    #[inline]
    pub fn distance(&self, stream: &mut Stream) -> f64 {
        let (u, v) = (stream.uniform(), stream.uniform());
        // |y(u) - y(v)| with y(u) = (1 - sqrt(1 - slope u)) / q, without the division by what may
        // be zero: the difference of two roots is that of their squares over their sum.
        let roots = (1.0 - self.slope * u).sqrt() + (1.0 - self.slope * v).sqrt();
        (self.slope_over_q() * (u - v)).abs() / roots
    }

    /// 1 + r.
    #[inline]
    fn slope_over_q(&self) -> f64 {
        2.0 - self.q
    }

    /// The seek over a share of the stroke.
    #[inline]
    pub fn seek(&self, op: Op, distance: f64) -> f64 {
        let Curve { a, b } = self.seek[op as usize];
        a + b * distance.sqrt()
    }
}

impl Drive for Platters {
    #[inline]
    fn place(&self, stream: &mut Stream) -> f64 {
        self.sectors / (self.fast - stream.uniform() * self.spread).sqrt()
    }

    #[inline]
    fn transfer(&self, place: f64, _: Op, blocks: u32) -> Span {
        whole(place * f64::from(blocks))
    }

    #[inline]
    fn position(&self, op: Op, stream: &mut Stream) -> Span {
        let seek = self.seek(op, self.distance(stream));
        whole(seek + self.rotation_ps * stream.uniform())
    }

    #[inline]
    fn rotate(&self, stream: &mut Stream) -> Span {
        whole(self.rotation_ps * stream.uniform())
    }

    fn rotation(&self) -> Span {
        self.rotation
    }
}

/// The nearest whole picosecond; no time is negative.
#[inline]
fn whole(ps: f64) -> Span {
    Span::from_ps((ps + 0.5) as u64)
}
