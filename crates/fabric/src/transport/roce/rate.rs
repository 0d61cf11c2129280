//! How fast a flow sends: at the speed of its link, or as DCQCN has it (Zhu et al., SIGCOMM 2015).
//!
//! A rate is looked at when a packet leaves. What timers have done to it since the last one is caught up with
//! then, so they cost no events.

use crate::transport::check_timer;
use sojourn_core::parameters::{Check, Refusal};
use sojourn_core::{Bytes, Rate, Span, Time, choices, parameters, variants};

variants! {
    /// How fast a flow sends.
    pub enum RateControl: "rate control" {
        LineSpeed(LineSpeed),
        Dcqcn(Dcqcn),
        DcqcnVendor(DcqcnVendor),
    }
}

parameters! {
    /// At the speed of its link, whatever happens: pauses alone slow it down.
    pub struct LineSpeed: "line-rate" {}
}

impl Check for LineSpeed {}

parameters! {
    /// DCQCN with the values of its paper (Zhu et al., SIGCOMM 2015, sections 3 and 5, for 40 Gb/s). The
    /// receiver answers marked packets with a congestion notification packet (CNP), at most one per
    /// `cnp_interval` and flow. For each, a flow takes alpha / 2 from its rate, and what it had becomes its target.
    /// Then it comes back in steps, one per `rate_timer` and one per `byte_counter`: first half of the way to its
    /// target, then with the target rising.
    pub struct Dcqcn: "dcqcn" {
        /// The weight of a CNP in alpha. More makes alpha follow single CNPs, and rates swing; less keeps
        /// flows slow long after the congestion is over.
        pub g: f64 = 1.0 / 256.0,
        /// The least time between two CNPs of a flow. More lets queues grow before all have heard; less slows
        /// flows down several times within one round trip.
        pub cnp_interval: Span = Span::from_us(50),
        /// How long the receiver's network interface takes for a CNP. Longer, flows hear of a queue too late,
        /// and it swings.
        pub cnp_delay: Span = Span::ZERO,
        /// After so long without a CNP alpha falls, again and again. Less than `cnp_interval` lets it
        /// fall between two CNPs of one congestion.
        pub alpha_timer: Span = Span::from_us(55),
        /// After so long without a CNP the rate rises a step, again and again. Less makes flows come back
        /// quicker, and queues longer.
        pub rate_timer: Span = Span::from_us(55),
        /// After so many bytes the rate rises a step, too; by "none" never. Less makes fast flows come back
        /// quicker than slow ones.
        pub byte_counter: Option<Bytes> = Some(Bytes(10_000_000)),
        /// Steps that recover half of the way to the target before it rises (F).
        pub recovery_steps: u32 [1..=100] = 5,
        /// Which steps these are, where the paper and programs read it differently.
        pub recovery: Recovery = Recovery::Paper,
        /// By how much the target rises in a step. More takes free capacity quicker, and makes the queue longer,
        /// by flows.
        pub additive: Rate = rate_of(40_000_000),
        /// By how much it rises in a step when both, timer and counter, are over recovery.
        pub hyper: Rate = rate_of(200_000_000),
        /// A rate is never less. With many flows to one host their least rates together have to be below its
        /// link's.
        pub min_rate: Rate = rate_of(40_000_000),
        /// When a CNP makes the rate the new target.
        pub target: TargetRate = TargetRate::EachCnp,
    }
}

parameters! {
    /// DCQCN as network interfaces of a vendor have it, by the values of HPCC's authors (their ns-3, `mlx`): alpha
    /// changes every `alpha_timer`, up if a CNP came in it, and the rate falls at most once per
    /// `decrease_interval`. It comes back by a timer alone: `recovery_steps` steps to the target, one with
    /// `additive`, all others with `hyper`.
    pub struct DcqcnVendor: "dcqcn-vendor" {
        /// The weight of a CNP in alpha; see `dcqcn`.
        pub g: f64 = 1.0 / 256.0,
        /// The least time between two CNPs of a flow. HPCC's ns-3 has a bit in each ACK, which is no different
        /// where this is not longer than `alpha_timer`; with more, alpha stays smaller.
        pub cnp_interval: Span = Span::from_us(1),
        /// How long the receiver's network interface takes for a CNP. Longer, flows hear of a queue too late,
        /// and it swings.
        pub cnp_delay: Span = Span::ZERO,
        /// How often alpha changes. Less makes it rise and fall quicker.
        pub alpha_timer: Span = Span::from_us(1),
        /// How often the rate may fall. Less has a flow fall several times within one round trip.
        pub decrease_interval: Span = Span::from_us(4),
        /// After so long without a fall the rate rises a step, again and again. Less makes flows come back
        /// quicker, and queues longer.
        pub rate_timer: Span = Span::from_us(900),
        /// Steps that recover half of the way to the target before it rises.
        pub recovery_steps: u32 [1..=100] = 1,
        /// By how much the target rises in the step after these.
        pub additive: Rate = rate_of(50_000_000),
        /// By how much it rises in all later steps.
        pub hyper: Rate = rate_of(100_000_000),
        /// A rate is never less. With many flows to one host their least rates together have to be below its
        /// link's.
        pub min_rate: Rate = rate_of(100_000_000),
        /// When a fall makes the rate the new target.
        pub target: TargetRate = TargetRate::AfterRise,
    }
}

const fn rate_of(bits_per_second: u64) -> Rate {
    Rate::new(bits_per_second).expect("more than nothing")
}

choices! {
    /// Which steps recover, by the steps of the timer (T) and of the counter (BC) since the last CNP.
    pub enum Recovery: "reading of recovery" {
        /// max(T, BC) < F recovers, min(T, BC) > F is hyper, the others are additive (Zhu et al., figure 7).
        Paper = "paper",
        /// max(T, BC) <= F recovers (uet-htsim). The queue of a few flows changes by 3 to 7 %.
        Htsim = "htsim",
    }
}

choices! {
    /// When the rate before a fall becomes the new target (`clamp_tgt_rate` of network interfaces).
    pub enum TargetRate: "reading of the target rate" {
        /// At each (Zhu et al., equation 1).
        EachCnp = "each-cnp",
        /// Only at the first since the rate rose: falls that follow each other keep the target.
        AfterRise = "after-rise",
    }
}

/// What the rates of all flows follow.
#[derive(Clone, Debug)]
pub(super) struct Rules {
    pub(super) cnp_interval: Span,
    pub(super) cnp_delay: Span,
    g: f64,
    alpha_timer: Span,
    /// How often a rate may fall; at each CNP without one.
    decrease_interval: Option<Span>,
    rate_timer: Span,
    byte_counter: u64,
    /// More steps than this, of timer or counter, end recovery.
    recovers: u32,
    /// More than this, of both, are hyper; of the timer alone where that rises alone.
    hyper_above: u32,
    timer_alone: bool,
    additive: f64,
    hyper: f64,
    min_rate: f64,
    target: TargetRate,
}

impl RateControl {
    /// What rates follow; nothing where each is that of its link.
    pub(super) fn rules(&self) -> Option<Rules> {
        let bits = |rate: Rate| rate.bits_per_second() as f64;
        Some(match self {
            RateControl::LineSpeed(_) => return None,
            RateControl::Dcqcn(own) => Rules {
                cnp_interval: own.cnp_interval,
                cnp_delay: own.cnp_delay,
                g: own.g,
                alpha_timer: own.alpha_timer,
                decrease_interval: None,
                rate_timer: own.rate_timer,
                byte_counter: own.byte_counter.map_or(u64::MAX, |bytes| bytes.0),
                recovers: match own.recovery {
                    Recovery::Paper => own.recovery_steps - 1,
                    Recovery::Htsim => own.recovery_steps,
                },
                hyper_above: own.recovery_steps,
                timer_alone: false,
                additive: bits(own.additive),
                hyper: bits(own.hyper),
                min_rate: bits(own.min_rate),
                target: own.target,
            },
            RateControl::DcqcnVendor(own) => Rules {
                cnp_interval: own.cnp_interval,
                cnp_delay: own.cnp_delay,
                g: own.g,
                alpha_timer: own.alpha_timer,
                decrease_interval: Some(own.decrease_interval),
                rate_timer: own.rate_timer,
                byte_counter: u64::MAX,
                recovers: own.recovery_steps,
                hyper_above: own.recovery_steps + 1,
                timer_alone: true,
                additive: bits(own.additive),
                hyper: bits(own.hyper),
                min_rate: bits(own.min_rate),
                target: own.target,
            },
        })
    }
}

impl Check for Dcqcn {
    fn check(&self) -> Result<(), Refusal> {
        check_timers(&[
            ("cnp_interval", self.cnp_interval),
            ("alpha_timer", self.alpha_timer),
            ("rate_timer", self.rate_timer),
        ])?;
        check_cnps(self.g, self.cnp_delay)?;
        match self.byte_counter.filter(|bytes| bytes.0 < LEAST_COUNTER.0) {
            Some(bytes) => {
                let expected = format!("at least {LEAST_COUNTER}, or \"none\"");
                Err(Refusal::of(&bytes, expected).under("byte_counter"))
            }
            None => Ok(()),
        }
    }
}

/// A step for each full packet, and no more.
const LEAST_COUNTER: Bytes = Bytes(9_000);

impl Check for DcqcnVendor {
    fn check(&self) -> Result<(), Refusal> {
        check_timers(&[
            ("cnp_interval", self.cnp_interval),
            ("alpha_timer", self.alpha_timer),
            ("decrease_interval", self.decrease_interval),
            ("rate_timer", self.rate_timer),
        ])?;
        check_cnps(self.g, self.cnp_delay)
    }
}

fn check_timers(timers: &[(&str, Span)]) -> Result<(), Refusal> {
    timers.iter().try_for_each(|&(key, span)| check_timer(key, span))
}

fn check_cnps(g: f64, delay: Span) -> Result<(), Refusal> {
    if !(g > 0.0 && g <= 1.0) {
        return Err(Refusal::of(&g, "more than 0, and at most 1").under("g"));
    }
    if delay == Span::ZERO { Ok(()) } else { check_timer("cnp_delay", delay) }
}

/// The rate of a flow that has heard of congestion, in bits per second.
#[derive(Clone, Debug)]
pub(super) struct Limiter {
    line: f64,
    rate: f64,
    target: f64,
    alpha: f64,
    /// When alpha changes next.
    alpha_at: Time,
    /// When the timer has the rate rise next, and bytes since the counter did.
    rises_at: Time,
    bytes: u64,
    /// Steps of the timer and of the counter since the last fall.
    steps: [u32; 2],
    /// Whether a CNP has come since alpha last changed, where it changes at certain times.
    is_notified: bool,
    /// When the rate falls next, where it falls at certain times; never without a CNP since the last.
    falls_at: Time,
    /// When it first heard of congestion: from then on these times count.
    since: Option<Time>,
}

impl Limiter {
    /// Of a flow that has sent at `line` so far.
    pub(super) fn new(line: Rate) -> Limiter {
        let line = line.bits_per_second() as f64;
        Limiter {
            line,
            rate: line,
            target: line,
            alpha: 1.0,
            alpha_at: Time::NEVER,
            rises_at: Time::NEVER,
            bytes: 0,
            steps: [0; 2],
            is_notified: false,
            falls_at: Time::NEVER,
            since: None,
        }
    }

    /// Alpha, and the rate.
    pub(super) fn state(&self) -> (f64, f64) {
        (self.alpha, self.rate)
    }

    /// Takes in a CNP that comes at `now`.
    pub(super) fn notified(&mut self, rules: &Rules, now: Time) {
        self.advance(rules, now);
        match rules.decrease_interval {
            None => {
                self.fall(rules, now);
                self.alpha += rules.g * (1.0 - self.alpha);
                self.alpha_at = now + rules.alpha_timer;
            }
            Some(interval) => {
                let first = self.since.is_none();
                let since = *self.since.get_or_insert(now);
                if first {
                    self.alpha_at = now + rules.alpha_timer;
                }
                // The first one begins with the largest alpha.
                self.is_notified = !first;
                if self.falls_at == Time::NEVER {
                    let intervals = (now - since).ps() / interval.ps() + 1;
                    self.falls_at = since + interval * intervals;
                }
            }
        }
    }

    /// Until the packet of `size` bytes that leaves at `now` is followed by the next; none at the speed of the link.
    #[inline]
    pub(super) fn gap(&mut self, rules: &Rules, now: Time, size: u16) -> Option<Span> {
        self.advance(rules, now);
        self.bytes += u64::from(size);
        while self.bytes >= rules.byte_counter {
            self.bytes -= rules.byte_counter;
            self.rise(1, rules);
        }
        let ps = f64::from(size) * 8e12 / self.rate;
        (self.rate < self.line).then(|| Span::from_ps(ps.ceil() as u64))
    }

    /// Catches up with what timers did until `now`.
    pub(super) fn advance(&mut self, rules: &Rules, now: Time) {
        while self.falls_at.min(self.rises_at) <= now {
            if self.falls_at <= self.rises_at {
                let at = std::mem::replace(&mut self.falls_at, Time::NEVER);
                self.change_alpha(rules, at);
                self.fall(rules, at);
            } else if self.is_settled() {
                let rest = (now.min(self.falls_at) - self.rises_at).ps() / rules.rate_timer.ps();
                self.rises_at += rules.rate_timer * (rest + 1);
                self.steps[0] = self.steps[0].saturating_add(rest.min(1 << 20) as u32 + 1);
            } else {
                self.rises_at += rules.rate_timer;
                self.rise(0, rules);
            }
        }
        self.change_alpha(rules, now);
    }

    /// Whether it has all that its link can carry.
    fn is_settled(&self) -> bool {
        self.rate >= self.line && self.target >= self.line
    }

    /// Changes alpha as often as that was due until `now`.
    fn change_alpha(&mut self, rules: &Rules, now: Time) {
        if self.alpha_at > now {
            return;
        }
        if std::mem::take(&mut self.is_notified) {
            self.alpha += rules.g * (1.0 - self.alpha);
            self.alpha_at += rules.alpha_timer;
            return self.change_alpha(rules, now);
        }
        let times = (now - self.alpha_at).ps() / rules.alpha_timer.ps() + 1;
        self.alpha *= power(1.0 - rules.g, times);
        self.alpha_at += rules.alpha_timer * times;
    }

    fn fall(&mut self, rules: &Rules, now: Time) {
        if rules.target == TargetRate::EachCnp || self.steps != [0; 2] {
            self.target = self.rate;
        }
        self.rate = (self.rate * (1.0 - self.alpha / 2.0)).max(rules.min_rate.min(self.line));
        (self.steps, self.bytes) = ([0; 2], 0);
        self.rises_at = now + rules.rate_timer;
    }

    /// A step of the timer (0) or of the counter (1).
    fn rise(&mut self, of: usize, rules: &Rules) {
        self.steps[of] = self.steps[of].saturating_add(1);
        let [timer, counter] = self.steps;
        let least = if rules.timer_alone { timer } else { timer.min(counter) };
        if least > rules.hyper_above {
            self.target += rules.hyper;
        } else if timer.max(counter) > rules.recovers {
            self.target += rules.additive;
        }
        self.target = self.target.min(self.line);
        self.rate = f64::midpoint(self.rate, self.target);
        if self.rate >= self.line * AT_LINE {
            self.rate = self.line;
        }
    }
}

/// From this share of its link's speed on a flow has all of it: half steps never get there.
const AT_LINE: f64 = 1.0 - 1e-6;

/// `base` to the power `times`, by multiplications alone, which are the same on each machine.
fn power(mut base: f64, mut times: u64) -> f64 {
    let mut power = 1.0;
    while times > 0 {
        if times % 2 == 1 {
            power *= base;
        }
        base *= base;
        times /= 2;
    }
    power
}
