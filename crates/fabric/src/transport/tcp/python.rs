//! Congestion control by a class in a Python file.

use super::congestion::{Acked, CongestionControl, Growth, Rules, Window};
use super::delivery::{Deliveries, Delivery};
use super::parameters::{TcpOptions, WindowLimits};
use super::rto::Departures;
use crate::packet::LONGEST_TIMER;
use crate::python::{Begin, CodeFile, Controller, ControllerClass, Hooks};
use crate::transport::Setup;
use sojourn_core::parameters::{Check, Refusal, Table, defaults};
use sojourn_core::{CodeFailed, Span, Time, nested, parameters};
use std::cell::OnceCell;
use std::num::NonZeroU32;
use std::sync::Arc;

parameters! {
    /// A congestion controller of yours: a class in a Python file, derived from
    /// `sojourn.control.Control`. `sojourn list transports FILE.py` shows what the file has, `sojourn
    /// init transport FILE.py` writes a class to begin from.
    pub struct PythonTransport: "python" {
        /// The class and its file.
        pub code: CodeFile [flatten],
        /// Parameters of the class.
        pub set: Table = Table::default(),
        /// Settings of TCP that the class does not decide: the window's limits, retransmission,
        /// ECN, pacing.
        pub tcp: TcpUnderControl = defaults(),
    }
}

parameters! {
    /// What a TCP sender does by itself, below its congestion controller.
    pub struct TcpUnderControl: "tcp-under-control" {
        /// The window within its limits.
        pub window: WindowLimits [flatten],
        /// Whether data packets can be marked (ECN); a class sees that as `ack.marked`.
        pub ecn: bool = false,
        /// Whether packets leave one by one, each `gap` after the one before.
        pub paced: bool = false,
        /// Retransmission, acknowledgements and the begin of a connection.
        pub options: TcpOptions [flatten],
    }
}
nested!(TcpUnderControl);

impl Check for PythonTransport {
    fn check(&self) -> Result<(), Refusal> {
        self.code.check_kind::<dyn ControllerClass>()
    }
}

impl Check for TcpUnderControl {}

/// Congestion control by a class, for the flows of one thread.
#[derive(Debug)]
pub struct PythonControl {
    class: Arc<dyn ControllerClass>,
    hooks: Hooks,
    rules: Rules,
    growth: Growth,
    failure: OnceCell<CodeFailed>,
}

/// What is kept for one flow.
#[derive(Debug, Default)]
pub struct Controlled {
    /// None before the flow starts and after it ends, and once a hook has failed.
    controller: Option<Box<dyn Controller>>,
    kept: Kept,
    /// When its timer runs out; none while it is not set.
    timer: Option<Time>,
    /// The flow, and the time of the latest hook, for messages.
    flow: u32,
    now: Time,
}

/// What is kept of packets under way: as much as hooks read.
#[derive(Debug, Default)]
enum Kept {
    #[default]
    Nothing,
    Departures(Box<Departures>),
    Deliveries(Box<Deliveries>),
}

impl PythonControl {
    /// Control by the class of `parameters`, which is loaded.
    pub fn new(parameters: &PythonTransport) -> PythonControl {
        let PythonTransport { code, tcp, .. } = parameters;
        let class = code.class::<dyn ControllerClass>();
        let rules = Rules { ecn: tcp.ecn, paced: tcp.paced, ..tcp.options.rules(&tcp.window) };
        PythonControl {
            class: class.clone(),
            hooks: class.hooks(),
            rules,
            growth: tcp.options.growth(),
            failure: OnceCell::new(),
        }
    }

    /// Keeps why a hook failed; the first failure of any flow.
    fn fail(&self, state: &mut Controlled, why: &CodeFailed) {
        let at = state.now - Time::ZERO;
        drop(self.failure.set(why.during(format_args!("flow {}, at {at}", state.flow))));
        state.controller = None;
    }

    /// Calls a hook of a flow's controller, if the class has that and has not failed. Returns whether
    /// that was done.
    fn call(
        &self,
        state: &mut Controlled,
        has: bool,
        hook: impl FnOnce(&mut dyn Controller) -> Result<(), CodeFailed>,
    ) -> bool {
        let Some(controller) = state.controller.as_deref_mut().filter(|_| has) else {
            return false;
        };
        match hook(controller) {
            Ok(()) if self.hooks.timer_ran_out => self.set_timer(state),
            Ok(()) => {}
            Err(why) => self.fail(state, &why),
        }
        true
    }

    /// Sets the timer as the controller has it now.
    fn set_timer(&self, state: &mut Controlled) {
        let Some(controller) = &state.controller else { return };
        state.timer = controller.timer();
        let within = state.now..=state.now + LONGEST_TIMER;
        if let Some(timer) = state.timer
            && !(timer > state.now && within.contains(&timer))
        {
            let class = self.class.name();
            let (timer, now) = (timer - Time::ZERO, state.now - Time::ZERO);
            let left = format!("left timer = {timer} at {now}, expected 0 or a time after that");
            let why = CodeFailed(format!("{class} {left}, by at most {LONGEST_TIMER}"));
            self.fail(state, &why);
        }
    }

    /// What an ACK says of deliveries, as far as a hook reads that.
    fn deliveries(state: &mut Controlled, acked: &Acked) -> Delivery {
        let Acked { cause, snd_una, now, .. } = *acked;
        match &mut state.kept {
            Kept::Deliveries(deliveries) => deliveries.hear(cause, snd_una, now),
            Kept::Departures(departures) => {
                let round_trip = departures.round_trip(cause, snd_una, now);
                Delivery { round_trip, ..Delivery::default() }
            }
            Kept::Nothing => Delivery::default(),
        }
    }
}

impl CongestionControl for PythonControl {
    type State = Controlled;

    const ASKS_FOR_MORE: bool = true;

    const HEARS_RECOVERY: bool = true;

    const HAS_TIMER: bool = true;

    // What a class looks at is not known.
    const ESTIMABLE_BY_LINK: bool = false;

    fn rules(&self) -> Rules {
        self.rules
    }

    fn start(&self, window: &mut Window, state: &mut Controlled, flow: u32, setup: &Setup) {
        if self.failure.get().is_some() {
            return;
        }
        let of = &setup.flows[flow as usize];
        (state.flow, state.now) = (flow, of.arrived);
        let begin = Begin {
            hops: setup.hops(flow),
            bytes: of.bytes,
            payload: setup.packets.payload.0,
            rate: setup.nic[usize::from(of.from)],
            abc_limit: self.growth.limit.map_or(0, NonZeroU32::get),
        };
        if self.hooks.reads_delivery {
            state.kept = Kept::Deliveries(Box::new(Deliveries::new(of.bytes, begin.payload)));
        } else if self.hooks.reads_delay {
            state.kept = Kept::Departures(Box::default());
        }
        match self.class.start(&begin, window) {
            Ok(controller) => {
                state.controller = Some(controller);
                if self.hooks.timer_ran_out {
                    self.set_timer(state);
                }
            }
            Err(why) => self.fail(state, &why),
        }
    }

    fn sent(&self, window: &mut Window, state: &mut Controlled, sequence: u32, now: Time) {
        state.now = now;
        match &mut state.kept {
            Kept::Deliveries(deliveries) => deliveries.note(sequence, window.cwnd, now),
            Kept::Departures(departures) => departures.note(sequence, now),
            Kept::Nothing => {}
        }
        self.call(state, self.hooks.sent, |flow| flow.sent(window, sequence, now));
    }

    fn gap(&self, window: &mut Window, state: &mut Controlled, wire: Span) -> Span {
        let mut gap = wire;
        self.call(state, self.hooks.gap, |flow| {
            let found = flow.gap(window, wire)?;
            if found > LONGEST_TIMER {
                let class = self.class.name();
                let left = format!("returned {found}, expected at most {LONGEST_TIMER}");
                return Err(CodeFailed(format!("{class}.gap {left}")));
            }
            gap = found;
            Ok(())
        });
        gap
    }

    fn acked(&self, window: &mut Window, state: &mut Controlled, acked: &Acked) {
        state.now = acked.now;
        let delivery = PythonControl::deliveries(state, acked);
        let called =
            self.call(state, self.hooks.acked, |flow| flow.acked(window, acked, &delivery));
        if !called && acked.cumulative > 0 {
            window.grow_by(acked, self.growth);
        }
    }

    fn recovering(&self, window: &mut Window, state: &mut Controlled, acked: &Acked) {
        state.now = acked.now;
        let delivery = PythonControl::deliveries(state, acked);
        let has = self.hooks.recovering;
        self.call(state, has, |flow| flow.recovering(window, acked, &delivery));
    }

    fn decides_recovery(&self) -> bool {
        self.hooks.recovering
    }

    fn timer(&self, state: &Controlled) -> Time {
        state.timer.unwrap_or(Time::NEVER)
    }

    fn timer_ran_out(&self, window: &mut Window, state: &mut Controlled, now: Time) {
        (state.now, state.timer) = (now, None);
        self.call(state, self.hooks.timer_ran_out, |flow| flow.timer_ran_out(window, now));
    }

    fn lost(&self, window: &mut Window, state: &mut Controlled, flight: u32, now: Time) {
        state.now = now;
        if !self.call(state, self.hooks.lost, |flow| flow.lost(window, flight, now)) {
            window.lost(flight);
        }
    }

    fn timed_out(&self, window: &mut Window, state: &mut Controlled, flight: u32, now: Time) {
        state.now = now;
        if !self.call(state, self.hooks.timed_out, |flow| flow.timed_out(window, flight, now)) {
            window.timed_out(flight);
        }
    }

    fn failure(&self) -> Option<&CodeFailed> {
        self.failure.get()
    }
}
