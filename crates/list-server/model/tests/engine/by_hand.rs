//! Events given by hand, effects looked at one by one.

use crate::config;
use sojourn_core::Span;
use sojourn_mail_engine::list::return_path::{Form, ReturnPaths, form};
use sojourn_mail_engine::list::token::{Claim, Purpose, SECRET, TokenKeys};
use sojourn_mail_engine::{
    Answer, BatchId, Config, Effect, Engine, Event, MailHost, MessageId, Moment, RecipientIndex,
    Record, Refusal, Relay, SessionId, Submission,
};
use sojourn_smtp::Address;
use sojourn_smtp::client::Tls;
use std::net::IpAddr;

const HOST: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));

fn relay() -> Relay {
    Relay { name: "mx.x.example".into(), address: HOST }
}

/// The sessions here are open one after the other.
fn nth(session: u64) -> SessionId {
    SessionId::new(session, 0)
}

struct ClockHand {
    engine: Engine,
    now: Moment,
}

impl ClockHand {
    fn new(config: Config) -> ClockHand {
        ClockHand { engine: Engine::new(config, 1), now: Moment::ZERO }
    }

    /// The effects of `event`, a millisecond later, without wishes to be woken.
    fn tell(&mut self, event: Event) -> Vec<Effect> {
        self.now += Span::from_ms(1);
        let mut effects = self.engine.handle(self.now, event);
        effects.retain(|effect| !matches!(effect, Effect::Wake(_) | Effect::Log(_)));
        effects
    }

    fn hear(&mut self, session: u64, text: &str) -> Vec<Effect> {
        self.tell(Event::Received(nth(session), text.into()))
    }

    /// Takes over `submission`, whose recipients are at one domain, and connects to its host.
    fn connect(&mut self, submission: Submission) {
        let id = submission.id;
        let effects = self.tell(Event::Submitted(submission));
        assert_eq!(effects, [Effect::Persist(BatchId(0), [Record::Accepted(id)].into())]);
        let effects = self.tell(Event::Persisted(BatchId(0)));
        let [Effect::Accepted(_), Effect::Resolve(domain)] = &effects[..] else {
            panic!("{effects:?}")
        };
        let host = MailHost { name: "mx.x.example".into(), preference: 10, addresses: vec![HOST] };
        let answer = Answer::Hosts { hosts: vec![host], lifetime: Span::from_s(60) };
        let effects = self.tell(Event::Resolved(domain.clone(), answer));
        assert_eq!(effects, [Effect::Connect(nth(0), relay())]);
        assert_eq!(self.tell(Event::Connected(nth(0))), []);
        let effects = self.hear(0, "220 hi\r\n");
        assert_eq!(effects, [Effect::Send(nth(0), b"EHLO lists.example\r\n".to_vec())]);
    }

    /// The status of each recipient that failed, as it is written.
    fn failures(&mut self) -> Vec<(u32, String)> {
        let effects = self.tell(Event::Tick).into_iter().chain(self.tell(Event::Tick));
        let records = effects.filter_map(|effect| match effect {
            Effect::Persist(_, records) => Some(records.to_vec()),
            _ => None,
        });
        let status = |record: Record| match record {
            Record::Failed(task, reason) => (task.recipient.0, reason.status.to_string()),
            other => panic!("{other:?}"),
        };
        records.flatten().map(status).collect()
    }
}

fn submission(recipients: &[&str]) -> Submission {
    Submission {
        id: MessageId(7),
        sender: Some("owner@lists.example".parse().unwrap()),
        size: 1000,
        eight_bit: false,
        utf8: false,
        subscribers: Vec::new(),
        day: 0,
        recipients: recipients.iter().map(|it| it.parse().unwrap()).collect(),
    }
}

/// What a host cannot take is not offered to it: no MAIL, no waiting, a status that says why.
#[test]
fn what_a_host_cannot_take() {
    let two = ["a@x.example", "é@x.example"];
    for (ehlo, change, failed) in [
        ("250-hi\r\n250 SIZE 999\r\n", None, vec![(0, "5.3.4"), (1, "5.3.4")]),
        ("250-hi\r\n250 8BITMIME\r\n", Some("utf8"), vec![(0, "5.6.7"), (1, "5.6.7")]),
        ("250-hi\r\n250 8BITMIME\r\n", None, vec![(1, "5.6.7")]),
    ] {
        let mut hand = ClockHand::new(config());
        hand.connect(Submission { utf8: change == Some("utf8"), ..submission(&two) });
        let sent = hand.hear(0, ehlo);
        let expected: Vec<_> = failed.iter().map(|&(i, it)| (i, it.to_owned())).collect();
        assert_eq!(hand.failures(), expected, "{ehlo:?} {change:?}");
        let mail = b"MAIL FROM:<owner@lists.example>\r\n".to_vec();
        let one_is_left = failed.len() == 1;
        assert_eq!(sent == [Effect::Send(nth(0), mail)], one_is_left);
    }
}

/// A text with octets above 127 goes to every host; the engine says which of them take none.
#[test]
fn eight_bits() {
    for (ehlo, eight_bit, is_seven_bit) in [
        ("250 hi\r\n", true, true),
        ("250 hi\r\n", false, false),
        ("250-hi\r\n250 8BITMIME\r\n", true, false),
    ] {
        let mut hand = ClockHand::new(config());
        hand.connect(Submission { eight_bit, ..submission(&["a@x.example"]) });
        let [Effect::Send(_, mail)] = &hand.hear(0, ehlo)[..] else { panic!("{ehlo:?}") };
        assert!(mail.starts_with(b"MAIL FROM:<owner@lists.example>"));
        assert_eq!(mail.ends_with(b" BODY=8BITMIME\r\n"), eight_bit && !is_seven_bit);
        assert_eq!(hand.engine.is_seven_bit(nth(0), MessageId(7)), is_seven_bit);
    }
}

/// A handshake that fails is not tried again with the same host; the mail goes without, at once,
/// unless TLS is required.
#[test]
fn tls_that_does_not_work() {
    for (tls, goes_plain) in [(Tls::Opportunistic, true), (Tls::Required, false)] {
        let mut config = config();
        config.tls = tls;
        let mut hand = ClockHand::new(config);
        hand.connect(submission(&["a@x.example"]));
        let effects = hand.hear(0, "250-hi\r\n250 STARTTLS\r\n");
        assert_eq!(effects, [Effect::Send(nth(0), b"STARTTLS\r\n".to_vec())]);
        assert_eq!(hand.hear(0, "220 go\r\n"), [Effect::StartTls(nth(0))]);
        let effects = hand.tell(Event::Closed(nth(0), "bad certificate".into()));
        if !goes_plain {
            assert_eq!(effects, []);
            continue;
        }
        assert_eq!(effects, [Effect::Connect(nth(1), relay())]);
        hand.tell(Event::Connected(nth(1)));
        hand.hear(1, "220 hi\r\n");
        let effects = hand.hear(1, "250-hi\r\n250 STARTTLS\r\n");
        let mail = b"MAIL FROM:<owner@lists.example>\r\n".to_vec();
        assert_eq!(effects, [Effect::Send(nth(1), mail)]);
    }
}

/// News of what is over or never was change nothing; neither does a clock that goes back.
#[test]
fn late_news_are_ignored() {
    let mut hand = ClockHand::new(config());
    hand.connect(submission(&["a@x.example"]));
    let (before, nobody) = (hand.now, nth(99));
    for event in [
        Event::Persisted(BatchId(0)),
        Event::NotPersisted(BatchId(9), "late".into()),
        Event::Resolved("x.example".into(), Answer::NoSuchDomain),
        Event::Resolved("y.example".into(), Answer::NoMail),
        Event::Connected(nobody),
        Event::Received(nobody, b"250 ok\r\n".to_vec()),
        Event::Written(nobody, 1),
        Event::Written(nth(0), 1),
        Event::Secured(nth(0)),
        Event::Closed(nobody, "late".into()),
        Event::Reported(MessageId(7), [0, 99].map(RecipientIndex).into()),
        Event::Reported(MessageId(8), vec![RecipientIndex(0)]),
        Event::Tick,
    ] {
        assert_eq!(hand.tell(event.clone()), [], "{event:?}");
    }
    hand.now = before;
    let effects = hand.tell(Event::Submitted(submission(&["b@x.example"])));
    assert_eq!(effects, [Effect::Refused(MessageId(7), Refusal::Invalid("its number is in use"))]);
    let effects = hand.tell(Event::Submitted(Submission { id: MessageId(8), ..submission(&[]) }));
    assert_eq!(effects, [Effect::Refused(MessageId(8), Refusal::Invalid("it has no recipients"))]);
    let effects = hand.hear(0, "250 hi\r\n");
    let mail = b"MAIL FROM:<owner@lists.example>\r\n".to_vec();
    assert_eq!(effects, [Effect::Send(nth(0), mail)]);
}

/// The lines by which `engine` begins its transactions for `submission`, with a host that takes all.
fn mail_lines(mut hand: ClockHand, submission: Submission, transactions: usize) -> Vec<String> {
    hand.connect(submission);
    let (mut said, mut effects) = (Vec::new(), hand.hear(0, "250 hi\r\n"));
    while !effects.is_empty() {
        let next = effects.drain(..).flat_map(|effect| match effect {
            Effect::Send(_, bytes) => {
                let line = String::from_utf8(bytes).unwrap();
                let reply = if line == "DATA\r\n" { "354 go\r\n" } else { "250 ok\r\n" };
                said.push(line);
                hand.hear(0, reply)
            }
            Effect::SendBody(..) => {
                let mut effects = hand.tell(Event::Written(nth(0), 1));
                effects.extend(hand.hear(0, "250 taken\r\n"));
                effects
            }
            Effect::Persist(batch, _) => hand.tell(Event::Persisted(batch)),
            _ => vec![],
        });
        effects = next.collect();
        if effects.is_empty()
            && said.iter().filter(|line| line.starts_with("MAIL")).count() < transactions
        {
            hand.now += Span::from_ms(100);
            effects = hand.tell(Event::Tick);
        }
    }
    said.retain(|line| line.starts_with("MAIL"));
    said
}

/// Each recipient gets a transaction of its own, whose return path names it; one for whom it would
/// be too long gets the plain one.
#[test]
fn return_paths_that_name_the_recipient() {
    let back = "list-bounces@lists.example";
    let mut config = config();
    config.verp = vec![back.parse().unwrap()];
    let long = format!("{}@x.example", "u".repeat(60));
    let sender = Some(back.parse().unwrap());
    let submission = Submission { sender, ..submission(&["a@x.example", &long]) };
    assert_eq!(
        mail_lines(ClockHand::new(config), submission, 2),
        [
            "MAIL FROM:<list-bounces+a=x.example@lists.example>\r\n",
            "MAIL FROM:<list-bounces@lists.example>\r\n",
        ]
    );
}

/// Copies of a list at home have return paths with tokens that say whose they are, whatever `verp`
/// says; a recipient without a number gets the plain path.
#[test]
fn return_paths_with_tokens() {
    let back: Address = "list-bounces@lists.example".parse().unwrap();
    let keys = TokenKeys::new(&[[1; SECRET]]).unwrap();
    let config = Config { verp: vec![back.clone()], ..config() };
    let mut hand = ClockHand::new(config);
    hand.engine.set_return_paths(ReturnPaths::new(keys.clone(), vec![back.clone()]));
    let submission = Submission {
        id: MessageId((5 << 32) + 7),
        sender: Some(back.clone()),
        subscribers: vec![3, 0, u32::MAX],
        day: 20_781,
        ..submission(&["a@x.example", "b@x.example", "c@x.example"])
    };
    let lines = mail_lines(hand, submission, 3);
    let claims = lines.iter().map(|line| {
        let path = line.strip_prefix("MAIL FROM:<").unwrap().strip_suffix(">\r\n").unwrap();
        match form(&back, &path.parse().unwrap()).unwrap() {
            Form::Token(token) => keys.verify(Purpose::Bounce, &back, &token),
            _ => None,
        }
    });
    let of = |subscriber| Some(Claim { subscriber, mailing: 7, day: 20_781 });
    assert_eq!(claims.collect::<Vec<_>>(), [of(3), None, of(u32::MAX)]);
    assert_eq!(lines[1], "MAIL FROM:<list-bounces@lists.example>\r\n");
}

/// Words in plain text after the reply to STARTTLS, and a server that leaves when it has turned to
/// TLS: both do without, where they may.
#[test]
fn tls_that_breaks_before_or_after_its_handshake() {
    for early in [true, false] {
        let mut hand = ClockHand::new(config());
        hand.connect(submission(&["a@x.example"]));
        hand.hear(0, "250-hi\r\n250 STARTTLS\r\n");
        let effects = if early {
            hand.hear(0, "220 go\r\nnoise\r\n")
        } else {
            hand.hear(0, "220 go\r\n");
            hand.tell(Event::Secured(nth(0)));
            hand.hear(0, "421 not like this\r\n")
        };
        let again = Effect::Connect(nth(1), relay());
        assert_eq!(effects, [Effect::Close(nth(0)), again]);
    }
}

/// Destinations keep their places in line while their names are looked up: with one session the
/// order is that of the list, but for those whose answers are not there yet.
#[test]
fn the_order_of_a_list_is_not_that_of_the_answers() {
    let mut config = config();
    config.limits.sessions = 1.try_into().unwrap();
    let mut hand = ClockHand::new(config);
    let domains: Vec<String> = (0..6).map(|n| format!("d{n}.example")).collect();
    let recipients: Vec<String> = domains.iter().map(|it| format!("s@{it}")).collect();
    let recipients: Vec<&str> = recipients.iter().map(String::as_str).collect();
    hand.tell(Event::Submitted(submission(&recipients)));
    let asked = hand.tell(Event::Persisted(BatchId(0)));
    assert_eq!(asked.iter().filter(|it| matches!(it, Effect::Resolve(_))).count(), 6);
    let host = |n: u8| IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, n));
    let mut connected = Vec::new();
    let mut note = |effects: Vec<Effect>| {
        for effect in effects {
            if let Effect::Connect(session, relay) = effect {
                connected.push((session, relay.name.to_string()));
            }
        }
        connected.clone()
    };
    let answer = |hand: &mut ClockHand, n: u8| {
        let name = domains[usize::from(n)].as_str();
        let host = MailHost { name: name.into(), preference: 10, addresses: vec![host(n)] };
        let answer = Answer::Hosts { hosts: vec![host], lifetime: Span::from_s(600) };
        hand.tell(Event::Resolved(name.into(), answer))
    };
    for n in [4, 5, 2, 0, 3] {
        let effects = answer(&mut hand, n);
        note(effects);
    }
    // The one session is that of the first answer. Each that ends makes way for the next in line;
    // the answer about d1 comes while d2 is served, and d1 still goes before those behind it.
    for served in 0..5 {
        let (session, _) = note(Vec::new())[served].clone();
        let effects = hand.tell(Event::Closed(session, "no connection".into()));
        note(effects);
        if served == 1 {
            let effects = answer(&mut hand, 1);
            note(effects);
        }
    }
    let names: Vec<String> = note(Vec::new()).into_iter().map(|(_, name)| name).collect();
    let order = [4, 0, 2, 1, 3, 5].map(|n| format!("d{n}.example"));
    assert_eq!(names, order);
}
