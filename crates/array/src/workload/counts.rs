//! Laws of whole numbers: how many blocks a request has, how many requests come at once.

use super::{MAX_BLOCKS, WorkloadContext};
use crate::Moments;
use sojourn_core::parameters::{Check, Refusal, Setting, Shape, Value};
use sojourn_core::resource::NameOrFile;
use sojourn_core::{
    Distribution, Geometric as Tries, Reading, SizeTable, Stream, choices, parameters, variants,
};

variants! {
    /// A law of how many blocks a request has.
    pub enum SizeLaw: "request size" {
        Geometric(Geometric),
        Table(Table),
    }
}

variants! {
    /// A law of how many requests come at once.
    pub enum BatchLaw: "batch" {
        Geometric(Geometric),
    }
}

macro_rules! or_a_number {
    ($($(#[doc = $doc:literal])+ $type:ident($law:ident))+) => {$(
        $(#[doc = $doc])+
        #[derive(Clone, Debug, PartialEq)]
        pub enum $type {
            /// Always the same.
            Constant(u32),
            /// Drawn.
            Drawn($law),
        }

        impl Setting for $type {
            fn expected() -> String {
                format!("{A_NUMBER}, or {}", $law::expected())
            }

            fn shape() -> Shape {
                let number = Shape::Whole { least: 1, most: MAX_BLOCKS.into() };
                Shape::Any(vec![number, $law::shape()])
            }

            fn read(value: &Value) -> Result<$type, Refusal> {
                if let Value::Int(given) = value {
                    let number = u32::try_from(*given).ok();
                    return number
                        .filter(|number| (1..=MAX_BLOCKS).contains(number))
                        .map($type::Constant)
                        .ok_or_else(|| Refusal::value(value, format!("1 to {MAX_BLOCKS}")));
                }
                $law::read(value).map($type::Drawn).map_err(|refusal| match refusal.path.is_empty() {
                    true => {
                        Refusal { expected: format!("{A_NUMBER}, or {}", refusal.expected), ..refusal }
                    }
                    false => refusal,
                })
            }

            fn write(&self) -> Option<Value> {
                match self {
                    $type::Constant(number) => number.write(),
                    $type::Drawn(law) => law.write(),
                }
            }
        }
    )+};
}

const A_NUMBER: &str = "a number such as 4";

or_a_number! {
    /// How many blocks a request has: a number, or a law.
    Size(SizeLaw)
    /// How many requests come at once: a number, or a law.
    Batch(BatchLaw)
}

parameters! {
    /// A geometric number with this mean.
    pub struct Geometric: "geometric" {
        /// The mean: from 1 on, or above 0 where the least is zero.
        pub mean: f64,
        /// Whether the numbers start at one, the literal reading of the text, or at zero as in
        /// JINQS, the library of the paper's simulator. A request of size zero is not issued.
        pub least: Least = Least::One,
    }
}

choices! {
    /// The least number of a geometric law.
    pub enum Least: "least number" {
        /// 1, 2, ...: a success has the probability 1 / mean.
        One = "one",
        /// 0, 1, ...: a success has the probability 1 / (1 + mean).
        Zero = "zero",
    }
}

parameters! {
    /// Sizes in bytes from a table, rounded up to whole blocks.
    pub struct Table: "table" {
        /// The table: the name of one that comes with sojourn, or a file.
        pub sizes: NameOrFile,
        /// How sizes between two rows of the table are drawn. By default as its publisher does.
        pub reading: Option<Reading> = None,
    }
}

impl Check for Geometric {
    fn check(&self) -> Result<(), Refusal> {
        let fits = match self.least {
            Least::One => self.mean >= 1.0,
            Least::Zero => self.mean > 0.0,
        };
        match fits && self.mean <= LARGEST_MEAN {
            true => Ok(()),
            false => {
                let expected = format!(
                    "a mean of at least 1, or above 0 with least = \"zero\", and at most {LARGEST_MEAN}"
                );
                Err(Refusal::value(&Value::Float(self.mean), expected).under("mean"))
            }
        }
    }
}

impl Check for Table {}

/// The largest mean: beyond it the largest numbers drawn would be cut off.
const LARGEST_MEAN: f64 = 1000.0;

/// A law, ready to be drawn from.
#[derive(Clone, Debug)]
pub(super) enum Law {
    Constant(u32),
    Geometric(Tries, u32),
    Table(SizeTable, u64),
}

impl Law {
    /// Draws a number.
    #[inline(always)]
    pub(super) fn draw(&self, stream: &mut Stream) -> u32 {
        match self {
            Law::Constant(number) => *number,
            drawn => drawn.draw_anew(stream),
        }
    }

    fn draw_anew(&self, stream: &mut Stream) -> u32 {
        match self {
            Law::Constant(number) => *number,
            Law::Geometric(tries, less) => {
                tries.sample(stream).min(f64::from(MAX_BLOCKS)) as u32 - less
            }
            Law::Table(sizes, block) => sizes.draw(stream).div_ceil(*block) as u32,
        }
    }

    /// Mean and mean square, where they are known.
    pub(super) fn moments(&self) -> Option<Moments> {
        match self {
            Law::Constant(number) => Some(Moments::constant(f64::from(*number))),
            Law::Geometric(tries, less) => {
                let less = f64::from(*less);
                let square = tries.second_moment() - 2.0 * less * tries.mean + less * less;
                Some(Moments { mean: tries.mean - less, square })
            }
            Law::Table(..) => None,
        }
    }

    /// The largest number that is drawn, but for one in 10^27.
    pub(super) fn largest(&self) -> u32 {
        match self {
            Law::Constant(number) => *number,
            Law::Geometric(tries, _) => (tries.mean * 64.0).min(f64::from(MAX_BLOCKS)) as u32,
            Law::Table(sizes, block) => sizes.max().div_ceil(*block) as u32,
        }
    }

    /// Whether no number that is drawn is zero.
    pub(super) fn is_positive(&self) -> bool {
        !matches!(self, Law::Geometric(_, 1))
    }

    /// Whether the law is geometric from 1 on, as the constant 1 is.
    pub(super) fn is_memoryless(&self) -> bool {
        matches!(self, Law::Constant(1) | Law::Geometric(_, 0))
    }

    /// The mean number.
    pub(super) fn mean(&self) -> f64 {
        match self {
            Law::Constant(number) => f64::from(*number),
            Law::Geometric(tries, less) => tries.mean - f64::from(*less),
            Law::Table(sizes, block) => sizes.mean() / *block as f64 + 0.5,
        }
    }
}

impl Geometric {
    fn law(&self) -> Law {
        match self.least {
            Least::One => Law::Geometric(Tries { mean: self.mean }, 0),
            Least::Zero => Law::Geometric(Tries { mean: self.mean + 1.0 }, 1),
        }
    }
}

impl Batch {
    pub(super) fn law(&self) -> Law {
        match self {
            Batch::Constant(number) => Law::Constant(*number),
            Batch::Drawn(BatchLaw::Geometric(params)) => params.law(),
        }
    }
}

impl Size {
    pub(super) fn law(&self, context: &WorkloadContext) -> Result<Law, Refusal> {
        match self {
            Size::Constant(number) => Ok(Law::Constant(*number)),
            Size::Drawn(SizeLaw::Geometric(params)) => Ok(params.law()),
            Size::Drawn(SizeLaw::Table(params)) => params.law(context),
        }
    }
}

impl Table {
    fn law(&self, context: &WorkloadContext) -> Result<Law, Refusal> {
        let under_sizes = |refusal: Refusal| refusal.under("sizes");
        let (sizes, _) = self.sizes.size_table(self.reading).map_err(under_sizes)?;
        if sizes.max().div_ceil(context.block) > u64::from(MAX_BLOCKS) {
            let expected = format!("sizes of at most {MAX_BLOCKS} blocks");
            return Err(under_sizes(self.sizes.0.refused(expected)));
        }
        Ok(Law::Table(sizes, context.block))
    }
}
