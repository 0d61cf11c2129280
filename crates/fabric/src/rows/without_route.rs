//! Flows that failed links left without a route: a reason why they stay unfinished.

use sojourn_core::Time;

/// How many flows that are not `complete` had no route any more, in words; `ended` says since when, if at all.
/// None where each had one.
pub(crate) fn without_route(ended: &[Time], complete: &[Time]) -> Option<String> {
    let open = ended.iter().zip(complete).filter(|&(_, &complete)| complete == Time::NEVER);
    let cut = open.map(|(at, _)| at).filter(|&&at| at != Time::NEVER);
    let (count, first) = (cut.clone().count(), cut.min()?);
    let all = ended.len();
    Some(format!("{count} of {all} flows ended unfinished without a route, the first at {first}"))
}
