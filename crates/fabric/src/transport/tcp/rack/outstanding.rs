//! What a sender knows of each packet that is not acknowledged: when it left last, and what became of it.

use sojourn_core::{Span, Time};
use std::collections::VecDeque;

/// What a sender believes of a packet that it has sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// In the network.
    UnderWay,
    /// Lost, and not sent again yet.
    Lost,
    /// Lost, and in the network again.
    Resent,
    /// Arrived out of order.
    Arrived,
}

/// A packet that was sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    /// When it left last.
    pub(super) left: Time,
    /// The number of that departure, among all of the flow.
    pub(super) departure: u32,
    fate: Fate,
    /// Whether it left more than once.
    pub(super) again: bool,
}

/// Packets sent and not acknowledged, in sequence and in the order in which they left.
#[derive(Clone, Debug, Default)]
pub(super) struct Outstanding {
    /// The sequence number of the first.
    first: u32,
    known: VecDeque<Known>,
    /// Departures in order: number and packet. What a packet's last departure has replaced, and what has arrived or
    /// is lost, is passed over.
    order: VecDeque<(u32, u32)>,
    departures: u32,
    arrived: u32,
    lost: u32,
    /// No packet below this is lost.
    search: u32,
    /// How often a packet was believed lost.
    losses: u32,
}

impl Outstanding {
    /// None yet, with room for a first window of `packets`.
    pub(super) fn with_capacity(packets: usize) -> Outstanding {
        Outstanding {
            known: VecDeque::with_capacity(packets),
            order: VecDeque::with_capacity(packets),
            ..Outstanding::default()
        }
    }

    /// Packets in the network, as far as is known.
    #[inline]
    pub(super) fn in_flight(&self) -> u32 {
        self.len() - self.arrived - self.lost
    }

    /// All of them.
    #[inline]
    pub(super) fn len(&self) -> u32 {
        self.known.len() as u32
    }

    /// Those that have arrived out of order.
    #[inline]
    pub(super) fn arrived(&self) -> u32 {
        self.arrived
    }

    /// Those lost and not sent again.
    #[inline]
    pub(super) fn lost(&self) -> u32 {
        self.lost
    }

    /// How often a packet was believed lost so far.
    #[inline]
    pub(super) fn losses(&self) -> u32 {
        self.losses
    }

    /// The first.
    #[inline]
    pub(super) fn head(&self) -> Option<Known> {
        self.known.front().copied()
    }

    /// Whether a packet lost was sent again and has not arrived.
    pub(super) fn is_mending(&self) -> bool {
        self.known.iter().any(|known| known.fate == Fate::Resent)
    }

    /// Notes that the next packet leaves for the first time.
    #[inline]
    pub(super) fn sent(&mut self, now: Time) {
        let departure = self.departs(self.first + self.len());
        self.known.push_back(Known { left: now, departure, fate: Fate::UnderWay, again: false });
    }

    #[inline]
    fn departs(&mut self, sequence: u32) -> u32 {
        self.departures += 1;
        self.order.push_back((self.departures, sequence));
        self.departures
    }

    /// Notes that `sequence` leaves again: a lost packet, or the last one as a probe.
    pub(super) fn sent_again(&mut self, sequence: u32, now: Time) {
        let departure = self.departs(sequence);
        let known = &mut self.known[(sequence - self.first) as usize];
        if known.fate == Fate::Lost {
            known.fate = Fate::Resent;
            self.lost -= 1;
        }
        (known.left, known.departure, known.again) = (now, departure, true);
    }

    /// Notes that `sequence` has arrived out of order. What was known of it, unless that was known.
    pub(super) fn arrives(&mut self, sequence: u32) -> Option<Known> {
        let known = self.known.get_mut(sequence.checked_sub(self.first)? as usize)?;
        let before = *known;
        match known.fate {
            Fate::Arrived => return None,
            Fate::Lost => self.lost -= 1,
            Fate::UnderWay | Fate::Resent => {}
        }
        known.fate = Fate::Arrived;
        self.arrived += 1;
        Some(before)
    }

    /// Takes away the first, which is acknowledged. What was known of it, and whether it is news that it has
    /// arrived.
    #[inline]
    pub(super) fn acknowledged(&mut self) -> Option<(Known, bool)> {
        let known = self.known.pop_front()?;
        self.first += 1;
        match known.fate {
            Fate::Arrived => self.arrived -= 1,
            Fate::Lost => self.lost -= 1,
            Fate::UnderWay | Fate::Resent => {}
        }
        while self.order.front().is_some_and(|&(_, sequence)| sequence < self.first) {
            self.order.pop_front();
        }
        Some((known, known.fate != Fate::Arrived))
    }

    /// The first lost packet that was not sent again.
    pub(super) fn next_lost(&mut self) -> Option<u32> {
        if self.lost == 0 {
            return None;
        }
        self.search = self.search.max(self.first);
        let from = (self.search - self.first) as usize;
        let found = self.known.iter().skip(from).position(|known| known.fate == Fate::Lost)?;
        self.search += found as u32;
        Some(self.search)
    }

    fn lose(&mut self, sequence: u32) {
        self.known[(sequence - self.first) as usize].fate = Fate::Lost;
        self.lost += 1;
        self.losses += 1;
        self.search = self.search.min(sequence);
    }

    /// Believes lost what left before departure `latest`, whose packet has arrived, and more than `wait` ago (RFC
    /// 8985, 6.2, step 5). Whether one of these had been sent again, and how long the last of those that left
    /// before may still take.
    pub(super) fn overtaken(&mut self, latest: u32, wait: Span, now: Time) -> (bool, Option<Span>) {
        let (mut again, mut rest, mut place) = (false, None, 0);
        while let Some(&(departure, sequence)) = self.order.get(place) {
            let place_in = sequence.checked_sub(self.first);
            let known = place_in.and_then(|place| self.known.get(place as usize));
            let stale = known.is_none_or(|known| {
                known.departure != departure || matches!(known.fate, Fate::Arrived | Fate::Lost)
            });
            if !stale {
                let Some(known) = known.filter(|_| departure < latest) else { break };
                let due = known.left + wait;
                if due > now {
                    rest = Some(due - now);
                    place += 1;
                    continue;
                }
                again |= known.fate == Fate::Resent;
                self.lose(sequence);
            }
            match place {
                0 => drop(self.order.pop_front()),
                _ => place += 1,
            }
        }
        (again, rest)
    }

    /// Believes lost, as the timer has run out, the first and all others that left at least `round_trip` ago.
    pub(super) fn time_out(&mut self, round_trip: Span, now: Time) {
        for place in 0..self.known.len() {
            let known = self.known[place];
            let in_network = matches!(known.fate, Fate::UnderWay | Fate::Resent);
            if in_network && (place == 0 || known.left + round_trip <= now) {
                self.lose(self.first + place as u32);
            }
        }
    }

    /// Believes in the network again what is lost and was not sent again.
    pub(super) fn revive(&mut self) {
        for (sequence, known) in (self.first..).zip(&mut self.known) {
            if known.fate == Fate::Lost {
                known.fate = Fate::UnderWay;
                self.order.push_back((known.departure, sequence));
            }
        }
        self.order.make_contiguous().sort_unstable();
        self.lost = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Send,
        Again(usize),
        Arrive(usize),
        Acknowledge(usize),
        Overtake(usize, u64),
        TimeOut(u64),
        Revive,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            6 => Just(Step::Send),
            2 => (0usize..40).prop_map(Step::Again),
            4 => (0usize..40).prop_map(Step::Arrive),
            2 => (0usize..4).prop_map(Step::Acknowledge),
            3 => (0usize..40, 0u64..20).prop_map(|(which, wait)| Step::Overtake(which, wait)),
            1 => (0u64..20).prop_map(Step::TimeOut),
            1 => Just(Step::Revive),
        ];
        prop::collection::vec(step, 1..120)
    }

    /// The same by going through all packets.
    #[derive(Default)]
    struct Slow {
        first: u32,
        departures: u32,
        known: Vec<Known>,
    }

    impl Slow {
        fn lose(&mut self, lost: impl Fn(usize, &Known) -> bool) -> bool {
            let mut again = false;
            for (place, known) in self.known.iter_mut().enumerate() {
                let in_network = matches!(known.fate, Fate::UnderWay | Fate::Resent);
                if in_network && lost(place, known) {
                    again |= known.fate == Fate::Resent;
                    known.fate = Fate::Lost;
                }
            }
            again
        }

        fn count(&self, fate: Fate) -> u32 {
            self.known.iter().filter(|known| known.fate == fate).count() as u32
        }
    }

    proptest! {
        /// Against a list that is gone through each time, whatever happens; packets leave one by one or two at
        /// a time.
        #[test]
        fn knows_what_a_list_knows(steps in steps()) {
            let (mut fast, mut slow) = (Outstanding::default(), Slow::default());
            for (number, step) in steps.into_iter().enumerate() {
                let now = at(number as u64 / 2);
                let some = |which: usize| which.checked_rem(slow.known.len());
                match step {
                    Step::Send => {
                        fast.sent(now);
                        slow.departures += 1;
                        let (departure, fate) = (slow.departures, Fate::UnderWay);
                        slow.known.push(Known { left: now, departure, fate, again: false });
                    }
                    Step::Again(which) => {
                        // What is lost, or the last one as a probe, goes again.
                        let Some(place) = some(which) else { continue };
                        let (sequence, known) =
                            (slow.first + place as u32, &mut slow.known[place]);
                        if known.fate == Fate::Lost {
                            known.fate = Fate::Resent;
                        } else if known.fate == Fate::Arrived {
                            continue;
                        }
                        slow.departures += 1;
                        (known.left, known.departure) = (now, slow.departures);
                        known.again = true;
                        fast.sent_again(sequence, now);
                    }
                    Step::Arrive(which) => {
                        let Some(place) = some(which) else { continue };
                        let known = &mut slow.known[place];
                        let is_news = known.fate != Fate::Arrived;
                        known.fate = Fate::Arrived;
                        let heard = fast.arrives(slow.first + place as u32);
                        prop_assert_eq!(heard.is_some(), is_news);
                    }
                    Step::Acknowledge(count) => {
                        for _ in 0..count.min(slow.known.len()) {
                            let known = slow.known.remove(0);
                            slow.first += 1;
                            let (heard, is_news) = fast.acknowledged().unwrap();
                            prop_assert_eq!(heard.left, known.left);
                            prop_assert_eq!(is_news, known.fate != Fate::Arrived);
                        }
                    }
                    Step::Overtake(which, wait) => {
                        let Some(place) = some(which) else { continue };
                        let latest = slow.known[place].departure;
                        let wait = Span::from_us(wait);
                        let again = slow.lose(|_, known| {
                            known.departure < latest && known.left + wait <= now
                        });
                        let rest = slow.known.iter().filter(|known| {
                            matches!(known.fate, Fate::UnderWay | Fate::Resent)
                                && known.departure < latest
                        });
                        let rest = rest.map(|known| known.left + wait - now).max();
                        prop_assert_eq!(fast.overtaken(latest, wait, now), (again, rest));
                    }
                    Step::TimeOut(round_trip) => {
                        let round_trip = Span::from_us(round_trip);
                        slow.lose(|place, known| place == 0 || known.left + round_trip <= now);
                        fast.time_out(round_trip, now);
                    }
                    Step::Revive => {
                        fast.revive();
                        for known in &mut slow.known {
                            if known.fate == Fate::Lost {
                                known.fate = Fate::UnderWay;
                            }
                        }
                    }
                }
                let lost = slow.known.iter().position(|known| known.fate == Fate::Lost);
                prop_assert_eq!(fast.next_lost(), lost.map(|place| slow.first + place as u32));
                prop_assert_eq!(fast.lost(), slow.count(Fate::Lost));
                prop_assert_eq!(fast.arrived(), slow.count(Fate::Arrived));
                prop_assert_eq!(fast.in_flight(), slow.count(Fate::UnderWay) + slow.count(Fate::Resent));
                prop_assert_eq!(fast.is_mending(), slow.count(Fate::Resent) > 0);
            }
        }
    }
}
