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
/// topic. `further` topics are of parts that no study reaches.
pub fn registry(further: Vec<(&str, Vec<Entry>)>) -> String {
    let models = MODELS.iter().map(|model| (model.entry)());
    let studies = [Head::entry(), Run::entry()].into_iter().chain(models);
    let mut by_topic: Map<String, Json> = Map::new();
    let mut add = |name: &str, parts: Vec<Part>| {
        let listed = by_topic.entry(name).or_insert_with(|| json!([]));
        listed.as_array_mut().expect("a topic is a list").extend(parts.iter().map(part));
    };
    add("tables", studies.map(Part::from).collect());
    for topic in topics() {
        add(topic.name, topic.parts);
    }
    for (name, entries) in further {
        add(name, entries.into_iter().map(Part::from).collect());
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
