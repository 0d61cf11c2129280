//! The two passes over a trace: one that checks it, one that replays it.

use super::reader::{Counts, DeviceAccess, Reader};
use super::window::{TooLate, Window};
use super::{Beyond, Lines};
use crate::workload::{
    Batches, MAX_BLOCKS, Numbers, Ready, Replayed, Request, Source, WorkloadContext,
};
use sojourn_core::files::Open;
use sojourn_core::parameters::{Refusal, Value};
use sojourn_core::{Span, Time};
use std::num::NonZeroU32;
use std::sync::Arc;

/// The most later accesses that an access may come after.
const LATEST: usize = 1 << 16;
/// The longest replay, well below the latest time of a run.
const LONGEST: Span = Span::from_s(60 * 24 * 3600);

/// How a trace is replayed.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) format: &'static str,
    pub(super) file: String,
    pub(super) device: Option<String>,
    pub(super) speed: f64,
    pub(super) beyond: Beyond,
    pub(super) requests: Option<NonZeroU32>,
    pub(super) warmup: u32,
}

/// A trace that was read once.
#[derive(Debug)]
struct Trace<L> {
    settings: Settings,
    lines: L,
    /// Bytes in a block, and blocks of the array.
    block: u64,
    capacity: u64,
    /// The most later accesses that an access came after.
    furthest: usize,
    totals: PassTotals,
}

/// Totals of the requests of a pass, which have to be equal for both passes.
#[derive(Clone, Debug, Default, PartialEq)]
struct PassTotals {
    requests: u64,
    /// Whether any reads, whether any writes.
    ops: [bool; 2],
    /// The number of blocks of the largest request.
    largest: u32,
    /// Accesses that were beyond the array.
    beyond: u64,
    /// The times of the first access and of the last.
    times: Option<(u128, u128)>,
    /// A hash of all requests.
    digest: u64,
}

/// A pass over a trace.
struct Pass<L> {
    settings: Settings,
    block: u64,
    capacity: u64,
    reader: Reader<L>,
    window: Window,
    /// The number of accesses that are left to be replayed.
    left: u64,
    totals: PassTotals,
}

impl Settings {
    /// Reads the trace for the first time.
    pub(super) fn ready(
        &self,
        lines: impl Lines,
        context: &WorkloadContext<'_>,
    ) -> Result<Ready, Refusal> {
        let (block, capacity) = (context.block, context.blocks.expect("a trace has addresses"));
        let mut trace = Trace {
            settings: self.clone(),
            lines,
            block,
            capacity,
            furthest: LATEST,
            totals: PassTotals::default(),
        };
        let mut pass = trace.pass(context.open).map_err(|why| self.refused(why))?;
        let counts = pass.read_all().map_err(|why| self.refused(why))?;
        let PassTotals { requests, ops, .. } = pass.totals;
        let Some((first, last)) = pass.totals.times else {
            return Err(self.nothing(&counts, pass.reader.other));
        };
        if requests <= u64::from(self.warmup) {
            let expected = format!("fewer than the {requests} requests that there are");
            return Err(Refusal::of(&self.warmup, expected).under("warmup"));
        }
        let Ok(requests) = u32::try_from(requests) else {
            return Err(self.refused("fewer than 2^32 requests".to_owned()));
        };
        let furthest = pass.window.furthest;
        let notes = self.notes(&counts, pass.totals.beyond, furthest, last - first);
        if last - first > i64::MAX as u128 {
            return Err(self.refused("a trace of at most 106 days".to_owned()));
        }
        let largest = pass.totals.largest;
        trace.furthest = furthest;
        trace.totals = pass.totals;
        Ok(Ready {
            numbers: Numbers { warmup: self.warmup, requests: requests - self.warmup },
            ops,
            largest,
            notes,
            source: Source::Replayed(Arc::new(trace)),
        })
    }

    /// A refusal of the file: what was expected of it.
    fn refused(&self, expected: String) -> Refusal {
        Refusal::value(&Value::Text(self.file.clone()), expected).under("file")
    }

    /// The refusal of a trace without any access that can be replayed.
    fn nothing(&self, counts: &Counts, other: Option<String>) -> Refusal {
        if let (Some(device), Some(other)) = (&self.device, other) {
            let many = counts.other_devices;
            let expected = format!(
                "a device of the trace, such as {other:?}: all {many} accesses in it are of others"
            );
            return Refusal::value(&Value::Text(device.clone()), expected).under("device");
        }
        self.refused(format!(
            "a trace with at least one read or write; none of its {} lines is one of a {} trace",
            counts.lines, self.format
        ))
    }

    /// Totals of the trace: its lines, and what was left out or changed.
    fn notes(
        &self,
        counts: &Counts,
        beyond: u64,
        furthest: usize,
        length_ps: u128,
    ) -> Vec<(String, Value)> {
        let numbers = [
            ("trace_lines", counts.lines),
            ("trace_lines_of_other_devices", counts.other_devices),
            ("trace_other_actions", counts.other_actions),
            ("trace_requests_without_length", counts.without_length),
            ("trace_requests_out_of_order", counts.out_of_order),
            ("trace_furthest_out_of_order", furthest as u64),
            ("trace_requests_beyond_array", beyond),
            ("trace_length_ps", length_ps as u64),
        ];
        let left_out_or_wrapped = match self.beyond {
            Beyond::Drop => "requests beyond the array left out",
            _ => "requests beyond the array wrapped",
        };
        let parts = [
            (counts.other_devices, "lines of other devices left out"),
            (counts.other_actions, "other actions left out"),
            (counts.without_length, "requests without a length left out"),
            (counts.out_of_order, "requests out of order sorted by time"),
            (beyond, left_out_or_wrapped),
        ];
        let parts = parts.iter().filter(|(count, _)| *count > 0);
        let parts: Vec<String> = parts.map(|(count, what)| format!("{count} {what}")).collect();
        let said = if parts.is_empty() { "taken as it is".to_owned() } else { parts.join(", ") };
        let numbers =
            numbers.iter().map(|&(name, count)| (name.to_owned(), Value::Int(count as i64)));
        numbers.chain([("trace".to_owned(), Value::Text(said))]).collect()
    }
}

impl<L: Lines> Trace<L> {
    /// A pass from the beginning of the trace on, or what was expected of the file.
    fn pass(&self, open: Open<'_>) -> Result<Pass<L>, String> {
        let Settings { file, device, requests, .. } = &self.settings;
        let from = open(file).map_err(|why| format!("a file to read: {why}"))?;
        Ok(Pass {
            settings: self.settings.clone(),
            block: self.block,
            capacity: self.capacity,
            reader: Reader::new(from, self.lines.clone(), device.as_deref()),
            window: Window::new(self.furthest),
            left: requests.map_or(u64::MAX, |most| most.get().into()),
            totals: PassTotals::default(),
        })
    }
}

impl<L: Lines> Pass<L> {
    /// Makes all requests, and reads on to the end of the trace.
    fn read_all(&mut self) -> Result<Counts, String> {
        while self.next()?.is_some() {}
        while self.next_access()?.is_some() {}
        Ok(self.reader.counts.clone())
    }

    /// The next request, if there is one more; or what was expected of the trace.
    fn next(&mut self) -> Result<Option<Request>, String> {
        while self.left > 0 {
            let Some(access) = self.next_access()? else { break };
            self.left -= 1;
            if let Some(request) = self.request(&access)? {
                self.totals.add(&request);
                return Ok(Some(request));
            }
        }
        Ok(None)
    }

    /// The next access in order of time.
    fn next_access(&mut self) -> Result<Option<DeviceAccess>, String> {
        while let Some(access) = self.reader.next()? {
            let first = self.window.push(access).map_err(|TooLate| {
                format!(
                    "a trace in order of time but for what comes at most {LATEST} requests late, \
                     but its line {} comes later than that: it has to be sorted",
                    access.line
                )
            })?;
            if first.is_some() {
                return Ok(first);
            }
        }
        Ok(self.window.pop())
    }

    /// An access as a request to the array; nothing if it is left out.
    fn request(&mut self, access: &DeviceAccess) -> Result<Option<Request>, String> {
        let DeviceAccess { at, op, first, bytes, line } = *access;
        let zero = self.totals.times.map_or(at, |(zero, _)| zero);
        self.totals.times = Some((zero, at));
        let since = at - zero;
        if since as f64 / self.settings.speed > LONGEST.ps() as f64 {
            return Err(format!(
                "a trace of at most 60 days, but its line {line} is later: has it another unit of \
                 time, a step of the clock, or is it to be replayed faster?"
            ));
        }
        let arrived = match self.settings.speed == 1.0 {
            true => Time::from_ps(since as u64),
            false => Time::from_ps((since as f64 / self.settings.speed).round() as u64),
        };
        let (mut block, end) = (first / self.block, (first + bytes).div_ceil(self.block));
        let (blocks, capacity) = (end - block, self.capacity);
        if blocks > u64::from(MAX_BLOCKS).min(capacity) {
            let most = capacity.min(MAX_BLOCKS.into());
            return Err(format!(
                "requests of at most {most} blocks, but that of its line {line} has {bytes} bytes"
            ));
        }
        if end > capacity {
            self.totals.beyond += 1;
            match self.settings.beyond {
                Beyond::Refuse => {
                    return Err(format!(
                        "requests within the array's {capacity} blocks, but that of its line {line} \
                         goes on to byte {}; beyond = \"wrap\" or \"drop\" takes such a trace",
                        first + bytes
                    ));
                }
                Beyond::Drop => return Ok(None),
                Beyond::Wrap => block = (block % capacity).min(capacity - blocks),
            }
        }
        Ok(Some(Request { arrived, op, blocks: blocks as u32, at: Some(block) }))
    }
}

impl PassTotals {
    fn add(&mut self, request: &Request) {
        let Request { arrived, op, blocks, at } = *request;
        self.requests += 1;
        self.ops[op as usize] = true;
        self.largest = self.largest.max(blocks);
        let words = [arrived.ps(), at.unwrap_or(0), u64::from(blocks) << 1 | op as u64];
        for word in words {
            self.digest = (self.digest.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
    }
}

impl<L: Lines> Replayed for Trace<L> {
    fn again(&self, open: Open<'_>) -> Result<Box<dyn Batches>, Refusal> {
        let pass = self.pass(open).map_err(|why| self.settings.refused(why))?;
        Ok(Box::new(Again { pass, first: self.totals.clone(), failed: None }))
    }
}

/// The second pass: the one that replays.
struct Again<L> {
    pass: Pass<L>,
    /// The totals of the first pass.
    first: PassTotals,
    /// Why the pass ended before the end of the trace, if it did.
    failed: Option<String>,
}

impl<L: Lines> Batches for Again<L> {
    fn fill(&mut self, into: &mut Vec<Request>) {
        while into.len() < into.capacity() && self.failed.is_none() {
            match self.pass.next() {
                Ok(Some(request)) => into.push(request),
                Ok(None) => break,
                Err(why) => self.failed = Some(why),
            }
        }
    }

    fn finish(&mut self) -> Result<(), Refusal> {
        let rest = match self.failed.take() {
            Some(why) => Err(why),
            None => self.pass.next(),
        };
        let why = match rest {
            Ok(None) if self.pass.totals == self.first => return Ok(()),
            Ok(_) => String::new(),
            Err(why) => format!(" (expected {why})"),
        };
        let expected = "a trace that stays as it is while it is replayed, but it has changed";
        Err(self.pass.settings.refused(format!("{expected}{why}")))
    }
}
