//! What is known, as JSON: what the page draws, and programs read at `/state`.

use super::board::{Board, Known};
use super::series::Series;
use super::site::Crowd;
use crate::control::limits;
use crate::event::unix_ms;
use crate::lists::alarms::Alarm;
use serde_json::{Value, json};

/// Lines of each table.
const LINES: usize = 20;

impl Board {
    /// All that is shown, with the last `bins` bins of each series.
    ///
    /// Times are in milliseconds since 1970, `_s` in seconds. `seconds` and `minutes` begin at
    /// `from_ms`, and have for each bin `messages` taken over, their recipients (`arrived`),
    /// attempts for one recipient each (`attempted`), and those that delivered.
    pub(super) fn state(&self, crowd: &Crowd, bins: usize) -> Value {
        let now = unix_ms();
        let known = &mut *self.known();
        // A quiet server's bins go on, too.
        known.seconds.at(now);
        known.minutes.at(now);
        known.down.retain(|_, (until, _)| *until > now);
        let totals = &known.totals;
        json!({
            "now_ms": now,
            "started_ms": known.started_ms,
            "totals": {
                "messages": totals.messages,
                "recipients": totals.recipients,
                "delivered": totals.delivered,
                "deferred": totals.deferred,
                "failed": totals.failed,
                "bounced": totals.bounced,
                "probed": totals.probed,
                "suspended": totals.suspended,
                "not_taken": totals.not_taken,
                "wrong_passwords": totals.wrong_passwords,
                "refused_passwords": totals.refused_passwords,
                "turned_away": totals.turned_away,
            },
            "queue": {
                "messages": known.queue.messages(),
                "left": known.queue.left(),
                "deferred": known.stragglers.waiting(),
                "oldest_ms": known.queue.oldest_ms(),
                "largest": known.queue.largest(LINES),
            },
            "sessions": {
                "connecting": crowd.delivering.connecting,
                "greeting": crowd.delivering.greeting,
                "sending": crowd.delivering.sending,
                "idle": crowd.delivering.idle,
                "reception": crowd.reception,
            },
            "slowest": slowest(known),
            "stragglers": stragglers(known),
            "down": down(known),
            "shaping": limits(&crowd.shaping[..crowd.shaping.len().min(LINES)]),
            "alarms": alarms(known),
            "errors": errors(known),
            "seconds": series(&known.seconds, bins),
            "minutes": series(&known.minutes, bins),
        })
    }
}

fn slowest(known: &Known) -> Value {
    let line = |(domain, pace): (&str, super::pace::Pace)| {
        json!({
            "domain": domain,
            "attempts": pace.attempts,
            "delivered": pace.delivered,
            "mean_s": pace.mean_s(),
            "worst_s": pace.worst_s,
        })
    };
    known.paces.slowest(LINES).into_iter().map(line).collect()
}

fn stragglers(known: &Known) -> Value {
    let (people, most) = known.stragglers.most(LINES);
    let line = |(recipient, it): (&str, &super::late::Straggler)| {
        json!({
            "recipient": recipient,
            "messages": it.messages,
            "attempts": it.attempts,
            "since_ms": it.since_ms,
            "relay": it.why.relay,
            "status": it.why.status,
            "reason": it.why.text,
        })
    };
    json!({ "people": people, "most": most.into_iter().map(line).collect::<Value>() })
}

fn down(known: &Known) -> Value {
    let mut all: Vec<_> = known.down.iter().collect();
    all.sort_by_key(|(_, (until, _))| std::cmp::Reverse(*until));
    let line = |(name, (until, why)): &(&String, &(i64, String))| json!({ "name": name, "until_ms": until, "reason": why });
    json!({ "all": all.len(), "longest": all.iter().take(LINES).map(line).collect::<Value>() })
}

fn alarms(known: &Known) -> Value {
    let line = |(at_ms, it): &(i64, Alarm)| {
        json!({
            "at_ms": at_ms,
            "provider": &*it.provider,
            "fault": it.fault.to_string(),
            "failed": it.failed,
            "ended": it.ended,
            "reply": it.reply,
        })
    };
    known.alarms.iter().rev().map(line).collect()
}

fn errors(known: &Known) -> Value {
    let line = |it: &super::board::Error| {
        json!({
            "at_ms": it.at_ms,
            "kind": it.kind,
            "recipient": it.recipient,
            "relay": it.why.relay,
            "status": it.why.status,
            "reason": it.why.text,
        })
    };
    known.errors.iter().rev().map(line).collect()
}

fn series(series: &Series, bins: usize) -> Value {
    let (from_ms, bins) = series.last(bins);
    let (mut messages, mut arrived) = (Vec::new(), Vec::new());
    let (mut attempted, mut delivered) = (Vec::new(), Vec::new());
    for bin in bins {
        messages.push(bin.messages);
        arrived.push(bin.arrived);
        attempted.push(bin.attempted);
        delivered.push(bin.delivered);
    }
    json!({
        "from_ms": from_ms,
        "width_ms": series.width_ms(),
        "messages": messages,
        "arrived": arrived,
        "attempted": attempted,
        "delivered": delivered,
    })
}
