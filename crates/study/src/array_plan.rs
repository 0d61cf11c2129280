//! Plans: which of several arrays meets a target at the least price.
//!
//! A plan is a study of an array, the candidates being its cases, with a table `plan` beside
//! the study's own parts.

use crate::document::Document;
use crate::error::SpecError;
use crate::study::{Case, Refused, Study};
use sojourn_core::model::Topic;
use sojourn_core::parameters::{Check, Parameters, Refusal, Setting, Shape, Value};
use sojourn_core::{Bytes, Span, nested, parameters};
use std::num::NonZeroU32;

parameters! {
    /// What an array has to do, and what the disks cost that it may be made of. The candidates are
    /// the cases of the study around it: lists of disks and layouts under `sweep`.
    pub struct Wanted: "plan" {
        /// What to meet: the mean or a percentile of the sojourn times of all requests.
        pub target: Target,
        /// How much it has to hold, redundancy not counted.
        pub capacity: Option<Bytes> = None,
        /// What each disk costs and holds, in the order of `sweep.disk`; one where it is not swept.
        pub disks: Vec<Offer>,
        /// How often a candidate is simulated, at most, to tell whether it meets the target.
        pub replications: NonZeroU32 = NonZeroU32::new(40).expect("40 is not zero"),
    }
}

parameters! {
    /// A disk on offer.
    pub struct Offer: "offer" {
        /// What one costs, in any currency.
        pub price: f64,
        /// How much one holds; needed where the plan says how much the array has to.
        pub capacity: Option<Bytes> = None,
    }
}
nested!(Offer);

/// A bound of the mean or a percentile of sojourn times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Target {
    /// The percentile, in per cent; none for the mean.
    pub percentile: Option<f64>,
    /// The sojourn time that it has to be below.
    pub limit: Span,
}

const TARGET: &str = "a target such as \"p99 < 40ms\" or \"mean < 10ms\"";

impl Setting for Target {
    fn expected() -> String {
        TARGET.to_owned()
    }

    fn shape() -> Shape {
        Shape::text("\\s*(mean|p[0-9.]+)\\s*<.+")
    }

    fn read(value: &Value) -> Result<Target, Refusal> {
        let target = |text: &str| {
            let (of, limit) = text.split_once('<')?;
            let percentile = match of.trim() {
                "mean" => None,
                of => Some(of.strip_prefix('p')?.parse().ok()?),
            };
            // A limit may have a space before its unit.
            let limit: Span = limit.split_whitespace().collect::<String>().parse().ok()?;
            let inside = percentile.is_none_or(|p: f64| 0.0 < p && p < 100.0);
            (inside && limit > Span::ZERO).then_some(Target { percentile, limit })
        };
        match value {
            Value::Text(text) => target(text),
            _ => None,
        }
        .ok_or_else(|| Refusal::value(value, TARGET))
    }

    fn write(&self) -> Option<Value> {
        let of = self.percentile.map_or("mean".to_owned(), |percentile| format!("p{percentile}"));
        Some(Value::Text(format!("{of} < {}", self.limit)))
    }
}

impl Check for Wanted {
    fn check(&self) -> Result<(), Refusal> {
        let lacking = self.disks.iter().any(|disk| disk.capacity.is_none());
        match self.capacity {
            Some(capacity) if lacking => {
                let expected = "a capacity of each of the plan's disks too";
                Err(Refusal::of(&capacity, expected).under("capacity"))
            }
            _ => Ok(()),
        }
    }
}

impl Check for Offer {
    fn check(&self) -> Result<(), Refusal> {
        match self.price >= 0.0 {
            true => Ok(()),
            false => Err(Refusal::value(&Value::Float(self.price), "at least 0").under("price")),
        }
    }
}

/// A plan, checked whole.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The target, and the disks on offer.
    pub wanted: Wanted,
    /// The candidates, as a study.
    pub study: Study,
    /// The candidates that are impossible, and why.
    pub refused: Vec<Refused>,
}

impl Plan {
    /// Reads a plan; arguments as those of [`Study::parse`].
    pub fn parse(
        text: &str,
        source: &str,
        overrides: &[(String, String)],
    ) -> Result<Plan, SpecError> {
        let mut document = Document::read(text, source, overrides)?;
        let refuse = |document: &Document, refusal: Refusal| {
            let refusal = refusal.under("plan");
            SpecError::refused(document.place(&refusal.path), &refusal)
        };
        let wanted = match document.root.remove("plan") {
            Some(Value::Table(table)) => Wanted::read_table(&table),
            Some(other) => Err(Refusal::value(&other, "a table")),
            None => {
                let what = "no table plan, expected one with target and disks";
                return Err(SpecError::at(source, what));
            }
        }
        .map_err(|refusal| refuse(&document, refusal))?;
        let (study, refused) = Study::as_far_as_possible(&mut document, source)?;
        if let Some(other) = study.swept().map(|(path, _)| path).find(|path| !is_choice(path)) {
            let path = [&["sweep".to_owned()], other].concat();
            let what = format!(
                "sweep.{} is no choice between arrays, expected lists of disk, layout or \
                 scheduling",
                other.join(".")
            );
            return Err(SpecError::at(document.place(&path), what));
        }
        let offered = study.swept().find(|(path, _)| path[0] == "disk").map_or(1, |disks| disks.1);
        if wanted.disks.len() != offered {
            let given = Value::Text(format!("{} of them", wanted.disks.len()));
            let expected = format!("{offered}, one for each disk of the study");
            return Err(refuse(&document, Refusal::value(&given, expected).under("disks")));
        }
        Ok(Plan { wanted, study, refused })
    }

    /// The price and the capacity of the disks of a candidate.
    pub fn offer(&self, case: &Case) -> &Offer {
        let mut rest = case.index;
        for (path, values) in self.study.swept().rev() {
            if path[0] == "disk" {
                return &self.wanted.disks[rest % values];
            }
            rest /= values;
        }
        &self.wanted.disks[0]
    }
}

/// Whether a swept parameter is a choice between arrays: which disk, which layout of how many.
fn is_choice(path: &[String]) -> bool {
    match path[0].as_str() {
        "disk" => path.len() == 1,
        part => ["layout", "scheduling"].contains(&part),
    }
}

/// The topics that a plan adds to the registry.
pub(crate) fn topics() -> Vec<Topic> {
    vec![Topic::of("tables", vec![Wanted::entry(), Offer::entry()])]
}
