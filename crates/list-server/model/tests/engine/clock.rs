//! A clock that was wrong.

use crate::people;
use sojourn_core::Span;
use sojourn_mail_engine::{
    Deferral, Effect, Engine, Entry, Event, MessageId, Moment, Progress, Stored, Submission,
};

/// A message that was accepted by a clock that was ahead: its wait is what it was, and so is the time
/// that it has.
#[test]
fn what_comes_from_the_future_comes_from_now() {
    let mut config = crate::config();
    config.lifetime = Span::from_s(3600);
    for accepted in [Moment::ZERO + Span::from_s(97_200), Moment::from_ns(u64::MAX / 2)] {
        let mut engine = Engine::new(config.clone(), 1);
        let now = Moment::ZERO + Span::from_s(90_000);
        let submission = Submission {
            id: MessageId(1),
            sender: Some("owner@lists.example".parse().unwrap()),
            size: 9,
            eight_bit: false,
            utf8: false,
            subscribers: Vec::new(),
            day: 0,
            recipients: people(1, "x.example").iter().map(|it| it.parse().unwrap()).collect(),
        };
        let due = accepted + Span::from_s(300);
        let deferral = Deferral { times: 1, first: accepted, due };
        let progress = vec![Progress::Deferred(deferral)];
        let effects = engine.handle(
            now,
            Event::Restored(Stored { submission, accepted, progress, held: Vec::new() }),
        );
        assert_eq!(effects, [Effect::Wake(now + Span::from_s(300))]);
        assert_eq!(engine.accepted(MessageId(1)), Some(now));
        let asked = engine.handle(now + Span::from_s(300), Event::Tick);
        assert_eq!(asked[0], Effect::Resolve("x.example".into()));
        let given_up = engine.handle(now + Span::from_s(3600), Event::Tick);
        let failed = |effect: &Effect| {
            matches!(effect, Effect::Log(Entry::Attempt { reason, .. })
                if reason.status.to_string() == "5.4.7")
        };
        assert!(given_up.iter().any(failed), "{given_up:?}");
    }
}
