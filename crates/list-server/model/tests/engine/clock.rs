//! A clock that begins anew, and one that was wrong.

use crate::world::World;
use crate::{chance, people, seconds};
use sojourn_core::{Span, Streams, Time};
use sojourn_mail_engine::{
    Deferral, Effect, Engine, Entry, Event, MessageId, Progress, Record, Stored, Submission,
};

/// What happened in a world, and when.
fn history(seed: u64) -> (World, Vec<(Time, Event)>) {
    let mut world = chance::world(seed);
    world.keep_trace = true;
    world.run_to_the_end(seconds(8 * 3600));
    let events = std::mem::take(&mut world.events);
    (world, events)
}

/// An effect as it was wanted by an engine whose clock is `by` behind.
fn later(effect: Effect, by: Span) -> Effect {
    let record = |record: &Record| match record.clone() {
        Record::Deferred(task, Deferral { times, first, due }, mut obstacle) => {
            obstacle.at += by;
            let deferral = Deferral { times, first: first + by, due: due + by };
            Record::Deferred(task, deferral, obstacle)
        }
        other => other,
    };
    match effect {
        Effect::Wake(at) => Effect::Wake(at + by),
        Effect::Persist(batch, records) => {
            Effect::Persist(batch, records.iter().map(record).collect())
        }
        Effect::Log(Entry::HostDown(host, until, why)) => {
            Effect::Log(Entry::HostDown(host, until + by, why))
        }
        Effect::Log(Entry::DomainDown(domain, until, why)) => {
            Effect::Log(Entry::DomainDown(domain, until + by, why))
        }
        other => other,
    }
}

/// The same history told to engines one of which is set back again and again: they want the same.
#[test]
fn an_engine_that_is_set_back_does_what_it_would_have_done() {
    for seed in 0..150 {
        let (world, events) = history(seed);
        let stream = &mut Streams::new(seed, 0).stream("set back", 0);
        let begin = Span::from_s(40_000);
        let mut engines = [(); 2].map(|()| Engine::new(world.config.clone(), seed));
        let (mut ahead, mut times) = (begin, 0);
        for (at, event) in events {
            if stream.below(20) == 0 {
                let by = Span::from_s(stream.below(1 + ahead.ps() / Span::from_s(10).ps()));
                engines[1].rebase_clock(by);
                ahead -= by;
                times += 1;
            }
            let wanted = engines[0].handle(at + begin, event.clone());
            let rebase_clock = engines[1].handle(at + ahead, event.clone());
            let rebase_clock: Vec<_> =
                rebase_clock.into_iter().map(|it| later(it, begin - ahead)).collect();
            assert_eq!(rebase_clock, wanted, "seed {seed}, {event:?} at {at}");
        }
        assert!(times > 10);
    }
}

/// A message that was accepted by a clock that was ahead: its wait is what it was, and so is the time
/// that it has.
#[test]
fn what_comes_from_the_future_comes_from_now() {
    let mut config = crate::config();
    config.lifetime = Span::from_s(3600);
    for ahead in [Span::from_s(7200), Span::from_ps(u64::MAX - seconds(100_000).ps())] {
        let mut engine = Engine::new(config.clone(), 1);
        let now = seconds(90_000);
        let accepted = now + ahead;
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
