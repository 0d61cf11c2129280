//! Packets that overtake each other under a transport that takes them in order alone: why links carry most packets
//! several times.

use crate::path::Balance;
use crate::scheme::PacketScheme;
use crate::transport::{Tally, TransportKind};

/// What is wrong with a scheme that goes back for each packet that was overtaken, in words, where flows had these
/// `tallies`; none where no packet went again.
pub(crate) fn go_back(scheme: &PacketScheme, tallies: &[Tally]) -> Option<String> {
    let goes_back = matches!(scheme.transport, TransportKind::Roce(_) | TransportKind::Hpcc(_));
    let again: u64 = tallies.iter().map(|tally| u64::from(tally.retransmits)).sum();
    (goes_back && scheme.balance == Balance::Spray && again > 0).then(|| {
        format!(
            "the balance spray has packets overtake each other, and RoCE goes back for each: {again} packets were \
             sent again, which the balance ecmp avoids"
        )
    })
}
