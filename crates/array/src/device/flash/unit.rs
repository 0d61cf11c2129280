//! A unit of flash, which does one thing at a time: reads in order, and programs where no read waits.

use sojourn_core::{Span, Time};

/// A unit, as it is at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Unit {
    /// The moment: the end of all reads so far, or when it was last looked at.
    at: Time,
    /// What is left of the program under way, or of one that was suspended.
    program: Span,
    /// How many pages wait behind it to be programmed.
    waiting: u64,
    /// How long it was busy up to that moment.
    busy: Span,
}

impl Unit {
    /// How long it was busy until `until`.
    pub(super) fn busy(&self, until: Time) -> Span {
        self.busy - self.at.since(until).min(self.busy)
    }

    /// Goes on to `now`: programs follow each other while no read is there. Each further one takes what
    /// `next` draws.
    fn go_on(&mut self, now: Time, mut next: impl FnMut() -> Span) {
        while self.at < now {
            if self.program == Span::ZERO {
                if self.waiting == 0 {
                    self.at = now;
                    return;
                }
                self.waiting -= 1;
                self.program = next();
            }
            let done = self.program.min(now - self.at);
            self.run_program(done);
        }
    }

    /// The program under way goes on for a while.
    fn run_program(&mut self, span: Span) {
        self.program -= span;
        self.at += span;
        self.busy += span;
    }

    /// A read that takes `takes` comes at `now`; when it ends. It waits for the reads before it, and for
    /// a program under way at most as long as it takes to suspend one.
    pub(super) fn read(
        &mut self,
        now: Time,
        takes: Span,
        suspend: Span,
        next: impl FnMut() -> Span,
    ) -> Time {
        self.go_on(now, next);
        if self.at == now {
            self.run_program(self.program.min(suspend));
        }
        self.at += takes;
        self.busy += takes;
        self.at
    }

    /// How many pages are left to be programmed at `now`.
    pub(super) fn left(&mut self, now: Time, next: impl FnMut() -> Span) -> u64 {
        self.go_on(now, next);
        self.waiting + u64::from(self.program > Span::ZERO)
    }

    /// Pages come at `now` to be programmed.
    pub(super) fn program(&mut self, now: Time, pages: u64, next: impl FnMut() -> Span) {
        self.go_on(now, next);
        self.waiting += pages;
    }

    /// When no more than `most` pages are left to be programmed, each of which takes `each`, if no more
    /// reads come; [`Time::ZERO`] where it is so already.
    pub(super) fn has_room(&self, most: u64, each: Span) -> Time {
        let under_way = self.program > Span::ZERO;
        match (self.waiting + u64::from(under_way)).checked_sub(most) {
            None | Some(0) => Time::ZERO,
            Some(over) => {
                let first = if under_way { self.program } else { each };
                self.at + first + each * (over - 1)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn us(us: u64) -> Time {
        Time::from_ps(us * 1_000_000)
    }

    #[test]
    fn reads_come_before_programs_that_have_not_begun() {
        let mut unit = Unit::default();
        let each = || Span::from_us(500);
        unit.program(us(0), 1, each);
        unit.program(us(0), 1, each);
        // 100 us into the first program, which it waits for; the second begins behind the read.
        assert_eq!(unit.read(us(100), Span::from_us(50), Span::MAX, each), us(550));
        assert_eq!(unit.read(us(120), Span::from_us(50), Span::MAX, each), us(600));
        // The second program ends at 1100 us.
        assert_eq!(unit.read(us(1200), Span::from_us(50), Span::MAX, each), us(1250));
        assert_eq!(unit.busy, Span::from_us(2 * 500 + 3 * 50));
    }

    #[test]
    fn a_suspended_program_goes_on_where_it_was() {
        let mut unit = Unit::default();
        let (each, suspend) = (|| Span::from_us(500), Span::from_us(20));
        unit.program(us(0), 1, each);
        assert_eq!(unit.read(us(100), Span::from_us(50), suspend, each), us(170));
        // 380 us are left, until 550 us.
        assert_eq!(unit.read(us(545), Span::from_us(50), suspend, each), us(600));
        assert_eq!(unit.read(us(700), Span::from_us(50), suspend, each), us(750));
    }

    #[test]
    fn there_is_room_when_all_but_so_many_pages_are_programmed() {
        let mut unit = Unit::default();
        let each = Span::from_us(500);
        for _ in 0..3 {
            unit.program(us(0), 1, || each);
        }
        assert_eq!(unit.has_room(3, each), Time::ZERO);
        assert_eq!(unit.has_room(2, each), us(500));
        unit.program(us(100), 1, || each);
        assert_eq!(unit.has_room(2, each), us(1000));
        unit.program(us(1000), 1, || each);
        assert_eq!(unit.has_room(3, each), Time::ZERO);
    }
}
