//! Estimates: a study of fabrics whose links are simulated one by one.
//!
//! The study is one of a fabric, with a table `estimate` beside its own parts or without.

use crate::document::{self, Document};
use crate::error::SpecError;
use crate::files::{Files, Need, Resources};
use crate::study::{Case, Study};
use sojourn_core::model::Topic;
use sojourn_core::parameters::{Entry, Parameters, Refusal, Setting, Table, Value};
use sojourn_core::resource::Tables;
use sojourn_fabric::FabricCase;
use sojourn_fabric::estimate::Settings;

pub use sojourn_fabric::{Decomposition, LinkTimes};

/// The table of a study that says how it is estimated.
const KEY: &str = Settings::NAME;

/// A study every case of which can be estimated.
#[derive(Clone, Debug)]
pub struct Estimate {
    /// The study that is estimated.
    pub study: Study,
    settings: Settings,
}

impl Estimate {
    /// Reads a study; arguments as those of [`Study::parse`]. Refuses cases that cannot be estimated
    /// too.
    pub fn parse(
        text: &str,
        source: &str,
        overrides: &[(String, String)],
        resources: &Resources,
    ) -> Result<Estimate, SpecError> {
        Estimate::of(text, source, overrides, &Files::new(resources))
    }

    /// What the study needs and was not handed in, as [`Study::needs`] says it.
    pub fn needs(
        text: &str,
        source: &str,
        overrides: &[(String, String)],
        resources: &Resources,
    ) -> Vec<Need> {
        Files::missing(resources, |files| Estimate::of(text, source, overrides, files))
    }

    fn of(
        text: &str,
        source: &str,
        overrides: &[(String, String)],
        files: &Files<'_>,
    ) -> Result<Estimate, SpecError> {
        let mut document = Document::read(text, source, overrides)?;
        let given = document.root.remove(KEY).unwrap_or(Value::Table(Table::default()));
        let settings =
            Settings::read(&given).map_err(|refusal| document.refused(refusal.under(KEY)))?;
        let study = Study::of(&mut document, source, files)?;
        for case in study.cases() {
            let fabric: Result<&FabricCase, Refusal> = case.of_model().ok_or_else(|| {
                let given = Value::Text(study.model().to_owned());
                let expected = "\"fabric\" to estimate: only a fabric has links";
                Refusal::value(&given, expected).under("model")
            });
            fabric
                .and_then(|fabric| {
                    fabric.check_estimable(case.streams(0), &|key| files.resources.table(key))
                })
                .map_err(|refusal| document.refused(refusal))?;
        }
        Ok(Estimate { study, settings })
    }

    /// The study as TOML, as [`Study::resolved`] has it, with how it is estimated.
    pub fn resolved(&self) -> String {
        let mut tree = self.study.tree();
        tree.set(KEY, Value::Table(self.settings.write_table()));
        document::write(&tree)
    }

    /// Every parameter of the estimate under its dotted path.
    pub fn parameters(&self) -> Vec<(String, Value)> {
        let settings = document::flat(&self.settings.write_table()).into_iter();
        settings.map(|(path, value)| (format!("{KEY}.{path}"), value)).collect()
    }

    /// One replication of a case of the study, counted from 0, whose tables are in `tables`; its flows drawn and put onto the
    /// links of the fabric.
    pub fn decompose(
        &self,
        case: &Case,
        replication: u32,
        tables: Tables<'_>,
    ) -> Result<Decomposition, SpecError> {
        let fabric: &FabricCase = case.of_model().expect("the cases of an estimate are fabrics");
        Decomposition::new(fabric, &self.settings, case.streams(replication), tables)
            .map_err(|refusal| case.refused(&refusal))
    }
}

/// The table of a study that says how it is estimated.
pub(crate) fn table() -> Entry {
    Settings::entry()
}

/// The topics that an estimate adds to the registry.
pub(crate) fn topics() -> Vec<Topic> {
    vec![Topic::of("tables", vec![table()])]
}
