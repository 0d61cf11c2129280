//! What a sender that repairs losses by time keeps of one flow, and what an ACK says to it.

use super::outstanding::{Known, Outstanding};
use crate::packet::Packet;
use crate::transport::tcp::congestion::{RackRules, Window};
use sojourn_core::{Span, Time};

/// Where a sender is in the repair of losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stage {
    /// All goes well.
    Open,
    /// Packets have arrived out of order.
    Disorder,
    /// The window shrinks: a probe has repaired a loss.
    Reducing,
    /// Losses are being repaired.
    Recovery,
    /// The timer has run out.
    Loss,
}

/// What the timer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Alarm {
    Retransmission,
    Probe,
    Reordering,
}

/// A probe under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probe {
    /// One past the last packet sent until then.
    pub(super) until: u32,
    /// Whether it was sent before.
    pub(super) again: bool,
}

/// What PRR counts since the window began to shrink.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reduction {
    /// The window before, in packets.
    pub(super) prior: u32,
    pub(super) delivered: u32,
    pub(super) sent: u32,
}

/// The state of one flow.
#[derive(Clone, Debug)]
pub(in crate::transport::tcp) struct Rack {
    pub(super) packets: Outstanding,
    pub(super) stage: Stage,
    /// What was sent when the stage began: acknowledged, it ends.
    pub(super) point: u32,
    /// The last departure of those whose packets have arrived (`RACK.xmit_ts`, `RACK.end_seq`).
    pub(super) latest: u32,
    /// The round trip of the packet that arrived last.
    pub(super) round_trip: Span,
    /// Whether a packet has arrived since losses were looked for.
    pub(super) fresh: bool,
    pub(super) min_rtt: Span,
    /// One past the last packet known to have arrived out of order.
    pub(super) highest: u32,
    /// Packets that may arrive out of order before those below them are lost.
    pub(super) dupthresh: u32,
    /// Whether packets were seen to overtake each other.
    pub(super) reordered: bool,
    pub(super) alarm: Alarm,
    pub(super) probe: Option<Probe>,
    pub(super) reduction: Reduction,
    /// The window before the timer ran out.
    pub(super) prior: Option<Window>,
    /// Whether it is still open if the timer ran out too early.
    pub(super) f_rto: bool,
}

/// What one ACK says.
#[expect(clippy::struct_excessive_bools, reason = "an ACK may say each of these by itself")]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct News {
    /// Packets that have arrived.
    pub(super) delivered: u32,
    /// Whether more is acknowledged than before.
    pub(super) advanced: bool,
    /// Whether a packet has arrived out of order.
    pub(super) sacked: bool,
    /// Whether one of them was sent before the stage began, and only once.
    pub(super) original: bool,
    /// The round trip of the first packet acknowledged, if the ACK measures one.
    pub(super) sample: Option<Span>,
    /// The round trip of the last one.
    pub(super) latest: Option<Span>,
    /// Whether it has that from a packet out of order which left after the first one missing did.
    pub(super) overtakes: bool,
}

/// What goes again at the end of an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Resend {
    Nothing,
    Lost,
    /// New packets first, and what is lost if there are none.
    New,
}

impl Rack {
    /// Of a flow that has sent nothing and knows the round trip `min_rtt`, if any.
    pub(in crate::transport::tcp) fn new(rules: &RackRules, min_rtt: Option<Span>) -> Rack {
        Rack {
            packets: Outstanding::with_capacity(16),
            stage: Stage::Open,
            point: 0,
            latest: 0,
            round_trip: Span::ZERO,
            fresh: false,
            min_rtt: min_rtt.unwrap_or(Span::MAX),
            highest: 0,
            dupthresh: rules.dupthresh.get(),
            reordered: false,
            alarm: Alarm::Retransmission,
            probe: None,
            reduction: Reduction::default(),
            prior: None,
            f_rto: false,
        }
    }

    /// Notes a round trip that the handshake has measured.
    pub(in crate::transport::tcp) fn connected(&mut self, round_trip: Span) {
        self.min_rtt = self.min_rtt.min(round_trip);
    }

    /// Packets known to have arrived out of order.
    pub(in crate::transport::tcp) fn arrived(&self) -> u32 {
        self.packets.arrived()
    }

    /// Notes that a packet has arrived (RFC 8985, 6.2, steps 1 and 2).
    #[inline]
    fn advance(&mut self, known: Known, now: Time) {
        let round_trip = now - known.left;
        // An answer that comes too soon is for an earlier departure.
        if known.again && round_trip < self.min_rtt {
            return;
        }
        self.fresh = true;
        self.round_trip = round_trip;
        self.latest = self.latest.max(known.departure);
    }

    /// Notes that `sequence`, sent once, has come after packets sent later (step 3).
    fn overtaken(&mut self, sequence: u32, limit: u32) {
        self.reordered = true;
        self.dupthresh = self.dupthresh.max((self.highest - sequence).min(limit));
    }

    /// Takes in what an ACK says of packets.
    #[inline]
    pub(super) fn hear(
        &mut self,
        ack: &Packet,
        snd_una: u32,
        now: Time,
        rules: &RackRules,
    ) -> News {
        let mut news = News { advanced: ack.sequence > snd_una, ..News::default() };
        let before = self.highest;
        let mut beyond = None;
        if ack.echo > 0 {
            let sequence = ack.sequence + u32::from(ack.echo);
            if let Some(known) = self.packets.arrives(sequence) {
                news.sacked = true;
                news.delivered += 1;
                self.advance(known, now);
                if !known.again {
                    beyond = Some(now - known.left);
                    news.original |= sequence < self.point;
                    if sequence < before {
                        self.overtaken(sequence, rules.max_reordering);
                    }
                }
                self.highest = self.highest.max(sequence + 1);
            }
        }
        let (mut sent_again, mut first, mut last) = (false, None, None);
        for sequence in snd_una..ack.sequence {
            let Some((known, is_news)) = self.packets.acknowledged() else { break };
            sent_again |= known.again;
            if !is_news {
                continue;
            }
            news.delivered += 1;
            self.advance(known, now);
            if !known.again {
                last = Some(now - known.left);
                first = first.or(last);
                news.original |= sequence < self.point;
                if sequence < before {
                    self.overtaken(sequence, rules.max_reordering);
                }
            }
        }
        let covered = first.filter(|_| !sent_again);
        news.sample = covered.or(beyond);
        news.latest = beyond.or(last.filter(|_| !sent_again));
        if let (false, Some(sample)) = (news.advanced, beyond) {
            let since = self.packets.head().map(|head| now - head.left);
            news.overtakes = since.is_some_and(|since| sample > since);
        }
        if let Some(latest) = news.latest {
            self.min_rtt = self.min_rtt.min(latest);
        }
        news
    }

    /// How long a packet may be late before it is lost (step 4).
    pub(super) fn patience(&self, smoothed: Span) -> Span {
        let certain = self.stage >= Stage::Recovery || self.packets.arrived() >= self.dupthresh;
        if !self.reordered && certain {
            return Span::ZERO;
        }
        (self.min_rtt / 4).min(smoothed / 8)
    }
}
