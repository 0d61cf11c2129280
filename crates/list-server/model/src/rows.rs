//! The rows and totals of a replication.

use crate::internet::Met;
use crate::recorder::{DeliveryRecorder, SHARES};
use crate::series::Series;
use crate::world::World;
use sojourn_core::parameters::Value;
use sojourn_core::{
    Column, Doubts, Job, JobKind, Metric, Report, Rows, SERIES, Span, Time, Vocabulary,
};
use sojourn_mail_engine::Outcome;

/// What the rows' `ideal_ps` is, for people.
const IDEAL: &str = "ideal: a transaction on an open session, with a host that does not think";

/// Kinds of rows: deliveries, and messages, each when it had reached so much of its list.
const KINDS: [&str; 5] = ["delivery", "message-50", "message-95", "message-99", "message"];

/// What a list server's jobs are called, and what is asked of them.
pub(crate) const VOCABULARY: Vocabulary = Vocabulary {
    work: &[("delivery", "deliveries")],
    percentiles: &[50.0, 90.0, 95.0, 99.0],
    lengths: &["list.messages"],
    kinds: &[
        kind(0, "delivery", "deliveries", "delay of a delivery: from the message's arrival on"),
        kind(1, "message, half served", "messages", ""),
        kind(2, "message, 95 % served", "messages", ""),
        kind(3, "message, 99 % served", "messages", ""),
        kind(4, "message, all served", "messages", ""),
    ],
    totals: &[],
    split: None,
    background: &[],
    phrases: &[],
    doubts: Doubts::NONE,
};

const METRICS: &[Metric] = &[Metric::time_in_s("delay"), Metric::slowdown(false)];

/// The words of the kind that stands at `place` in [`KINDS`].
const fn kind(
    place: usize,
    label: &'static str,
    plural: &'static str,
    note: &'static str,
) -> JobKind {
    JobKind { name: KINDS[place], label, plural, part_of: None, metrics: METRICS, bins: &[], note }
}

/// The rows of all messages after the first `warmup`: deliveries by message and place in the list;
/// then each message when half of the list had it, 95 % and 99 %, and when it had come to its end,
/// which is when its last delivery joins.
pub(super) fn report(world: &World<Met, DeliveryRecorder>, warmup: u32) -> Report {
    let recorder = &world.observer;
    let rows = if recorder.deliveries.is_empty() {
        Rows::default()
    } else {
        rows(recorder, warmup as usize)
    };
    let series = recorder.series.as_ref().map(Series::rows).map(|rows| (SERIES, rows));
    Report { rows, totals: totals(world), beside: series.into_iter().collect() }
}

fn rows(recorder: &DeliveryRecorder, warmup: usize) -> Rows {
    let messages = warmup..recorder.messages.len();
    let places: Vec<(usize, usize, usize)> = recorder.places(warmup).collect();
    let deliveries = &recorder.deliveries[recorder.all() - places.len()..];
    let (mut codes, mut jobs) = (vec![0; deliveries.len()], Vec::new());
    for &(delivery, message, subscriber) in &places {
        let mailing = recorder.mailing(message);
        jobs.push(Job {
            bytes: mailing.size,
            arrived: mailing.at,
            finished: recorder.deliveries[delivery].finished,
            ideal: recorder.ideals[subscriber],
        });
    }
    let mut of_message = places.chunk_by(|one, other| one.1 == other.1);
    for message in messages.clone() {
        let (it, mailing) = (&recorder.messages[message], recorder.mailing(message));
        let to = of_message.next().unwrap_or_default();
        let mut sorted: Vec<Span> =
            to.iter().map(|&(_, _, place)| recorder.ideals[place]).collect();
        sorted.sort_unstable();
        let ends = it.reached.iter().copied().chain([it.finished]);
        for ((code, finished), share) in (1..).zip(ends).zip(SHARES.iter().chain(&[100])) {
            let place = (sorted.len() as u64 * share).div_ceil(100) as usize - 1;
            codes.push(code);
            jobs.push(Job {
                bytes: mailing.size,
                arrived: mailing.at,
                finished,
                ideal: sorted[place],
            });
        }
    }
    let mut rows = Rows::of(KINDS.to_vec(), codes, jobs.into_iter().collect());
    let joins = messages.clone().flat_map(|message| [message as i64; SHARES.len() + 1]);
    let of = places.iter().map(|&(_, message, _)| message as i64);
    rows.push("message", Column::Int(of.chain(joins).collect()));
    let none = (SHARES.len() + 1) * messages.len();
    let mut push = |name, values: Vec<i64>| {
        rows.push(name, Column::Int(padded(values, none)));
    };
    let domains = places.iter().map(|&(_, _, subscriber)| recorder.list[subscriber].1.into());
    push("domain", domains.collect());
    push("attempts", deliveries.iter().map(|it| it.attempts.into()).collect());
    let part = |value: &dyn Fn(usize) -> Span| {
        let done = |place: usize| match deliveries[place].finished {
            Time::NEVER => -1,
            _ => value(place).ps() as i64,
        };
        Column::Ps(padded((0..deliveries.len()).map(done).collect(), none))
    };
    rows.push("before_ps", part(&|place| deliveries[place].delays.before));
    rows.push("queued_ps", part(&|place| deliveries[place].delays.queued));
    rows.push("setup_ps", part(&|place| deliveries[place].delays.setup));
    rows.push("sending_ps", part(&|place| deliveries[place].delays.sending));
    let outcomes = deliveries.iter().map(|delivery| match delivery.outcome {
        Some(Outcome::Delivered) => 0,
        Some(Outcome::Failed) => 1,
        Some(Outcome::Deferred) | None => 2,
    });
    let ends = messages.flat_map(|message| {
        let it = &recorder.messages[message];
        let ends = it.reached.iter().chain([&it.finished]);
        ends.map(|&at| if at == Time::NEVER { 2 } else { 0 }).collect::<Vec<u8>>()
    });
    let names = ["delivered", "failed", "waiting"];
    rows.push("outcome", Column::of_names(outcomes.chain(ends).collect(), &names));
    rows
}

/// With nothing in the rows of messages.
fn padded(mut values: Vec<i64>, none: usize) -> Vec<i64> {
    values.resize(values.len() + none, -1);
    values
}

fn totals(world: &World<Met, DeliveryRecorder>) -> Vec<(String, Value)> {
    let (recorder, ended) = (&world.observer, world.now().since(Time::ZERO).seconds());
    let totals = recorder.totals;
    let all = recorder.all() as u64;
    let worked = world.worked();
    let counts = [
        ("events", world.events()),
        ("messages", recorder.messages.len() as u64),
        ("subscribers", recorder.list.len() as u64),
        ("deliveries", totals.delivered),
        ("failed", totals.failed),
        ("unfinished", all - totals.delivered - totals.failed),
        ("attempts", totals.attempts),
        ("sessions", totals.sessions),
        ("simulated_ps", world.now().ps()),
    ];
    let shares = [
        ("disk_utilisation", worked.disk),
        ("processor_utilisation", worked.processor),
        ("line_utilisation", worked.line),
    ];
    counts
        .iter()
        .map(|&(name, count)| (name.to_owned(), Value::Int(count as i64)))
        .chain(
            shares
                .iter()
                .map(|&(name, span)| (name.to_owned(), Value::Float(span.seconds() / ended))),
        )
        .chain([("ideal".to_owned(), Value::Text(IDEAL.to_owned()))])
        .collect()
}
