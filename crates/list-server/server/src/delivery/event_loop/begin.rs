//! How a list server begins: with what its spool has.

use super::Driver;
use super::copies::Texts;
use super::later::Later;
use crate::delivery::clock::{Calendar, Clock};
use crate::delivery::dns::Names;
use crate::delivery::local::LocalDelivery;
use crate::delivery::request::{Input, TextId};
use crate::delivery::smtp_out::Wire;
use crate::delivery::smtp_out::tls::Security;
use crate::event::{Observer, ServerEvent};
use crate::settings::Settings;
use sojourn_core::Span;
use sojourn_mail_engine::list::return_path::ReturnPaths;
use sojourn_mail_engine::{Engine, Event, Moment, Progress, Stored};
use sojourn_mail_spool::{Archive, Done, Epoch, Reserve, Spool, SpoolError};
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use tokio::sync::mpsc;

/// All that a list server begins with.
pub(crate) struct Start {
    pub(super) settings: Settings,
    spool: Spool,
    stored: Vec<Stored>,
    clock: Clock,
    epoch: Epoch,
    names: Names,
    security: Security,
    observer: Box<dyn Observer>,
    local: Arc<dyn LocalDelivery>,
    paths: ReturnPaths,
}

/// A spool may have messages that are older than their lifetime, by this much.
const SLACK: Span = Span::from_s(86_400);

impl Start {
    /// Opens the spool, and reads what is in it.
    pub(crate) fn open(
        settings: Settings,
        path: &Path,
        names: Names,
        security: Security,
        observer: Box<dyn Observer>,
        local: Arc<dyn LocalDelivery>,
        calendar: Calendar,
    ) -> Result<Start, SpoolError> {
        let begin = Moment::ZERO + settings.mail.lifetime + SLACK;
        let (clock, epoch) = Clock::start(begin, calendar);
        let spool = Spool::open(path, epoch)?;
        let stored = spool.load()?;
        let paths = ReturnPaths::default();
        Ok(Start { settings, spool, stored, clock, epoch, names, security, observer, local, paths })
    }

    /// The disk space that is kept for what is to be written.
    pub(crate) fn reserve(&self) -> Arc<Reserve> {
        self.spool.reserve()
    }

    /// What is in the spool is sent with return paths as `paths` says.
    pub(crate) fn with_return_paths(self, paths: ReturnPaths) -> Start {
        Start { paths, ..self }
    }
}

impl Driver {
    /// `written` is where storage answers.
    pub(super) fn begin(
        start: Start,
        inputs: mpsc::Sender<Input>,
        written: mpsc::Sender<Input>,
    ) -> Driver {
        let Start {
            settings,
            mut spool,
            stored,
            clock,
            epoch,
            names,
            security,
            observer,
            local,
            paths,
        } = start;
        let (next_id, answers, reserve) = (spool.next_id(), spool.answers(), spool.reserve());
        let mut driver = Driver {
            hello: settings.mail.hello.clone(),
            // What is left to chance need not be the same from start to start.
            engine: Engine::new(settings.mail, epoch.unix_ms as u64),
            clock,
            epoch,
            wake: clock.instant(Moment::NEVER),
            archive: Archive::start(spool, move |done| report(&written, done)),
            answers,
            reserve,
            unnoted: false,
            texts: Texts::default(),
            unread: BTreeMap::new(),
            lines: BTreeMap::new(),
            wire: Rc::new(Wire::new(&settings.network, security)),
            names: Rc::new(names),
            offered: BTreeMap::new(),
            next_id,
            inputs,
            soon: VecDeque::new(),
            later: Later::default(),
            observer,
            local,
            grace: super::duration(settings.network.grace),
            operations: BTreeMap::new(),
            next_operation: 0,
        };
        driver.engine.set_return_paths(paths);
        driver.engine.set_own_hosts(settings.network.itself(driver.local.listening()));
        for message in stored {
            let submission = &message.submission;
            let open = message.progress.iter().filter(|it| **it != Progress::Ended).count();
            driver.observe(&ServerEvent::Accepted {
                message: submission.id,
                sender: submission.sender.as_ref(),
                size: submission.size,
                recipients: open,
                accepted_ms: epoch.unix_ms(message.accepted),
            });
            driver.soon.push_back(Event::Restored(message));
            driver.go_on();
        }
        if let Err(why) = driver.admit(0, 0) {
            driver.observe(&ServerEvent::Trouble(&format!("no mail is taken: {why}")));
        }
        driver
    }
}

/// Passes on what came of a job of the spool. A driver that has stopped needs no answer.
fn report(driver: &mpsc::Sender<Input>, done: Done) {
    let input = match done {
        Done::Event(event) => Input::Event(event),
        Done::Text(id, text) => Input::Text(TextId::stored(id), text),
    };
    let _ = driver.blocking_send(input);
}
