//! A small internet, for Python.

use crate::refused;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use sojourn_study::read_settings;
use sojourn_testnet as testnet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// What there is in a small internet.
#[pyclass(frozen, module = "sojourn_mail")]
pub(crate) struct TestNetConfig(testnet::TestNetConfig);

#[pymethods]
impl TestNetConfig {
    #[staticmethod]
    fn parse(
        text: &str,
        source: &str,
        overrides: Vec<(String, String)>,
    ) -> PyResult<TestNetConfig> {
        read_settings(text, source, &overrides, |_| {}).map(TestNetConfig).map_err(refused)
    }

    fn subscribers(&self) -> Vec<(String, &'static str)> {
        let subscribers = self.0.subscribers().into_iter();
        subscribers.map(|it| (it.address, it.class.name())).collect()
    }

    fn start(&self, py: Python<'_>) -> PyResult<TestNet> {
        let started = py.detach(|| testnet::TestNet::start(&self.0));
        let started = started.map_err(|error| PyOSError::new_err(error.to_string()))?;
        Ok(TestNet(Mutex::new(Some(started))))
    }
}

/// A small internet that runs until it is stopped.
#[pyclass(frozen, module = "sojourn_mail")]
pub(crate) struct TestNet(Mutex<Option<testnet::TestNet>>);

impl TestNet {
    fn with<T>(&self, act: impl FnOnce(&testnet::TestNet) -> T) -> PyResult<T> {
        let running = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let stopped = || PyOSError::new_err("the internet was stopped");
        running.as_ref().map(act).ok_or_else(stopped)
    }
}

/// When (Unix time), message, recipient, host, session, transaction, turns of the client in it.
type Accepted = (f64, String, String, String, u64, u32, u32);

#[pymethods]
impl TestNet {
    #[getter]
    fn resolver(&self) -> PyResult<String> {
        self.with(|it| it.resolver().to_string())
    }

    #[getter]
    fn smtp_port(&self) -> PyResult<u16> {
        self.with(testnet::TestNet::smtp_port)
    }

    #[getter]
    fn authority(&self) -> PyResult<String> {
        self.with(|it| it.authority().to_owned())
    }

    fn accepted(&self, known: usize) -> PyResult<Vec<Accepted>> {
        self.with(|it| {
            let accepted = it.accepted_since(known).into_iter();
            let tuple = |one: testnet::Acceptance| {
                let at = (it.started_unix() + one.at).as_secs_f64();
                let (message, recipient) = (one.message.to_string(), one.recipient.into());
                let place = (one.session, one.transaction, one.turns);
                (at, message, recipient, one.host.to_string(), place.0, place.1, place.2)
            };
            accepted.map(tuple).collect()
        })
    }

    /// The texts of what was taken over, but for the first `known`, where the world keeps them.
    fn texts(&self, known: usize) -> PyResult<Vec<Option<Vec<u8>>>> {
        self.with(|it| {
            let accepted = it.accepted_since(known).into_iter();
            accepted.map(|one| one.text.map(|text| text.to_vec())).collect()
        })
    }

    fn wait_for(&self, py: Python<'_>, accepted: usize, patience_s: f64) -> PyResult<usize> {
        let patience = Duration::try_from_secs_f64(patience_s).unwrap_or(Duration::ZERO);
        py.detach(|| self.with(|it| it.wait_for(accepted, patience)))
    }

    fn set_names(&self, up: bool) -> PyResult<()> {
        self.with(|it| it.set_names(up))
    }

    fn set_hosts(&self, up: bool) -> PyResult<()> {
        self.with(|it| it.set_hosts(up))
    }

    fn stop(&self, py: Python<'_>) {
        let running = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        py.detach(|| drop(running));
    }
}
