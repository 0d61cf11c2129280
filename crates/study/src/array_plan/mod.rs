//! Plans: which of several arrays meets a target at the least price.
//!
//! A plan is a study of an array with a table `plan` beside the study's own parts. Its candidates come
//! from each disk on offer, `plan.offer`, or are the cases of the study, whose disks `plan.disks`
//! prices.

mod offer;
mod target;

use crate::document::{Document, Path};
use crate::error::SpecError;
use crate::expect;
use crate::files::{Files, Need, Resources};
use crate::study::{Case, Refused, Study};
use sojourn_core::Bytes;
use sojourn_core::model::Topic;
use sojourn_core::parameters;
use sojourn_core::parameters::{Check, Parameters, Refusal, Table, Value, element};
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

use offer::{CountRange, LAYOUTS, counted_twice, counts_disks, device_name, sized};
pub use offer::{Offer, Offers, PricedDisk};
pub use target::Target;

parameters! {
    /// What an array has to do, and what the disks cost that it may be made of. The candidates come
    /// from each `offer`, or are the cases of the study around it: lists of disks and layouts under
    /// `sweep`.
    pub struct Wanted: "plan" {
        /// Target: a limit for the mean or a percentile of the response times of all requests. With
        /// `<=` the limit itself meets the target.
        pub target: Target,
        /// Capacity that the array needs, without redundancy.
        pub capacity: Option<Bytes> = None,
        /// Price and capacity of each disk, in the order of `sweep.disk`, or of the only disk. A
        /// plan with `offer` has no such list.
        pub disks: Vec<PricedDisk> = Vec::new(),
        /// The disks on offer: a table `[[plan.offer]]` for each.
        pub offer: Offers = Offers::default(),
        /// Maximum replications of a candidate. With too few, candidates near the target stay
        /// unclear.
        pub replications: NonZeroU32 = NonZeroU32::new(40).expect("40 is not zero"),
    }
}

impl Check for Wanted {
    fn check(&self) -> Result<(), Refusal> {
        if self.disks.is_empty() && self.offer.0.is_empty() {
            let expected = "a table [[plan.offer]] for each disk on offer";
            return Err(Refusal::missing("offer", expected));
        }
        let offered = self.offer.0.iter().map(|offer| &offer.unit);
        let lacking = self.disks.iter().chain(offered).any(|disk| disk.capacity.is_none());
        match self.capacity {
            Some(capacity) if lacking => {
                let expected = "a capacity of each of the plan's disks too";
                Err(Refusal::of(&capacity, expected).under("capacity"))
            }
            _ => Ok(()),
        }
    }
}

/// A plan, checked whole.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The target, and the disks on offer.
    pub wanted: Wanted,
    /// The candidates: a list for each offer, or a single one.
    pub lists: Vec<CandidateList>,
}

/// Candidates of one offer, or of all disks of a sweep.
#[derive(Clone, Debug)]
pub struct CandidateList {
    /// The candidates that are possible, as a study.
    pub study: Study,
    /// The candidates that are impossible, and why.
    pub refused: Vec<Refused>,
    /// The numbers of disks on offer; none where the layouts say that.
    pub counts: Vec<u32>,
    /// What each disk costs and holds, in the order of `sweep.disk`.
    priced_disks: Vec<PricedDisk>,
    /// The name of each disk, by its label in the sweep.
    names: BTreeMap<String, String>,
}

impl Plan {
    /// Reads a plan; the arguments are as for [`Study::parse`].
    pub fn parse(
        text: &str,
        source: &str,
        overrides: &[(String, String)],
        resources: &Resources,
    ) -> Result<Plan, SpecError> {
        Plan::of(text, source, overrides, &Files::new(resources))
    }

    /// What the plan needs and was not handed in, as [`Study::needs`] says it.
    pub fn needs(
        text: &str,
        source: &str,
        overrides: &[(String, String)],
        resources: &Resources,
    ) -> Vec<Need> {
        Files::missing(resources, |files| Plan::of(text, source, overrides, files))
    }

    fn of(
        text: &str,
        source: &str,
        overrides: &[(String, String)],
        files: &Files<'_>,
    ) -> Result<Plan, SpecError> {
        let file = Document::parse(text, source)?;
        let mut document = file.clone();
        document.set_all(overrides)?;
        let plan = match document.root.remove("plan") {
            Some(Value::Table(table)) => table,
            Some(other) => {
                return Err(document.refused(Refusal::value(&other, "a table").under("plan")));
            }
            None => {
                let what = "no table plan, expected one with target and offers";
                return Err(SpecError::at(source, what));
            }
        };
        if let Some(thresholds) = document.root.get(expect::KEY) {
            let refusal = Refusal::value(thresholds, "none beside plan.target");
            return Err(document.refused(refusal.under(expect::KEY)));
        }
        let refuse =
            |refusal: Refusal, document: &Document| document.refused(refusal.under("plan"));
        if in_file(&file.root, "offer") {
            check_overrides(&document)?;
        }
        let wanted = Wanted::read_table(&plan).map_err(|refusal| refuse(refusal, &document))?;
        if wanted.offer.0.is_empty() {
            let lists = vec![CandidateList::of_sweep(&wanted, &mut document, source, files)?];
            return Ok(Plan { wanted, lists });
        }
        check_surroundings(&wanted.offer, &plan, &file.root)
            .map_err(|refusal| document.refused(refusal))?;
        let names = (wanted.offer).names(file.root.get("disk"));
        let names = names.map_err(|refusal| refuse(refusal.under("offer"), &document))?;
        let lists = wanted.offer.0.iter().zip(names).enumerate().map(|(place, (offer, name))| {
            let from = ["plan".to_owned(), "offer".to_owned(), element(place)];
            let mut document = file.clone();
            lay(offer, &from, &mut document).map_err(|refusal| document.refused(refusal))?;
            document.set_all(overrides)?;
            document.root.remove("plan");
            CandidateList::of_offer(offer, name, &mut document, source, files)
        });
        // All of them are looked at, before the first that is refused.
        let lists = lists.collect::<Vec<_>>().into_iter().collect::<Result<_, _>>()?;
        Ok(Plan { wanted, lists })
    }

    /// The title of its study.
    pub fn title(&self) -> &str {
        &self.lists[0].study.title
    }
}

impl CandidateList {
    /// The candidates of a plan without offers.
    fn of_sweep(
        wanted: &Wanted,
        document: &mut Document,
        source: &str,
        files: &Files<'_>,
    ) -> Result<CandidateList, SpecError> {
        let (study, refused) = candidates(document, source, files)?;
        let disks = study.swept().find(|(path, _)| path[0] == "disk").map_or(1, |disks| disks.1);
        let priced_disks = wanted.disks.clone();
        if priced_disks.len() != disks {
            let given = Value::Text(format!("{} of them", priced_disks.len()));
            let expected = format!("{disks}, one for each disk of the study");
            let refusal = Refusal::value(&given, expected).under("disks").under("plan");
            return Err(document.refused(refusal));
        }
        let names = names(&study);
        Ok(CandidateList { study, refused, counts: Vec::new(), priced_disks, names })
    }

    /// The candidates of an offer that was laid over the document.
    fn of_offer(
        offer: &Offer,
        name: String,
        document: &mut Document,
        source: &str,
        files: &Files<'_>,
    ) -> Result<CandidateList, SpecError> {
        let (study, refused) = candidates(document, source, files)?;
        let names = BTreeMap::from([(String::new(), name)]);
        let priced_disks = vec![offer.unit.clone()];
        Ok(CandidateList { study, refused, counts: offer.counts(), priced_disks, names })
    }

    /// The price and the capacity of a disk of a candidate.
    pub fn priced_disk(&self, case: &Case) -> &PricedDisk {
        let mut rest = case.index;
        for (path, values) in self.study.swept().rev() {
            if path[0] == "disk" {
                return &self.priced_disks[rest % values];
            }
            rest /= values;
        }
        &self.priced_disks[0]
    }

    /// The name of the disk of a candidate with these swept parameters.
    pub fn name(&self, axes: &[(String, Value)]) -> String {
        let label = disk_label(axes);
        self.names.get(&label).cloned().unwrap_or(label)
    }
}

/// The study of a plan's document, and the cases of it that are impossible. Refuses a sweep of
/// anything that is no choice between arrays.
fn candidates(
    document: &mut Document,
    source: &str,
    files: &Files<'_>,
) -> Result<(Study, Vec<Refused>), SpecError> {
    let (study, refused) = Study::as_far_as_possible(document, source, files)?;
    if let Some(other) = study.swept().map(|(path, _)| path).find(|path| !is_choice(path)) {
        let path = [&["sweep".to_owned()], other].concat();
        let what = format!(
            "sweep.{} is no choice between arrays, expected lists of disk, layout or scheduling",
            other.join(".")
        );
        return Err(SpecError::at(document.place(&path), what));
    }
    Ok((study, refused))
}

/// Whether a swept parameter is a choice between arrays: which disk, which layout of how many.
fn is_choice(path: &[String]) -> bool {
    match path[0].as_str() {
        "disk" => path.len() == 1,
        part => ["layout", "scheduling"].contains(&part),
    }
}

/// The names of swept disks by their labels; none where two would have one name.
fn names(study: &Study) -> BTreeMap<String, String> {
    let mut names = BTreeMap::new();
    for case in study.cases() {
        let name = || device_name(&case.part("disk").expect("an array has disks"));
        names.entry(disk_label(case.axes())).or_insert_with(name);
    }
    match BTreeSet::from_iter(names.values()).len() == names.len() {
        true => names,
        false => BTreeMap::new(),
    }
}

/// The label of the disk among swept parameters; empty where it is not swept.
fn disk_label(axes: &[(String, Value)]) -> String {
    match axes.iter().find(|(name, _)| name == "disk") {
        Some((_, Value::Text(label))) => label.clone(),
        Some((_, label)) => label.to_string(),
        None => String::new(),
    }
}

/// Whether the table `plan` of a file has a key.
fn in_file(root: &Table, key: &str) -> bool {
    matches!(root.get("plan"), Some(Value::Table(plan)) if plan.get(key).is_some())
}

/// Refuses to override what the offers of the file decide.
fn check_overrides(document: &Document) -> Result<(), SpecError> {
    let decided = |path: &Path| match &path.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["sweep", part, ..] => ["disk", "layout"].contains(part),
        ["plan", part, ..] => ["offer", "disks"].contains(part),
        part => [["plan"], ["sweep"], ["disk"], ["layout"]].iter().any(|whole| part == whole),
    };
    match document.overrides.iter().find(|over| decided(&over.path)) {
        Some(over) => {
            let path = over.path.join(".");
            let what =
                format!("{path} is decided by the tables plan.offer, expected a change there");
            Err(SpecError::at(&over.place, what))
        }
        None => Ok(()),
    }
}

/// Refuses what would have no effect beside offers.
fn check_surroundings(offers: &Offers, plan: &Table, root: &Table) -> Result<(), Refusal> {
    if let Some(disks) = plan.get("disks") {
        let refusal = Refusal::value(disks, "no such list beside plan.offer");
        return Err(refusal.under("disks").under("plan"));
    }
    let all_have_disks = offers.0.iter().all(|offer| offer.disk.is_some());
    let all_have_layouts = offers.0.iter().all(|offer| offer.layouts.is_some());
    for (part, key, all) in
        [("disk", "disk", all_have_disks), ("layout", "layouts", all_have_layouts)]
    {
        if let Some(Value::Table(sweep)) = root.get("sweep")
            && let Some(swept) = sweep.get(part)
        {
            let refusal = Refusal::value(swept, format!("{key} in plan.offer instead"));
            return Err(refusal.under(part).under("sweep"));
        }
        if let Some(given) = root.get(part).filter(|_| all) {
            let refusal = Refusal::value(given, format!("none, as each plan.offer has {key}"));
            return Err(refusal.under(part));
        }
    }
    Ok(())
}

/// Lays an offer, which stands at `from`, over a file: its disk, and its layouts as a sweep. What is
/// refused of these is named and located as the offer has it.
fn lay(offer: &Offer, from: &[String], document: &mut Document) -> Result<(), Refusal> {
    let path = |keys: &[&str]| keys.iter().map(|&key| key.to_owned()).collect::<Path>();
    let own = |key: &str| [from, &[key.to_owned()]].concat();
    if let Some(disk) = &offer.disk {
        document.root.set("disk", disk.0.clone());
        document.laid.push((path(&["disk"]), own("disk")));
    }
    let counts = offer.counts();
    if !counts.is_empty() {
        document.laid.push((path(&["layout", "disks"]), own("disks")));
    }
    let study_layout = document.root.remove("layout");
    let layouts: Vec<Value> = match (&offer.layouts, &study_layout) {
        (Some(layouts), _) => {
            document.laid.push((path(&["layout"]), own("layouts")));
            document.laid.push((path(&["sweep", "layout"]), own("layouts")));
            layouts.iter().map(|layout| layout.0.clone()).collect()
        }
        (None, Some(layout)) if !counts.is_empty() && counts_disks(layout) => {
            return Err(counted_twice(layout).under("layout"));
        }
        (None, Some(layout)) => {
            document.laid.push((path(&["sweep", "layout"]), path(&["layout"])));
            vec![layout.clone()]
        }
        (None, None) => {
            let missing = Refusal::missing("layouts", LAYOUTS);
            return Err(Refusal { path: own("layouts"), ..missing });
        }
    };
    let layouts = layouts.iter().flat_map(|layout| sized(layout, &counts)).collect();
    let mut sweep = match document.root.remove("sweep") {
        Some(Value::Table(sweep)) => sweep,
        Some(other) => return Err(Refusal::value(&other, "a table of lists").under("sweep")),
        None => Table::default(),
    };
    sweep.set("layout", Value::List(layouts));
    document.root.set("sweep", Value::Table(sweep));
    Ok(())
}

/// The topics that a plan adds to the registry.
pub(crate) fn topics() -> Vec<Topic> {
    let tables = vec![Wanted::entry(), Offer::entry(), CountRange::entry(), PricedDisk::entry()];
    vec![Topic::of("tables", tables)]
}
