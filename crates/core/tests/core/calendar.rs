//! The calendar against a slow and obvious one: a list sorted by (time, order of scheduling).

use proptest::prelude::*;
use sojourn_core::{Calendar, Span, Time};
use sojourn_properties::cases;

#[derive(Default)]
struct Sorted {
    events: Vec<(Time, usize)>,
    scheduled: usize,
}

impl Sorted {
    fn schedule(&mut self, at: Time) -> usize {
        let event = self.scheduled;
        self.scheduled += 1;
        self.events.push((at, event));
        self.events.sort();
        event
    }

    fn pop(&mut self) -> Option<(Time, usize)> {
        (!self.events.is_empty()).then(|| self.events.remove(0))
    }
}

fn at(ps: u64) -> Time {
    Time::from_ps(ps)
}

proptest! {
    #![proptest_config(cases(500))]

    /// Some(delay): schedule that far ahead; None: pop. Short delays make many equal times.
    #[test]
    fn it_does_what_a_sorted_list_does(
        steps in prop::collection::vec(prop::option::weighted(0.6, 0u64..20), 0..400)
    ) {
        let mut calendar = Calendar::new();
        let mut sorted = Sorted::default();
        for step in steps {
            match step {
                Some(delay) => {
                    let at = calendar.now() + Span::from_ps(delay);
                    let event = sorted.schedule(at);
                    calendar.schedule(at, event);
                }
                None => prop_assert_eq!(calendar.pop(), sorted.pop()),
            }
            prop_assert_eq!(calendar.len(), sorted.events.len());
            prop_assert_eq!(calendar.is_empty(), sorted.events.is_empty());
            prop_assert_eq!(calendar.peek_time(), sorted.events.first().map(|event| event.0));
        }
        while let Some(event) = sorted.pop() {
            prop_assert_eq!(calendar.pop(), Some(event));
            prop_assert_eq!(calendar.now(), event.0);
        }
        prop_assert_eq!(calendar.pop(), None);
    }

    #[test]
    fn any_times_come_out_sorted(times in prop::collection::vec(any::<u64>(), 0..300)) {
        let mut calendar = Calendar::new();
        for &ps in &times {
            calendar.schedule(at(ps), ps);
        }
        let popped: Vec<u64> = std::iter::from_fn(|| calendar.pop()).map(|(_, ps)| ps).collect();
        let mut sorted = times;
        sorted.sort();
        prop_assert_eq!(popped, sorted);
    }
}

#[test]
fn ten_thousand_events_at_one_time_are_first_in_first_out() {
    let mut calendar = Calendar::new();
    for event in 0..10_000 {
        calendar.schedule(at(7), event);
    }
    for event in 0..10_000 {
        assert_eq!(calendar.pop(), Some((at(7), event)));
    }
}

#[test]
fn an_event_may_be_scheduled_for_the_present() {
    let mut calendar = Calendar::new();
    calendar.schedule(at(5), 'a');
    calendar.schedule(at(5), 'b');
    calendar.pop();
    calendar.schedule(at(5), 'c');
    assert_eq!(calendar.pop(), Some((at(5), 'b')));
    assert_eq!(calendar.pop(), Some((at(5), 'c')));
}

#[test]
#[should_panic(expected = "an event for 4ps comes too late: it is 5ps already")]
fn the_past_is_refused() {
    let mut calendar = Calendar::new();
    calendar.schedule(at(5), ());
    calendar.pop();
    calendar.schedule(at(4), ());
}
