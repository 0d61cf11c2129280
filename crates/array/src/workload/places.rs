//! Where on the array requests go.

use sojourn_core::parameters::{Check, Refusal, Value};
use sojourn_core::{Distribution, Exponential, Geometric, Stream, parameters, variants};
use std::num::NonZeroU32;

variants! {
    /// Where on the array requests go.
    pub enum Places: "kind of places" => with_places {
        Anywhere(Anywhere),
        Uniform(Uniform),
        Sequential(Sequential),
        Hot(Hot),
        Near(Near),
    }
}

parameters! {
    /// To random places without an address: the layout draws on which disk each starts, and where its
    /// parity is, as in the paper.
    pub struct Anywhere: "anywhere" {}
}

parameters! {
    /// To random addresses, each as likely as any other.
    pub struct Uniform: "uniform" {
        /// Alignment of addresses, in blocks.
        pub align: NonZeroU32 = NonZeroU32::MIN,
    }
}

parameters! {
    /// Streams, each of which goes on where its last request ended, for a run of requests, and then
    /// jumps to a random address. A request belongs to a random one of the streams.
    pub struct Sequential: "sequential" {
        /// Number of streams.
        pub streams: NonZeroU32 = NonZeroU32::MIN,
        /// Mean number of requests in a run, which is geometric and at least 1.
        pub run: f64 = 100.0,
    }
}

parameters! {
    /// Some of the requests to a small part of the array, the others to all of it: random addresses
    /// within each.
    pub struct Hot: "hot" {
        /// Share of the requests that go to the hot part.
        pub share: f64 [0.0..=1.0] = 0.8,
        /// Share of the array that is hot.
        pub part: f64 = 0.2,
        /// Start of the hot part, as a share of the array.
        pub start: f64 [0.0..=1.0] = 0.0,
    }
}

parameters! {
    /// Each near the one before it: so far forwards or backwards, as likely one as the other, as an
    /// exponential number says. Beyond an end of the array it comes back from there.
    pub struct Near: "near" {
        /// Mean distance, as a share of the array.
        pub distance: f64 = 0.001,
    }
}

impl Check for Anywhere {}
impl Check for Uniform {}

impl Check for Sequential {
    fn check(&self) -> Result<(), Refusal> {
        if self.streams.get() > MOST_STREAMS {
            let expected = format!("a whole number from 1 to {MOST_STREAMS}");
            return Err(Refusal::of(&self.streams, expected).under("streams"));
        }
        match self.run >= 1.0 {
            true => Ok(()),
            false => Err(Refusal::value(&Value::Float(self.run), "at least 1").under("run")),
        }
    }
}

const MOST_STREAMS: u32 = 100_000;

impl Check for Hot {
    fn check(&self) -> Result<(), Refusal> {
        match self.part > 0.0 && self.start + self.part <= 1.0 {
            true => Ok(()),
            false => {
                let expected = format!("a share above 0 and at most {}", 1.0 - self.start);
                Err(Refusal::value(&Value::Float(self.part), expected).under("part"))
            }
        }
    }
}

impl Check for Near {
    fn check(&self) -> Result<(), Refusal> {
        match self.distance > 0.0 && self.distance <= 1.0 {
            true => Ok(()),
            false => {
                let expected = "a share above 0 and at most 1";
                Err(Refusal::value(&Value::Float(self.distance), expected).under("distance"))
            }
        }
    }
}

/// Draws addresses for one run.
#[derive(Clone, Debug)]
pub(super) struct Addresses {
    law: Law,
    /// Blocks of the array.
    blocks: u64,
    stream: Stream,
}

#[derive(Clone, Debug)]
enum Law {
    Uniform { align: u64 },
    Sequential { run: Geometric, streams: Vec<Run> },
    Hot { share: f64, start: u64, blocks: u64 },
    Near { distance: Exponential, last: Option<u64> },
}

/// The rest of a stream's run.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    next: u64,
    left: u64,
}

impl Places {
    /// Whether requests have addresses whatever the disks are.
    pub(super) fn have_addresses(&self) -> bool {
        !matches!(self, Places::Anywhere(_))
    }

    /// Whether each block is as likely as any other to be a request's first.
    pub(super) fn are_uniform(&self) -> bool {
        matches!(self, Places::Uniform(uniform) if uniform.align.get() == 1)
    }

    /// Whether addresses are near each other, or some are more likely: a device that looks at addresses
    /// is quicker for it.
    pub(crate) fn are_local(&self) -> bool {
        !matches!(self, Places::Anywhere(_) | Places::Uniform(_))
    }

    /// Draws from `stream`, for an array of `blocks` blocks.
    pub(super) fn addresses(&self, blocks: u64, stream: Stream) -> Addresses {
        Addresses { law: with_places!(self, |params| params.law(blocks)), blocks, stream }
    }
}

impl Anywhere {
    fn law(&self, _: u64) -> Law {
        Law::Uniform { align: 1 }
    }
}

impl Uniform {
    fn law(&self, _: u64) -> Law {
        Law::Uniform { align: self.align.get().into() }
    }
}

impl Sequential {
    fn law(&self, _: u64) -> Law {
        let streams = vec![Run::default(); self.streams.get() as usize];
        Law::Sequential { run: Geometric { mean: self.run }, streams }
    }
}

impl Hot {
    fn law(&self, blocks: u64) -> Law {
        let part = |share: f64| (share * blocks as f64) as u64;
        Law::Hot { share: self.share, start: part(self.start), blocks: part(self.part) }
    }
}

impl Near {
    fn law(&self, blocks: u64) -> Law {
        Law::Near { distance: Exponential { mean: self.distance * blocks as f64 }, last: None }
    }
}

impl Addresses {
    /// The first block of a request of `blocks` blocks, which are not more than the array's.
    pub(super) fn next(&mut self, blocks: u32) -> u64 {
        let stream = &mut self.stream;
        let places = self.blocks - u64::from(blocks) + 1;
        match &mut self.law {
            Law::Uniform { align } => stream.below(places.div_ceil(*align)) * *align,
            Law::Sequential { run, streams } => {
                let chosen = match streams.len() {
                    1 => 0,
                    many => stream.below(many as u64) as usize,
                };
                let current = &mut streams[chosen];
                if current.left == 0 || current.next >= places {
                    let left = run.sample(stream).min(f64::from(u32::MAX)) as u64;
                    *current = Run { next: stream.below(places), left };
                }
                let at = current.next;
                *current = Run { next: at + u64::from(blocks), left: current.left - 1 };
                at
            }
            Law::Hot { share, start, blocks } => {
                let is_hot = stream.uniform() < *share;
                match is_hot && *start < places {
                    true => *start + stream.below((*blocks).clamp(1, places - *start)),
                    false => stream.below(places),
                }
            }
            Law::Near { distance, last } => {
                let forwards = stream.below(2) == 0;
                let way = distance.sample(stream).min(self.blocks as f64) as u64;
                let at = match (*last, forwards) {
                    (None, _) => stream.below(places),
                    (Some(last), true) => last + way,
                    (Some(last), false) => last.abs_diff(way),
                };
                // Reflected at the far end as at the near one.
                let at = if at < places { at } else { (2 * (places - 1)).saturating_sub(at) };
                *last = Some(at);
                at
            }
        }
    }
}
