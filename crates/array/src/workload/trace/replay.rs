//! The two passes over a trace: one that checks it, one that replays it.

use super::clock::Clock;
use super::reader::{Counts, DeviceAccess, Reader};
use super::summary::Summary;
use super::unpack;
use super::window::{TooLate, Window};
use super::{Beyond, Lines};
use crate::workload::{
    Batches, MAX_BLOCKS, Numbers, Ready, Replayed, Request, Source, WorkloadContext,
};
use sojourn_core::parameters::{Refusal, Value};
use sojourn_core::resource::FileName;
use sojourn_core::{Bytes, Span, Time};
use std::num::NonZeroU32;
use std::sync::Arc;

/// The most later accesses that an access may come after.
const LATEST: usize = 1 << 16;
/// The smallest block that a trace has of itself: a sector.
const SMALLEST_BLOCK: u64 = 512;
/// The longest replay, well below the latest time of a run.
const LONGEST: Span = Span::from_s(60 * 24 * 3600);

/// How a trace is replayed.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) format: &'static str,
    pub(super) clock: Clock,
    pub(super) file: FileName,
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
    /// The sum of the sizes of its requests, in blocks.
    blocks: u64,
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
    /// What was read, in the first pass.
    summary: Option<Summary>,
}

impl Settings {
    /// The largest block from 512 B to the usual one that all offsets and sizes of the device are whole
    /// numbers of, in bytes; larger where a request would have too many blocks.
    pub(super) fn block(&self, lines: impl Lines, usual: u64) -> Result<u64, Refusal> {
        let refused = |why| self.refused(why);
        let mut reader = self.reader(lines)?;
        let (mut bits, mut largest) = (usual, 0);
        while let Some(DeviceAccess { first, bytes, .. }) = reader.next().map_err(refused)? {
            bits |= first | bytes;
            largest = bytes.max(largest);
        }
        let mut block = (1 << bits.trailing_zeros()).max(SMALLEST_BLOCK);
        while largest / block >= MAX_BLOCKS.into() {
            block *= 2;
        }
        Ok(block)
    }

    /// Reads the trace from its beginning.
    fn reader<L: Lines>(&self, lines: L) -> Result<Reader<L>, Refusal> {
        let file = self.file.open().map_err(|refusal| refusal.under("file"))?;
        let text = unpack::text(file).map_err(|why| self.refused(why))?;
        Ok(Reader::new(text, lines, self.clock, self.device.as_deref()))
    }

    /// Reads the trace for the first time.
    pub(super) fn ready<L: Lines>(
        &self,
        lines: L,
        context: &WorkloadContext,
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
        let mut pass = trace.pass()?;
        pass.summary = Some(Summary::new());
        let later = pass.read_all().map_err(|why| self.refused(why))?;
        let PassTotals { requests, ops, .. } = pass.totals;
        if pass.totals.times.is_none() {
            return Err(self.nothing(&pass.reader));
        }
        self.check_read::<L>(&pass)?;
        if requests <= u64::from(self.warmup) {
            let expected = format!("fewer than there are requests, {requests}");
            return Err(Refusal::of(&self.warmup, expected).under("warmup"));
        }
        let Ok(requests) = u32::try_from(requests) else {
            return Err(self.refused("fewer than 2^32 requests".to_owned()));
        };
        let notes = pass.notes(later);
        let largest = pass.totals.largest;
        trace.furthest = pass.window.furthest;
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
        self.file.refused(expected).under("file")
    }

    /// The refusal of a trace without any access that can be replayed.
    fn nothing<L: Lines>(&self, reader: &Reader<L>) -> Refusal {
        if let (Some(device), Some(other)) = (&self.device, &reader.other) {
            let many = reader.counts.other_devices;
            let expected = format!(
                "a device of the trace, such as {other:?}: all {many} accesses in it are of others"
            );
            return Refusal::value(&Value::Text(device.clone()), expected).under("device");
        }
        self.refused(reader.without_access(self.format))
    }

    /// Refuses what only the whole trace can tell: sizes that are no bytes, more requests than there
    /// are, and times too long for the rows.
    fn check_read<L: Lines>(&self, pass: &Pass<L>) -> Result<(), Refusal> {
        let summary = pass.summary.as_ref().expect("the first pass has one");
        if pass.reader.in_bytes() && summary.requests > 0 && summary.whole_sectors == 0 {
            let Summary { smallest, largest, .. } = summary;
            return Err(self.refused(format!(
                "sizes in bytes, but none of {smallest} to {largest} is a whole number of sectors of \
                 512B: are they in sectors? multiply them by 512"
            )));
        }
        if let Some(asked) = self.requests.filter(|_| pass.left > 0) {
            let there = u64::from(asked.get()) - pass.left;
            let expected = format!("at most the {there} requests that the trace has");
            return Err(Refusal::of(&asked, expected).under("requests"));
        }
        match pass.length() > i64::MAX as u128 {
            true => Err(self.refused("a trace of at most 106 days".to_owned())),
            false => Ok(()),
        }
    }
}

impl<L: Lines> Trace<L> {
    /// A pass from the beginning of the trace on.
    fn pass(&self) -> Result<Pass<L>, Refusal> {
        Ok(Pass {
            settings: self.settings.clone(),
            block: self.block,
            capacity: self.capacity,
            reader: self.settings.reader(self.lines.clone())?,
            window: Window::new(self.furthest),
            left: self.settings.requests.map_or(u64::MAX, |most| most.get().into()),
            totals: PassTotals::default(),
            summary: None,
        })
    }
}

impl<L: Lines> Pass<L> {
    /// Makes all requests, and reads on to the end of the trace. Returns the number of later accesses.
    fn read_all(&mut self) -> Result<u64, String> {
        while self.next()?.is_some() {}
        let mut later = 0;
        while self.next_access()?.is_some() {
            later += 1;
        }
        Ok(later)
    }

    /// The time from the first access to the last that is replayed, as recorded.
    fn length(&self) -> u128 {
        self.totals.times.map_or(0, |(first, last)| last - first)
    }

    /// What was read: its requests as the trace has them, and what was left out or changed. `later`
    /// accesses come behind those that are replayed.
    fn notes(&self, later: u64) -> Vec<(String, Value)> {
        let summary = self.summary.as_ref().expect("the first pass has one");
        let counts = &self.reader.counts;
        let numbers = [
            ("trace_lines", counts.lines),
            ("trace_lines_of_other_devices", counts.other_devices),
            ("trace_discards", counts.discards),
            ("trace_other_actions", counts.other_actions),
            ("trace_requests_without_length", counts.without_length),
            ("trace_requests_out_of_order", counts.out_of_order),
            ("trace_furthest_out_of_order", self.window.furthest as u64),
            ("trace_requests_beyond_array", self.totals.beyond),
            ("trace_requests_not_replayed", later),
            ("trace_length_ps", self.length() as u64),
            ("trace_requests", summary.requests),
            ("trace_reads", summary.reads),
            ("trace_bytes", summary.bytes),
            ("trace_bytes_in_blocks", self.totals.blocks.saturating_mul(self.block)),
            ("trace_smallest_bytes", summary.smallest),
            ("trace_largest_bytes", summary.largest),
            ("trace_working_set_bytes", summary.working_set()),
            ("trace_arrivals_together", summary.together),
            ("trace_block_bytes", self.block),
        ];
        let numbers =
            numbers.iter().map(|&(name, count)| (name.to_owned(), Value::Int(count as i64)));
        numbers.chain([("trace".to_owned(), Value::Text(self.changes(counts, later)))]).collect()
    }

    /// The words for what was left out or changed.
    fn changes(&self, counts: &Counts, later: u64) -> String {
        let left_out_or_wrapped = match self.settings.beyond {
            Beyond::Drop => "beyond the array left out",
            _ => "beyond the array wrapped",
        };
        let parts = [
            (counts.other_devices, "line", "of other devices left out"),
            (counts.discards, "discard", "left out"),
            (counts.other_actions, "other action", "left out"),
            (counts.without_length, "request", "without a length left out"),
            (counts.out_of_order, "request", "out of order sorted by time"),
            (self.totals.beyond, "request", left_out_or_wrapped),
            (later, "later request", "not replayed"),
        ];
        let parts = parts.iter().filter(|(count, ..)| *count > 0);
        let words = |(count, thing, what): &(u64, &str, &str)| {
            let plural = if *count == 1 { "" } else { "s" };
            format!("{count} {thing}{plural} {what}")
        };
        let mut parts: Vec<String> = parts.map(words).collect();
        let bytes = self.summary.as_ref().map_or(0, |summary| summary.bytes);
        let in_blocks = self.totals.blocks.saturating_mul(self.block);
        if in_blocks != bytes {
            let [from, to] = [bytes, in_blocks].map(Bytes);
            let block = in_kib(self.block);
            parts.push(format!("{from} rounded out to {to} by blocks of {block}"));
        }
        if parts.is_empty() { "taken as it is".to_owned() } else { parts.join(", ") }
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
        if let Some(summary) = &mut self.summary {
            summary.add(access);
        }
        Ok(Some(Request { arrived, op, blocks: blocks as u32, at: Some(block) }))
    }
}

/// The size of a block as people write it: in KiB where it is a whole number of them.
fn in_kib(bytes: u64) -> String {
    if bytes.is_multiple_of(1024) { format!("{}KiB", bytes / 1024) } else { format!("{bytes}B") }
}

impl PassTotals {
    fn add(&mut self, request: &Request) {
        let Request { arrived, op, blocks, at } = *request;
        self.requests += 1;
        self.ops[op as usize] = true;
        self.largest = self.largest.max(blocks);
        self.blocks += u64::from(blocks);
        let words = [arrived.ps(), at.unwrap_or(0), u64::from(blocks) << 1 | op as u64];
        for word in words {
            self.digest = (self.digest.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
    }
}

impl<L: Lines> Replayed for Trace<L> {
    fn again(&self) -> Result<Box<dyn Batches>, Refusal> {
        let pass = self.pass()?;
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
