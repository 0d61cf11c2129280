//! Congestion control by a class in a Python file.

use super::congestion::{Acked, CongestionControl, Rules, Window};
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
        /// What a class does not decide: the window's limits, retransmission, ECN, pacing.
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
    abc_limit: Option<NonZeroU32>,
    failure: OnceCell<CodeFailed>,
}

/// What is kept for one flow.
#[derive(Debug, Default)]
pub struct Controlled {
    /// None before the flow starts and after it ends, and once a hook has failed.
    controller: Option<Box<dyn Controller>>,
    departures: Departures,
    /// The flow, and the time of the latest hook, for messages.
    flow: u32,
    now: Time,
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
            abc_limit: tcp.options.abc_limit,
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
        if let Err(why) = hook(controller) {
            self.fail(state, &why);
        }
        true
    }
}

impl CongestionControl for PythonControl {
    type State = Controlled;

    const ASKS_FOR_CAUSE: bool = true;

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
            rate: setup.nic[usize::from(of.from)],
            abc_limit: self.abc_limit.map_or(0, NonZeroU32::get),
        };
        match self.class.start(&begin, window) {
            Ok(controller) => state.controller = Some(controller),
            Err(why) => self.fail(state, &why),
        }
    }

    fn sent(&self, window: &mut Window, state: &mut Controlled, sequence: u32, now: Time) {
        state.now = now;
        if self.hooks.reads_delay {
            state.departures.note(sequence, now);
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
        let delay = match self.hooks.reads_delay {
            true => state.departures.round_trip(acked.cause, acked.snd_una, acked.now),
            false => None,
        };
        let called = self.call(state, self.hooks.acked, |flow| flow.acked(window, acked, delay));
        if !called && acked.cumulative > 0 {
            window.grow_by(acked, self.abc_limit);
        }
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
