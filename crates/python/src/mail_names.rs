//! Addresses and mail hosts by their names, for Python.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use sojourn_mail_engine::provider;
use sojourn_smtp::Address;
use std::net::IpAddr;

fn parsed(text: &str) -> PyResult<Address> {
    text.parse::<Address>().map_err(|why| PyValueError::new_err(why.to_string()))
}

/// An address as it stands in an envelope: its domain in lower case. Raises ValueError, which says
/// why it is none.
#[pyfunction]
pub(crate) fn mail_address(text: &str) -> PyResult<String> {
    parsed(text).map(|it| it.to_string())
}

/// The spelling by which an address is compared with others. Raises ValueError as `mail_address`
/// does.
#[pyfunction]
pub(crate) fn mail_canonical(text: &str) -> PyResult<String> {
    parsed(text).map(|it| it.canonical().to_string())
}

/// The registered domain of a mail host, for which limits of a provider are set; nothing where the
/// name has none.
#[pyfunction]
pub(crate) fn mail_provider(host: &str) -> Option<String> {
    let unnamed = IpAddr::from([0; 4]);
    let found = provider(&host.to_lowercase(), unnamed);
    (*found != *unnamed.to_string()).then(|| found.to_string())
}
