//! The list server's own machine: its processor, its disk and its line, each a station.

use sojourn_core::parameters::Check;
use sojourn_core::{Rate, Span, Time, nested, parameters};

parameters! {
    /// The list server's machine. The processor and the line each serve one job at a time, in
    /// order. The disk has one write at a time, because the engine asks for no more.
    pub struct Machine: "machine" {
        /// Time of one write to stable storage.
        pub write: Span = Span::from_ms(3),
        /// CPU time per session, before it connects.
        pub work: Span = Span::ZERO,
        /// Rate of the line to the internet, which outgoing messages share. By default sending
        /// takes no time. Commands and replies take no time on the line.
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
