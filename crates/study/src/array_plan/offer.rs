//! Disks on offer: the tables `plan.offer`, each with a name, counts, layouts and a price.

use crate::model::MODELS;
use sojourn_core::parameters::{Check, Entry, Field, Name, Refusal, Setting, Shape, Table, Value};
use sojourn_core::{Bytes, nested, parameters};
use std::collections::BTreeSet;
use std::path::Path;

/// The most offers of a plan, counts of an offer, and disks of an array.
const MOST_OFFERS: usize = 100;
const MOST_COUNTS: usize = 1000;
const MOST_DISKS: u32 = 1_000_000;

parameters! {
    /// A disk with its price: what one costs and holds.
    pub struct PricedDisk: "priced-disk" {
        /// The price of one disk, in any currency.
        pub price: f64,
        /// Capacity of one disk. It is required if the plan has a `capacity`.
        pub capacity: Option<Bytes> = None,
    }
}
nested!(PricedDisk);

parameters! {
    /// A disk on offer, `[[plan.offer]]`: each of its counts in each of its layouts is a candidate.
    pub struct Offer: "offer" {
        /// Name of the disk in tables and pictures. The default is the name of the device, its
        /// kind, or the name of the file with its service times.
        pub name: Option<Name> = None,
        /// The device. An offer without one has the study's `disk`.
        pub disk: Option<Disk> = None,
        /// How many of these disks an array may have: a count, a list, or a range. Without it each
        /// layout sets its own number. A layout with a fixed number of disks, such as `raid1`, is
        /// a candidate only if that number is on offer.
        pub disks: Option<Counts> = None,
        /// The layouts to try. An offer without them has the study's `layout`.
        pub layouts: Option<Vec<Layout>> = None,
        /// What one disk costs and holds.
        pub unit: PricedDisk [flatten],
    }
}

parameters! {
    /// A range of counts of disks, both ends included.
    pub struct CountRange: "counts" {
        /// The least number of disks.
        pub from: u32 [1..=MOST_DISKS],
        /// The largest number of disks.
        pub to: u32 [1..=MOST_DISKS],
        /// The difference of one count and the next. A range of more than 1000 counts is refused.
        pub step: u32 [1..=MOST_DISKS] = 1,
    }
}
nested!(CountRange);

nested!(Offer);

impl Check for PricedDisk {
    fn check(&self) -> Result<(), Refusal> {
        match self.price >= 0.0 {
            true => Ok(()),
            false => Err(Refusal::value(&Value::Float(self.price), "at least 0").under("price")),
        }
    }
}

impl Check for Offer {
    fn check(&self) -> Result<(), Refusal> {
        let layouts = self.layouts.iter().flatten();
        if self.layouts.as_ref().is_some_and(Vec::is_empty) {
            return Err(Refusal::value(&Value::List(Vec::new()), LAYOUTS).under("layouts"));
        }
        match layouts.map(|layout| &layout.0).find(|it| self.disks.is_some() && counts_disks(it)) {
            Some(layout) => Err(counted_twice(layout).under("layouts")),
            None => Ok(()),
        }
    }
}

impl Check for CountRange {
    fn check(&self) -> Result<(), Refusal> {
        if self.to < self.from {
            let expected = format!("at least {}, the value of from", self.from);
            return Err(Refusal::of(&self.to, expected).under("to"));
        }
        let number = self.numbers().len();
        match number > MOST_COUNTS {
            true => {
                let expected = format!("a larger step: at most {MOST_COUNTS} counts, not {number}");
                Err(Refusal::of(&self.step, expected).under("step"))
            }
            false => Ok(()),
        }
    }
}

impl CountRange {
    fn numbers(&self) -> impl ExactSizeIterator<Item = u32> + use<> {
        (self.from..self.to + 1).step_by(self.step as usize)
    }
}

impl Offer {
    /// The numbers of disks that it names; none where the layouts say that.
    pub fn counts(&self) -> Vec<u32> {
        match &self.disks {
            None => Vec::new(),
            Some(Counts::One(count)) => vec![*count],
            Some(Counts::Each(counts)) => counts.clone(),
            Some(Counts::Range(range)) => range.numbers().collect(),
        }
    }
}

/// The expected layouts in words.
pub(super) const LAYOUTS: &str = "a list such as [\"raid10\", \"raid6\"]";

/// Whether a layout says how many disks it has.
pub(super) fn counts_disks(layout: &Value) -> bool {
    matches!(layout, Value::Table(table) if table.get("disks").is_some())
}

/// The refusal of a layout that has a number of disks, although its offer has counts.
pub(super) fn counted_twice(layout: &Value) -> Refusal {
    Refusal::value(layout, "no disks in a layout beside plan.offer.disks")
}

/// A layout with each of the counts; as it is where there are none, or where it has no parameter
/// `disks`.
pub(super) fn sized(layout: &Value, counts: &[u32]) -> Vec<Value> {
    let mut table = match layout {
        Value::Table(table) => table.clone(),
        _ => Table::default(),
    };
    if let Value::Text(kind) = layout {
        table.set("kind", Value::Text(kind.clone()));
    }
    if counts.is_empty() || !has_disks(table.get("kind")) {
        return vec![layout.clone()];
    }
    let of_count = |&count: &u32| {
        table.set("disks", Value::Int(count.into()));
        Value::Table(table.clone())
    };
    counts.iter().map(of_count).collect()
}

/// Whether a layout of this kind has a parameter `disks`. An unknown kind may, and is refused later.
fn has_disks(kind: Option<&Value>) -> bool {
    let Shape::Kind { entries, .. } = part("layout").shape else { return true };
    let named =
        |entry: &Entry| matches!(kind, Some(Value::Text(kind)) if kind.as_str() == entry.name);
    let layout = entries().into_iter().find(named);
    layout.is_none_or(|layout| layout.parameters.iter().any(|field| field.name == "disks"))
}

/// What to call a device: its name, its kind, or the name of the file that its times are from.
pub(super) fn device_name(disk: &Value) -> String {
    let name = match disk {
        Value::Text(kind) => kind.clone(),
        Value::Table(table) => {
            let text = |key| match table.get(key) {
                Some(Value::Text(text)) if text != "none" => Some(text.clone()),
                _ => None,
            };
            let stem = |file: String| Some(Path::new(&file).file_stem()?.to_str()?.to_owned());
            let named = text("name").or_else(|| text("file").and_then(stem));
            named.or_else(|| text("kind")).unwrap_or("disk".to_owned())
        }
        other => other.to_string(),
    };
    name.chars().take(Name::LONGEST).collect()
}

/// The offers of a plan.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Offers(pub Vec<Offer>);

impl Setting for Offers {
    fn expected() -> String {
        format!("1 to {MOST_OFFERS} tables: write [[plan.offer]] above each")
    }

    fn shape() -> Shape {
        Shape::List(Box::new(Offer::shape()))
    }

    fn read(value: &Value) -> Result<Offers, Refusal> {
        match value {
            Value::List(values)
                if (1..=MOST_OFFERS).contains(&values.len())
                    && values.iter().all(|value| matches!(value, Value::Table(_))) =>
            {
                Vec::read(value).map(Offers)
            }
            _ => Err(Refusal::value(value, Offers::expected())),
        }
    }

    fn write(&self) -> Option<Value> {
        self.0.write()
    }

    fn absent() -> Option<Offers> {
        Some(Offers::default())
    }
}

impl Offers {
    /// The names of the offers, each another: a default one has a number where it is taken.
    /// `study_disk` is the device of the offers without one.
    pub(super) fn names(&self, study_disk: Option<&Value>) -> Result<Vec<String>, Refusal> {
        let mut names: Vec<String> = Vec::new();
        for (place, offer) in self.0.iter().enumerate() {
            let Some(disk) = offer.disk.as_ref().map(|disk| &disk.0).or(study_disk) else {
                let missing = Refusal::missing("disk", "a disk: `sojourn list disks` has them");
                return Err(missing.among(place));
            };
            let name = match &offer.name {
                Some(name) if names.iter().any(|own| own == name.as_str()) => {
                    let refusal = Refusal::of(name, "a name that no other offer has");
                    return Err(refusal.under("name").among(place));
                }
                Some(name) => name.as_str().to_owned(),
                None => {
                    let own = device_name(disk);
                    let numbered = (2..).map(|number| format!("{own} {number}"));
                    let mut free = [own.clone()].into_iter().chain(numbered);
                    free.find(|name| !names.contains(name)).expect("numbers do not run out")
                }
            };
            names.push(name);
        }
        Ok(names)
    }
}

/// The numbers of disks that an offer names.
#[derive(Clone, Debug, PartialEq)]
pub enum Counts {
    /// A single one.
    One(u32),
    /// A list of different ones.
    Each(Vec<u32>),
    /// A range.
    Range(CountRange),
}

impl Setting for Counts {
    fn expected() -> String {
        "a count such as 12, a list of different ones such as [12, 24], or \
         { from = 6, to = 24, step = 6 }"
            .to_owned()
    }

    fn shape() -> Shape {
        let count = Shape::Whole { least: 1, most: MOST_DISKS.into() };
        let list = Shape::List(Box::new(count.clone()));
        Shape::Any(vec![count, list, CountRange::shape()])
    }

    fn read(value: &Value) -> Result<Counts, Refusal> {
        let refusal = || Refusal::value(value, Counts::expected());
        let count = |value: &Value| match value {
            Value::Int(number) => {
                u32::try_from(*number).ok().filter(|count| (1..=MOST_DISKS).contains(count))
            }
            _ => None,
        };
        match value {
            Value::Table(_) => CountRange::read(value).map(Counts::Range),
            Value::List(values) if (1..=MOST_COUNTS).contains(&values.len()) => {
                let counts: Option<Vec<u32>> = values.iter().map(count).collect();
                let differ = |counts: &Vec<u32>| BTreeSet::from_iter(counts).len() == counts.len();
                counts.filter(differ).map(Counts::Each).ok_or_else(refusal)
            }
            Value::List(values) => {
                let number = values.len();
                let expected =
                    format!("{}; a list has 1 to {MOST_COUNTS}, not {number}", Counts::expected());
                Err(Refusal { expected, ..refusal() })
            }
            one => count(one).map(Counts::One).ok_or_else(refusal),
        }
    }

    fn write(&self) -> Option<Value> {
        match self {
            Counts::One(count) => count.write(),
            Counts::Each(counts) => counts.write(),
            Counts::Range(range) => range.write(),
        }
    }
}

/// Declares settings that are parts of an array, as a study names them. They are read with the
/// candidates that they make.
macro_rules! parts {
    ($($(#[doc = $doc:literal])+ pub struct $type:ident: $name:literal;)+) => {$(
        $(#[doc = $doc])+
        #[derive(Clone, Debug, PartialEq)]
        pub struct $type(pub Value);

        impl Setting for $type {
            fn expected() -> String {
                part($name).expected
            }

            fn shape() -> Shape {
                part($name).shape
            }

            fn read(value: &Value) -> Result<$type, Refusal> {
                match value {
                    Value::Text(_) | Value::Table(_) => Ok($type(value.clone())),
                    _ => Err(Refusal::value(value, $type::expected())),
                }
            }

            fn write(&self) -> Option<Value> {
                Some(self.0.clone())
            }
        }
    )+};
}

parts! {
    /// A device as a study names it.
    pub struct Disk: "disk";
    /// A layout as a study names it.
    pub struct Layout: "layout";
}

/// The declaration of a part of an array.
fn part(name: &str) -> Field {
    let array = MODELS.iter().find(|model| model.name == "array").expect("arrays are a model");
    let mut parts = (array.entry)().parameters.into_iter();
    parts.find(|field| field.name == name).expect("an array has this part")
}
