//! HPCC: a window that follows the load of the busiest link on the way (Li et al., SIGCOMM 2019, section 3).
//!
//! Ports with telemetry (`queue/telemetry.rs`) measure the load, packets of data carry it to the receiver, and ACKs
//! back. All else is as with RoCE.

use super::control::Control;
use super::{GoingBack, NACK_INTERVAL, PATIENCE};
use crate::packet::{Load, Packet};
use crate::transport::{Setup, Speed, TransportParameters, check_timer};
use sojourn_core::parameters::{Check, Refusal};
use sojourn_core::{Bytes, Rate, Span, Time, parameters};

parameters! {
    /// HPCC (Li et al., SIGCOMM 2019): RoCE's packets, under a window of bytes that each ACK changes by the load of
    /// the busiest link on the way, and at the rate that spreads the window over a base round trip. It starts with what
    /// the host's link carries in that time, the largest base round trip of the fabric. It needs the queue `telemetry`.
    pub struct Hpcc: "hpcc" {
        /// The utilisation that a link shall have (eta; section 5.1: 95 %). Less leaves capacity unused; with 1 or
        /// nearly so, queues that have formed hardly drain.
        pub eta: f64 = 0.95,
        /// How many round trips in a row a flow only adds to its window before it takes the measured share of it
        /// (maxStage; section 5.1: 5). With 0 flows follow each swing; with many, free capacity is taken late.
        pub max_stage: u32 [0..=1000] = 5,
        /// Bytes that the window grows by in each round trip (W_AI; section 5.1: 80 B). Less makes flows come to
        /// equal shares later; more lets a queue stand: that of so many flows as together add more than the
        /// share 1 - eta of what a link carries in a round trip.
        pub additive: Bytes = Bytes(80),
        /// The least time between two NACKs for one missing packet, as with `roce`.
        pub nack_interval: Span = NACK_INTERVAL,
        /// How long nothing may be acknowledged of what is under way, as with `roce`.
        pub rto: Span = PATIENCE,
    }
}

impl Check for Hpcc {
    fn check(&self) -> Result<(), Refusal> {
        if !(self.eta > 0.0 && self.eta <= 1.0) {
            return Err(Refusal::of(&self.eta, "more than 0, and at most 1").under("eta"));
        }
        if !(1..=MOST_ADDITIVE.0).contains(&self.additive.0) {
            let expected = format!("from 1B to {MOST_ADDITIVE}");
            return Err(Refusal::of(&self.additive, expected).under("additive"));
        }
        check_timer("nack_interval", self.nack_interval)?;
        check_timer("rto", self.rto)
    }
}

/// More than any path holds.
const MOST_ADDITIVE: Bytes = Bytes(1_000_000_000);

/// HPCC at work on all flows.
pub type HpccRunning = GoingBack<HpccControl>;

impl TransportParameters for Hpcc {
    type Running = HpccRunning;

    fn run(&self, setup: Setup) -> HpccRunning {
        GoingBack::under(HpccControl::new(self, &setup), setup)
    }
}

/// HPCC's rules for the speed of flows.
#[derive(Debug)]
pub struct HpccControl {
    hpcc: Hpcc,
    /// The largest base round trip of the fabric (T).
    round_trip: Span,
    /// Bytes on the wire of a full packet.
    full: f64,
}

/// The window of a flow, in bytes on the wire.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadWindow {
    /// What may be under way (W), and at most: what the host's link carries in a base round trip.
    size: f64,
    most: f64,
    /// The window of the last round trip (Wc), from which each ACK of this one sets out.
    reference: f64,
    /// The average load of the busiest link (U).
    load: f64,
    /// For how many round trips the window has only grown (incStage).
    stage: u32,
    /// With an ACK for a packet from this one on the next round trip is over (lastUpdateSeq).
    updated: u32,
}

impl HpccControl {
    fn new(hpcc: &Hpcc, setup: &Setup) -> HpccControl {
        let (full, smallest) = (setup.packets.largest().into(), setup.packets.smallest().into());
        HpccControl {
            hpcc: hpcc.clone(),
            round_trip: setup.network.reach.base_round_trip(full, smallest),
            full: full as f64,
        }
    }

    /// Follows the `load` that an ACK brings (algorithm 1: lines 9 and 10, and ComputeWind). With the first ACK of a
    /// packet that left after the last one of these (`is_new`), a round trip is over.
    #[inline]
    fn follow(&self, own: &mut LoadWindow, load: Load, is_new: bool) {
        own.load = (1.0 - load.share) * own.load + load.share * load.utilisation;
        let additive = self.hpcc.additive.0 as f64;
        let (size, stage) = match own.load >= self.hpcc.eta || own.stage >= self.hpcc.max_stage {
            true => (own.reference / (own.load / self.hpcc.eta) + additive, 0),
            false => (own.reference + additive, own.stage + 1),
        };
        own.size = size.min(own.most);
        if is_new {
            (own.reference, own.stage) = (own.size, stage);
        }
    }
}

impl Control for HpccControl {
    type Own = LoadWindow;

    /// A load of 1, as the authors' program has it: the flow sends at the speed of its link.
    fn begin(&self, line: Rate) -> LoadWindow {
        let most = line.bits_per_second() as f64 / 8e12 * self.round_trip.ps() as f64;
        LoadWindow { size: most, most, reference: most, load: 1.0, stage: 0, updated: 0 }
    }

    fn nack_interval(&self) -> Span {
        self.hpcc.nack_interval
    }

    #[inline]
    fn rto(&self) -> Span {
        self.hpcc.rto
    }

    #[inline]
    fn allows(&self, own: &LoadWindow, under_way: u32) -> bool {
        f64::from(under_way) * self.full < own.size
    }

    #[inline]
    fn gap(&self, own: &mut LoadWindow, _: Time, size: u16) -> Option<Span> {
        let ps = f64::from(size) * self.round_trip.ps() as f64 / own.size;
        (own.size < own.most).then(|| Span::from_ps(ps.ceil() as u64))
    }

    fn speed(&self, own: &LoadWindow, _: Time) -> Speed {
        let rate = own.size * 8e12 / self.round_trip.ps() as f64;
        Speed { window: Some(own.size), rate: Some(rate) }
    }

    #[inline]
    fn acknowledged(&self, own: &mut LoadWindow, ack: &Packet, next: u32) {
        let is_new = ack.sequence > own.updated;
        if let Some(load) = ack.load() {
            self.follow(own, load, is_new);
        }
        if is_new {
            own.updated = own.updated.max(next);
        }
    }

    #[inline]
    fn leaves(&self, data: &mut Packet) {
        data.forget_load();
    }

    #[inline]
    fn answers(&self, data: &Packet, ack: &mut Packet) {
        ack.carry_load_of(data);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use sojourn_core::parameters::defaults;
    use sojourn_properties::cases;

    /// A link's record in a packet, as HPCC's switches write it: time, bytes sent and bytes waiting.
    type Record = (u64, u64, u64);

    /// Algorithm 1 of the paper, line by line, with the records of all links of the way, each with its speed in bytes
    /// per picosecond; slow and obvious.
    struct Oracle {
        eta: f64,
        max_stage: u32,
        additive: f64,
        base: f64,
        most: f64,
        last_update: u32,
        links: Vec<Record>,
        window: f64,
        reference: f64,
        load: f64,
        stage: u32,
    }

    impl Oracle {
        fn measure_inflight(&mut self, links: &[Record], speeds: &[f64]) {
            let (mut u, mut tau) = (0.0, 0.0);
            for ((now, before), speed) in links.iter().zip(&self.links).zip(speeds) {
                let time = (now.0 - before.0) as f64;
                let rate = (now.1 - before.1) as f64 / time;
                let waiting = now.2.min(before.2) as f64;
                let own = waiting / (speed * self.base) + rate / speed;
                if own > u {
                    (u, tau) = (own, time);
                }
            }
            let tau = f64::min(tau, self.base);
            self.load = (1.0 - tau / self.base) * self.load + tau / self.base * u;
        }

        fn compute_wind(&mut self, update: bool) -> f64 {
            let window;
            if self.load >= self.eta || self.stage >= self.max_stage {
                window = self.reference / (self.load / self.eta) + self.additive;
                if update {
                    (self.stage, self.reference) = (0, window);
                }
            } else {
                window = self.reference + self.additive;
                if update {
                    (self.stage, self.reference) = (self.stage + 1, window);
                }
            }
            // The authors' program bounds the rate by that of the link.
            self.reference = self.reference.min(self.most);
            window.min(self.most)
        }

        fn new_ack(&mut self, seq: u32, links: &[Record], speeds: &[f64], snd_nxt: u32) {
            if self.links.is_empty() {
                self.last_update = snd_nxt;
            } else {
                self.measure_inflight(links, speeds);
                let update = seq > self.last_update;
                self.window = self.compute_wind(update);
                if update {
                    self.last_update = snd_nxt;
                }
            }
            self.links = links.to_vec();
        }
    }

    /// Of each link what it did between two packets: the time, the share of its speed that it sent, what waits.
    type Step = Vec<(u64, f64, u64)>;

    fn steps(links: usize) -> impl Strategy<Value = Vec<(Step, u32)>> {
        let link = (1_000u64..30_000_000, 0.0..1.0f64, 0u64..400_000);
        let step = prop::collection::vec(link, links);
        prop::collection::vec((step, 0u32..6), 1..60)
    }

    proptest! {
        #![proptest_config(cases(200))]

        /// Whatever links say, the window is that of the paper's algorithm, but for what a packet rounds.
        #[test]
        fn the_window_is_that_of_the_papers_algorithm(
            steps in (1usize..5).prop_flat_map(steps),
            eta in 0.5..1.0f64,
            max_stage in 0u32..6,
        ) {
            let hpcc = Hpcc { eta, max_stage, ..defaults() };
            let control = HpccControl { hpcc, round_trip: Span::from_us(10), full: 1_064.0 };
            let mut own = control.begin(Rate::gbps(100));
            let most = own.most;
            let mut oracle = Oracle {
                eta,
                max_stage,
                additive: 80.0,
                base: 1e7,
                most,
                last_update: 0,
                links: Vec::new(),
                window: most,
                reference: most,
                load: 1.0,
                stage: 0,
            };
            prop_assert!((most - 125_000.0).abs() < 1e-6);
            let count = steps[0].0.len();
            let speeds: Vec<f64> = (0..count).map(|link| 0.0125 * (1 << link) as f64).collect();
            let mut links: Vec<Record> = vec![(0, 0, 0); count];
            let mut next = 5;
            for (seq, (step, sent)) in (1..).zip(&steps) {
                let before = links.clone();
                for ((link, speed), &(time, share, waiting)) in links.iter_mut().zip(&speeds).zip(step) {
                    let bytes = (share * speed * time as f64) as u64;
                    *link = (link.0 + time, link.1 + bytes, waiting);
                }
                let mut ack = Packet { priority: 0, echo: 0, sequence: seq, ..Packet::LAST };
                for ((now, before), speed) in links.iter().zip(&before).zip(&speeds) {
                    if seq == 1 {
                        continue;
                    }
                    let time = (now.0 - before.0) as f64;
                    let waits = now.2.min(before.2) as f64 / (speed * 1e7);
                    let utilisation = waits + (now.1 - before.1) as f64 / time / speed;
                    ack.crosses(Load { utilisation, share: (time / 1e7).min(1.0) });
                }
                next += sent;
                control.acknowledged(&mut own, &ack, next);
                oracle.new_ack(seq, &links, &speeds, next);
                let error = (own.size / oracle.window - 1.0).abs();
                prop_assert!(error < 0.01, "{} of {} at {seq}", own.size, oracle.window);
                prop_assert_eq!(own.updated, oracle.last_update);
            }
        }
    }

    /// A link that is busy by eta keeps the window, but for what is added; one that is busy by twice as much halves it.
    #[test]
    fn a_window_follows_the_load() {
        let control =
            HpccControl { hpcc: defaults(), round_trip: Span::from_us(10), full: 1_064.0 };
        let mut own = control.begin(Rate::gbps(100));
        let load = |utilisation| Load { utilisation, share: 1.0 };
        control.follow(&mut own, load(1.9), false);
        assert!((own.size - (62_500.0 + 80.0)).abs() < 1e-6, "{}", own.size);
        // The same news in the same round trip changes nothing.
        control.follow(&mut own, load(1.9), true);
        assert!((own.size - 62_580.0).abs() < 1e-6);
        control.follow(&mut own, load(0.95), true);
        assert!((own.size - 62_660.0).abs() < 1e-6);
        // A packet of 1064 B goes once in that part of a round trip.
        let gap = control.gap(&mut own, Time::ZERO, 1_064).expect("a gap");
        assert_eq!(gap, Span::from_ps((1_064.0 * 1e7 / own.size).ceil() as u64));
        assert!(control.allows(&own, 58) && !control.allows(&own, 59));
        // Five round trips only add, then the window takes all that is free.
        for stage in 1..=5 {
            control.follow(&mut own, load(0.5), true);
            assert!((own.size - (62_660.0 + 80.0 * f64::from(stage))).abs() < 1e-6);
        }
        control.follow(&mut own, load(0.5), true);
        assert!((own.size - (63_060.0 * 1.9 + 80.0)).abs() < 1e-6, "{}", own.size);
    }
}
