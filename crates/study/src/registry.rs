//! Everything a study can name, documented: what `sojourn list` and the reference pages show.

use crate::model::MODELS;
use crate::plan::{Offer, Wanted};
use crate::study::{Head, Run};
use serde_json::{Map, Value as Json, json};
use sojourn_array::controller::{Controller, Rebuild};
use sojourn_array::layout::Layout;
use sojourn_array::positioning::Positioning;
use sojourn_array::scheduling::Scheduling;
use sojourn_array::{Disk, Workload as Requests, workload as requests};
use sojourn_core::WORKLOADS;
use sojourn_core::parameters::{Entry, Field, Parameters};
use sojourn_fabric::balance::Balance;
use sojourn_fabric::estimate::Settings as Estimation;
use sojourn_fabric::qdisc::{Between, Queue};
use sojourn_fabric::topology::Topology;
use sojourn_fabric::transport::{Priority, TransportKind};
use sojourn_fabric::workload::{Workload, deadline};
use sojourn_fabric::{Buffer, Packets, Scheme};
use sojourn_mail_model as mail;
use sojourn_mail_model::internet;
use sojourn_mail_model::policy::{
    CheckpointKind, Limits, OrderKind, RetryKind, SplitKind, TimeoutsKind,
};
use sojourn_mail_model::world::Machine;

/// All parts and their variants as JSON: lists of `{"name", "summary", "source", "parameters"}`.
///
/// `workloads` has the kinds of workload first, and then the size tables that they can draw from.
///
/// `further` topics are of parts that no study reaches.
pub fn registry(further: Vec<(&str, Vec<Entry>)>) -> String {
    let tables = WORKLOADS.iter().map(|table| {
        json!({
            "name": table.name,
            "summary": format!("Size table: {}.", table.summary().trim_end_matches('.')),
            "source": table.source(),
            "parameters": [],
        })
    });
    let models = MODELS.iter().map(|model| (model.entry)());
    let studies = [Head::entry(), Run::entry()].into_iter().chain(models);
    let parts: Vec<(&str, Vec<Json>)> = vec![
        (
            "tables",
            entries(
                studies
                    .chain([Packets::entry(), Controller::entry(), Rebuild::entry()])
                    .chain([Wanted::entry(), Offer::entry(), Estimation::entry()])
                    .chain([mail::List::entry(), mail::Policy::entry(), Limits::entry()])
                    .chain([Machine::entry(), internet::Peer::entry()])
                    .collect(),
            ),
        ),
        ("workloads", entries(Workload::entries()).into_iter().chain(tables).collect()),
        ("topologies", entries(Topology::entries())),
        ("schemes", entries(Scheme::entries())),
        ("transports", entries(TransportKind::entries())),
        ("queues", entries(Queue::entries())),
        ("buffers", entries(Buffer::entries())),
        ("class-policies", entries(Between::entries())),
        ("balances", entries(Balance::entries())),
        ("priorities", entries(Priority::entries())),
        ("deadlines", entries(deadline::Law::entries())),
        ("disks", entries(Disk::entries())),
        ("layouts", entries(Layout::entries())),
        ("positionings", entries(Positioning::entries())),
        ("schedulings", entries(Scheduling::entries())),
        ("requests", entries(Requests::entries())),
        ("request-arrivals", entries(requests::Arrivals::entries())),
        ("request-sizes", entries(requests::SizeLaw::entries())),
        ("request-places", entries(requests::Places::entries())),
        ("batches", entries(requests::BatchLaw::entries())),
        ("internets", entries(internet::Internet::entries())),
        ("message-arrivals", entries(mail::Arrivals::entries())),
        ("policies", policies()),
        ("causes", entries(mail::Cause::entries())),
    ];
    let further = further.into_iter().map(|(name, list)| (name, entries(list)));
    let parts: Map<String, Json> = parts
        .into_iter()
        .chain(further)
        .map(|(name, list)| (name.to_owned(), Json::Array(list)))
        .collect();
    Json::Object(parts).to_string()
}

/// What a list server may decide, each under the name of the decision.
fn policies() -> Vec<Json> {
    let decisions = [
        ("split", SplitKind::entries()),
        ("order", OrderKind::entries()),
        ("timeouts", TimeoutsKind::entries()),
        ("checkpoint", CheckpointKind::entries()),
        ("retry", RetryKind::entries()),
    ];
    let ways = decisions.iter().flat_map(|(decision, ways)| {
        ways.iter().map(move |way| {
            let mut way = entry(way);
            way["name"] = json!(format!("{decision}.{}", way["name"].as_str().expect("a name")));
            way
        })
    });
    ways.collect()
}

fn entries(list: Vec<Entry>) -> Vec<Json> {
    list.iter().map(entry).collect()
}

fn entry(entry: &Entry) -> Json {
    let parameter = |field: &Field| {
        json!({
            "name": field.name,
            "type": field.expected,
            "default": field.default.as_ref().map(ToString::to_string),
            "summary": one_line(field.summary),
        })
    };
    json!({
        "name": entry.name,
        "summary": one_line(entry.summary),
        "source": "",
        "parameters": entry.parameters.iter().map(parameter).collect::<Vec<_>>(),
    })
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
