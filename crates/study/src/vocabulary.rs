//! The vocabularies of all models, for tables and pictures.

use crate::model::MODELS;
use serde_json::{Map, Value as Json, json};
use sojourn_core::{BackgroundWork, Doubts, JobKind, Metric, Phrase, SizeBin};

/// The vocabularies of all models as JSON, by the models' names: `{"work": [[unit, total], ...],
/// "percentiles": [...], "lengths": [...], "kinds": [{"name", "label", "plural", "part_of", "metrics", "bins",
/// "note"}, ...], "totals": [metric, ...], "split": column or null, "background": [{"name", "done", "of", "ended"}, ...],
/// "phrases": [{"parameter", "none", "one", "several"}, ...], "doubts": {"cautions": [{"total", "from", "text"}, ...],
/// "stations": [{"total", "full", "text"}, ...], "offered": [total, ...], "closed_loop": total or null,
/// "failures": [total, ...]}}`; a metric is `{"column", "name", "unit", "per_unit", "shown"}`, a
/// bin `{"name", "above", "upto"}` with null for no upper end.
pub fn vocabulary() -> String {
    let of_models: Map<String, Json> = MODELS
        .iter()
        .map(|model| {
            let words = (model.vocabulary)();
            let kinds: Vec<Json> = words.kinds.iter().map(kind).collect();
            let words = json!({
                "work": words.work,
                "percentiles": words.percentiles,
                "lengths": words.lengths,
                "kinds": kinds,
                "totals": words.totals.iter().map(metric).collect::<Vec<_>>(),
                "split": words.split,
                "background": words.background.iter().map(background).collect::<Vec<_>>(),
                "phrases": words.phrases.iter().map(phrase).collect::<Vec<_>>(),
                "doubts": doubts(&words.doubts),
            });
            (model.name.to_owned(), words)
        })
        .collect();
    Json::Object(of_models).to_string()
}

fn kind(of: &JobKind) -> Json {
    json!({
        "name": of.name,
        "label": of.label,
        "plural": of.plural,
        "part_of": of.part_of,
        "metrics": of.metrics.iter().map(metric).collect::<Vec<_>>(),
        "bins": of.bins.iter().map(bin).collect::<Vec<_>>(),
        "note": of.note,
    })
}

fn metric(of: &Metric) -> Json {
    json!({
        "column": of.column,
        "name": of.name,
        "unit": of.unit,
        "per_unit": of.per_unit,
        "shown": of.shown,
    })
}

fn background(of: &BackgroundWork) -> Json {
    json!({ "name": of.name, "done": of.done, "of": of.of, "ended": of.ended })
}

fn phrase(of: &Phrase) -> Json {
    json!({ "parameter": of.parameter, "none": of.none, "one": of.one, "several": of.several })
}

fn doubts(of: &Doubts) -> Json {
    let cautions = of
        .cautions
        .iter()
        .map(|own| json!({ "total": own.total, "from": own.from, "text": own.text }));
    let stations = of
        .stations
        .iter()
        .map(|own| json!({ "total": own.total, "full": own.full, "text": own.text }));
    json!({
        "cautions": cautions.collect::<Vec<_>>(),
        "stations": stations.collect::<Vec<_>>(),
        "offered": of.offered,
        "closed_loop": of.closed_loop,
        "failures": of.failures,
    })
}

fn bin(of: &SizeBin) -> Json {
    let upto = of.upto.is_finite().then_some(of.upto);
    json!({ "name": of.name, "above": of.above, "upto": upto })
}
