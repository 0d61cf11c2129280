//! How fast packets are delivered: a sample with each ACK, as Linux takes it
//! (draft-cheng-iccrg-delivery-rate-estimation).
//!
//! A packet that leaves notes how much was delivered until then, and when. Where an ACK says that it has arrived, what
//! was delivered since over the time since is a sample of the rate: over the longer one of the times between
//! departures and between ACKs, as either may come in a bunch.

use sojourn_core::{Span, Time};
use std::collections::VecDeque;

/// What an ACK says of a flow's deliveries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delivery {
    /// Bytes known to have arrived.
    pub bytes: u64,
    /// The same when the packet left that arrived last of those that left last.
    pub before: u64,
    /// The rate at which they arrived since, in bits per second; 0 where that is not known.
    pub rate: u64,
    /// Whether the flow had nothing more to send in that time, so that the path may have more than this rate.
    pub limited: bool,
    /// The round trip of the packet that caused the ACK, where that is known.
    pub round_trip: Option<Span>,
}

/// The deliveries of one flow.
#[derive(Clone, Debug, Default)]
pub(super) struct Deliveries {
    /// Of each packet from `first` on that is not acknowledged.
    sent: VecDeque<Sent>,
    first: u32,
    bytes: u64,
    latest: Time,
    /// When the packet left that told so.
    left: Time,
    /// Samples are of a flow with nothing more to send until so many bytes are delivered.
    limited_until: u64,
    shortest: Option<Span>,
    /// The bytes of the flow, and of a full packet.
    all: u64,
    payload: u64,
}

/// What a packet notes as it leaves.
#[derive(Clone, Copy, Debug)]
struct Sent {
    at: Time,
    has_arrived: bool,
    limited: bool,
    /// The state of deliveries when it left.
    bytes: u64,
    latest: Time,
    left: Time,
}

impl Deliveries {
    /// Of a flow of `all` bytes in packets of `payload` bytes.
    pub(super) fn new(all: u64, payload: u64) -> Deliveries {
        Deliveries { all, payload, ..Deliveries::default() }
    }

    /// The bytes of a packet.
    fn size(&self, sequence: u32) -> u64 {
        (self.all - u64::from(sequence) * self.payload).min(self.payload)
    }

    /// Notes that packet `sequence` leaves, while the window is `cwnd`.
    pub(super) fn note(&mut self, sequence: u32, cwnd: f64, now: Time) {
        if self.sent.is_empty() {
            (self.latest, self.left) = (now, now);
        }
        let (bytes, latest, left) = (self.bytes, self.latest, self.left);
        let limited = self.bytes < self.limited_until;
        let sent = Sent { at: now, has_arrived: false, limited, bytes, latest, left };
        match self.sent.get_mut((sequence - self.first) as usize) {
            Some(before) => *before = sent,
            None => self.sent.push_back(sent),
        }
        let is_last = u64::from(sequence + 1) * self.payload >= self.all;
        if is_last && (self.sent.len() as f64) < cwnd {
            self.limited_until = self.all;
        }
    }

    /// Takes in an ACK of all before `snd_una`, which the packet `cause` has caused.
    pub(super) fn hear(&mut self, cause: Option<u32>, snd_una: u32, now: Time) -> Delivery {
        let mut newest: Option<Sent> = None;
        let mut hear = |sent: Sent| {
            if newest.is_none_or(|newest| newest.at <= sent.at) {
                newest = Some(sent);
            }
        };
        let place = cause.and_then(|sequence| sequence.checked_sub(self.first));
        let mut round_trip = None;
        if let Some(place) = place
            && let Some(sent) = self.sent.get_mut(place as usize)
        {
            round_trip = Some(now - sent.at);
            if !std::mem::replace(&mut sent.has_arrived, true) {
                hear(*sent);
                self.bytes += self.size(self.first + place);
            }
        }
        while self.first < snd_una
            && let Some(sent) = self.sent.pop_front()
        {
            if !sent.has_arrived {
                hear(sent);
                self.bytes += self.size(self.first);
            }
            self.first += 1;
        }
        self.shortest = self.shortest.into_iter().chain(round_trip).min();
        let Some(newest) = newest else {
            let (bytes, before) = (self.bytes, self.bytes);
            return Delivery { bytes, before, round_trip, ..Delivery::default() };
        };
        (self.latest, self.left) = (now, newest.at);
        let interval = (newest.at - newest.left).max(now - newest.latest);
        let arrived = self.bytes - newest.bytes;
        // Linux, too, takes no sample over less than a round trip: packets sent twice make such.
        let rate =
            match interval > Span::ZERO && self.shortest.is_none_or(|least| interval >= least) {
                true => u128::from(arrived) * 8_000_000_000_000 / u128::from(interval.ps()),
                false => 0,
            };
        Delivery {
            bytes: self.bytes,
            before: newest.bytes,
            rate: u64::try_from(rate).unwrap_or(u64::MAX),
            limited: newest.limited,
            round_trip,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    /// Packets of 1,000 bytes leave each 10 us, and their ACKs come 100 us later, each 20 us: the path takes
    /// half of the rate. A sample is 8,000 bits over 20 us, once the first window has gone.
    #[test]
    fn the_rate_is_that_of_the_bottleneck() {
        let mut deliveries = Deliveries::new(1_000_000, 1000);
        for sequence in 0..10 {
            deliveries.note(sequence, 10.0, us(10 * u64::from(sequence)));
        }
        let mut last = Delivery::default();
        for sequence in 0..30 {
            let now = us(100 + 20 * u64::from(sequence));
            last = deliveries.hear(Some(sequence), sequence + 1, now);
            deliveries.note(sequence + 10, 10.0, now);
            assert_eq!(last.bytes, 1000 * u64::from(sequence + 1));
        }
        assert_eq!((last.rate, last.limited), (400_000_000, false));
        assert_eq!(last.bytes - last.before, 10_000, "a window left since");
        assert_eq!(last.round_trip, Some(Span::from_us(200)));
    }

    /// ACKs that come in a bunch are no faster path: the departures took longer.
    #[test]
    fn a_bunch_of_acks_is_no_rate() {
        let mut deliveries = Deliveries::new(1_000_000, 1000);
        for sequence in 0..11 {
            deliveries.note(sequence, 20.0, us(10 * u64::from(sequence)));
        }
        assert_eq!(deliveries.hear(Some(0), 1, us(150)).rate, 8_000_000_000 / 150);
        let bunch = deliveries.hear(Some(10), 11, us(151));
        assert_eq!((bunch.bytes, bunch.rate), (11_000, 88_000_000_000 / 151));
    }

    /// Out of order each packet counts once, and the last of a flow, short, for what it holds; a flow without more to
    /// send says so.
    #[test]
    fn each_byte_is_delivered_once() {
        let mut deliveries = Deliveries::new(2_500, 1000);
        for sequence in 0..3 {
            deliveries.note(sequence, 10.0, us(u64::from(sequence)));
        }
        assert_eq!(deliveries.hear(Some(2), 0, us(102)).bytes, 500);
        assert_eq!(deliveries.hear(Some(2), 0, us(103)).bytes, 500);
        assert_eq!(deliveries.hear(Some(1), 0, us(104)).bytes, 1500);
        deliveries.note(0, 10.0, us(104));
        let last = deliveries.hear(Some(0), 3, us(300));
        assert_eq!((last.bytes, last.before, last.limited), (2500, 1500, true));
    }
}
