//! The spool's thread: writing waits for the disk, and nothing else has to.

use crate::Spool;
use crate::error::SpoolError;
use bytes::Bytes;
use sojourn_mail_engine::{BatchId, Event, MessageId, Moment, Record, Submission};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Work for the spool, done in order.
#[derive(Debug)]
pub enum Job {
    /// Keep a message that may be written soon.
    Offer(Moment, Submission, Bytes),
    /// Forget it.
    Withdraw(MessageId),
    /// Write a batch of records; what came of it is [`Done::Event`].
    Write(BatchId, Arc<[Record]>),
    /// Remove a message that is finished, when there is time.
    Finish(MessageId),
    /// Follow the calendar, which was set by so many milliseconds.
    StepCalendar(i64),
    /// Read a message's text; what came of it is [`Done::Text`].
    Read(MessageId),
}

/// What came of a job that has an answer.
#[derive(Debug)]
pub enum Done {
    /// A batch is written, or could not be.
    Event(Event),
    /// A text, or why it cannot be read.
    Text(MessageId, Result<Bytes, SpoolError>),
}

/// The handle of the thread, which does one job after another.
#[derive(Debug)]
pub struct Archive {
    jobs: Option<mpsc::Sender<Job>>,
    thread: Option<JoinHandle<Spool>>,
}

/// Finished messages are removed with the next write, or after this long without one.
const QUIET: Duration = Duration::from_millis(200);

impl Archive {
    /// Starts the thread, which calls `report` with what came of each job that has an answer.
    pub fn start(spool: Spool, report: impl FnMut(Done) + Send + 'static) -> Archive {
        let (jobs, orders) = mpsc::channel();
        let work = move || work(spool, &orders, report);
        let thread = std::thread::Builder::new().name("spool".into()).spawn(work);
        Archive { jobs: Some(jobs), thread: Some(thread.expect("a thread can be started")) }
    }

    /// Gives a job to the thread.
    pub fn order(&self, job: Job) {
        // A thread that is gone has panicked, and the panic shows when it is joined.
        let _ = self.jobs.as_ref().expect("jobs are given before the writer is closed").send(job);
    }

    /// Waits until all is done; the spool is closed when what is returned is dropped.
    pub fn close(mut self) -> Spool {
        drop(self.jobs.take());
        let thread = self.thread.take().expect("a writer is closed once");
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

fn work(mut spool: Spool, jobs: &mpsc::Receiver<Job>, mut report: impl FnMut(Done)) -> Spool {
    loop {
        let job = match jobs.recv_timeout(QUIET) {
            Ok(job) => job,
            Err(RecvTimeoutError::Timeout) => {
                sweep(&mut spool);
                match jobs.recv() {
                    Ok(job) => job,
                    Err(_) => return spool,
                }
            }
            Err(RecvTimeoutError::Disconnected) => {
                sweep(&mut spool);
                return spool;
            }
        };
        let done = match job {
            Job::Offer(accepted, submission, text) => {
                spool.offer(accepted, submission, text);
                continue;
            }
            Job::Withdraw(id) => {
                spool.withdraw(id);
                continue;
            }
            Job::Finish(id) => {
                spool.finish(id);
                continue;
            }
            Job::StepCalendar(stepped_ms) => {
                spool.step_calendar(stepped_ms);
                continue;
            }
            Job::Write(batch, records) => Done::Event(match spool.write(&records) {
                Ok(()) => Event::Persisted(batch),
                Err(error) => Event::NotPersisted(batch, error.to_string()),
            }),
            Job::Read(id) => Done::Text(id, text(&spool, id)),
        };
        report(done);
    }
}

/// Removes what is finished, and gives its space back. What cannot be removed now is found, and
/// removed, at the next start.
fn sweep(spool: &mut Spool) {
    if spool.is_behind() {
        let _ = spool.write(&[]);
    }
    let _ = spool.shrink();
}

fn text(spool: &Spool, id: MessageId) -> Result<Bytes, SpoolError> {
    let missing = || spool.damaged(format!("message {} is missing", id.0));
    spool.text(id)?.map(Bytes::from).ok_or_else(missing)
}
