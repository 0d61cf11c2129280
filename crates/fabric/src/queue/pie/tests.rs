//! PIE against the description of its RFC, and what it does with an overloaded port.

use super::*;
use crate::packet::{Kind, Packet};
use crate::queue::{Builder, no_drop};
use proptest::prelude::*;
use sojourn_core::Streams;
use sojourn_core::parameters::defaults;

fn params(delay: DelayBy) -> Pie {
    let (target, update, max_burst) = (Span::from_us(50), Span::from_us(50), Span::from_us(150));
    Pie { target, update, max_burst, alpha: 37.5, beta: 375.0, delay, ..defaults() }
}

fn stream() -> Stream {
    Streams::new(1, 0).stream("t", 0)
}

/// RFC 8033, section 4, adjusted at each time by itself, with a line of (arrival, size).
struct Plain {
    params: Pie,
    line: Vec<(Time, u16)>,
    prob: f64,
    accumulated: f64,
    burst: f64,
    delay: f64,
    old: f64,
    /// Average seconds a byte; begin and bytes of the cycle under way.
    pace: Option<f64>,
    cycle: Option<(Time, u32)>,
    tick: Time,
    stream: Stream,
}

impl Plain {
    fn bytes(&self) -> u32 {
        self.line.iter().map(|packet| u32::from(packet.1)).sum()
    }

    fn adjust(&mut self, now: Time) {
        while self.tick <= now {
            self.tick += self.params.update;
            if self.params.delay == DelayBy::DepartureRate {
                let seconds = f64::from(self.bytes()) * self.pace.unwrap_or_default();
                self.delay = Span::from_seconds(seconds).seconds();
            }
            let target = self.params.target.seconds();
            let mut change = self.params.alpha * (self.delay - target)
                + self.params.beta * (self.delay - self.old);
            change /= match self.prob {
                p if p < 0.000_001 => 2048.0,
                p if p < 0.000_01 => 512.0,
                p if p < 0.000_1 => 128.0,
                p if p < 0.001 => 32.0,
                p if p < 0.01 => 8.0,
                p if p < 0.1 => 2.0,
                _ => 1.0,
            };
            if self.prob >= 0.1 && change > 0.02 {
                change = 0.02;
            }
            self.prob += change;
            if self.delay == 0.0 && self.old == 0.0 {
                self.prob *= 0.98;
            }
            self.prob = self.prob.clamp(0.0, 1.0);
            self.old = self.delay;
            self.burst = (self.burst - self.params.update.seconds()).max(0.0);
            if self.burst < 1e-9 {
                self.burst = 0.0;
            }
        }
    }

    /// Whether a packet that comes `now` is kept.
    fn keeps(&mut self, now: Time, size: u16) -> bool {
        self.adjust(now);
        let half = self.params.target.seconds() / 2.0;
        if self.prob == 0.0 && self.delay < half && self.old < half {
            self.burst = self.params.max_burst.seconds();
        }
        let safe = self.old < half && self.prob < 0.2 || self.bytes() <= FEW_BYTES;
        let mut drops = false;
        if self.burst == 0.0 && !safe {
            self.accumulated = if self.prob > 0.0 { self.accumulated + self.prob } else { 0.0 };
            drops = self.accumulated >= 8.5
                || self.accumulated >= 0.85 && self.stream.uniform() < self.prob;
            if drops {
                self.accumulated = 0.0;
            }
        }
        if !drops {
            self.line.push((now, size));
        }
        !drops
    }

    fn send(&mut self, now: Time) -> Time {
        self.adjust(now);
        let (came, size) = self.line.remove(0);
        let left = self.bytes();
        if self.params.delay == DelayBy::Timestamps {
            self.delay = if left == 0 { 0.0 } else { now.since(came).seconds() };
            return came;
        }
        match self.cycle {
            None if left >= 16_384 => self.cycle = Some((now, 0)),
            None => {}
            Some((begun, bytes)) => {
                let bytes = bytes + u32::from(size);
                self.cycle = Some((begun, bytes));
                if bytes >= 16_384 {
                    let pace = now.since(begun).seconds() / f64::from(bytes);
                    self.pace = Some(self.pace.map_or(pace, |old| 0.5 * (old + pace)));
                    self.cycle = (left >= 16_384).then_some((now, 0));
                }
            }
        }
        came
    }
}

proptest! {
    /// What is kept and what goes, and with which probability at the end: with bursts, overload and long
    /// silences, through which the port skips.
    #[test]
    fn agrees_with_the_rfc(
        bursts in prop::collection::vec((0u64..3_000_000, 1usize..300, 0u64..2_000), 1..10),
        by_rate in any::<bool>(),
    ) {
        let delay = if by_rate { DelayBy::DepartureRate } else { DelayBy::Timestamps };
        let params = params(delay);
        let mut port = params.port(Outlet::alone(stream()));
        let mut own = stream();
        let tick = Time::from_ps(1 + own.below(params.update.ps()));
        let mut plain = Plain {
            burst: params.max_burst.seconds(),
            params,
            line: Vec::new(),
            prob: 0.0,
            accumulated: 0.0,
            delay: 0.0,
            old: 0.0,
            pace: None,
            cycle: None,
            tick,
            stream: own,
        };
        let mut arena = PacketArena::default();
        let (mut now, mut free) = (Time::ZERO, Time::ZERO);
        for (gap, packets, every) in bursts {
            now += Span::from_ns(gap);
            for _ in 0..packets {
                now += Span::from_ns(every);
                while free < now && !port.is_empty() {
                    let id = port.dequeue(free, &mut arena, no_drop);
                    let came = arena[id.expect("a packet")].arrives();
                    prop_assert_eq!(came, plain.send(free));
                    free += Span::from_ns(1_200);
                }
                free = free.max(now);
                let key = Packet::arriving(now, 0);
                let packet = Packet { key, size: 1_500, kind: Kind::DATA, ..Packet::LAST };
                let (id, mut kept) = (arena.insert(packet), true);
                port.enqueue(now, free, id, &mut arena, |_, _| kept = false);
                prop_assert_eq!(kept, plain.keeps(now, 1_500));
                let difference = port.controller.drop_prob - plain.prob;
                prop_assert!(difference.abs() < 1e-12, "{} {}", port.controller.drop_prob, plain.prob);
            }
        }
    }
}

/// Poisson arrivals at 1.2 times what the link carries: PIE drops a sixth, and the delay is held at
/// its target: within a fifth over 2 s, a thousand times the round of the controller.
#[test]
fn an_overloaded_port_has_the_target_delay() {
    let params = params(DelayBy::Timestamps);
    let target = params.target;
    let mut port = params.port(Outlet::alone(stream()));
    let mut gaps = Streams::new(2, 0).stream("gaps", 0);
    let mut arena = PacketArena::default();
    let (mut now, mut free, mut dropped) = (Time::ZERO, Time::ZERO, 0u32);
    let (mut waited, mut sent, packets) = (Span::ZERO, 0u64, 2_000_000);
    for _ in 0..packets {
        now += Span::from_seconds(-gaps.uniform().ln() * 1e-6);
        while free < now && !port.is_empty() {
            let id = port.dequeue(free, &mut arena, no_drop).expect("a packet");
            arena.free(id);
            waited += free.since(arena[id].arrives());
            sent += 1;
            free += Span::from_ns(1_200);
        }
        free = free.max(now);
        let key = Packet::arriving(now, 0);
        let packet = Packet { key, size: 1_500, kind: Kind::DATA, ..Packet::LAST };
        let id = arena.insert(packet);
        port.enqueue(now, free, id, &mut arena, |id, arena| {
            dropped += 1;
            arena.free(id);
        });
    }
    let share = f64::from(dropped) / f64::from(packets);
    assert!((share - 1.0 / 6.0).abs() < 0.005, "{share}");
    let mean = (waited / sent).seconds() / target.seconds();
    assert!((0.8..1.2).contains(&mean), "{mean}");
}
