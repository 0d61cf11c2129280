//! The zoned disk of the paper's section 2, from a data sheet alone.

use super::{Drive, Kind, Move, Op, Ready, Rotation, Stage, Track};
use crate::analysis::Moments;
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

    /// The distance between two cylinders, as a share of the stroke: those before which there are
    /// shares `u` and `v` of all sectors.
    #[inline]
    fn distance(&self, u: f64, v: f64) -> f64 {
        // |y(u) - y(v)| with y(u) = (1 - sqrt(1 - slope u)) / q, without the division by what may
        // be zero: the difference of two roots is that of their squares over their sum; 1 + r is
        // what remains of the slope.
        let roots = (1.0 - self.slope * u).sqrt() + (1.0 - self.slope * v).sqrt();
        ((2.0 - self.q) * (u - v)).abs() / roots
    }

    /// Mean and mean square of the root of the distance: its density is that of two cylinders.
    fn root(&self) -> Moments {
        let q = self.q;
        // Of the distance d, up to a factor: the integral of (1 - q y) (1 - q (y + d)) over y.
        let density = |d: f64| {
            let m = 1.0 - d;
            (1.0 - q * d) * m - q * (2.0 - q * d) * m * m / 2.0 + q * q * m.powi(3) / 3.0
        };
        // With x the root, all integrands are polynomials of a low degree.
        let integral = |power: i32| simpson(|x| density(x * x) * 2.0 * x * x.powi(power));
        let all = integral(0);
        Moments { mean: integral(1) / all, square: integral(2) / all }
    }

    /// Mean and mean square of the transfer of one block.
    fn block(&self) -> Moments {
        let inner = self.fast - self.spread;
        let (outer, inner) = (self.fast.sqrt().recip(), inner.sqrt().recip());
        let mean = 2.0 * outer * inner / (outer + inner);
        // The logarithm's series where both ends are the same.
        let ratio = (inner / outer).powi(2) - 1.0;
        let log = if ratio < 1e-9 { 1.0 } else { libm::log1p(ratio) / ratio };
        let square = inner * inner * log;
        Moments { mean: self.sectors * mean, square: self.sectors.powi(2) * square }
    }

    /// The seek whose root of the distance, as a share of the stroke, is `root`.
    #[inline]
    pub fn seek(&self, op: Op, root: f64) -> f64 {
        let Curve { a, b } = self.seek[op as usize];
        a + b * root
    }
}

/// A number evenly spread in (0, 1), of 32 bits: finer than a thousandth of a cylinder.
#[inline]
fn uniform(bits: u64) -> f64 {
    // The bits are a float's lower ones, 2^52 above what they say.
    const WHOLE: f64 = (1u64 << 52) as f64;
    (f64::from_bits(WHOLE.to_bits() | bits & 0xffff_ffff) - (WHOLE - 0.5)) / (1u64 << 32) as f64
}

/// How many moves are computed together: lists of equal length are what a processor is quick at.
const TOGETHER: usize = 64;

impl Drive for Platters {
    fn places(&self, stream: &mut Stream, places: &mut [f64]) {
        places.fill_with(|| stream.uniform());
        for place in places {
            *place = self.sectors / (self.fast - *place * self.spread).sqrt();
        }
    }

    #[inline]
    fn transfer(&self, place: f64, _: Op, blocks: u32) -> Span {
        whole(place * f64::from(blocks))
    }

    fn moves(&self, stream: &mut Stream, moves: &mut [Move]) {
        let (mut places, mut rotations) = ([0; TOGETHER], [0.0; TOGETHER]);
        for moves in moves.chunks_mut(TOGETHER) {
            for (place, rotation) in places.iter_mut().zip(&mut rotations).take(moves.len()) {
                (*place, *rotation) = (stream.bits(), stream.uniform());
            }
            let roots = places.map(|bits| self.distance(uniform(bits >> 32), uniform(bits)).sqrt());
            for ((to, root), rotation) in moves.iter_mut().zip(roots).zip(rotations) {
                *to = Move { root, rotation: self.rotation_ps * rotation };
            }
        }
    }

    #[inline]
    fn position(&self, op: Op, to: Move) -> Span {
        whole(self.seek(op, to.root) + to.rotation)
    }

    #[inline]
    fn rotate(&self, stream: &mut Stream) -> Span {
        whole(self.rotation_ps * stream.uniform())
    }

    fn rotation(&self) -> Span {
        self.rotation
    }

    fn service(&self, op: Op, blocks: Moments) -> Moments {
        let Curve { a, b } = self.seek[op as usize];
        let root = self.root();
        let seek = Moments {
            mean: a + b * root.mean,
            square: a * a + 2.0 * a * b * root.mean + b * b * root.square,
        };
        let rotation =
            Moments { mean: self.rotation_ps / 2.0, square: self.rotation_ps.powi(2) / 3.0 };
        seek.plus(rotation).plus(self.block().times(blocks))
    }
}

/// The integral from 0 to 1, exact enough for polynomials.
fn simpson(f: impl Fn(f64) -> f64) -> f64 {
    const STEPS: u32 = 1000;
    let at = |step: u32| f(f64::from(step) / f64::from(STEPS));
    let inside = (1..STEPS).map(|step| at(step) * if step % 2 == 1 { 4.0 } else { 2.0 });
    (at(0) + inside.sum::<f64>() + at(STEPS)) / (3.0 * f64::from(STEPS))
}

/// The nearest whole picosecond; no time is negative.
#[inline]
fn whole(ps: f64) -> Span {
    // From 2^52 on floats are whole numbers, and the number is in the lower bits.
    const WHOLE: f64 = (1u64 << 52) as f64;
    match ps < WHOLE {
        true => Span::from_ps((ps + WHOLE).to_bits() - WHOLE.to_bits()),
        false => Span::from_ps(ps as u64),
    }
}
