//! CoDel: what waits too long for too long is dropped, ever more often until it does not (RFC 8289).

use super::fifo::Fifo;
use super::line::mark;
use super::{Buffered, Capacity, Counting, Outlet, Queue, check_buffer};
use crate::packet::{CE, ECT, Packet, PacketArena, PacketId};
use sojourn_core::parameters::{Check, Refusal};
use sojourn_core::{Bytes, Span, Time, parameters};

parameters! {
    /// First in, first out; once packets have waited longer than `target` throughout an `interval`,
    /// drops one as it would leave, and the next after `interval` / sqrt(n), n being the drops so
    /// far, until one has waited for less or a single packet is left (CoDel, RFC 8289). The defaults
    /// are those of RFC 8289 and Linux, for round trips through the Internet; between the hosts of a
    /// data centre, `target` "50us" and `interval` "1ms" (sections 4.2 and 4.3: an interval of about
    /// the longest round trip, and a target of 5 to 10 % of it).
    pub struct CoDel: "codel" {
        /// What it aims at.
        pub law: ControlLaw [flatten],
        /// Whether a packet whose transport understands ECN is marked instead of dropped.
        pub ecn: bool = false,
        /// Room for waiting packets, at each port: 1,000 packets, as in Linux.
        pub buffer: Bytes = Bytes(1_500_000),
        /// Whether the buffer counts bytes or packets.
        pub counting: Counting = Counting::Packets,
    }
}

parameters! {
    /// What CoDel aims at.
    pub struct ControlLaw: "control-law" {
        /// Waiting time that CoDel tolerates permanently (RFC 8289, section 4.3). If it is below a
        /// few packets' time, links run empty; if it is high, all packets wait longer.
        pub target: Span = Span::from_ms(5),
        /// How long packets may wait longer than `target` before a drop: about the longest round
        /// trip (RFC 8289, section 4.2). It has to be more than the target, and at most 60 s.
        pub interval: Span = Span::from_ms(100),
    }
}

impl Check for CoDel {
    fn check(&self) -> Result<(), Refusal> {
        check_buffer(self.buffer)
    }
}

impl Check for ControlLaw {
    fn check(&self) -> Result<(), Refusal> {
        if self.target == Span::ZERO {
            return Err(Refusal::of(&self.target, "a time above zero").under("target"));
        }
        if self.interval <= self.target {
            let expected = format!("more than the target, {}", self.target);
            return Err(Refusal::of(&self.interval, expected).under("interval"));
        }
        if self.interval > LONGEST_INTERVAL {
            let expected = format!("at most {LONGEST_INTERVAL}");
            return Err(Refusal::of(&self.interval, expected).under("interval"));
        }
        Ok(())
    }
}

const LONGEST_INTERVAL: Span = Span::from_s(60);

impl ControlLaw {
    /// One by which no packet is ever late.
    pub(super) fn endless() -> ControlLaw {
        ControlLaw { target: Span::from_ps(u64::MAX), interval: Span::from_ps(u64::MAX) }
    }

    /// When the next packet is dropped after one at `at`, the last of `count` (RFC 8289, section 5.6).
    fn next_drop(&self, at: Time, count: u32) -> Time {
        at + Span::from_ps((self.interval.ps() as f64 / f64::from(count).sqrt()).round() as u64)
    }
}

/// What CoDel knows of one line of packets; the names are those of RFC 8289, section 5.
#[derive(Clone, Debug, Default)]
pub(super) struct Controller {
    /// When packets will have waited too long for an interval; none while they do not.
    first_above_time: Option<Time>,
    drop_next: Time,
    count: u32,
    last_count: u32,
    dropping: bool,
}

/// A packet that was taken out of a line, and whether CoDel may drop it.
#[derive(Clone, Copy)]
struct Head {
    id: PacketId,
    may_drop: bool,
}

impl Controller {
    /// Whether its line has never lost a packet, so that it need not be remembered.
    pub(super) fn is_fresh(&self) -> bool {
        self.count == 0
    }

    /// Notes that its line is empty and the link at rest.
    pub(super) fn rest(&mut self) {
        self.first_above_time = None;
        self.dropping = false;
    }

    /// Takes the packet that goes `now` out of a line, after dropping what waited too long: `pop` takes
    /// the first packet out, and says whether more than a full packet waits at the port behind it.
    /// With `ecn`, packets are marked instead where their transport understands that.
    pub(super) fn dequeue(
        &mut self,
        law: &ControlLaw,
        ecn: bool,
        now: Time,
        arena: &mut PacketArena,
        mut pop: impl FnMut(&mut PacketArena) -> Option<(PacketId, bool)>,
        mut drop: impl FnMut(PacketId, &mut PacketArena),
    ) -> Option<PacketId> {
        let mut head = self.look(law, now, pop(arena), arena);
        if !self.dropping && head.is_some_and(|head| head.may_drop) {
            let Head { id, .. } = head?;
            self.begin(law, now);
            if ecn && marks(id, arena) {
                return Some(id);
            }
            drop(id, arena);
            return self.look(law, now, pop(arena), arena).map(|head| head.id);
        }
        self.dropping &= head.is_some_and(|head| head.may_drop);
        while self.dropping && now >= self.drop_next {
            let Head { id, .. } = head?;
            self.count += 1;
            if ecn && marks(id, arena) {
                self.drop_next = law.next_drop(self.drop_next, self.count);
                return Some(id);
            }
            drop(id, arena);
            head = self.look(law, now, pop(arena), arena);
            self.dropping = head.is_some_and(|head| head.may_drop);
            if self.dropping {
                self.drop_next = law.next_drop(self.drop_next, self.count);
            }
        }
        head.map(|head| head.id)
    }

    /// Notes how long the packet `next` has waited (`dodequeue` of RFC 8289, section 5.6).
    fn look(
        &mut self,
        law: &ControlLaw,
        now: Time,
        next: Option<(PacketId, bool)>,
        arena: &PacketArena,
    ) -> Option<Head> {
        let is_late = |&(id, more): &(PacketId, bool)| {
            more && now.since(arena.known(id).arrives()) >= law.target
        };
        if !next.as_ref().is_some_and(is_late) {
            self.first_above_time = None;
            return next.map(|(id, _)| Head { id, may_drop: false });
        }
        let above = *self.first_above_time.get_or_insert(now + law.interval);
        next.map(|(id, _)| Head { id, may_drop: now >= above })
    }

    /// Begins to drop packets, as often as it did when it last had to if that is not long ago.
    fn begin(&mut self, law: &ControlLaw, now: Time) {
        self.dropping = true;
        let more = self.count - self.last_count;
        let recent = now.since(self.drop_next) < law.interval.saturating_mul(16);
        self.count = if more > 1 && recent { more } else { 1 };
        self.drop_next = law.next_drop(now, self.count);
        self.last_count = self.count;
    }
}

/// Marks a packet if its transport understands that; whether it does.
pub(super) fn marks(id: PacketId, arena: &mut PacketArena) -> bool {
    let packet = arena.known_mut(id);
    mark(packet);
    packet.marks & (ECT | CE) == ECT | CE
}

/// What a CoDel port keeps.
#[derive(Debug)]
pub struct CoDelPort {
    fifo: Fifo,
    /// Size of the largest packet so far.
    largest: u16,
    law: ControlLaw,
    ecn: bool,
    controller: Controller,
}

impl Buffered for CoDel {
    type Port = CoDelPort;

    fn room(&self) -> Capacity {
        Capacity::new(self.buffer, self.counting)
    }

    fn with_room(&self, room: Capacity, _: Outlet) -> CoDelPort {
        CoDelPort {
            fifo: Fifo::new(room),
            largest: 0,
            law: self.law.clone(),
            ecn: self.ecn,
            controller: Controller::default(),
        }
    }

    fn endless(&self, outlet: Outlet) -> CoDelPort {
        CoDelPort { law: ControlLaw::endless(), ..self.with_room(Capacity::endless(), outlet) }
    }
}

impl Queue for CoDelPort {
    #[inline]
    fn enqueue(
        &mut self,
        _: Time,
        _: Time,
        id: PacketId,
        arena: &mut PacketArena,
        mut drop: impl FnMut(PacketId, &mut PacketArena),
    ) {
        self.largest = self.largest.max(arena.known(id).size);
        if !self.fifo.push(id, arena) {
            drop(id, arena);
        }
    }

    #[inline]
    fn dequeue(
        &mut self,
        now: Time,
        arena: &mut PacketArena,
        drop: impl FnMut(PacketId, &mut PacketArena),
    ) -> Option<PacketId> {
        let CoDelPort { fifo, largest, law, ecn, controller } = self;
        let pop = |arena: &mut PacketArena| {
            let id = (!fifo.is_empty()).then(|| fifo.pop(arena))?;
            Some((id, fifo.bytes() > u32::from(*largest)))
        };
        controller.dequeue(law, *ecn, now, arena, pop, drop)
    }

    /// Behind a packet that does not wait none does, and no control is needed.
    #[inline]
    fn pass(&mut self, packet: &mut Packet) -> bool {
        self.largest = self.largest.max(packet.size);
        self.controller.rest();
        true
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.fifo.is_empty()
    }

    fn waiting(&self, arena: &PacketArena) -> Vec<PacketId> {
        self.fifo.waiting(arena)
    }

    fn peak(&self) -> u64 {
        self.fifo.peak()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Kind;
    use crate::queue::Builder;
    use proptest::prelude::*;
    use sojourn_core::Streams;
    use sojourn_core::parameters::defaults;

    fn law() -> ControlLaw {
        ControlLaw { target: Span::from_us(5), interval: Span::from_us(100) }
    }

    fn port(ecn: bool) -> (CoDelPort, PacketArena) {
        let codel = CoDel { law: law(), ecn, ..defaults() };
        (codel.port(Outlet::alone(Streams::new(1, 0).stream("t", 0))), PacketArena::default())
    }

    fn offer(port: &mut CoDelPort, arena: &mut PacketArena, now: Time, size: u16, marks: u8) {
        let key = Packet::arriving(now, 0);
        let id = arena.insert(Packet { key, size, marks, kind: Kind::DATA, ..Packet::LAST });
        port.enqueue(now, now, id, arena, super::super::no_drop);
    }

    /// What is sent at the times `at`, and which of the packets before it are dropped or marked then, when
    /// 1,000 packets of 1500 B wait from the start: in nanoseconds.
    fn signals(ecn: bool, marks: u8) -> Vec<u64> {
        let (mut port, mut arena) = port(ecn);
        for _ in 0..1_000 {
            offer(&mut port, &mut arena, Time::ZERO, 1_500, marks);
        }
        let mut signals = Vec::new();
        for ns in (0..400_000).step_by(1_000) {
            let mut count = 0;
            let now = Time::ZERO + Span::from_ns(ns);
            let id = port.dequeue(now, &mut arena, |_, _| count += 1).expect("a packet");
            count += u64::from(arena[id].marks & CE != 0);
            signals.extend(std::iter::repeat_n(ns, count as usize));
        }
        signals
    }

    /// The target of 5 us is passed at 5 us, so that the first packet goes at 105 us, and the next ones
    /// 100, 70.7 and 57.7 us after the one before (RFC 8289, section 5.6): at the first departure, one a
    /// microsecond, from then on. Marks come when drops would.
    #[test]
    fn drops_by_the_control_law() {
        let law = law();
        let mut next = Time::ZERO + Span::from_us(105);
        let expected: Vec<u64> = (1..5)
            .map(|count| {
                let at = next.ps().div_ceil(1_000_000) * 1_000;
                next = law.next_drop(next, count);
                at
            })
            .collect();
        assert_eq!(expected, [105_000, 205_000, 276_000, 334_000]);
        assert_eq!(signals(false, 0)[..4], expected);
        assert_eq!(signals(true, ECT)[..4], expected);
        assert_eq!(signals(true, 0)[..4], expected, "a transport without ECN loses packets");
    }

    /// RFC 8289, section 5, as plain as it is described: one line, which is asked whenever the link is free,
    /// and what it would do with the packet at its head.
    struct Plain {
        line: Vec<(Time, u16)>,
        largest: u16,
        above: Option<Time>,
        next: f64,
        count: i64,
        last: i64,
        dropping: bool,
    }

    impl Plain {
        /// The packet at the head, and whether it may be dropped.
        fn head(&mut self, now: Time) -> Option<(Time, bool)> {
            if self.line.is_empty() {
                self.above = None;
                return None;
            }
            let (came, _) = self.line.remove(0);
            let left: u32 = self.line.iter().map(|packet| u32::from(packet.1)).sum();
            if now.since(came) < law().target || left <= u32::from(self.largest) {
                self.above = None;
                return Some((came, false));
            }
            match self.above {
                None => {
                    self.above = Some(now + law().interval);
                    Some((came, false))
                }
                Some(above) => Some((came, now >= above)),
            }
        }

        /// What is sent, and how many are dropped before.
        fn dequeue(&mut self, now: Time) -> (Option<Time>, u32) {
            let (interval, ps) = (law().interval.ps() as f64, now.ps() as f64);
            let mut head = self.head(now);
            let mut dropped = 0;
            if self.dropping {
                self.dropping = head.is_some_and(|head| head.1);
                while self.dropping && ps >= self.next {
                    dropped += 1;
                    self.count += 1;
                    head = self.head(now);
                    match head {
                        Some((_, true)) => {
                            self.next += (interval / (self.count as f64).sqrt()).round();
                        }
                        _ => self.dropping = false,
                    }
                }
            } else if head.is_some_and(|head| head.1) {
                dropped += 1;
                head = self.head(now);
                self.dropping = true;
                let delta = self.count - self.last;
                let is_recent = ps - self.next < 16.0 * interval;
                self.count = if delta > 1 && is_recent { delta } else { 1 };
                self.next = ps + (interval / (self.count as f64).sqrt()).round();
                self.last = self.count;
            }
            (head.map(|head| head.0), dropped)
        }
    }

    proptest! {
        /// With loads that come and go: what is sent, and how many are dropped before each.
        #[test]
        fn agrees_with_the_rfc(
            bursts in prop::collection::vec((0u64..400_000, 1usize..120, 0u64..3_000), 1..12),
        ) {
            let (mut port, mut arena) = port(false);
            let mut plain = Plain {
                line: Vec::new(),
                largest: 0,
                above: None,
                next: 0.0,
                count: 0,
                last: 0,
                dropping: false,
            };
            let (mut now, mut free) = (Time::ZERO, Time::ZERO);
            for (gap, packets, every) in bursts {
                now += Span::from_ns(gap);
                for packet in 0..packets {
                    now += Span::from_ns(every);
                    while free < now && !port.is_empty() {
                        let mut dropped = 0;
                        let sent = port.dequeue(free, &mut arena, |_, _| dropped += 1);
                        let sent = sent.map(|id| arena[id].arrives());
                        prop_assert_eq!((sent, dropped), plain.dequeue(free));
                        free += Span::from_ns(1_200);
                    }
                    free = free.max(now);
                    let size = if packet % 5 == 0 { 40 } else { 1_500 };
                    offer(&mut port, &mut arena, now, size, 0);
                    plain.line.push((now, size));
                    plain.largest = plain.largest.max(size);
                }
            }
        }
    }
}
