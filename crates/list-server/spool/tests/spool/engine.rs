//! The engine on a real spool, with hosts that answer at once; stopped at every write, before and
//! after it reached the disk.

use sojourn_core::Span;
use sojourn_core::parameters::{Parameters, Table, Value};
use sojourn_mail_engine::{
    Answer, Config, Effect, Engine, Event, MailHost, MessageId, Moment, SessionId, Submission, Task,
};
use sojourn_mail_spool::{Answers, Epoch, Spool};
use sojourn_smtp::Address;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;

const EPOCH: Epoch = Epoch { unix_ms: 1_700_000_000_000 };
const TEXT: &[u8] = b"Subject: x\r\n\r\nx\r\n";

fn config() -> Config {
    let mut table = Table::default();
    table.set("hello", Value::Text("lists.example".into()));
    table.set("split", Value::Text("each".into()));
    Config::read_table(&table).unwrap()
}

/// Everything around the engine; `delivered` and `failed` are what the world has seen.
struct World<'a> {
    path: &'a Path,
    engine: Engine,
    spool: Spool,
    answers: Answers,
    noted: BTreeSet<Task>,
    now: Moment,
    events: VecDeque<Event>,
    recipients: BTreeMap<SessionId, Vec<String>>,
    delivered: BTreeMap<String, u32>,
    failed: BTreeMap<String, u32>,
    list: Vec<Address>,
    writes: u32,
    /// The write at which the process ends, a note or a batch, and whether it is still made.
    crash: Option<(u32, bool)>,
}

impl World<'_> {
    fn run(&mut self) {
        while let Some(event) = self.events.pop_front() {
            self.now += Span::from_ms(3);
            let effects = self.engine.handle(self.now, event);
            if !self.note(&effects) {
                continue;
            }
            for effect in effects {
                if !self.obey(effect) {
                    break;
                }
            }
        }
    }

    /// Notes who has it; false when the process ended.
    fn note(&mut self, effects: &[Effect]) -> bool {
        for effect in effects {
            let Effect::Note(task) = *effect else { continue };
            let crash = self.crash.filter(|&(at, _)| at == self.writes);
            self.writes += 1;
            if crash.is_none_or(|(_, written)| written) {
                self.answers.note([task]).unwrap();
                assert!(self.noted.insert(task), "{task:?} was noted, and sent to again");
            }
            if crash.is_some() {
                self.restart();
                return false;
            }
        }
        true
    }

    /// Does one effect; false when the process ended.
    fn obey(&mut self, effect: Effect) -> bool {
        let event = match effect {
            Effect::Resolve(domain) => {
                let host = MailHost {
                    name: "x.example".into(),
                    preference: 1,
                    addresses: vec![[192, 0, 2, 1].into()],
                };
                Event::Resolved(
                    domain,
                    Answer::Hosts { hosts: vec![host], lifetime: Span::from_s(60) },
                )
            }
            Effect::Connect(session, _) => {
                self.events.push_back(Event::Connected(session));
                Event::Received(session, b"220 hi\r\n".to_vec())
            }
            Effect::Send(session, bytes) => {
                let command = String::from_utf8(bytes).unwrap();
                Event::Received(session, self.answer(session, command.trim_end()).into())
            }
            Effect::SendBody(session, ..) => {
                for recipient in self.recipients.remove(&session).unwrap() {
                    *self.delivered.entry(recipient).or_default() += 1;
                }
                self.events.push_back(Event::Written(session, 1));
                Event::Received(session, b"250 taken\r\n".to_vec())
            }
            Effect::Persist(batch, records) => {
                self.answers.batched();
                let crash = self.crash.filter(|&(at, _)| at == self.writes);
                self.writes += 1;
                if crash.is_none_or(|(_, written)| written) {
                    self.spool.write(&records).unwrap();
                }
                if crash.is_some() {
                    self.restart();
                    return false;
                }
                self.answers.saved();
                Event::Persisted(batch)
            }
            Effect::Report(message, failures) => {
                for &(recipient, _) in &failures {
                    let address = self.list[recipient.index()].to_string();
                    *self.failed.entry(address).or_default() += 1;
                }
                Event::Reported(message, failures.iter().map(|&(recipient, _)| recipient).collect())
            }
            Effect::Finished(message) => {
                self.spool.finish(message);
                self.spool.write(&[]).unwrap();
                return true;
            }
            Effect::Wake(at) if at < self.now + Span::from_s(1) => Event::Tick,
            _ => return true,
        };
        self.events.push_back(event);
        true
    }

    fn answer(&mut self, session: SessionId, command: &str) -> &'static str {
        match command.split([' ', ':']).next() {
            Some("RCPT") if command.contains("unknown") => "550 5.1.1 no such user\r\n",
            Some("RCPT") => {
                let address = command.trim_start_matches("RCPT TO:<").trim_end_matches('>');
                self.recipients.entry(session).or_default().push(address.into());
                "250 ok\r\n"
            }
            Some("DATA") => "354 go\r\n",
            _ => "250 ok\r\n",
        }
    }

    fn restart(&mut self) {
        self.events.clear();
        self.recipients.clear();
        self.engine = Engine::new(config(), 1);
        // The spool's own end writes nothing: all it does is let go of the lock.
        let other = self.path.with_extension("other");
        drop(std::mem::replace(&mut self.spool, Spool::open(&other, EPOCH).unwrap()));
        self.spool = Spool::open(self.path, EPOCH).unwrap();
        self.answers = self.spool.answers();
        let found = self.spool.load().unwrap();
        if found.is_empty() && self.delivered.is_empty() {
            return self.offer();
        }
        for stored in found {
            assert_eq!(self.spool.text(stored.submission.id).unwrap().as_deref(), Some(TEXT));
            self.events.push_back(Event::Restored(stored));
        }
    }

    fn offer(&mut self) {
        let submission = Submission {
            id: self.spool.next_id(),
            sender: Some("owner@lists.example".parse().unwrap()),
            size: TEXT.len() as u64,
            eight_bit: false,
            utf8: false,
            subscribers: Vec::new(),
            day: 0,
            recipients: self.list.clone(),
        };
        assert_eq!(submission.id, MessageId(1));
        self.spool.offer(self.now, submission.clone(), TEXT.into());
        self.events.push_back(Event::Submitted(submission));
    }
}

/// Runs with a crash; how many writes there were, and how many recipients got it twice.
fn run(crash: Option<(u32, bool)>) -> (u32, usize) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("spool");
    let names = ["a", "b", "unknown", "c", "d", "e", "f"];
    let list = names.map(|name| format!("{name}@x.example").parse().unwrap());
    let mut spool = Spool::open(&path, EPOCH).unwrap();
    let mut world = World {
        path: &path,
        engine: Engine::new(config(), 1),
        answers: spool.answers(),
        spool,
        noted: BTreeSet::new(),
        now: Moment::ZERO,
        events: VecDeque::new(),
        recipients: BTreeMap::new(),
        delivered: BTreeMap::new(),
        failed: BTreeMap::new(),
        list: list.to_vec(),
        writes: 0,
        crash,
    };
    world.offer();
    world.run();
    assert_eq!(world.delivered.len(), 6, "{crash:?}: {:?}", world.delivered);
    assert!(world.failed.keys().eq(["unknown@x.example"]), "{crash:?}: {:?}", world.failed);
    assert_eq!(world.spool.load().unwrap(), [], "{crash:?}");
    assert_eq!(world.engine.messages(), 0);
    let twice = world.delivered.values().filter(|&&times| times > 1).count();
    (world.writes, twice)
}

#[test]
fn stopped_at_every_write() {
    let (writes, twice) = run(None);
    assert_eq!(twice, 0);
    assert!(writes >= 11, "{writes}");
    for write in 0..writes {
        for written in [false, true] {
            let (_, twice) = run(Some((write, written)));
            // Five sessions at most, one transaction of one recipient each.
            assert!(twice <= 5, "write {write}, {written}: {twice}");
        }
    }
}
