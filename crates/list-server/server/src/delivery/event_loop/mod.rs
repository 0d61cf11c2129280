//! The loop around the engine: events go in; effects go to sessions, name servers and the spool.

mod begin;
mod calendar;
mod copies;
mod later;
mod operator;
mod perform;
mod report;

pub(crate) use super::event_loop::begin::Start;

use super::clock::Clock;
use super::dns::Names;
use super::event_loop::copies::{Awaiting, Texts};
use super::event_loop::later::Later;
use super::local::LocalDelivery;
use super::mail::Mail;
use super::request::{Input, Refused, Reported, Request, StopReport, TextId};
use super::smtp_out::{Order, Wire};
use crate::event::{Observer, ServerEvent};
use bytes::Bytes;
use sojourn_core::Span;
use sojourn_mail_engine::{
    Counts, Engine, Event, MessageId, Operation, Reason, RecipientIndex, Selection, SessionId,
    Submission,
};
use sojourn_mail_spool::{Answers, Archive, Epoch, Job, NoSpace, Reserve, SpoolError, octets};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};
use tokio::task::yield_now;
use tokio::time::{Duration, Instant, interval, sleep_until};

/// The engine and all that it gives orders to.
struct Driver {
    engine: Engine,
    /// The server's name.
    hello: String,
    clock: Clock,
    epoch: Epoch,
    /// When the engine wants to be woken.
    wake: Instant,
    archive: Archive,
    answers: Answers,
    reserve: Arc<Reserve>,
    /// Whether answers could not be noted lately, which was told.
    unnoted: bool,
    texts: Texts,
    /// Who waits for a text to be read.
    unread: BTreeMap<TextId, Vec<Reader>>,
    lines: BTreeMap<SessionId, mpsc::UnboundedSender<Order>>,
    wire: Rc<Wire>,
    names: Rc<Names>,
    /// Messages that are not on stable storage yet.
    offered: BTreeMap<MessageId, Offered>,
    next_id: MessageId,
    inputs: mpsc::Sender<Input>,
    /// Events for the engine: the next ones, and those after them.
    soon: VecDeque<Event>,
    later: Later,
    observer: Box<dyn Observer>,
    local: Arc<dyn LocalDelivery>,
    /// How long transactions may take when the server is stopped.
    grace: Duration,
    /// Who waits for an operation to be done, by its number.
    operations: BTreeMap<u64, oneshot::Sender<Counts>>,
    next_operation: u64,
}

/// A message on the way to stable storage, and who waits for it to be there.
struct Offered {
    mail: Mail,
    by: Submitter,
}

enum Submitter {
    Outside(oneshot::Sender<Result<MessageId, Refused>>),
    /// The engine, which wanted failures reported.
    Engine(Reported),
}

/// Who wants to read a text.
enum Reader {
    Session(Awaiting),
    /// A report on these failures.
    Report(Vec<(RecipientIndex, Reason)>),
    /// Those who wait for the text without octets above 127.
    SevenBit,
}

/// Events that may wait for the engine, once here and once on the way here. Lines read no further
/// while it is full.
const WAITING: usize = 1024;
/// How many of them are handled before lines, storage, requests and the clock are looked at again.
const AT_ONCE: usize = 16;
/// Answers of storage that may wait.
const WRITTEN: usize = 16;
/// How long the spool has to write what was done last.
const LAST_WRITE: Duration = Duration::from_secs(5);

/// Runs a list server until it is stopped;
/// `begun` is called when all that is in the spool is known.
pub(crate) async fn run(
    start: Start,
    mut requests: mpsc::Receiver<Request>,
    begun: impl FnOnce(),
) -> StopReport {
    let (inputs, mut inbox) = mpsc::channel(WAITING);
    let (written, mut storage) = mpsc::channel(WRITTEN);
    let mut driver = Driver::begin(start, inputs, written);
    begun();
    let mut wake = std::pin::pin!(sleep_until(driver.wake));
    let mut look = interval(calendar::LOOK);
    // When what is under way is cut, and when nothing is waited for any more.
    let mut end: Option<(Instant, Instant)> = None;
    let mut cut = 0;
    while end.is_none() || !driver.engine.is_at_rest() {
        driver.observer.pause();
        if wake.deadline() != driver.wake {
            wake.as_mut().reset(driver.wake);
        }
        tokio::select! {
            biased;
            () = &mut wake => driver.soon.push_back(Event::Tick),
            _ = look.tick() => driver.look_at_calendar(),
            () = until(end), if end.is_some() => {
                let (_, last) = end.expect("the end that is awaited is set");
                if Instant::now() >= last {
                    break;
                }
                end = Some((last, last));
                cut += driver.cut();
            }
            // The next write waits for this.
            Some(input) = storage.recv() => driver.take(input),
            Some(request) = requests.recv(), if end.is_none() => {
                end = driver.request(request).map(|until| (until, until + LAST_WRITE));
            }
            Some(input) = inbox.recv(), if driver.later.len() < WAITING => driver.sort(input),
            () = yield_now(), if driver.later.len() > 0 => {}
        }
        while driver.later.len() < WAITING
            && let Ok(input) = inbox.try_recv()
        {
            driver.sort(input);
        }
        driver.go_on();
        for _ in 0..AT_ONCE {
            let Some(input) = driver.later.next() else { break };
            driver.take(input);
            driver.go_on();
        }
    }
    let left = StopReport { messages: driver.engine.messages(), cut };
    // The spool's thread may be about to send what no receiver takes any more.
    driver.observer.pause();
    drop((inbox, storage));
    let (all, spool) = (driver.engine.is_at_rest(), driver.archive.close());
    if all {
        driver.answers.remove();
    }
    if left.messages == 0 {
        driver.reserve.remove();
    }
    drop(spool);
    left
}

async fn until(end: Option<(Instant, Instant)>) {
    if let Some((next, _)) = end {
        sleep_until(next).await;
    }
}

fn duration(span: Span) -> Duration {
    Duration::from_nanos(span.ps() / 1000)
}

impl Driver {
    /// Does what is asked for; after a wish to stop, until when what is under way may go on.
    fn request(&mut self, request: Request) -> Option<Instant> {
        match request {
            Request::Submit(mail, answer) => self.submit(mail, Submitter::Outside(answer)),
            Request::ReturnPaths(paths) => self.engine.set_return_paths(paths),
            Request::Operate(operation, selection, answer) => {
                self.operate(operation, selection, answer);
            }
            Request::Configure(new, answer) => drop(answer.send(self.configure(*new))),
            // Who has gone away does not want to know.
            Request::Count(answer) => drop(answer.send(self.engine.steps().collect())),
            Request::Shaping(domain, answer) => {
                drop(answer.send(self.engine.shaping(domain.as_deref())));
            }
            Request::Trouble(why) => self.observe(&ServerEvent::Trouble(&why)),
            Request::Stop => {
                self.soon.push_back(Event::Stop);
                return Some(Instant::now() + self.grace);
            }
        }
        None
    }

    /// Tells the engine what happened, and does what it wants done, until nothing follows.
    fn go_on(&mut self) {
        while let Some(event) = self.soon.pop_front() {
            if let Event::Tick = event {
                // Until the engine says otherwise.
                self.wake = Instant::now() + Duration::from_secs(3600);
            }
            let effects = self.engine.handle(self.clock.now(), event);
            self.note(&effects);
            for effect in effects {
                self.perform(effect);
            }
        }
    }

    /// Takes what came, now or later.
    fn sort(&mut self, input: Input) {
        if let Some(now) = self.later.sort(input, &self.engine) {
            self.take(now);
        }
    }

    fn take(&mut self, input: Input) {
        match input {
            Input::Event(event) => {
                match &event {
                    Event::Closed(session, _) => drop(self.lines.remove(session)),
                    Event::Persisted(_) => self.answers.saved(),
                    _ => {}
                }
                self.soon.push_back(event);
            }
            Input::Text(id, text) => self.have_read(id, text),
            Input::Report(mail, reported) => self.submit(mail, Submitter::Engine(reported)),
        }
    }

    /// The text is there for all who wait for it.
    fn have_read(&mut self, id: TextId, text: Result<Bytes, SpoolError>) {
        let readers = self.unread.remove(&id).unwrap_or_default();
        match text {
            Ok(text) => {
                self.texts.keep(id, text.clone());
                readers.into_iter().for_each(|reader| self.give(id, &text, reader));
            }
            // It would be read in vain at each attempt. Sessions that wait for it end.
            Err(error @ SpoolError::Damaged { .. }) => {
                self.unread.remove(&TextId { seven_bit: true, ..id });
                let why = format!("{error}; its recipients are held");
                self.observe(&ServerEvent::Trouble(&why));
                let selection = Selection { messages: [id.message].into(), ..Selection::default() };
                self.operate(Operation::Hold, selection, oneshot::channel().0);
            }
            Err(error) => {
                self.unread.remove(&TextId { seven_bit: true, ..id });
                let why = error.to_string();
                self.observe(&ServerEvent::Trouble(&why));
            }
        }
    }

    /// Has a text given to `reader`, now or when it has been read.
    fn read(&mut self, id: TextId, reader: Reader) {
        if let Some(text) = self.texts.get(id) {
            return self.give(id, &text, reader);
        }
        let waiting = self.unread.entry(id).or_default();
        waiting.push(reader);
        match waiting.len() {
            1 if id.seven_bit => self.read(TextId::stored(id.message), Reader::SevenBit),
            1 => self.archive.order(Job::Read(id.message)),
            _ => {}
        }
    }

    fn give(&mut self, id: TextId, text: &Bytes, reader: Reader) {
        match reader {
            Reader::Session(awaiting) => self.send_copy(awaiting, text.clone()),
            Reader::Report(failures) => self.report(id.message, text, failures),
            Reader::SevenBit => self.encode(id.message, text.clone()),
        }
    }

    /// Whether the disk has space for a message of `size` octets beside those that are being written
    /// and beside the reserve; why not.
    fn admit(&self, size: usize, recipients: usize) -> Result<(), NoSpace> {
        self.reserve.want(self.local.largest(), self.engine.waiting() + recipients as u64);
        let offered = self.offered.values().map(|it| &it.mail);
        let offered = offered.map(|it| octets(it.text.len(), it.recipients.len()));
        self.reserve.admit(offered.sum::<u64>() + octets(size, recipients))
    }

    fn submit(&mut self, mail: Mail, by: Submitter) {
        let (size, recipients) = (mail.text.len(), mail.recipients.len());
        match by {
            Submitter::Outside(answer) => {
                if let Err(why) = self.admit(size, recipients) {
                    // A client that has gone away was promised nothing.
                    return drop(answer.send(Err(Refused::Now(why.to_string()))));
                }
                self.offer(mail, Submitter::Outside(answer));
            }
            // A report may use the reserve: the message that it is about ends with it.
            Submitter::Engine(reported) if self.reserve.fits(octets(size, recipients)) => {
                self.offer(mail, Submitter::Engine(reported));
            }
            Submitter::Engine(reported) => self.report_later(mail, reported),
        }
    }

    fn offer(&mut self, mail: Mail, by: Submitter) {
        let id = self.next_id;
        self.next_id.0 += 1;
        let now = self.clock.now();
        let submission = Submission {
            id,
            sender: mail.sender.clone(),
            size: mail.text.len() as u64,
            eight_bit: mail.eight_bit,
            utf8: mail.utf8,
            recipients: mail.recipients.clone(),
            subscribers: mail.subscribers.clone(),
            day: self.epoch.day(now),
        };
        self.texts.keep_new(TextId::stored(id), &mail.text);
        self.archive.order(Job::Offer(now, submission.clone(), mail.text.clone()));
        self.offered.insert(id, Offered { mail, by });
        self.soon.push_back(Event::Submitted(submission));
    }

    /// Ends all sessions that are left; how many.
    fn cut(&mut self) -> usize {
        let lines = std::mem::take(&mut self.lines);
        for &session in lines.keys() {
            self.soon.push_back(Event::Closed(session, "the server is stopping".into()));
        }
        lines.len()
    }

    fn observe(&mut self, event: &ServerEvent<'_>) {
        self.observer.notice(self.epoch.unix_ms(self.clock.now()), event);
    }
}
