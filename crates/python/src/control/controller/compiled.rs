//! A class as Numba compiles it: a record for each flow.

use crate::control::Configured;
use crate::control::machine::{Hook, HookTable, Machine, Record, there};
use pyo3::prelude::*;
use sojourn_core::{Span, Time};
use sojourn_fabric::python::{Begin, Controller, ControllerClass, Hooks, PythonClass};
use sojourn_fabric::transport::{Acked, Window};
use std::sync::Arc;

/// A class that runs compiled.
#[derive(Debug)]
pub(super) struct CompiledClass {
    hooks: Hooks,
    machine: Arc<Machine<ControllerHooks>>,
}

#[derive(Clone, Copy, Debug)]
struct ControllerHooks {
    start: Option<Hook>,
    acked: Option<Hook>,
    lost: Option<Hook>,
    timed_out: Option<Hook>,
    sent: Option<Hook>,
    gap: Option<Hook>,
}

impl HookTable for ControllerHooks {
    fn of(find: &mut dyn FnMut(&str) -> PyResult<Option<Hook>>) -> PyResult<ControllerHooks> {
        Ok(ControllerHooks {
            start: find("start")?,
            acked: find("acked")?,
            lost: find("lost")?,
            timed_out: find("timed_out")?,
            sent: find("sent")?,
            gap: find("gap")?,
        })
    }
}

/// The place of the window in a record, and of the limit of appropriate byte counting.
const CWND: usize = 0;
const SSTHRESH: usize = 1;
const ABC_LIMIT: usize = 2;

impl CompiledClass {
    pub(super) fn new(class: Configured, hooks: Hooks) -> CompiledClass {
        CompiledClass { hooks, machine: Machine::new(class) }
    }
}

impl PythonClass for CompiledClass {
    fn name(&self) -> &str {
        &self.machine.class.definition.name
    }
}

impl ControllerClass for CompiledClass {
    fn hooks(&self) -> Hooks {
        self.hooks
    }

    fn start(&self, begin: &Begin, window: &mut Window) -> Result<Box<dyn Controller>, String> {
        let mut flow = CompiledFlow(Record::new(&self.machine)?);
        flow.0.words()[ABC_LIMIT] = begin.abc_limit.into();
        if let Some(start) = flow.0.hooks.start {
            let rate = begin.rate.bits_per_second();
            let mut arguments = [begin.hops.into(), begin.bytes as i64, rate as i64];
            flow.call("start", start, &mut arguments, window)?;
        }
        Ok(Box::new(flow))
    }
}

/// The record of one flow.
#[derive(Debug)]
struct CompiledFlow(Record<ControllerHooks>);

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
        let record = self.0.words();
        record[CWND] = window.cwnd.to_bits();
        record[SSTHRESH] = window.ssthresh.to_bits();
        if let Err(raised) = self.0.call(hook, arguments) {
            return Err(self.0.explained(&raised, name, arguments, None));
        }
        let record = self.0.words();
        let left = Window {
            cwnd: f64::from_bits(record[CWND]),
            ssthresh: f64::from_bits(record[SSTHRESH]),
        };
        self.0.definition().check(name, left)?;
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
        self.call("acked", there(self.0.hooks.acked), &mut arguments, window)
    }

    fn lost(&mut self, window: &mut Window, flight: u32, now: Time) -> Result<(), String> {
        let mut arguments = [flight.into(), now.ps() as i64];
        self.call("lost", there(self.0.hooks.lost), &mut arguments, window)
    }

    fn timed_out(&mut self, window: &mut Window, flight: u32, now: Time) -> Result<(), String> {
        let mut arguments = [flight.into(), now.ps() as i64];
        self.call("timed_out", there(self.0.hooks.timed_out), &mut arguments, window)
    }

    fn sent(&mut self, window: &mut Window, sequence: u32, now: Time) -> Result<(), String> {
        let mut arguments = [sequence.into(), now.ps() as i64];
        self.call("sent", there(self.0.hooks.sent), &mut arguments, window)
    }

    fn gap(&mut self, window: &mut Window, wire: Span) -> Result<Span, String> {
        let mut arguments = [wire.ps() as i64, 0];
        self.call("gap", there(self.0.hooks.gap), &mut arguments, window)?;
        self.0.definition().gap(arguments[1]).map(Span::from_ps)
    }
}
