//! Everything a study can name, documented: what `sojourn list` and the reference pages show.

use crate::model::{MODELS, ModelEntry};
use crate::study::{Head, Run};
use crate::{array_plan, fabric_estimate};
use serde_json::{Map, Value as Json, json};
use sojourn_core::model::{Part, Topic};
use sojourn_core::parameters::{Entry, Field, Parameters};

/// The models that have commands beside `run`, the first ones. `sojourn list` shows the topics of
/// these commands behind those of these models.
const WITH_COMMANDS: usize = 2;

/// All parts and their variants as JSON: lists of `{"name", "summary", "source", "parameters"}` by
/// topic.
pub fn registry() -> String {
    let models = MODELS.iter().map(|model| (model.entry)());
    let studies = [Head::entry(), Run::entry()].into_iter().chain(models);
    let tables = ("tables", studies.map(Part::from).collect());
    json([tables].into_iter().chain(topics().map(|topic| (topic.name, topic.parts))))
}

/// The same of parts that no study reaches, each topic with its entries.
pub fn registry_of(topics: Vec<(&str, Vec<Entry>)>) -> String {
    let parts = |entries: Vec<Entry>| entries.into_iter().map(Part::from).collect();
    json(topics.into_iter().map(|(name, entries)| (name, parts(entries))))
}

fn json<'a>(topics: impl Iterator<Item = (&'a str, Vec<Part>)>) -> String {
    let mut by_topic: Map<String, Json> = Map::new();
    for (name, parts) in topics {
        let listed = by_topic.entry(name).or_insert_with(|| json!([]));
        listed.as_array_mut().expect("a topic is a list").extend(parts.iter().map(part));
    }
    Json::Object(by_topic).to_string()
}

/// The topics of all models and commands, in the order in which `sojourn list` shows them.
fn topics() -> impl Iterator<Item = Topic> {
    let (first, others) = MODELS.split_at(WITH_COMMANDS);
    let of_commands = array_plan::topics().into_iter().chain(fabric_estimate::topics());
    let of_models =
        |models: &'static [ModelEntry]| models.iter().flat_map(|model| (model.topics)());
    of_models(first).chain(of_commands).chain(of_models(others))
}

fn part(of: &Part) -> Json {
    let parameter = |field: &Field| {
        json!({
            "name": field.name,
            "type": field.expected,
            "default": field.default.as_ref().map(ToString::to_string),
            "summary": one_line(field.summary),
        })
    };
    json!({
        "name": of.name,
        "summary": one_line(&of.summary),
        "source": of.source,
        "parameters": of.parameters.iter().map(parameter).collect::<Vec<_>>(),
    })
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
