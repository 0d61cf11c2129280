//! Classes that control congestion.

use super::machine::{Machine, Record};
use super::members::Members;
use super::plain::{Plain, truth, whole};
use super::{Code, Configured, Definition, Ready};
use pyo3::prelude::*;
use pyo3::types::PyFloat;
use sojourn_core::{CodeFailed, Span, Time};
use sojourn_fabric::python::{Begin, Controller, ControllerClass, Hooks};
use sojourn_fabric::transport::{Acked, Window};
use std::ffi::CStr;
use std::sync::Arc;

/// The hooks of a class, and the place of each.
const HOOKS: [&str; 6] = ["start", "acked", "lost", "timed_out", "sent", "gap"];
const START: usize = 0;
const ACKED: usize = 1;
const LOST: usize = 2;
const TIMED_OUT: usize = 3;
const SENT: usize = 4;
const GAP: usize = 5;

/// The fields of a controller that the engine shares with it.
pub(super) const WINDOW: [&CStr; 2] = [c"cwnd", c"ssthresh"];

/// The place of the window in a record, and of the limit of appropriate byte counting.
const CWND: usize = 0;
const SSTHRESH: usize = 1;
const ABC_LIMIT: usize = 2;

/// The fields of an ACK, in the order of [`ack`].
pub(super) const ACK_FIELDS: [&CStr; 9] = [
    c"cumulative",
    c"arrived",
    c"marked",
    c"snd_una",
    c"snd_nxt",
    c"repairing",
    c"rtt",
    c"delay",
    c"now",
];

/// The largest window, in packets.
const LARGEST_WINDOW: f64 = 2_147_483_648.0;

type PlainControl = Plain<{ HOOKS.len() }, { WINDOW.len() }, { ACK_FIELDS.len() }>;
type ReadyControl = Ready<Hooks, { HOOKS.len() }, { WINDOW.len() }, { ACK_FIELDS.len() }>;

/// A class that controls congestion, ready to be called.
pub(super) fn controller(
    py: Python<'_>,
    class: Configured,
    compiled: bool,
) -> PyResult<Arc<dyn ControllerClass>> {
    let definition = &class.definition;
    let hooks = Hooks {
        acked: definition.has(HOOKS[ACKED]),
        lost: definition.has(HOOKS[LOST]),
        timed_out: definition.has(HOOKS[TIMED_OUT]),
        sent: definition.has(HOOKS[SENT]),
        gap: definition.has(HOOKS[GAP]),
        reads_delay: definition.object.bind(py).call_method0("reads_delay")?.extract()?,
    };
    let code = match compiled {
        false => Code::Plain(Plain::new(py, &class, HOOKS, "WindowFields", "AckFields")?),
        true => Code::Compiled(Machine::new(class, HOOKS)),
    };
    Ok(Arc::new(ReadyControl { hooks, often: hooks.acked, code }))
}

impl ControllerClass for ReadyControl {
    fn hooks(&self) -> Hooks {
        self.hooks
    }

    fn start(&self, begin: &Begin, window: &mut Window) -> Result<Box<dyn Controller>, CodeFailed> {
        match &self.code {
            Code::Plain(class) => Python::attach(|py| {
                let arguments = (window.cwnd, window.ssthresh, begin.abc_limit);
                let object = class.object(py, arguments)?;
                let mut flow = PlainFlow { class: class.clone(), object, known: *window };
                if class.has(START) {
                    let begin = Bound::new(py, Flow::of(begin)).expect("memory for an object");
                    flow.call(py, START, &[begin.as_any()], window)?;
                }
                Ok(Box::new(flow) as Box<dyn Controller>)
            }),
            Code::Compiled(machine) => {
                let mut flow = CompiledFlow(Record::new(machine)?);
                flow.0.words()[ABC_LIMIT] = begin.abc_limit.into();
                if flow.0.has(START) {
                    let Flow { hops, bytes, rate } = Flow::of(begin);
                    flow.call(START, &mut [hops.into(), bytes as i64, rate as i64], window)?;
                }
                Ok(Box::new(flow))
            }
        }
    }
}

/// The fields of an ACK, made by `whole` and `truth`; `delay` is the round trip of the packet that caused it,
/// where that is known.
#[inline]
fn ack<T>(
    acked: &Acked,
    delay: Option<Span>,
    whole: impl Fn(u64) -> T,
    truth: impl Fn(bool) -> T,
) -> [T; ACK_FIELDS.len()] {
    [
        whole(acked.cumulative.into()),
        whole(acked.arrived.into()),
        truth(acked.marked),
        whole(acked.snd_una.into()),
        whole(acked.snd_nxt.into()),
        truth(acked.repairing),
        whole(acked.rtt.ps()),
        whole(delay.map_or(0, Span::ps)),
        whole(acked.now.ps()),
    ]
}

/// A flow as it starts.
#[pyclass(frozen, get_all, module = "sojourn._core")]
pub(crate) struct Flow {
    hops: u32,
    bytes: u64,
    rate: u64,
}

impl Flow {
    fn of(begin: &Begin) -> Flow {
        Flow { hops: begin.hops, bytes: begin.bytes, rate: begin.rate.bits_per_second() }
    }
}

#[pymethods]
impl Flow {
    #[new]
    #[pyo3(signature = (*, hops = 1, bytes = 1, rate = 10_000_000_000))]
    fn new(hops: u32, bytes: u64, rate: u64) -> Flow {
        Flow { hops, bytes, rate }
    }
}

/// The object of one flow.
#[derive(Debug)]
struct PlainFlow {
    class: Arc<PlainControl>,
    object: Members<{ WINDOW.len() }>,
    /// The window that the object has.
    known: Window,
}

impl PlainFlow {
    /// Calls a hook with the sender's window, and takes over what it makes of that.
    #[inline]
    fn call<'py>(
        &mut self,
        py: Python<'py>,
        hook: usize,
        arguments: &[&Bound<'py, PyAny>],
        window: &mut Window,
    ) -> Result<Bound<'py, PyAny>, CodeFailed> {
        let (now, known) = ([window.cwnd, window.ssthresh], [self.known.cwnd, self.known.ssthresh]);
        for place in 0..now.len() {
            if now[place].to_bits() != known[place].to_bits() {
                self.object.set(place, PyFloat::new(py, now[place]).into_any());
            }
        }
        let returned = self.class.call(py, hook, &self.object, arguments)?;
        let left = Window { cwnd: self.number(py, CWND)?, ssthresh: self.number(py, SSTHRESH)? };
        self.class.definition.check(HOOKS[hook], left)?;
        self.known = left;
        *window = left;
        Ok(returned)
    }

    /// Calls a hook with a number of packets, or a packet's, and the time.
    #[inline]
    fn call_at(
        &mut self,
        hook: usize,
        packets: u32,
        now: Time,
        window: &mut Window,
    ) -> Result<(), CodeFailed> {
        Python::attach(|py| {
            let arguments = [&whole(py, packets.into()), &whole(py, now.ps())];
            self.call(py, hook, &arguments, window).map(drop)
        })
    }

    /// The number in the field at `place`.
    #[inline]
    fn number(&self, py: Python<'_>, place: usize) -> Result<f64, CodeFailed> {
        let value = self.object.get(py, place);
        value.as_ref().and_then(|value| value.extract().ok()).ok_or_else(|| {
            let Definition { file, name, .. } = &*self.class.definition;
            let given = value.map_or("nothing".to_owned(), |value| format!("{value:?}"));
            let field = WINDOW[place].to_string_lossy();
            let set = format!("set {field} to {given}, expected a number of packets");
            CodeFailed(format!("{file}: {name} {set}"))
        })
    }
}

impl Controller for PlainFlow {
    fn acked(
        &mut self,
        window: &mut Window,
        acked: &Acked,
        delay: Option<Span>,
    ) -> Result<(), CodeFailed> {
        Python::attach(|py| {
            let fields = ack(acked, delay, |number| whole(py, number), |value| truth(py, value));
            let message = self.class.messages.take(py, fields)?;
            self.call(py, ACKED, &[message.object(py)], window)?;
            self.class.messages.give_back(py, message);
            Ok(())
        })
    }

    fn lost(&mut self, window: &mut Window, flight: u32, now: Time) -> Result<(), CodeFailed> {
        self.call_at(LOST, flight, now, window)
    }

    fn timed_out(&mut self, window: &mut Window, flight: u32, now: Time) -> Result<(), CodeFailed> {
        self.call_at(TIMED_OUT, flight, now, window)
    }

    fn sent(&mut self, window: &mut Window, sequence: u32, now: Time) -> Result<(), CodeFailed> {
        self.call_at(SENT, sequence, now, window)
    }

    fn gap(&mut self, window: &mut Window, wire: Span) -> Result<Span, CodeFailed> {
        Python::attach(|py| {
            let wire = whole(py, wire.ps());
            let returned = self.call(py, GAP, &[&wire], window)?;
            let gap = returned.extract::<i64>().map_err(|_| {
                let left = format!("returned {returned:?}, expected whole picoseconds");
                self.class.definition.refused(HOOKS[GAP], &left)
            })?;
            self.class.definition.gap(gap).map(Span::from_ps)
        })
    }
}

/// The record of one flow.
#[derive(Debug)]
struct CompiledFlow(Record<{ HOOKS.len() }>);

impl CompiledFlow {
    /// Calls a hook with the sender's window, and takes over what it makes of that.
    #[inline]
    fn call(
        &mut self,
        hook: usize,
        arguments: &mut [i64],
        window: &mut Window,
    ) -> Result<(), CodeFailed> {
        let record = self.0.words();
        record[CWND] = window.cwnd.to_bits();
        record[SSTHRESH] = window.ssthresh.to_bits();
        self.0.call(hook, arguments, None)?;
        let record = self.0.words();
        let left = Window {
            cwnd: f64::from_bits(record[CWND]),
            ssthresh: f64::from_bits(record[SSTHRESH]),
        };
        self.0.definition().check(HOOKS[hook], left)?;
        *window = left;
        Ok(())
    }
}

impl Controller for CompiledFlow {
    fn acked(
        &mut self,
        window: &mut Window,
        acked: &Acked,
        delay: Option<Span>,
    ) -> Result<(), CodeFailed> {
        let mut arguments = ack(acked, delay, |number| number as i64, i64::from);
        self.call(ACKED, &mut arguments, window)
    }

    fn lost(&mut self, window: &mut Window, flight: u32, now: Time) -> Result<(), CodeFailed> {
        self.call(LOST, &mut [flight.into(), now.ps() as i64], window)
    }

    fn timed_out(&mut self, window: &mut Window, flight: u32, now: Time) -> Result<(), CodeFailed> {
        self.call(TIMED_OUT, &mut [flight.into(), now.ps() as i64], window)
    }

    fn sent(&mut self, window: &mut Window, sequence: u32, now: Time) -> Result<(), CodeFailed> {
        self.call(SENT, &mut [sequence.into(), now.ps() as i64], window)
    }

    fn gap(&mut self, window: &mut Window, wire: Span) -> Result<Span, CodeFailed> {
        let mut arguments = [wire.ps() as i64, 0];
        self.call(GAP, &mut arguments, window)?;
        self.0.definition().gap(arguments[1]).map(Span::from_ps)
    }
}

impl Definition {
    /// Refuses a window that no sender can have.
    #[inline]
    fn check(&self, hook: &str, window: Window) -> Result<(), CodeFailed> {
        let Window { cwnd, ssthresh } = window;
        match cwnd > 0.0 && cwnd <= LARGEST_WINDOW && ssthresh > 0.0 {
            true => Ok(()),
            false => Err(self.refused_window(hook, window)),
        }
    }

    /// The message about a window that no sender can have.
    #[cold]
    fn refused_window(&self, hook: &str, window: Window) -> CodeFailed {
        let Window { cwnd, ssthresh } = window;
        let left = match cwnd > 0.0 && cwnd <= LARGEST_WINDOW {
            true => format!("left ssthresh = {ssthresh}, expected a number above 0"),
            false => {
                format!("left cwnd = {cwnd}, expected a number above 0, at most {LARGEST_WINDOW}")
            }
        };
        self.refused(hook, &left)
    }

    /// The gap that a class returned, in picoseconds.
    fn gap(&self, gap: i64) -> Result<u64, CodeFailed> {
        u64::try_from(gap).map_err(|_| {
            let left = format!("returned {gap}, expected whole picoseconds, at least 0");
            self.refused(HOOKS[GAP], &left)
        })
    }
}
