//! Classes that control congestion.

use super::machine::{Machine, Record};
use super::members::Members;
use super::plain::{Plain, truth, whole};
use super::{Code, Configured, Definition, Ready};
use pyo3::prelude::*;
use pyo3::types::PyFloat;
use sojourn_core::{CodeFailed, Span, Time};
use sojourn_fabric::python::{Begin, Controller, ControllerClass, Hooks};
use sojourn_fabric::transport::{Acked, Delivery, Window};
use std::ffi::CStr;
use std::sync::Arc;

/// The hooks of a class, and the place of each.
const HOOKS: [&str; 8] =
    ["start", "acked", "lost", "timed_out", "sent", "gap", "recovering", "timer_ran_out"];
const START: usize = 0;
const ACKED: usize = 1;
const LOST: usize = 2;
const TIMED_OUT: usize = 3;
const SENT: usize = 4;
const GAP: usize = 5;
const RECOVERING: usize = 6;
const TIMER_RAN_OUT: usize = 7;

/// The fields of a controller that the engine shares with it.
pub(super) const WINDOW: [&CStr; 3] = [c"cwnd", c"ssthresh", c"timer"];

/// The place of the window in a record, of the timer, and of the limit of appropriate byte counting.
const CWND: usize = 0;
const SSTHRESH: usize = 1;
const TIMER: usize = 2;
const ABC_LIMIT: usize = 3;

/// The fields of an ACK, in the order of [`ack`].
pub(super) const ACK_FIELDS: [&CStr; 14] = [
    c"cumulative",
    c"arrived",
    c"marked",
    c"snd_una",
    c"snd_nxt",
    c"repairing",
    c"rtt",
    c"delay",
    c"now",
    c"in_flight",
    c"delivered",
    c"delivered_before",
    c"delivery_rate",
    c"limited",
];

/// The fields of an ACK for which the engine remembers departures, and those for which deliveries.
const DELAY: [&str; 1] = ["delay"];
const DELIVERY: [&str; 4] = ["delivered", "delivered_before", "delivery_rate", "limited"];

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
        recovering: definition.has(HOOKS[RECOVERING]),
        timer_ran_out: definition.has(HOOKS[TIMER_RAN_OUT]),
        reads_delay: definition.object.bind(py).call_method1("reads", (DELAY,))?.extract()?,
        reads_delivery: definition.object.bind(py).call_method1("reads", (DELIVERY,))?.extract()?,
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
                let arguments = (window.cwnd, window.ssthresh, 0, begin.abc_limit);
                let object = class.object(py, arguments)?;
                let mut flow =
                    PlainFlow { class: class.clone(), object, known: *window, timer: None };
                if class.has(START) {
                    let begin = Bound::new(py, Flow::of(begin)).expect("memory for an object");
                    flow.call(py, START, &[begin.as_any()], window)?;
                }
                Ok(Box::new(flow) as Box<dyn Controller>)
            }),
            Code::Compiled(machine) => {
                let mut flow = CompiledFlow { record: Record::new(machine)?, timer: None };
                flow.record.words()[ABC_LIMIT] = begin.abc_limit.into();
                if flow.record.has(START) {
                    let Flow { hops, bytes, payload, rate } = Flow::of(begin);
                    let (bytes, payload, rate) = (bytes as i64, payload as i64, rate as i64);
                    flow.call(START, &mut [hops.into(), bytes, payload, rate], window)?;
                }
                Ok(Box::new(flow))
            }
        }
    }
}

/// The fields of an ACK, made by `whole` and `truth`.
#[inline]
fn ack<T>(
    acked: &Acked,
    delivery: &Delivery,
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
        whole(delivery.round_trip.map_or(0, Span::ps)),
        whole(acked.now.ps()),
        whole(acked.in_flight.into()),
        whole(delivery.bytes),
        whole(delivery.before),
        whole(delivery.rate),
        truth(delivery.limited),
    ]
}

/// A flow as it starts.
#[pyclass(frozen, get_all, module = "sojourn._core")]
pub(crate) struct Flow {
    hops: u32,
    bytes: u64,
    payload: u64,
    rate: u64,
}

impl Flow {
    fn of(begin: &Begin) -> Flow {
        let &Begin { hops, bytes, payload, rate, .. } = begin;
        Flow { hops, bytes, payload, rate: rate.bits_per_second() }
    }
}

#[pymethods]
impl Flow {
    #[new]
    #[pyo3(signature = (*, hops = 1, bytes = 1, payload = 1460, rate = 10_000_000_000))]
    fn new(hops: u32, bytes: u64, payload: u64, rate: u64) -> Flow {
        Flow { hops, bytes, payload, rate }
    }
}

/// The object of one flow.
#[derive(Debug)]
struct PlainFlow {
    class: Arc<PlainControl>,
    object: Members<{ WINDOW.len() }>,
    /// The window that the object has.
    known: Window,
    /// The timer that it has, of a class with a hook for that.
    timer: Option<Time>,
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
        if self.class.has(TIMER_RAN_OUT) {
            self.timer = self.class.definition.timer(HOOKS[hook], self.number(py, TIMER)?)?;
        }
        Ok(returned)
    }

    /// Calls a hook with an ACK.
    #[inline]
    fn hear(
        &mut self,
        hook: usize,
        window: &mut Window,
        acked: &Acked,
        delivery: &Delivery,
    ) -> Result<(), CodeFailed> {
        Python::attach(|py| {
            let fields = ack(acked, delivery, |number| whole(py, number), |value| truth(py, value));
            let message = self.class.messages.take(py, fields)?;
            self.call(py, hook, &[message.object(py)], window)?;
            self.class.messages.give_back(py, message);
            Ok(())
        })
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
    fn number<'py, T: for<'a> FromPyObject<'a, 'py>>(
        &self,
        py: Python<'py>,
        place: usize,
    ) -> Result<T, CodeFailed> {
        let value = self.object.get(py, place);
        value.as_ref().and_then(|value| value.extract().ok()).ok_or_else(|| {
            let Definition { file, name, .. } = &*self.class.definition;
            let given = value.map_or("nothing".to_owned(), |value| format!("{value:?}"));
            let field = WINDOW[place].to_string_lossy();
            let expected = match place {
                TIMER => "a time in whole picoseconds",
                _ => "a number of packets",
            };
            let set = format!("set {field} to {given}, expected {expected}");
            CodeFailed(format!("{file}: {name} {set}"))
        })
    }
}

impl Controller for PlainFlow {
    fn acked(
        &mut self,
        window: &mut Window,
        acked: &Acked,
        delivery: &Delivery,
    ) -> Result<(), CodeFailed> {
        self.hear(ACKED, window, acked, delivery)
    }

    fn recovering(
        &mut self,
        window: &mut Window,
        acked: &Acked,
        delivery: &Delivery,
    ) -> Result<(), CodeFailed> {
        self.hear(RECOVERING, window, acked, delivery)
    }

    fn timer(&self) -> Option<Time> {
        self.timer
    }

    fn timer_ran_out(&mut self, window: &mut Window, now: Time) -> Result<(), CodeFailed> {
        Python::attach(|py| {
            self.object.set(TIMER, whole(py, 0));
            self.call(py, TIMER_RAN_OUT, &[&whole(py, now.ps())], window).map(drop)
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
struct CompiledFlow {
    record: Record<{ HOOKS.len() }>,
    /// The timer that it has.
    timer: Option<Time>,
}

impl CompiledFlow {
    /// Calls a hook with the sender's window, and takes over what it makes of that.
    #[inline]
    fn call(
        &mut self,
        hook: usize,
        arguments: &mut [i64],
        window: &mut Window,
    ) -> Result<(), CodeFailed> {
        let record = self.record.words();
        record[CWND] = window.cwnd.to_bits();
        record[SSTHRESH] = window.ssthresh.to_bits();
        self.record.call(hook, arguments, None)?;
        let record = self.record.words();
        let left = Window {
            cwnd: f64::from_bits(record[CWND]),
            ssthresh: f64::from_bits(record[SSTHRESH]),
        };
        let timer = record[TIMER] as i64;
        self.record.definition().check(HOOKS[hook], left)?;
        self.timer = self.record.definition().timer(HOOKS[hook], timer)?;
        *window = left;
        Ok(())
    }
}

impl Controller for CompiledFlow {
    fn acked(
        &mut self,
        window: &mut Window,
        acked: &Acked,
        delivery: &Delivery,
    ) -> Result<(), CodeFailed> {
        let mut arguments = ack(acked, delivery, |number| number as i64, i64::from);
        self.call(ACKED, &mut arguments, window)
    }

    fn recovering(
        &mut self,
        window: &mut Window,
        acked: &Acked,
        delivery: &Delivery,
    ) -> Result<(), CodeFailed> {
        let mut arguments = ack(acked, delivery, |number| number as i64, i64::from);
        self.call(RECOVERING, &mut arguments, window)
    }

    fn timer(&self) -> Option<Time> {
        self.timer
    }

    fn timer_ran_out(&mut self, window: &mut Window, now: Time) -> Result<(), CodeFailed> {
        self.record.words()[TIMER] = 0;
        self.call(TIMER_RAN_OUT, &mut [now.ps() as i64], window)
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
        self.record.definition().gap(arguments[1]).map(Span::from_ps)
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

    /// The timer that a class set; none for 0.
    #[inline]
    fn timer(&self, hook: &str, timer: i64) -> Result<Option<Time>, CodeFailed> {
        match u64::try_from(timer) {
            Ok(0) => Ok(None),
            Ok(ps) => Ok(Some(Time::ZERO + Span::from_ps(ps))),
            Err(_) => {
                let left = format!("left timer = {timer}, expected whole picoseconds, at least 0");
                Err(self.refused(hook, &left))
            }
        }
    }

    /// The gap that a class returned, in picoseconds.
    fn gap(&self, gap: i64) -> Result<u64, CodeFailed> {
        u64::try_from(gap).map_err(|_| {
            let left = format!("returned {gap}, expected whole picoseconds, at least 0");
            self.refused(HOOKS[GAP], &left)
        })
    }
}
