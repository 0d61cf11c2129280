//! Studies read with the files beside them.

use sojourn_core::resource::{Content, Resource};
use sojourn_study::{FileNeed, Need, Resources, SpecError, Study, Unread};
use std::fs;
use std::path::Path;
use std::sync::Arc;

/// A study whose files are texts beside it.
pub(crate) fn study(
    text: &str,
    source: &str,
    overrides: &[(String, String)],
) -> Result<Study, SpecError> {
    study_with(text, source, overrides, |need| match need {
        Need::File(file) => beside(file, source),
        Need::Table(call) => {
            Err(Unread { shown: call.file.clone(), expected: "Python".to_owned() })
        }
    })
}

/// A study that needs what `give` gives.
pub(crate) fn study_with(
    text: &str,
    source: &str,
    overrides: &[(String, String)],
    give: impl Fn(&Need) -> Result<Resource, Unread>,
) -> Result<Study, SpecError> {
    let mut resources = Resources::default();
    loop {
        let missing = Study::needs(text, source, overrides, &resources);
        if missing.is_empty() {
            return Study::parse(text, source, overrides, &resources);
        }
        for need in missing {
            let id = match &need {
                Need::File(file) => &file.id,
                Need::Table(call) => &call.key,
            };
            resources.0.insert(id.clone(), give(&need));
        }
    }
}

/// The text that a study beside it names.
pub(crate) fn beside(need: &FileNeed, source: &str) -> Result<Resource, Unread> {
    let path = Path::new(source).parent().unwrap().join(&need.name);
    let path = std::path::absolute(&path).unwrap_or(path);
    let shown = path.to_string_lossy().into_owned();
    match fs::read(&path) {
        Ok(bytes) => {
            let content = Content::Octets(Arc::new(Arc::<[u8]>::from(bytes)));
            Ok(Resource { content, ..Resource::text(&shown, "") })
        }
        Err(_) => Err(Unread { shown, expected: "a file to read".to_owned() }),
    }
}
