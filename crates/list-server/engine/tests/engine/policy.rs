//! What a list server may decide in one way or another, each way by hand.

use sojourn_core::Span;
use sojourn_core::parameters::defaults;

use sojourn_mail_engine::policy::OrderKind;
use sojourn_mail_engine::policy::retry::{Backoff, Prompt, Retry, RetryInput};
use sojourn_mail_engine::policy::split::{Chunks, Dealt, Place, Split, SplitKind};
use sojourn_mail_engine::policy::timeouts::{Passes, Rfc5321, Timeouts};
use sojourn_mail_engine::{DestinationId, RecipientIndex};

const FIRST: RetryInput =
    RetryInput { times: 1, since_first: Span::ZERO, named: None, learned: None, chance: 0.0 };

#[test]
fn backoff_doubles_up_to_its_most() {
    let backoff: Backoff = defaults();
    let wait = |times, chance| backoff.host(&RetryInput { times, chance, ..FIRST });
    assert_eq!(
        [1, 2, 3, 4].map(|times| wait(times, 0.0)),
        [300, 600, 1200, 2400].map(Span::from_s)
    );
    assert_eq!(wait(u32::MAX, 0.0), Span::from_s(4000));
    assert_eq!(wait(1, 0.5), Span::from_s(315));
}

#[test]
fn prompt_comes_when_it_can_first_succeed() {
    let prompt: Prompt = defaults();
    let wait = |setback| prompt.recipient(&setback).seconds();
    assert_eq!(wait(FIRST), 60.0);
    assert_eq!(wait(RetryInput { named: Some(Span::from_s(17)), ..FIRST }), 17.0);
    assert_eq!(wait(RetryInput { learned: Some(Span::from_s(300)), ..FIRST }), 300.0);
    // Refused at 0 s and 61 s: the next customary time is 300 s after the first.
    let again = RetryInput { times: 2, since_first: Span::from_s(61), ..FIRST };
    assert_eq!(wait(again), 239.0);
    // What was learned lies in the past: on to the customary times.
    assert_eq!(wait(RetryInput { learned: Some(Span::from_s(40)), ..again }), 239.0);
    let day = RetryInput { times: 30, since_first: Span::from_s(86_400), ..FIRST };
    assert_eq!(wait(day), 3600.0);
}

fn cut(kind: &SplitKind, destinations: &[u32]) -> Vec<Vec<u32>> {
    let place =
        |(recipient, &destination)| Place { recipient, destination: DestinationId(destination) };
    let envelopes = kind.cut(RecipientIndex::all().zip(destinations).map(place).collect());
    let recipients = |envelope: Vec<Place>| envelope.iter().map(|it| it.recipient.0).collect();
    envelopes.into_iter().map(recipients).collect()
}

#[test]
fn envelopes_by_hand() {
    let list = [7, 3, 7, 7, 9, 3];
    let by_destination = SplitKind::ByDestination(defaults());
    assert_eq!(cut(&by_destination, &list), [vec![0, 2, 3], vec![1, 5], vec![4]]);
    assert_eq!(cut(&SplitKind::Whole(defaults()), &list), [vec![0, 1, 2, 3, 4, 5]]);
    let chunks = SplitKind::Chunks(Chunks { size: 4.try_into().unwrap() });
    assert_eq!(cut(&chunks, &list), [vec![0, 1, 2, 3], vec![4, 5]]);
    let dealt = SplitKind::Dealt(Dealt { size: 4.try_into().unwrap() });
    assert_eq!(cut(&dealt, &list), [vec![0, 2, 4], vec![1, 3, 5]]);
    assert!(cut(&dealt, &[]).is_empty());
    let each = [vec![0], vec![1], vec![2], vec![3], vec![4], vec![5]];
    assert_eq!(cut(&SplitKind::Each(defaults()), &list), each);
}

fn sorted(kind: &OrderKind) -> Vec<u32> {
    let place = |(recipient, destination)| Place {
        recipient: RecipientIndex(recipient),
        destination: DestinationId(destination),
    };
    let mut places = [(0, 5), (1, 4), (2, 6), (3, 4), (4, 5)].map(place);
    let delays = |DestinationId(number)| {
        [Some(Span::from_s(9)), None, Some(Span::from_s(1))][number as usize - 4]
    };
    kind.sort(&mut places, delays);
    places.iter().map(|place| place.recipient.0).collect()
}

#[test]
fn orders_by_hand() {
    assert_eq!(sorted(&OrderKind::List(defaults())), [0, 1, 2, 3, 4]);
    assert_eq!(sorted(&OrderKind::ByDestination(defaults())), [1, 3, 0, 4, 2]);
    // Unknown destinations count as middling: after the quick, before the slow.
    assert_eq!(sorted(&OrderKind::PastDelay(defaults())), [2, 0, 4, 1, 3]);
}

#[test]
fn the_first_pass_is_short_but_for_the_dot() {
    let passes: Passes = defaults();
    let (first, second) = (passes.steps(0), passes.steps(1));
    assert_eq!(first.greeting, Span::from_s(60));
    assert_eq!(first.connect, Span::from_s(6));
    assert_eq!(first.dot, Span::from_s(600));
    assert_eq!(second, defaults::<Rfc5321>().steps(0));
}
