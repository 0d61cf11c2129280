//! BBR, version 1: the window and the pace follow a model of the path, not losses.
//!
//! As Linux 6 has it (`tcp_bbr.c`; draft-cardwell-iccrg-bbr-congestion-control-00). Not modelled: its detection of
//! policers, and the restart after idle.

use super::congestion::{Acked, CongestionControl, Rules, Window};
use super::delivery::{Deliveries, Delivery};
use super::parameters::{TcpOptions, WindowLimits};
use crate::packet::LONGEST_TIMER;
use crate::transport::Setup;
use sojourn_core::parameters::{Check, Refusal, Setting};
use sojourn_core::random::mix;
use sojourn_core::{Span, Time, parameters};
use std::num::NonZeroU32;

parameters! {
    /// BBR, version 1 (draft-cardwell-iccrg-bbr-congestion-control-00): a flow sends at the largest rate at which packets
    /// were delivered lately, and keeps twice that rate times the least round trip in the network. It looks for more
    /// once in eight round trips, and for a shorter round trip each ten seconds. Losses alone do not slow it
    /// down.
    pub struct Bbr: "bbr" {
        /// The window within its limits.
        pub window: WindowLimits [flatten],
        /// Factor by which the rate grows per round trip at the start (2 / ln 2). A smaller one
        /// takes longer to fill the path; a larger one overfills it more.
        pub startup_gain: f64 = 2.885,
        /// Data in flight, as a multiple of the bandwidth-delay product that the flow estimates. A
        /// smaller one leaves the path idle if ACKs are late; a larger one makes longer queues.
        pub cwnd_gain: f64 = 2.0,
        /// Number of round trips of which the largest rate counts. Fewer follow a changing path
        /// faster; more react later when other flows take their share.
        pub bandwidth_rounds: NonZeroU32 = const { NonZeroU32::new(10).expect("10") },
        /// Time without a shorter round trip after which the flow looks for one, with four packets
        /// in the network.
        pub min_rtt_window: Span = Span::from_s(10),
        /// Duration of this search.
        pub probe_rtt_time: Span = Span::from_ms(200),
        /// Retransmission, acknowledgements and the begin of a connection.
        pub options: TcpOptions [flatten],
    }
}

impl Check for Bbr {
    fn check(&self) -> Result<(), Refusal> {
        for (key, gain) in [("startup_gain", self.startup_gain), ("cwnd_gain", self.cwnd_gain)] {
            if !(1.0..=100.0).contains(&gain) {
                let written = gain.write().expect("a number");
                return Err(Refusal::value(&written, "a number from 1 to 100").under(key));
            }
        }
        Ok(())
    }
}

/// Least packets in the network.
const FEWEST: f64 = 4.0;
/// What is left free of the rate, for queues to drain (`bbr_pacing_margin_percent`).
const MARGIN: f64 = 0.99;
/// Gains of the pace in the eight phases of a cycle.
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// What a host hands to its port at once: what leaves in 2^-10 s, 64 KB less headers at most.
const BURSTS_PER_SECOND: f64 = 1024.0;
const LARGEST_BURST: f64 = 65_215.0;

/// Rounds in which the largest bunch of ACKs counts: as many, and as many before them (`bbr_extra_acked_win_rtts`).
const BUNCH_ROUNDS: u32 = 5;
/// The longest bunch, in seconds at the model's rate (`bbr_extra_acked_max_us`).
const LONGEST_BUNCH: f64 = 0.1;

/// How many packets more were acknowledged than the rate says, which the window makes up for
/// (`bbr_update_ack_aggregation`).
#[derive(Clone, Copy, Debug, Default)]
struct Bunches {
    /// Packets acknowledged since that time.
    acked: f64,
    since: Time,
    /// The most of the present rounds, and of those before.
    most: [f64; 2],
    rounds: u32,
}

impl Bunches {
    /// Takes in an ACK for `arrived` packets, at a rate of so many packets a second.
    fn take(&mut self, begins: bool, arrived: f64, rate: f64, cwnd: f64, now: Time) {
        if begins {
            self.rounds += 1;
            if self.rounds >= BUNCH_ROUNDS {
                self.rounds = 0;
                self.most = [0.0, self.most[0]];
            }
        }
        let mut expected = (rate * (now - self.since).seconds()).floor();
        if self.acked <= expected {
            (self.acked, self.since, expected) = (0.0, now, 0.0);
        }
        self.acked += arrived;
        self.most[0] = self.most[0].max((self.acked - expected).min(cwnd));
    }

    fn most(&self) -> f64 {
        self.most[0].max(self.most[1])
    }
}

/// What a flow is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Mode {
    #[default]
    Startup,
    Drain,
    ProbeBandwidth,
    ProbeRoundTrip,
}

/// How far a flow is in the repair of losses (`prev_ca_state`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Repair {
    #[default]
    None,
    Recovery,
    TimeOut,
}

/// The largest rate of the last rounds, from the best, the second and the third best of them (Kathleen Nichols'
/// algorithm, as in Linux's `win_minmax.c`).
#[derive(Clone, Copy, Debug, Default)]
struct Largest([(u64, u64); 3]);

impl Largest {
    fn rate(&self) -> u64 {
        self.0[0].1
    }

    /// Takes in a rate in a round.
    fn take(&mut self, rounds: u64, round: u64, rate: u64) {
        let new = (round, rate);
        let best = &mut self.0;
        if rate >= best[0].1 || round - best[2].0 > rounds {
            *best = [new; 3];
            return;
        }
        if rate >= best[1].1 {
            (best[1], best[2]) = (new, new);
        } else if rate >= best[2].1 {
            best[2] = new;
        }
        let since = round - best[0].0;
        if since > rounds {
            *best = [best[1], best[2], new];
            if round - best[0].0 > rounds {
                *best = [best[1], best[2], new];
            }
        } else if best[1].0 == best[0].0 && since > rounds / 4 {
            (best[1], best[2]) = (new, new);
        } else if best[2].0 == best[1].0 && since > rounds / 2 {
            best[2] = new;
        }
    }
}

/// What BBR keeps of one flow; rates in bits per second.
#[derive(Debug, Default)]
pub struct Model {
    deliveries: Deliveries,
    payload: f64,
    /// Rates of payload over the host's link, and at which it leaves.
    link: f64,
    pace: f64,
    mode: Mode,
    largest: Largest,
    round: u64,
    /// The round ends when a packet has arrived that left after so many bytes had.
    round_ends: u64,
    /// The rate that the start has to exceed, and rounds in which it did not; from three on it has filled the path.
    full: u64,
    not_fuller: u32,
    bunches: Bunches,
    min_rtt: Option<Span>,
    /// None before the first ACK.
    min_rtt_at: Option<Time>,
    phase: usize,
    /// Another number for each flow and cycle.
    chance: u64,
    phase_at: Time,
    /// When the look for a shorter round trip ends, once the window is small, and whether a round has ended since.
    probe_ends: Option<Time>,
    probe_round: bool,
    /// The window before it was made small.
    prior: f64,
    repair: Repair,
    /// Whether a packet leaves for each that arrives: in the first round of a recovery.
    conserving: bool,
}

impl Model {
    fn is_full(&self) -> bool {
        self.not_fuller >= 3
    }

    /// The rate in packets a second.
    fn packets_per_second(&self) -> f64 {
        self.largest.rate() as f64 / (8.0 * self.payload)
    }

    /// What the window has for bunches of ACKs, once the path is full.
    fn for_bunches(&self) -> f64 {
        match self.is_full() {
            true => self.bunches.most().min(self.packets_per_second() * LONGEST_BUNCH),
            false => 0.0,
        }
    }

    /// The packets that keep the path busy, times `gain`, and so many `more`.
    fn in_flight(&self, gain: f64, more: f64) -> f64 {
        let packets = match self.min_rtt {
            None => 10.0,
            Some(rtt) => {
                let bits = self.largest.rate() as f64 * (rtt.ps() as f64 / 1e12);
                (gain * bits / (8.0 * self.payload)).ceil()
            }
        };
        let burst = (self.pace / 8.0 / BURSTS_PER_SECOND).min(LARGEST_BURST) / self.payload;
        let packets = packets + more.floor() + 3.0 * burst.floor().clamp(2.0, 127.0);
        let probing = self.mode == Mode::ProbeBandwidth && self.phase == 0;
        2.0 * (packets / 2.0).ceil() + if probing { 2.0 } else { 0.0 }
    }

    fn pacing_gain(&self, startup: f64) -> f64 {
        match self.mode {
            Mode::Startup => startup,
            Mode::Drain => 1.0 / startup,
            Mode::ProbeBandwidth => CYCLE[self.phase],
            Mode::ProbeRoundTrip => 1.0,
        }
    }

    /// Begins a cycle at a phase by chance, any but that which drains.
    fn probe_bandwidth(&mut self, now: Time) {
        self.mode = Mode::ProbeBandwidth;
        self.chance = mix(self.chance);
        self.phase = (2 + self.chance % 7) as usize % CYCLE.len();
        self.phase_at = now;
    }
}

impl Bbr {
    /// Takes in an ACK: the model of the path, what to do next, and the pace.
    fn learn(&self, window: &mut Window, model: &mut Model, acked: &Acked, said: &Delivery) {
        let begins = said.before >= model.round_ends;
        if begins {
            model.round_ends = said.bytes;
            model.round += 1;
            model.conserving = false;
        }
        if said.rate > 0 && !(said.limited && said.rate < model.largest.rate()) {
            let rounds = u64::from(self.bandwidth_rounds.get());
            model.largest.take(rounds, model.round, said.rate);
        }
        let (rate, arrived) = (model.packets_per_second(), f64::from(acked.arrived));
        if acked.arrived > 0 && said.rate > 0 {
            model.bunches.take(begins, arrived, rate, window.cwnd, acked.now);
        }
        self.turn_phase(model, acked);
        if begins && !said.limited && !model.is_full() {
            if model.largest.rate() as f64 >= model.full as f64 * 1.25 {
                (model.full, model.not_fuller) = (model.largest.rate(), 0);
            } else {
                model.not_fuller += 1;
            }
        }
        if model.mode == Mode::Startup && model.is_full() {
            model.mode = Mode::Drain;
        }
        if model.mode == Mode::Drain && f64::from(acked.in_flight) <= model.in_flight(1.0, 0.0) {
            model.probe_bandwidth(acked.now);
        }
        self.look_for_round_trip(window, model, acked, said, begins);
        if model.largest.rate() > 0 {
            let gain = model.pacing_gain(self.startup_gain);
            let pace = MARGIN * gain * model.largest.rate() as f64;
            if model.is_full() || pace > model.pace {
                model.pace = pace;
            }
        }
    }

    /// Goes on to the next phase of a cycle, about once a round trip.
    fn turn_phase(&self, model: &mut Model, acked: &Acked) {
        if model.mode != Mode::ProbeBandwidth {
            return;
        }
        let passed = acked.now - model.phase_at > model.min_rtt.unwrap_or(Span::ZERO);
        let before = f64::from(acked.in_flight + acked.arrived);
        let turns = match model.phase {
            0 => passed && (acked.lost > 0 || before >= model.in_flight(CYCLE[0], 0.0)),
            1 => passed || before <= model.in_flight(1.0, 0.0),
            _ => passed,
        };
        if turns {
            (model.phase, model.phase_at) = ((model.phase + 1) % CYCLE.len(), acked.now);
        }
    }

    /// Keeps the least round trip, and looks for a shorter one when it is old.
    fn look_for_round_trip(
        &self,
        window: &mut Window,
        model: &mut Model,
        acked: &Acked,
        said: &Delivery,
        begins: bool,
    ) {
        let now = acked.now;
        let since = *model.min_rtt_at.get_or_insert(now);
        let is_old = model.min_rtt.is_some() && now - since > self.min_rtt_window;
        if let Some(rtt) = said.round_trip
            && (is_old || model.min_rtt.is_none_or(|least| rtt < least))
        {
            (model.min_rtt, model.min_rtt_at) = (Some(rtt), Some(now));
        }
        if is_old && model.mode != Mode::ProbeRoundTrip {
            Bbr::keep(window, model);
            model.mode = Mode::ProbeRoundTrip;
            model.probe_ends = None;
        }
        if model.mode != Mode::ProbeRoundTrip {
            return;
        }
        match model.probe_ends {
            None if f64::from(acked.in_flight) <= FEWEST => {
                model.probe_ends = Some(now + self.probe_rtt_time);
                model.probe_round = false;
                model.round_ends = said.bytes;
            }
            None => {}
            Some(ends) => {
                model.probe_round |= begins;
                if model.probe_round && now > ends {
                    model.min_rtt_at = Some(now);
                    window.cwnd = window.cwnd.max(model.prior);
                    match model.is_full() {
                        true => model.probe_bandwidth(now),
                        false => model.mode = Mode::Startup,
                    }
                }
            }
        }
    }

    /// Shrinks the window by what is lost, holds it in the first round of a recovery, and opens it again afterwards
    /// (`bbr_set_cwnd_to_recover_or_restore`).
    fn repair(window: &mut Window, model: &mut Model, acked: &Acked, said: &Delivery, now: Repair) {
        if acked.lost > 0 {
            window.cwnd = (window.cwnd - f64::from(acked.lost)).max(1.0);
        }
        let before = std::mem::replace(&mut model.repair, now);
        if now == Repair::Recovery && before != Repair::Recovery {
            (model.conserving, model.round_ends) = (true, said.bytes);
            window.cwnd = f64::from(acked.in_flight + acked.arrived);
        } else if now == Repair::None && before != Repair::None {
            window.cwnd = window.cwnd.max(model.prior);
            model.conserving = false;
        }
    }

    /// Keeps the window as it is before losses are repaired (`bbr_save_cwnd`).
    fn keep(window: &Window, model: &mut Model) {
        let is_first = model.repair == Repair::None && model.mode != Mode::ProbeRoundTrip;
        model.prior = if is_first { window.cwnd } else { model.prior.max(window.cwnd) };
    }

    /// Takes in an ACK of a flow that repairs losses so.
    fn hear(&self, window: &mut Window, model: &mut Model, acked: &Acked, repair: Repair) {
        let said = model.deliveries.hear(acked.cause, acked.snd_una, acked.now);
        self.learn(window, model, acked, &said);
        if acked.arrived > 0 {
            Bbr::repair(window, model, acked, &said, repair);
        }
        self.open(window, model, acked, &said);
    }

    /// Sets the window after an ACK.
    fn open(&self, window: &mut Window, model: &Model, acked: &Acked, said: &Delivery) {
        let arrived = f64::from(acked.arrived);
        if arrived > 0.0 && model.conserving {
            window.cwnd = window.cwnd.max(f64::from(acked.in_flight) + arrived);
        } else if arrived > 0.0 {
            let gain = match model.mode {
                Mode::Startup | Mode::Drain => self.startup_gain,
                Mode::ProbeBandwidth => self.cwnd_gain,
                Mode::ProbeRoundTrip => 1.0,
            };
            let target = model.in_flight(gain, model.for_bunches());
            if model.is_full() {
                window.cwnd = (window.cwnd + arrived).min(target);
            } else if window.cwnd < target || (said.bytes as f64) < 10.0 * model.payload {
                window.cwnd += arrived;
            }
            window.cwnd = window.cwnd.max(FEWEST);
        }
        if model.mode == Mode::ProbeRoundTrip {
            window.cwnd = window.cwnd.min(FEWEST);
        }
    }
}

impl CongestionControl for Bbr {
    type State = Model;

    const ASKS_FOR_MORE: bool = true;

    const HEARS_RECOVERY: bool = true;

    // It sends as fast as the slowest link of the whole path.
    const ESTIMABLE_BY_LINK: bool = false;

    fn rules(&self) -> Rules {
        Rules { paced: true, ..self.options.rules(&self.window) }
    }

    fn start(&self, window: &mut Window, model: &mut Model, flow: u32, setup: &Setup) {
        let of = &setup.flows[flow as usize];
        let payload = setup.packets.payload.0;
        model.deliveries = Deliveries::new(of.bytes, payload);
        (model.payload, model.chance) = (payload as f64, mix(flow.into()));
        // Linux paces payload, without headers, as its rate has none.
        let share = model.payload / f64::from(setup.packets.full());
        model.link = setup.nic[usize::from(of.from)].bits_per_second() as f64 * share;
        model.min_rtt = self.options.linux.known_round_trip.then(|| setup.idle_round_trip(flow));
        // Without a round trip of the handshake Linux paces as if it took a millisecond.
        let round_trip = model.min_rtt.map_or(0.001, |rtt| rtt.ps() as f64 / 1e12);
        let bits = window.cwnd.min(1e6) * model.payload * 8.0;
        model.pace = self.startup_gain * bits / round_trip;
    }

    fn sent(&self, window: &mut Window, model: &mut Model, sequence: u32, now: Time) {
        model.deliveries.note(sequence, window.cwnd, now);
    }

    fn gap(&self, _: &mut Window, model: &mut Model, wire: Span) -> Span {
        let gap = wire.ps() as f64 * (model.link / model.pace);
        Span::from_ps(gap as u64).min(LONGEST_TIMER)
    }

    fn acked(&self, window: &mut Window, model: &mut Model, acked: &Acked) {
        let repair = if acked.after_time_out { Repair::TimeOut } else { Repair::None };
        self.hear(window, model, acked, repair);
    }

    fn recovering(&self, window: &mut Window, model: &mut Model, acked: &Acked) {
        self.hear(window, model, acked, Repair::Recovery);
    }

    fn decides_recovery(&self) -> bool {
        true
    }

    fn lost(&self, window: &mut Window, model: &mut Model, _: u32, _: Time) {
        Bbr::keep(window, model);
    }

    fn timed_out(&self, window: &mut Window, model: &mut Model, _: u32, _: Time) {
        Bbr::keep(window, model);
        (model.full, model.repair) = (0, Repair::TimeOut);
        window.cwnd = 1.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ACKs each millisecond at a rate of a thousand packets a second are no bunch; ten at once are one, which counts
    /// for five to ten rounds.
    #[test]
    fn a_bunch_of_acks_counts_for_some_rounds() {
        let mut bunches = Bunches::default();
        let mut take = |begins, arrived, ms| {
            bunches.take(begins, arrived, 1_000.0, 100.0, Time::ZERO + Span::from_ms(ms));
            bunches.most()
        };
        for ms in 1..10 {
            assert!(take(false, 1.0, ms) <= 2.0, "{ms}");
        }
        assert!(take(false, 10.0, 20) >= 10.0);
        for round in 0..9 {
            take(true, 1.0, 100 + round);
        }
        assert!(take(false, 1.0, 120) >= 10.0);
        assert!(take(true, 1.0, 200) <= 2.0);
    }
}
