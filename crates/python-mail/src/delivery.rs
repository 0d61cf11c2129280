//! Delivery and the spool: started, told, watched, stopped.

use crate::{InputError, address, refused};
use numpy::{IntoPyArray, PyArray1};
use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sojourn_list_server::{Log, Mail, ServerHandle, Settings, Tally, control, state};
use sojourn_mail_engine::policy::timeouts::Timeouts;
use sojourn_mail_engine::{MessageId, Operation, Selection};
use sojourn_mail_spool as spool;
use sojourn_mail_spool::private;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

create_exception!(
    sojourn_mail,
    ServerError,
    InputError,
    "A list server, or its files, cannot do what is asked."
);

pub(crate) fn failed(error: impl std::fmt::Display) -> PyErr {
    ServerError::new_err(error.to_string())
}

/// How a list server is set: a file, read and checked.
#[pyclass(frozen, module = "sojourn_mail")]
pub(crate) struct MailSettings(Settings);

#[pymethods]
impl MailSettings {
    #[staticmethod]
    fn parse(text: &str, source: &str, overrides: Vec<(String, String)>) -> PyResult<MailSettings> {
        let complete = sojourn_list_server::complete;
        let read = sojourn_study::read_settings(text, source, &overrides, complete);
        read.map(MailSettings).map_err(refused)
    }

    fn timeouts_s(&self, failures: u32) -> [(&'static str, f64); 11] {
        let steps = self.0.mail.timeouts.steps(failures);
        [
            ("resolve", steps.resolve),
            ("connect", steps.connect),
            ("greeting", steps.greeting),
            ("hello", steps.hello),
            ("mail", steps.mail),
            ("rcpt", steps.rcpt),
            ("data", steps.data),
            ("block", steps.block),
            ("dot", steps.dot),
            ("rset", steps.rset),
            ("quit", steps.quit),
        ]
        .map(|(step, span)| (step, span.seconds()))
    }
}

/// A running list server.
#[pyclass(frozen, module = "sojourn_mail")]
pub(crate) struct DeliveryServer {
    delivery: sojourn_list_server::DeliveryServer,
    name: String,
    running: Mutex<Option<ServerHandle>>,
    tally: Tally,
    notices: Vec<String>,
}

#[pymethods]
impl DeliveryServer {
    #[staticmethod]
    #[pyo3(signature = (settings, spool, log=None))]
    fn start(
        py: Python<'_>,
        settings: &MailSettings,
        spool: PathBuf,
        log: Option<PathBuf>,
    ) -> PyResult<DeliveryServer> {
        let settings = settings.0.clone();
        let name = settings.mail.hello.clone();
        let tally = Tally::default();
        let started = match log {
            None => py.detach(|| {
                sojourn_list_server::DeliveryServer::start(settings, &spool, tally.clone())
            }),
            Some(path) => {
                let file = private::append(&path);
                let file = file.map_err(|why| failed(format!("{}: {why}", path.display())))?;
                let log = Log::new(file, settings.network.port);
                py.detach(|| {
                    sojourn_list_server::DeliveryServer::start(
                        settings,
                        &spool,
                        (tally.clone(), log),
                    )
                })
            }
        };
        let (delivery, mut running) = started.map_err(failed)?;
        let notices = std::mem::take(&mut running.notices);
        Ok(DeliveryServer { delivery, name, running: Mutex::new(Some(running)), tally, notices })
    }

    /// What was found at the start that an operator has to know.
    #[getter]
    fn notices(&self) -> Vec<String> {
        self.notices.clone()
    }

    fn submit(
        &self,
        py: Python<'_>,
        sender: Option<&str>,
        recipients: Vec<String>,
        text: &[u8],
    ) -> PyResult<u64> {
        let sender = sender.map(address).transpose()?;
        let recipients = recipients.iter().map(|it| address(it)).collect::<PyResult<_>>()?;
        let mail = Mail::new(sender, recipients, text).completed(&self.name);
        let id = py.detach(|| self.delivery.submit_blocking(mail)).map_err(failed)?;
        Ok(id.0)
    }

    /// Waits until nothing is left to deliver; false when something is after so many seconds.
    fn wait(&self, py: Python<'_>, seconds: f64) -> bool {
        py.detach(|| self.tally.wait(Duration::from_secs_f64(seconds)))
    }

    /// How far it is.
    fn progress<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let count = self.tally.count();
        let failed = count.troubled.values().filter(|it| it.failed).count();
        let progress = PyDict::new(py);
        progress.set_item("messages", count.unfinished.len())?;
        let delivered: usize = count.delivered_s.values().map(Vec::len).sum();
        progress.set_item("delivered", delivered)?;
        progress.set_item("failed", failed)?;
        progress.set_item("deferred", count.troubled.len() - failed)?;
        progress.set_item("attempts", count.attempts)?;
        progress.set_item("trouble", &count.trouble)?;
        Ok(progress)
    }

    /// How long after a message, or each message, was accepted its recipients had it, in seconds.
    #[pyo3(signature = (message=None))]
    fn delivered_s<'py>(&self, py: Python<'py>, message: Option<u64>) -> Bound<'py, PyArray1<f64>> {
        let count = self.tally.count();
        let wanted = count.delivered_s.iter().filter(|(id, _)| message.is_none_or(|it| it == id.0));
        let times: Vec<f64> = wanted.flat_map(|(_, times)| times).copied().collect();
        times.into_pyarray(py)
    }

    /// Recipients not reached so far: message, recipient, whether for good, status, reason.
    fn troubled(&self) -> Vec<(u64, String, bool, String, String)> {
        let count = self.tally.count();
        let list = count.troubled.iter().map(|(task, it)| {
            let (status, reason) = (it.status.clone(), it.reason.clone());
            (task.message.0, it.recipient.clone(), it.failed, status, reason)
        });
        list.collect()
    }

    /// Stops it; how many messages are left in the spool, and how many sessions had to be cut.
    fn stop(&self, py: Python<'_>) -> PyResult<(usize, usize)> {
        let running =
            self.running.lock().expect("no thread panics while it holds the server").take();
        let running = running.ok_or_else(|| PyRuntimeError::new_err("it is stopped already"))?;
        let left = py.detach(|| running.stop());
        Ok((left.messages, left.cut))
    }
}

/// See `mail_queue`.
type Queued = (u64, Option<String>, u64, i64, u64, u64, u64, u64, Option<i64>, u64);

/// The messages of a spool: number, sender, octets, when accepted, recipients open, deferred, failed
/// and ended, when the next is tried, how many of them are held; times in milliseconds since 1970.
#[pyfunction]
pub(crate) fn mail_queue(py: Python<'_>, spool: PathBuf) -> PyResult<Vec<Queued>> {
    let list = py.detach(|| spool::look(&spool)).map_err(failed)?;
    let row = |it: spool::Queued| {
        let counts = (it.open, it.deferred, it.failed, it.ended);
        let (open, deferred, failed, ended) = counts;
        let (id, sender, size, at) = (it.message, it.sender, it.size, it.accepted_ms);
        (id, sender, size, at, open, deferred, failed, ended, it.next_ms, it.held)
    };
    Ok(list.into_iter().map(row).collect())
}

/// Has an operation done with recipients in a spool, by the process that owns it where there is one:
/// `count`, `hold`, `release`, `delete`, `flush` or `requeue`, for the messages, lists, domains and
/// addresses that are given, or for all. How many messages and recipients, and how many recipients
/// more are in a transaction.
#[pyfunction]
pub(crate) fn mail_operate(
    py: Python<'_>,
    spool: PathBuf,
    operation: &str,
    messages: Vec<u64>,
    lists: Vec<String>,
    domains: Vec<String>,
    addresses: Vec<String>,
) -> PyResult<(u64, u64, u64)> {
    let operation = match operation {
        "count" => Operation::Count,
        "hold" => Operation::Hold,
        "release" => Operation::Release,
        "delete" => Operation::Delete,
        "flush" => Operation::Flush,
        "requeue" => Operation::Requeue,
        other => return Err(PyValueError::new_err(format!("no operation {other:?}"))),
    };
    let selection = Selection {
        messages: messages.into_iter().map(MessageId).collect(),
        lists: lists.iter().map(|it| address(it)).collect::<PyResult<_>>()?,
        domains: domains.iter().map(|it| it.to_ascii_lowercase()).collect(),
        addresses: addresses
            .iter()
            .map(|it| Ok(address(it)?.as_str().to_ascii_lowercase()))
            .collect::<PyResult<_>>()?,
    };
    let counts = py.detach(|| control::operate(&spool, operation, &selection)).map_err(failed)?;
    Ok((counts.messages, counts.recipients, counts.under_way))
}

/// Has the server with this spool take on its configuration again, which is this file of this text;
/// what it has to say about it.
#[pyfunction]
pub(crate) fn mail_reload(
    py: Python<'_>,
    spool: PathBuf,
    config: &str,
    text: &str,
) -> PyResult<Vec<String>> {
    py.detach(|| control::reload(&spool, config, text)).map_err(failed)
}

/// The limits that a domain has in the server with this spool, as a list in JSON.
#[pyfunction]
pub(crate) fn mail_shaping(py: Python<'_>, spool: PathBuf, domain: &str) -> PyResult<String> {
    py.detach(|| control::shaping(&spool, domain)).map_err(failed)
}

/// See `mail_waiting`.
type Waiting = (String, u64, u64, i64, u64, Option<i64>, Option<Tried>);

/// When a recipient was last tried, with which host, the status and the words.
type Tried = (i64, Option<String>, String, String);

/// Recipients for whose delivery a spool's messages wait: address, messages, those of them that were never refused, since
/// when, how often they were refused, when the next is tried, and the last attempt; times in
/// milliseconds since 1970.
#[pyfunction]
pub(crate) fn mail_waiting(py: Python<'_>, spool: PathBuf) -> PyResult<Vec<Waiting>> {
    let list = py.detach(|| spool::waiting(&spool)).map_err(failed)?;
    let row = |it: spool::Waiting| {
        let last = it.last.map(|last| (last.at_ms, last.host, last.status, last.text));
        (it.recipient, it.messages, it.open, it.since_ms, it.refused, it.next_ms, last)
    };
    Ok(list.into_iter().map(row).collect())
}

/// What was found, and what a repair does about it.
type Finding = (String, String);

/// What is wrong with a spool, and with the register and the keys of its server, each with what a
/// repair does about it; and, when they were repaired at `now` (seconds since 1970), where the damaged
/// files are kept. A register or keys that are lost are made new where `new` says so.
#[pyfunction]
pub(crate) fn mail_spool_check(
    py: Python<'_>,
    spool: PathBuf,
    repair: bool,
    new: bool,
    now: i64,
) -> PyResult<(Vec<Finding>, Vec<PathBuf>)> {
    // One that was removed to begin with an empty spool has nothing to be checked.
    let has_spool = spool.exists();
    let (findings, kept) = py.detach(|| {
        let (mut findings, mut kept) = (Vec::new(), Vec::new());
        if !repair {
            findings = if has_spool { spool::check(&spool).map_err(failed)? } else { findings };
            findings.extend(state::check(&spool));
            return PyResult::Ok((findings, kept));
        }
        if has_spool && let Some(repaired) = spool::repair(&spool).map_err(failed)? {
            findings = repaired.findings;
            kept.push(repaired.copy);
        }
        let state = state::repair(&spool, new, now).map_err(failed)?;
        findings.extend(state.0);
        kept.extend(state.1);
        Ok((findings, kept))
    })?;
    Ok((findings.into_iter().map(|it| (it.what, it.remedy.into_owned())).collect(), kept))
}
