//! PIE: packets are dropped at random on arrival, with a probability that a controller moves so that the
//! queueing delay is as it should be (RFC 8033).

use super::codel::marks;
use super::fifo::Fifo;
use super::{Buffered, Capacity, Counting, Outlet, Queue, check_buffer};
use crate::packet::{PacketArena, PacketId};
use sojourn_core::parameters::{Check, Refusal};
use sojourn_core::{Bytes, Span, Stream, Time, choices, parameters};

parameters! {
    /// First in, first out; a packet that comes is dropped with a probability that is adjusted at
    /// equal intervals, by how far the queueing delay is from its target and how it has changed
    /// since (PIE, RFC 8033, with the derandomization and the cap of section 5). The defaults are
    /// those of RFC 8033 and Linux, for the Internet; between the hosts of a data centre, `target` and
    /// `update` "50us", `max_burst` "500us", and `alpha` 37.5 and `beta` 375, as many times as much
    /// as the target is less.
    pub struct Pie: "pie" {
        /// Target of the queueing delay (`QDELAY_REF`).
        pub target: Span = Span::from_ms(15),
        /// Interval between adjustments of the probability (`T_UPDATE`). Each port begins at a random
        /// time.
        pub update: Span = Span::from_ms(15),
        /// Change of the probability per second of delay above the target.
        pub alpha: f64 [0.0..=MOST_GAIN] = 0.125,
        /// Change of the probability per second of growth of the delay.
        pub beta: f64 [0.0..=MOST_GAIN] = 1.25,
        /// Duration of a burst that is let through without drops.
        pub max_burst: Span = Span::from_ms(150),
        /// How the queueing delay is determined.
        pub delay: DelayBy = DelayBy::Timestamps,
        /// Whether a packet whose transport understands ECN is marked instead of dropped, up to a
        /// probability of 0.1 (section 5.1).
        pub ecn: bool = false,
        /// Room for waiting packets, at each port: 1,000 packets, as in Linux.
        pub buffer: Bytes = Bytes(1_500_000),
        /// Whether the buffer counts bytes or packets.
        pub counting: Counting = Counting::Packets,
    }
}

choices! {
    /// How PIE knows the queueing delay.
    pub enum DelayBy: "way to know the delay" {
        /// From how long the last packet that left had waited; 0 where none was left behind it, as in
        /// Linux by default.
        Timestamps = "timestamps",
        /// From the bytes that wait and an average of the rate at which 16 KB leave (RFC 8033,
        /// sections 4.3 and 5.2).
        DepartureRate = "departure-rate",
    }
}

impl Check for Pie {
    fn check(&self) -> Result<(), Refusal> {
        check_buffer(self.buffer)?;
        let spans = [("target", self.target), ("update", self.update)];
        if let Some((key, span)) = spans.into_iter().find(|(_, span)| *span < SHORTEST) {
            return Err(Refusal::of(&span, format!("at least {SHORTEST}")).under(key));
        }
        Ok(())
    }
}

/// Shortest target and interval between adjustments.
const SHORTEST: Span = Span::from_us(1);

/// With more, a delay of a microsecond too much makes any drop certain.
const MOST_GAIN: f64 = 1e6;

/// Less than this is none: what decays by a factor would never be.
const NO_PROBABILITY: f64 = 1e-100;

/// Drop probability up to which packets are marked instead (RFC 8033, section 5.1).
const MOST_MARKED: f64 = 0.1;

/// Bytes up to which no packet is dropped early: two packets of 1500 B, as in Linux; RFC 8033 has two of
/// a mean size of 1024 B.
const FEW_BYTES: u32 = 3_000;

/// Bytes that a departure rate is measured over (RFC 8033, section 5.2).
const DEPARTURE_THRESHOLD: u32 = 16_384;

/// Queueing delay and drop probability of one port; the names are those of RFC 8033, section 4.
#[derive(Clone, Debug)]
struct Controller {
    params: Pie,
    drop_prob: f64,
    /// Probability added up since the last drop (section 5.4).
    accu_prob: f64,
    burst_allowance: Span,
    /// Queueing delays now and at the last adjustment.
    current_qdelay: Span,
    qdelay_old: Span,
    departures: Departures,
    next_update: Time,
    stream: Stream,
}

/// How fast packets leave (RFC 8033, section 5.2).
#[derive(Clone, Debug, Default)]
struct Departures {
    /// Seconds that a byte takes to leave, on average; 0 until it was measured.
    seconds_per_byte: f64,
    /// When the measurement under way began, and the bytes since.
    cycle: Option<(Time, u32)>,
}

impl Departures {
    /// Counts a packet of `size` bytes that leaves `now`, `left` bytes behind it.
    fn count(&mut self, now: Time, size: u16, left: u32) {
        if self.cycle.is_none() && left >= DEPARTURE_THRESHOLD {
            self.cycle = Some((now, 0));
            return;
        }
        let Some((begun, bytes)) = &mut self.cycle else { return };
        *bytes += u32::from(size);
        if *bytes < DEPARTURE_THRESHOLD {
            return;
        }
        let measured = now.since(*begun).seconds() / f64::from(*bytes);
        self.seconds_per_byte = match self.seconds_per_byte {
            0.0 => measured,
            average => 0.5 * (average + measured),
        };
        self.cycle = (left >= DEPARTURE_THRESHOLD).then_some((now, 0));
    }
}

impl Controller {
    fn new(params: &Pie, mut stream: Stream) -> Controller {
        let next_update = Time::from_ps(1 + stream.below(params.update.ps()));
        Controller {
            params: params.clone(),
            drop_prob: 0.0,
            accu_prob: 0.0,
            burst_allowance: params.max_burst,
            current_qdelay: Span::ZERO,
            qdelay_old: Span::ZERO,
            departures: Departures::default(),
            next_update,
            stream,
        }
    }

    /// Adjusts the probability at all times for it up to `now`, while `bytes` wait: between two events of a
    /// port nothing else changes.
    #[inline]
    fn update(&mut self, now: Time, bytes: u32) {
        while self.next_update <= now {
            if self.is_at_rest(bytes) {
                let update = self.params.update;
                let times = now.since(self.next_update).ps() / update.ps() + 1;
                self.burst_allowance -= update.saturating_mul(times).min(self.burst_allowance);
                self.next_update += update * times;
                return;
            }
            self.adjust(bytes);
            self.next_update += self.params.update;
        }
    }

    /// Whether an adjustment changes nothing but the burst allowance.
    fn is_at_rest(&self, bytes: u32) -> bool {
        let delays = [self.current_qdelay, self.qdelay_old];
        bytes == 0 && self.drop_prob == 0.0 && delays == [Span::ZERO; 2]
    }

    /// `calculate_drop_prob` of RFC 8033, section 4.2.
    fn adjust(&mut self, bytes: u32) {
        let Pie { target, update, alpha, beta, delay, .. } = self.params;
        if delay == DelayBy::DepartureRate {
            let seconds = f64::from(bytes) * self.departures.seconds_per_byte;
            self.current_qdelay = Span::from_seconds(seconds);
        }
        let delays = [self.current_qdelay, self.qdelay_old];
        let [current, old] = delays.map(Span::seconds);
        let change = alpha * (current - target.seconds()) + beta * (current - old);
        let change = change / damping(self.drop_prob);
        // The cap of section 5.5.
        let change = if self.drop_prob >= 0.1 { change.min(0.02) } else { change };
        self.drop_prob += change;
        if delays == [Span::ZERO; 2] {
            self.drop_prob *= 0.98;
        }
        if self.drop_prob < NO_PROBABILITY {
            self.drop_prob = 0.0;
        }
        self.drop_prob = self.drop_prob.clamp(0.0, 1.0);
        self.qdelay_old = self.current_qdelay;
        self.burst_allowance -= update.min(self.burst_allowance);
    }

    /// Whether a packet that comes to `bytes` that wait is dropped or marked (`drop_early` of RFC 8033,
    /// section 4.1, derandomized as in section 5.4).
    fn drops_early(&mut self, bytes: u32) -> bool {
        let half = self.params.target / 2;
        if self.drop_prob == 0.0 && self.current_qdelay < half && self.qdelay_old < half {
            self.burst_allowance = self.params.max_burst;
        }
        let calm = self.qdelay_old < half && self.drop_prob < 0.2;
        if self.burst_allowance > Span::ZERO || calm || bytes <= FEW_BYTES {
            return false;
        }
        self.accu_prob = if self.drop_prob == 0.0 { 0.0 } else { self.accu_prob + self.drop_prob };
        if self.accu_prob < 0.85 {
            return false;
        }
        let drops = self.accu_prob >= 8.5 || self.stream.uniform() < self.drop_prob;
        if drops {
            self.accu_prob = 0.0;
        }
        drops
    }
}

/// By how much the changes of a small probability are divided (RFC 8033, section 4.2).
fn damping(drop_prob: f64) -> f64 {
    const STEPS: [(f64, f64); 6] =
        [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (1e-1, 2.0)];
    STEPS.iter().find(|(below, _)| drop_prob < *below).map_or(1.0, |(_, divisor)| *divisor)
}

/// What a PIE port keeps.
#[derive(Debug)]
pub struct PiePort {
    fifo: Fifo,
    controller: Controller,
}

impl Buffered for Pie {
    type Port = PiePort;

    fn room(&self) -> Capacity {
        Capacity::new(self.buffer, self.counting)
    }

    fn with_room(&self, room: Capacity, outlet: Outlet) -> PiePort {
        PiePort { fifo: Fifo::new(room), controller: Controller::new(self, outlet.stream) }
    }

    fn endless(&self, outlet: Outlet) -> PiePort {
        Pie { alpha: 0.0, beta: 0.0, ..self.clone() }.with_room(Capacity::endless(), outlet)
    }
}

impl Queue for PiePort {
    #[inline]
    fn enqueue(
        &mut self,
        now: Time,
        _: Time,
        id: PacketId,
        arena: &mut PacketArena,
        mut drop: impl FnMut(PacketId, &mut PacketArena),
    ) {
        let PiePort { fifo, controller } = self;
        controller.update(now, fifo.bytes());
        let early = controller.drops_early(fifo.bytes());
        let Pie { ecn, .. } = controller.params;
        let keeps = !early || ecn && controller.drop_prob <= MOST_MARKED && marks(id, arena);
        if !keeps || !fifo.push(id, arena) {
            drop(id, arena);
        }
    }

    #[inline]
    fn dequeue(
        &mut self,
        now: Time,
        arena: &mut PacketArena,
        _: impl FnMut(PacketId, &mut PacketArena),
    ) -> Option<PacketId> {
        let PiePort { fifo, controller } = self;
        controller.update(now, fifo.bytes());
        let id = fifo.pop(arena);
        let packet = arena.known(id);
        match controller.params.delay {
            DelayBy::Timestamps if fifo.is_empty() => controller.current_qdelay = Span::ZERO,
            DelayBy::Timestamps => controller.current_qdelay = now.since(packet.arrives()),
            DelayBy::DepartureRate => {
                controller.departures.count(now, packet.size, fifo.bytes());
            }
        }
        Some(id)
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
mod tests;
