//! Times of a scheme that are too short for the fabric: a reason why flows are slow, or stay unfinished.

use crate::flow::{Completion, Flow, Ideals};
use crate::transport::TransportKind;
use sojourn_core::{Span, Time};

/// What of `transport` is shorter than the round trip of a full packet and its acknowledgement in an idle
/// fabric, in words, and how many of `flows` have such a round trip; `ends` says when each was complete. None
/// where everything is long enough.
pub(crate) fn too_short(
    transport: &TransportKind,
    flows: &[Flow],
    ends: &[Time],
    ideals: &mut Ideals<'_>,
) -> Option<String> {
    transport.patience(0)?;
    let (mut short, mut unfinished, mut longest) = (0u64, 0u64, Span::ZERO);
    let mut name = "";
    let mut least = Span::MAX;
    for (flow, &end) in flows.iter().zip(ends) {
        let full = Flow { bytes: ideals.packets.payload.0, ..*flow };
        let trip = ideals.of(&full, Completion::Sender);
        let (what, patience) = transport.patience(ideals.switches(flow))?;
        if patience < trip {
            short += 1;
            unfinished += u64::from(end == Time::NEVER);
            longest = longest.max(trip);
            (name, least) = (what, least.min(patience));
        }
    }
    let left = match unfinished {
        0 => String::new(),
        _ => format!(", {unfinished} of them unfinished"),
    };
    let all = flows.len();
    (short > 0).then(|| {
        format!(
            "{name} of {least} is below the round trip, up to {longest} without any queue, \
             of {short} of {all} flows{left}"
        )
    })
}
