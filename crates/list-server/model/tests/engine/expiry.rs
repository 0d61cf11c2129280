//! Messages whose time ran out while the server was down.

use crate::config;
use sojourn_core::{Span, Streams};
use sojourn_mail_engine::{
    Answer, Deferral, Effect, Engine, Entry, Event, MailHost, MessageId, Moment, Outcome, Progress,
    Stored, Submission,
};
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

/// What becomes of mail for a domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Takes,
    Defers,
    Down,
    NoNames,
}

const FATES: [Fate; 4] = [Fate::Takes, Fate::Defers, Fate::Down, Fate::NoNames];

fn fate(domain: &str) -> Fate {
    let number: usize =
        domain.strip_prefix('d').unwrap().strip_suffix(".example").unwrap().parse().unwrap();
    FATES[number]
}

fn stored(lifetime: Span, draw: &mut impl FnMut(u64) -> u64) -> Stored {
    let recipients: Vec<_> =
        (0..8).map(|n| format!("r{n}@d{}.example", draw(4)).parse().unwrap()).collect();
    let progress = recipients.iter().map(|_| match draw(2) {
        0 => Progress::Open,
        _ => {
            let first = Moment::ZERO + Span::from_s(draw(86_400));
            let due = first + Span::from_s(draw(2 * lifetime.seconds() as u64));
            Progress::Deferred(Deferral { times: 1 + draw(9) as u32, first, due })
        }
    });
    let progress = progress.collect();
    let submission = Submission {
        id: MessageId(1),
        sender: Some("owner@lists.example".parse().unwrap()),
        size: 9,
        eight_bit: false,
        utf8: false,
        subscribers: Vec::new(),
        day: 0,
        recipients,
    };
    Stored { submission, accepted: Moment::ZERO, progress, held: Vec::new() }
}

/// What the world says to an effect.
fn answers(effect: Effect, domain: &mut Vec<String>) -> Vec<Event> {
    match effect {
        Effect::Resolve(name) => {
            let answer = match fate(&name) {
                Fate::NoNames => Answer::Failed("no answer".into()),
                _ => {
                    let last = name.as_bytes()[1] - b'0';
                    let addresses = vec![[192, 0, 2 + last, 1].into()];
                    let host = MailHost { name: Arc::clone(&name), preference: 0, addresses };
                    Answer::Hosts { hosts: vec![host], lifetime: Span::from_s(60) }
                }
            };
            vec![Event::Resolved(name, answer)]
        }
        Effect::Connect(session, relay) => {
            domain.resize(domain.len().max(session.nth() as usize + 1), String::new());
            domain[session.nth() as usize] = relay.name.to_string();
            match fate(&relay.name) {
                Fate::Down => vec![Event::Closed(session, "refused".into())],
                _ => vec![
                    Event::Connected(session),
                    Event::Received(session, b"220 hi\r\n".to_vec()),
                ],
            }
        }
        Effect::Send(session, bytes) => {
            let takes = fate(&domain[session.nth() as usize]) == Fate::Takes;
            let reply = match &bytes[..4] {
                b"RCPT" if !takes => "450 later\r\n",
                b"DATA" => "354 go\r\n",
                _ => "250 ok\r\n",
            };
            vec![Event::Received(session, reply.into())]
        }
        Effect::SendBody(session, ..) => {
            vec![Event::Written(session, 1), Event::Received(session, b"250 taken\r\n".to_vec())]
        }
        Effect::Persist(batch, _) => vec![Event::Persisted(batch)],
        Effect::Report(message, failures) => {
            vec![Event::Reported(message, failures.into_iter().map(|it| it.0).collect())]
        }
        _ => vec![],
    }
}

/// Each recipient gets an attempt, and fails for lack of time only after it.
#[test]
fn one_attempt_follows_a_downtime_that_is_longer_than_the_lifetime() {
    let (mut delivered, mut expired) = (0, 0);
    for seed in 0..300 {
        let stream = &mut Streams::new(seed, 0).stream("expiry", 0);
        let config = config();
        let lifetime = config.lifetime;
        let stored = stored(lifetime, &mut |below| stream.below(below));
        let recipients = stored.submission.recipients.clone();
        let mut engine = Engine::new(config, seed);
        let start = Moment::ZERO + lifetime + Span::from_s(stream.below(9 * 86_400));
        let (mut now, mut wake) = (start, start);
        let mut events = VecDeque::from([Event::Restored(stored)]);
        let (mut domains, mut attempted) = (Vec::new(), BTreeSet::new());
        while engine.messages() > 0 || !events.is_empty() {
            let event = events.pop_front().unwrap_or_else(|| {
                now = wake.max(now);
                Event::Tick
            });
            now += Span::from_ms(1);
            assert!(
                now < start + lifetime + Span::from_s(3 * 86_400),
                "seed {seed}: still waiting"
            );
            for effect in engine.handle(now, event) {
                match &effect {
                    Effect::Wake(at) => wake = *at,
                    Effect::Log(Entry::Attempt { task, relay, outcome, reason, .. }) => {
                        let is_expiry = reason.status.to_string() == "5.4.7";
                        assert!(!is_expiry || attempted.contains(task), "seed {seed}: {task:?}");
                        if relay.is_some() || *outcome == Outcome::Deferred {
                            attempted.insert(*task);
                        }
                        if *outcome == Outcome::Deferred {
                            continue;
                        }
                        let address = &recipients[task.recipient.0 as usize];
                        let takes = fate(address.domain()) == Fate::Takes;
                        assert_eq!(*outcome == Outcome::Delivered, takes, "seed {seed}: {address}");
                        *if takes { &mut delivered } else { &mut expired } += 1;
                    }
                    _ => {}
                }
                events.extend(answers(effect, &mut domains));
            }
        }
    }
    assert_eq!(delivered + expired, 300 * 8);
    assert!(delivered > 400 && expired > 400, "{delivered} {expired}");
}
