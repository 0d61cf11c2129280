//! Delivery logs, for Python.

use numpy::IntoPyArray;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sojourn_mail_logs::view::{Rows, Tally, Waiting};
use sojourn_mail_logs::{Column, Columns, Counts, Problems, Range, Reader, Settings, mailer};

/// A delivery log being read.
#[pyclass(module = "sojourn._core")]
pub(crate) struct MailLog(Reading);

/// What is made of it.
enum Reading {
    Tally(Box<Reader<Tally>>),
    Rows(Reader<Rows>),
    Waiting(Reader<Waiting>),
}

/// One name for what readers of every view can do.
macro_rules! reader {
    ($reading:expr, $reader:ident => $what:expr) => {
        match $reading {
            Reading::Tally($reader) => $what,
            Reading::Rows($reader) => $what,
            Reading::Waiting($reader) => $what,
        }
    };
}

fn settings(format: Option<&str>, since: Option<i64>, until: Option<i64>) -> PyResult<Settings> {
    let refused = |name| PyValueError::new_err(format!("{name:?} is no mailer"));
    let named = |name| mailer::named(name).ok_or_else(|| refused(name));
    let all = Range::default();
    let range = Range { since: since.unwrap_or(all.since), until: until.unwrap_or(all.until) };
    Ok(Settings { mailer: format.map(named).transpose()?, range })
}

#[pymethods]
impl MailLog {
    #[staticmethod]
    #[pyo3(signature = (width_us, *, format=None, since_us=None, until_us=None))]
    fn tally(
        width_us: i64,
        format: Option<&str>,
        since_us: Option<i64>,
        until_us: Option<i64>,
    ) -> PyResult<MailLog> {
        let settings = settings(format, since_us, until_us)?;
        Ok(MailLog(Reading::Tally(Box::new(Reader::new(settings, Tally::new(width_us))))))
    }

    #[staticmethod]
    #[pyo3(signature = (recipient=None, *, format=None, since_us=None, until_us=None))]
    fn rows(
        recipient: Option<&str>,
        format: Option<&str>,
        since_us: Option<i64>,
        until_us: Option<i64>,
    ) -> PyResult<MailLog> {
        let settings = settings(format, since_us, until_us)?;
        Ok(MailLog(Reading::Rows(Reader::new(settings, Rows::new(recipient)))))
    }

    #[staticmethod]
    #[pyo3(signature = (*, format=None, since_us=None, until_us=None))]
    fn waiting(
        format: Option<&str>,
        since_us: Option<i64>,
        until_us: Option<i64>,
    ) -> PyResult<MailLog> {
        let settings = settings(format, since_us, until_us)?;
        Ok(MailLog(Reading::Waiting(Reader::new(settings, Waiting::default()))))
    }

    fn begin(&mut self, source: &str, newest_us: i64) {
        reader!(&mut self.0, reader => reader.begin(source, newest_us));
    }

    fn feed(&mut self, py: Python<'_>, piece: &[u8]) {
        py.detach(|| reader!(&mut self.0, reader => reader.feed(piece)));
    }

    fn finish(&mut self) {
        reader!(&mut self.0, reader => reader.finish());
    }

    fn counts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let counts: Counts = reader!(&self.0, reader => reader.counts());
        let dict = PyDict::new(py);
        for (name, count) in [
            ("lines", counts.lines),
            ("used", counts.used),
            ("passed", counts.passed),
            ("malformed", counts.malformed),
            ("unread", counts.unread),
            ("passed_on", counts.passed_on),
            ("put_off", counts.put_off),
            ("open", counts.open),
            ("given_up", counts.given_up),
        ] {
            dict.set_item(name, count)?;
        }
        dict.set_item("first_us", counts.first)?;
        dict.set_item("last_us", counts.last)?;
        Ok(dict)
    }

    fn problems(&self) -> Vec<Shown> {
        shown(reader!(&self.0, reader => reader.problems()))
    }

    fn unread(&self) -> Vec<Shown> {
        shown(reader!(&self.0, reader => reader.unread()))
    }

    fn table<'py>(&mut self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyDict>> {
        let columns = match (&mut self.0, name) {
            (Reading::Tally(reader), "bins") => reader.view().bins(),
            (Reading::Tally(reader), "ages") => reader.view().ages(),
            (Reading::Tally(reader), "domains") => reader.view().domains(),
            (Reading::Tally(reader), "times_of_ages") => reader.view().times(false),
            (Reading::Tally(reader), "times_of_domains") => reader.view().times(true),
            (Reading::Rows(reader), "rows") => reader.view().take(),
            (Reading::Waiting(reader), "waiting") => reader.view().rows(),
            _ => return Err(PyValueError::new_err(format!("no table {name:?} is kept"))),
        };
        columns_of(py, columns)
    }

    /// Waiting recipients that there was no room for.
    #[getter]
    fn left_out(&mut self) -> u64 {
        match &mut self.0 {
            Reading::Waiting(reader) => reader.view().left_out,
            Reading::Tally(_) | Reading::Rows(_) => 0,
        }
    }
}

/// A line: its file, its number, what is wrong with it, how it begins.
type Shown = (String, u64, &'static str, String);

fn shown(problems: &Problems) -> Vec<Shown> {
    let shown = problems.first.iter().cloned();
    shown.map(|it| (it.source, it.line, it.why, it.text)).collect()
}

fn columns_of(py: Python<'_>, columns: Columns) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    for (name, column) in columns {
        match column {
            Column::Int(values) => dict.set_item(name, values.into_pyarray(py))?,
            Column::Text(offsets, bytes) => {
                dict.set_item(name, (offsets.into_pyarray(py), bytes.into_pyarray(py)))?;
            }
        }
    }
    Ok(dict)
}

/// The mailers whose logs can be read.
#[pyfunction]
pub(crate) fn mail_log_formats() -> Vec<&'static str> {
    mailer::MAILERS.iter().map(|mailer| mailer.name).collect()
}
