//! Disks: how long an access takes, part by part.

mod drives;
mod empirical;
mod track;
mod zoned;

pub use drives::{Hp97560, St3500630Ns};
pub use empirical::{Empirical, Measured};
pub use track::{Rotation, Track};
pub use zoned::{Platters, Zoned};

use crate::analysis::Moments;
use sojourn_kernel::parameters::Refusal;
use sojourn_kernel::{Span, Stream, variants};

variants! {
    /// The disks of an array, all alike.
    pub enum Disk: "disk" => with_disk {
        St3500630Ns(St3500630Ns),
        Hp97560(Hp97560),
        Zoned(Zoned),
        Empirical(Empirical),
    }
}

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// It reads.
    Read,
    /// It writes.
    Write,
}

/// What a disk is made ready with: the study's other settings that it depends on.
pub struct Stage<'a> {
    /// Bytes in a block of the array.
    pub block: u64,
    /// Reads a file that the study names: its text, or why not.
    pub read: &'a dyn Fn(&str) -> Result<String, String>,
}

/// A move of the head to a place anywhere, drawn before it is known whether to read or write there.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Move {
    /// The root of the distance, as a share of the stroke.
    pub root: f64,
    /// The rotation after the seek, in picoseconds.
    pub rotation: f64,
}

/// How long the parts of an access take. Draws come many at a time, for speed; drawing one by one
/// gives the same.
pub trait Drive {
    /// Draws what stays the same whenever a request comes back to its place on this disk; the
    /// transfers there follow from it (paper section 3.3: transfer times are remembered).
    fn places(&self, stream: &mut Stream, places: &mut [f64]);

    /// How long the transfer of `blocks` blocks at a place takes.
    fn transfer(&self, place: f64, op: Op, blocks: u32) -> Span;

    /// Draws moves of the head to places anywhere.
    fn moves(&self, stream: &mut Stream, moves: &mut [Move]);

    /// How long a move takes: seek, then rotation.
    fn position(&self, op: Op, to: Move) -> Span;

    /// Draws how long the head takes to a place on the track that it is on.
    fn rotate(&self, stream: &mut Stream) -> Span;

    /// A full rotation.
    fn rotation(&self) -> Span;

    /// Mean and mean square, in picoseconds, of an access to a place anywhere, of so many blocks.
    fn service(&self, op: Op, blocks: Moments) -> Moments;
}

/// A disk, ready to be accessed.
#[derive(Clone, Debug)]
pub enum Ready {
    /// A disk with a head that moves.
    Platters(Platters),
    /// A disk that is known by what was measured.
    Measured(Measured),
}

/// A kind of disk.
trait Kind {
    /// Makes it ready. Everything is checked here.
    fn ready(&self, stage: &Stage<'_>) -> Result<Ready, Refusal>;

    /// The names of the files that it reads.
    fn files(&mut self) -> Vec<&mut String> {
        Vec::new()
    }
}

impl Disk {
    /// Makes it ready.
    pub fn ready(&self, stage: &Stage<'_>) -> Result<Ready, Refusal> {
        with_disk!(self, |params| params.ready(stage))
    }

    /// The names of the files that it reads.
    pub fn files(&mut self) -> Vec<&mut String> {
        with_disk!(self, |params| params.files())
    }
}
