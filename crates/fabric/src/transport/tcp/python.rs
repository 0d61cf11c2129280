//! Congestion control by a class in a Python file.

use super::congestion::{Acked, CongestionControl, Rules, Window};
use super::parameters::{TcpOptions, WindowLimits};
use super::rto::Departures;
use crate::packet::LONGEST_TIMER;
use crate::python::{
    Begin, ClassParameters, Controller, ControllerClass, HASH_SHOWN, Hooks, KeptFile,
};
use crate::transport::Setup;
use sojourn_core::parameters::{Check, Refusal, Value, defaults};
use sojourn_core::{Span, Time, nested, parameters};
use std::cell::OnceCell;
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::Arc;

/// The folder of code in a run directory.
const FOLDER: &str = "code";

parameters! {
    /// A congestion controller of yours: a class in a Python file, derived from
    /// `sojourn.control.Control`. `sojourn list transports FILE.py` shows what the file has, `sojourn
    /// init transport FILE.py` writes a class to begin from.
    pub struct PythonTransport: "python" {
        /// The file, seen from the study's own place. A run keeps it in its directory, under `code`.
        pub file: KeptFile,
        /// The SHA-256 that the file has to have.
        pub sha256: Option<String> = None,
        /// The class; without it the only one of the file.
        pub class: Option<String> = None,
        /// Whether the class is compiled by Numba; the rows are the same.
        pub compiled: bool = false,
        /// Parameters of the class.
        pub set: ClassParameters,
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

impl Check for PythonTransport {}
impl Check for TcpUnderControl {}

impl PythonTransport {
    /// Loads the class, whose name and parameters are known from then on.
    pub(crate) fn load(&mut self) -> Result<(), Refusal> {
        let PythonTransport { file, sha256, class, compiled, set, .. } = self;
        let stem = Path::new(&file.path).file_stem().unwrap_or_default().to_string_lossy();
        let kept =
            |sha256: &str| format!("-{}", sha256.chars().take(HASH_SHOWN).collect::<String>());
        // The copy that a run keeps is called as the file that it was made from.
        let own = sha256.as_deref().and_then(|sha256| stem.strip_suffix(&kept(sha256)));
        let shown = own.map_or(file.path.clone(), |stem| format!("{stem}.py"));
        let loaded = set.load(&file.path, &shown, class.as_deref(), *compiled)?;
        let found = loaded.sha256();
        if let Some(other) = sha256.as_ref().filter(|sha256| *sha256 != found) {
            let expected = format!("the file as it was, its SHA-256 is {found} and not {other}");
            let given = Value::Text(file.path.clone());
            return Err(Refusal::value(&given, expected).under("file"));
        }
        file.kept = Some(format!("{FOLDER}/{}{}.py", own.unwrap_or(&stem), kept(found)));
        *class = Some(loaded.name().to_owned());
        *sha256 = Some(found.to_owned());
        Ok(())
    }

    /// Sees to it that the file is in a run directory.
    pub(crate) fn keep(&self, run: &str) -> Result<bool, Refusal> {
        self.file.keep(self.sha256.as_deref(), run).map_err(|why| {
            let given = Value::Text(self.file.path.clone());
            Refusal::value(&given, format!("a file to keep: {why}")).under("file")
        })
    }

    /// Calls `simulate`, which runs a simulation on up to so many threads.
    pub(crate) fn surround<R>(&self, threads: usize, simulate: impl FnOnce() -> R) -> R {
        let (mut simulate, mut result) = (Some(simulate), None);
        self.set.class().surround(threads, &mut || {
            result = simulate.take().map(|simulate| simulate());
        });
        result.expect("the class calls it once")
    }
}

/// Congestion control by a class, for the flows of one thread.
#[derive(Debug)]
pub struct PythonControl {
    class: Arc<dyn ControllerClass>,
    hooks: Hooks,
    rules: Rules,
    abc_limit: Option<NonZeroU32>,
    failure: OnceCell<String>,
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
        let PythonTransport { set, tcp, .. } = parameters;
        let rules = Rules { ecn: tcp.ecn, paced: tcp.paced, ..tcp.options.rules(&tcp.window) };
        PythonControl {
            class: set.class().clone(),
            hooks: set.class().hooks(),
            rules,
            abc_limit: tcp.options.abc_limit,
            failure: OnceCell::new(),
        }
    }

    /// Keeps why a hook failed; the first failure of any flow.
    fn fail(&self, state: &mut Controlled, why: &str) {
        let (first, others) = why
            .split_once('\n')
            .map_or((why, String::new()), |(first, others)| (first, format!("\n{others}")));
        let at = state.now - Time::ZERO;
        drop(self.failure.set(format!("{first} (flow {}, at {at}){others}", state.flow)));
        state.controller = None;
    }

    /// Calls a hook of a flow's controller, if the class has that and has not failed. Returns whether
    /// that was done.
    fn call(
        &self,
        state: &mut Controlled,
        has: bool,
        hook: impl FnOnce(&mut dyn Controller) -> Result<(), String>,
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
                return Err(format!(
                    "{class}.gap returned {found}, expected at most {LONGEST_TIMER}"
                ));
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

    fn failure(&self) -> Option<&str> {
        self.failure.get().map(String::as_str)
    }
}
