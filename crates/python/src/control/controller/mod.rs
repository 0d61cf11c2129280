//! Classes that control congestion.

mod ack;
mod compiled;
mod plain;

pub(super) use ack::ACK_FIELDS;
pub(crate) use ack::Flow;

use super::{Configured, Definition};
use compiled::CompiledClass;
use plain::PlainClass;
use pyo3::prelude::*;
use sojourn_fabric::python::{ControllerClass, Hooks};
use sojourn_fabric::transport::Window;
use std::ffi::CStr;
use std::sync::Arc;

/// The fields of a controller that the engine shares with it.
pub(super) const WINDOW: [&CStr; 2] = [c"cwnd", c"ssthresh"];

/// The largest window, in packets.
const LARGEST_WINDOW: f64 = 2_147_483_648.0;

/// A class that controls congestion, ready to be called.
pub(super) fn controller(
    py: Python<'_>,
    class: Configured,
    compiled: bool,
) -> PyResult<Arc<dyn ControllerClass>> {
    let definition = &class.definition;
    let reads_delay = definition.object.bind(py).call_method0("reads_delay")?.extract()?;
    let hooks = Hooks {
        acked: definition.has("acked"),
        lost: definition.has("lost"),
        timed_out: definition.has("timed_out"),
        sent: definition.has("sent"),
        gap: definition.has("gap"),
        reads_delay,
    };
    Ok(match compiled {
        false => Arc::new(PlainClass::new(py, class, hooks)?) as Arc<dyn ControllerClass>,
        true => Arc::new(CompiledClass::new(class, hooks)),
    })
}

impl Definition {
    /// Refuses a window that no sender can have.
    #[inline]
    fn check(&self, hook: &str, window: Window) -> Result<(), String> {
        let Window { cwnd, ssthresh } = window;
        match cwnd > 0.0 && cwnd <= LARGEST_WINDOW && ssthresh > 0.0 {
            true => Ok(()),
            false => Err(self.refused_window(hook, window)),
        }
    }

    /// The message about a window that no sender can have.
    #[cold]
    fn refused_window(&self, hook: &str, window: Window) -> String {
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
    fn gap(&self, gap: i64) -> Result<u64, String> {
        u64::try_from(gap).map_err(|_| {
            let left = format!("returned {gap}, expected whole picoseconds, at least 0");
            self.refused("gap", &left)
        })
    }
}
