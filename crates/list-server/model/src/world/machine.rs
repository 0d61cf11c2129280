//! The list server's own machine: its processor, its disk and its line, each a station.

use sojourn_core::parameters::Check;
use sojourn_core::{Rate, Span, Time, nested, parameters};

parameters! {
    /// The list server's own machine. Processor and line serve one after the other, in order;
    /// the disk has one write under way at a time, because the engine asks for no more.
    pub struct Machine: "machine" {
        /// How long one write to stable storage takes.
        pub write: Span = Span::from_ms(3),
        /// How long the processor works for a session, before it connects.
        pub work: Span = Span::ZERO,
        /// The line to the internet, which messages share on their way out; without it they are
        /// out at once. Commands and replies take no time on it.
        pub line: Option<Rate> = None,
    }
}
nested!(Machine);

impl Check for Machine {}

/// When the stations of a machine are free, and how long they have worked.
#[derive(Clone, Debug)]
pub(super) struct Stations {
    machine: Machine,
    processor: Station,
    line: Station,
    disk: Span,
}

#[derive(Clone, Copy, Debug)]
struct Station {
    free: Time,
    worked: Span,
}

impl Station {
    const IDLE: Station = Station { free: Time::ZERO, worked: Span::ZERO };

    /// When what comes now and takes so long is done. What is not done before the end of time counts
    /// up to there.
    fn serve(&mut self, now: Time, takes: Span) -> Time {
        let begins = self.free.max(now);
        self.free = begins.after(takes);
        self.worked += self.free - begins;
        self.free
    }
}

/// For how long each part of a machine worked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Worked {
    /// The processor.
    pub processor: Span,
    /// The line.
    pub line: Span,
    /// The disk.
    pub disk: Span,
}

impl Stations {
    pub(super) fn new(machine: Machine) -> Stations {
        Stations { machine, processor: Station::IDLE, line: Station::IDLE, disk: Span::ZERO }
    }

    /// When a session that wants to connect now does.
    pub(super) fn connects(&mut self, now: Time) -> Time {
        self.processor.serve(now, self.machine.work)
    }

    /// When a text of so many bytes is out.
    pub(super) fn sends(&mut self, now: Time, bytes: u64) -> Time {
        match self.machine.line {
            Some(rate) => self.line.serve(now, rate.span(bytes)),
            None => now,
        }
    }

    /// When a write is done.
    pub(super) fn writes(&mut self, now: Time) -> Time {
        self.disk += self.machine.write;
        now + self.machine.write
    }

    pub(super) fn worked(&self) -> Worked {
        Worked { processor: self.processor.worked, line: self.line.worked, disk: self.disk }
    }
}
