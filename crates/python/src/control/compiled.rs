//! A class as Numba compiles it: a record for each flow, and functions that return a status.

use super::Definition;
use super::parameters::ClassValues;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use sojourn_core::parameters::Table;
use sojourn_core::{Span, Time};
use sojourn_fabric::python::{Begin, Controller, ControllerClass, Hooks};
use sojourn_fabric::transport::{Acked, Window};
use std::sync::{Arc, OnceLock};

/// A class that runs compiled. It is compiled when its first flow starts.
#[derive(Debug)]
pub(super) struct CompiledClass(Arc<Compiled>);

#[derive(Debug)]
struct Compiled {
    definition: Definition,
    values: ClassValues,
    code: OnceLock<Result<Arc<Code>, String>>,
}

/// A compiled hook: takes a record and a struct of arguments, all of eight bytes each, and returns 0, or
/// something else where it raised an exception.
type Hook = unsafe extern "C" fn(*mut u64, *mut i64) -> i64;

/// The functions of a class, and the record of a new flow.
#[derive(Debug)]
struct Code {
    record: Vec<u64>,
    start: Option<Hook>,
    acked: Option<Hook>,
    lost: Option<Hook>,
    timed_out: Option<Hook>,
    sent: Option<Hook>,
    gap: Option<Hook>,
    /// What owns the functions.
    _owner: Py<PyAny>,
}

/// The place of the window in a record, and of the limit of appropriate byte counting.
const CWND: usize = 0;
const SSTHRESH: usize = 1;
const ABC_LIMIT: usize = 2;

impl CompiledClass {
    pub(super) fn new(
        py: Python<'_>,
        definition: Definition,
        values: ClassValues,
    ) -> PyResult<CompiledClass> {
        py.import("sojourn.control.compiling")?.call_method0("check_available")?;
        Ok(CompiledClass(Arc::new(Compiled { definition, values, code: OnceLock::new() })))
    }
}

impl Compiled {
    fn code(&self) -> Result<Arc<Code>, String> {
        let compile = || {
            Python::attach(|py| {
                self.compile(py).map(Arc::new).map_err(|error| error.value(py).to_string())
            })
        };
        self.code.get_or_init(compile).clone()
    }

    fn compile(&self, py: Python<'_>) -> PyResult<Code> {
        let compiling = py.import("sojourn.control.compiling")?;
        let owner = compiling.call_method1("compile", (&self.definition.object,))?;
        let template = owner.call_method1("template", (&self.values.values,))?;
        let (words, rest) = template.cast::<PyBytes>()?.as_bytes().as_chunks();
        assert!(rest.is_empty(), "a record is of words");
        let addresses = owner.getattr("addresses")?;
        let hook = |name: &str| match self.definition.has(name) {
            false => Ok(None),
            true => {
                let address: usize = addresses.get_item(name)?.extract()?;
                // SAFETY: the compiler made a function with these arguments there, which lives as
                // long as `owner`.
                Ok(Some(unsafe { std::mem::transmute::<usize, Hook>(address) }))
            }
        };
        let hook = |name| -> PyResult<Option<Hook>> { hook(name) };
        Ok(Code {
            record: words.iter().map(|&word| u64::from_ne_bytes(word)).collect(),
            start: hook("start")?,
            acked: hook("acked")?,
            lost: hook("lost")?,
            timed_out: hook("timed_out")?,
            sent: hook("sent")?,
            gap: hook("gap")?,
            _owner: owner.unbind(),
        })
    }

    /// What an exception was, from the same call in the interpreter.
    fn explained(&self, hook: &str, record: &[u64], arguments: &[i64]) -> String {
        Python::attach(|py| {
            let record: Vec<u8> = record.iter().flat_map(|word| word.to_ne_bytes()).collect();
            let arguments: Vec<u8> = arguments.iter().flat_map(|word| word.to_ne_bytes()).collect();
            let (record, arguments) = (PyBytes::new(py, &record), PyBytes::new(py, &arguments));
            let explain = || {
                let compiling = py.import("sojourn.control.compiling")?;
                let given = (&self.definition.object, hook, record, arguments);
                compiling.call_method1("explain", given)?.extract()
            };
            explain().unwrap_or_else(|error: PyErr| error.value(py).to_string())
        })
    }
}

impl ControllerClass for CompiledClass {
    fn name(&self) -> &str {
        &self.0.definition.name
    }

    fn sha256(&self) -> &str {
        &self.0.definition.sha256
    }

    fn parameters(&self) -> &Table {
        &self.0.values.table
    }

    fn hooks(&self) -> Hooks {
        self.0.definition.hooks()
    }

    fn start(&self, begin: &Begin, window: &mut Window) -> Result<Box<dyn Controller>, String> {
        let code = self.0.code()?;
        let mut flow = CompiledFlow {
            class: self.0.clone(),
            records: code.record.repeat(2).into_boxed_slice(),
            code,
        };
        flow.records[ABC_LIMIT] = begin.abc_limit.into();
        if let Some(start) = flow.code.start {
            let rate = begin.rate.bits_per_second();
            let mut arguments = [begin.hops.into(), begin.bytes as i64, rate as i64];
            flow.call("start", start, &mut arguments, window)?;
        }
        Ok(Box::new(flow))
    }

    fn surround(&self, _threads: usize, simulate: &mut dyn FnMut()) {
        simulate();
    }
}

/// The record of one flow.
#[derive(Debug)]
struct CompiledFlow {
    class: Arc<Compiled>,
    code: Arc<Code>,
    /// The record, and behind it what it was before the latest call.
    records: Box<[u64]>,
}

impl CompiledFlow {
    /// Calls a hook with the sender's window, and takes over what it makes of that.
    #[inline]
    fn call(
        &mut self,
        name: &str,
        hook: Hook,
        arguments: &mut [i64],
        window: &mut Window,
    ) -> Result<(), String> {
        let (record, before) = self.records.split_at_mut(self.code.record.len());
        record[CWND] = window.cwnd.to_bits();
        record[SSTHRESH] = window.ssthresh.to_bits();
        before.copy_from_slice(record);
        // SAFETY: the record is that of the class, and the arguments are those of the hook.
        let status = unsafe { hook(record.as_mut_ptr(), arguments.as_mut_ptr()) };
        if status != 0 {
            return Err(self.class.explained(name, before, arguments));
        }
        let left = Window {
            cwnd: f64::from_bits(record[CWND]),
            ssthresh: f64::from_bits(record[SSTHRESH]),
        };
        self.class.definition.check(name, left)?;
        *window = left;
        Ok(())
    }
}

/// A hook that is called only where the class has it.
fn there(hook: Option<Hook>) -> Hook {
    hook.expect("a hook that the class has")
}

impl Controller for CompiledFlow {
    fn acked(
        &mut self,
        window: &mut Window,
        acked: &Acked,
        delay: Option<Span>,
    ) -> Result<(), String> {
        let mut arguments = [
            acked.cumulative.into(),
            acked.arrived.into(),
            acked.marked.into(),
            acked.snd_una.into(),
            acked.snd_nxt.into(),
            acked.repairing.into(),
            acked.rtt.ps() as i64,
            delay.map_or(0, Span::ps) as i64,
            acked.now.ps() as i64,
        ];
        self.call("acked", there(self.code.acked), &mut arguments, window)
    }

    fn lost(&mut self, window: &mut Window, flight: u32, now: Time) -> Result<(), String> {
        let mut arguments = [flight.into(), now.ps() as i64];
        self.call("lost", there(self.code.lost), &mut arguments, window)
    }

    fn timed_out(&mut self, window: &mut Window, flight: u32, now: Time) -> Result<(), String> {
        let mut arguments = [flight.into(), now.ps() as i64];
        self.call("timed_out", there(self.code.timed_out), &mut arguments, window)
    }

    fn sent(&mut self, window: &mut Window, sequence: u32, now: Time) -> Result<(), String> {
        let mut arguments = [sequence.into(), now.ps() as i64];
        self.call("sent", there(self.code.sent), &mut arguments, window)
    }

    fn gap(&mut self, window: &mut Window, wire: Span) -> Result<Span, String> {
        let mut arguments = [wire.ps() as i64, 0];
        self.call("gap", there(self.code.gap), &mut arguments, window)?;
        self.class.definition.gap(arguments[1]).map(Span::from_ps)
    }
}
