//! In-band telemetry: each packet of data learns how busy the busiest link on its way is, as HPCC wants it.
//!
//! HPCC's switches write a record into each packet per link, and its sender compares each with the record that the
//! packet before brought. That packet was here before, so the port keeps the flow's last record, compares itself, and
//! the packet has room for the result.

use super::fifo::Fifo;
use super::line::{LinePort, Rule};
use super::{BUFFER, Buffered, Capacity, Counting, Outlet, check_buffer};
use crate::packet::{Kind, Load, Packet};
use sojourn_core::parameters::{Check, Refusal};
use sojourn_core::{Bytes, Span, Time, parameters};

parameters! {
    /// Drop-tail whose ports measure the load of their links for the transport `hpcc`: what waits, and what was sent
    /// since the flow's packet before (HPCC, Li et al., SIGCOMM 2019, sections 3.2 and 4.1). It marks nothing.
    pub struct Telemetry: "telemetry" {
        /// Room for waiting packets at each port. If it is small, packets are dropped; if it is
        /// large, all packets may wait longer.
        pub buffer: Bytes = BUFFER,
        /// Whether the buffer counts bytes or packets.
        pub counting: Counting = Counting::Bytes,
    }
}

impl Check for Telemetry {
    fn check(&self) -> Result<(), Refusal> {
        check_buffer(self.buffer)
    }
}

/// What a port with telemetry keeps.
pub type TelemetryPort = LinePort<Meter>;

impl Buffered for Telemetry {
    type Port = TelemetryPort;

    fn room(&self) -> Capacity {
        Capacity::new(self.buffer, self.counting)
    }

    fn with_room(&self, room: Capacity, outlet: Outlet) -> TelemetryPort {
        LinePort::new(Fifo::new(room), Meter::new(&outlet))
    }

    /// A host measures nothing: its flows know what they send.
    fn at_host(&self, outlet: Outlet) -> TelemetryPort {
        LinePort::new(Fifo::new(self.room()), Meter { is_on: false, ..Meter::new(&outlet) })
    }

    fn endless(&self, outlet: Outlet) -> TelemetryPort {
        let meter = Meter { is_on: false, ..Meter::new(&outlet) };
        LinePort::new(Fifo::new(Capacity::endless()), meter)
    }
}

/// Measures the load of a link for each packet that it takes.
#[derive(Debug)]
pub struct Meter {
    is_on: bool,
    /// Bytes sent so far.
    sent: u64,
    /// What the link carries in a picosecond, in bytes.
    speed: f64,
    /// The largest base round trip of the fabric (T).
    round_trip: Span,
    records: Records,
}

impl Meter {
    fn new(outlet: &Outlet) -> Meter {
        Meter {
            is_on: true,
            sent: 0,
            speed: outlet.link.rate.bits_per_second() as f64 * outlet.share / 8e12,
            round_trip: outlet.base_round_trip,
            records: Records::default(),
        }
    }

    /// The load between two records of a flow (u' and tau of HPCC's algorithm 1, lines 3 to 8).
    fn load(&self, before: &Record, now: &Record) -> Load {
        let time = (now.at - before.at).ps().max(1) as f64;
        let round_trip = self.round_trip.ps() as f64;
        let waits = f64::from(now.waiting.min(before.waiting)) / (self.speed * round_trip);
        let sent = (now.sent - before.sent) as f64 / (time * self.speed);
        Load { utilisation: waits + sent, share: (time / round_trip).min(1.0) }
    }
}

impl Rule for Meter {
    #[inline]
    fn came(&mut self, _: &mut Packet, _: u32) {}

    #[inline]
    fn leaves(&mut self, packet: &mut Packet, waiting: u32, at: Time) {
        if !self.is_on {
            return;
        }
        let record = Record { at, sent: self.sent, flow: packet.flow, waiting };
        self.sent += u64::from(packet.size);
        if packet.kind != Kind::DATA {
            return;
        }
        if let Some(before) = self.records.exchange(record, self.round_trip * KEPT) {
            packet.crosses(self.load(&before, &record));
        }
    }

    #[inline]
    fn passed_by(&mut self, size: u16) {
        self.sent += u64::from(size);
    }
}

/// Base round trips for which a record is kept at least, where the table may grow.
const KEPT: u64 = 64;

/// Records of a set, and the most sets: a port never has over 1.6 MB of records.
const WAYS: usize = 4;
const MOST_SETS: usize = 1 << 14;

/// What a port knew when a flow's last packet left.
#[derive(Clone, Copy, Debug)]
struct Record {
    at: Time,
    /// Bytes sent before.
    sent: u64,
    flow: u32,
    /// Bytes that waited behind it.
    waiting: u32,
}

impl Record {
    /// Of no flow, and older than all.
    const NONE: Record = Record { at: Time::ZERO, sent: 0, flow: u32::MAX, waiting: 0 };
}

/// The last records of the flows that sent here a short time ago, in sets of a few. A record that was not needed for
/// long makes room for another; where all of a set are young, the sets are doubled.
#[derive(Debug, Default)]
struct Records {
    sets: Vec<[Record; WAYS]>,
}

impl Records {
    /// Takes in a flow's record and returns the one before, if it is known. Records older than `kept` may be lost.
    #[inline]
    fn exchange(&mut self, new: Record, kept: Span) -> Option<Record> {
        if let Some(set) = self.set(new.flow) {
            if let Some(own) = set.iter_mut().find(|record| record.flow == new.flow) {
                return Some(std::mem::replace(own, new));
            }
            let oldest = set.iter_mut().min_by_key(|record| record.at).expect("records");
            let is_free = oldest.flow == Record::NONE.flow || new.at - oldest.at > kept;
            if is_free {
                *oldest = new;
                return None;
            }
        }
        self.make_room(new);
        None
    }

    /// The set of `flow`: by the highest bits of a product, in which each bit of the flow's number counts.
    #[inline]
    fn set(&mut self, flow: u32) -> Option<&mut [Record; WAYS]> {
        let product = u64::from(flow.wrapping_mul(0x9e37_79b1));
        let place = (product * self.sets.len() as u64) >> 32;
        self.sets.get_mut(place as usize)
    }

    /// Takes in a record for which its set has no room.
    #[cold]
    fn make_room(&mut self, new: Record) {
        if self.sets.len() == MOST_SETS {
            let set = self.set(new.flow).expect("sets");
            *set.iter_mut().min_by_key(|record| record.at).expect("records") = new;
            return;
        }
        let sets = (self.sets.len() * 2).max(1);
        let before = std::mem::replace(&mut self.sets, vec![[Record::NONE; WAYS]; sets]);
        let own = before.into_iter().flatten().filter(|record| record.flow != Record::NONE.flow);
        for record in own.chain([new]) {
            // Half of a set's records at most go to either half, so all have room but the new one.
            let set = self.set(record.flow).expect("sets");
            match set.iter_mut().find(|record| record.flow == Record::NONE.flow) {
                Some(free) => *free = record,
                None => return self.make_room(record),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use sojourn_properties::cases;
    use std::collections::BTreeMap;

    fn at(ns: u64) -> Time {
        Time::ZERO + Span::from_ns(ns)
    }

    proptest! {
        #![proptest_config(cases(200))]

        /// A map of all records, beside: what is there is the same, and what was needed a short time ago is there.
        #[test]
        fn records_are_those_of_a_map(
            flows in prop::collection::vec(0u32..60, 1..400),
            stride in prop::sample::select(vec![1u32, 64, 1 << 16]),
            kept in 1u64..2_000,
        ) {
            let (mut records, mut map) = (Records::default(), BTreeMap::new());
            for (ns, flow) in (1u64..).zip(flows) {
                let new = Record { at: at(ns * 10), sent: ns, flow: flow * stride, waiting: 7 };
                let before = records.exchange(new, Span::from_ns(kept));
                let expected = map.insert(flow, new.sent);
                let is_young = expected.is_some_and(|sent| (ns - sent) * 10 <= kept);
                match before {
                    Some(before) => prop_assert_eq!(Some(before.sent), expected),
                    None => prop_assert!(!is_young, "{:?} was lost at {}", expected, ns),
                }
            }
        }
    }

    /// So many flows that all sets are full: old ones are lost, and memory ends somewhere.
    #[test]
    fn records_take_a_bounded_memory() {
        let mut records = Records::default();
        for (ns, flow) in (1..).zip(0..100_000) {
            records.exchange(Record { at: at(ns), flow, ..Record::NONE }, Span::MAX);
        }
        assert!(records.sets.len() <= MOST_SETS);
        assert!(std::mem::size_of::<[Record; WAYS]>() * MOST_SETS <= 1_600_000);
    }
}
