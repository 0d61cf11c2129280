//! The list server for Python: bindings, and nothing else.

mod delivery;
mod reception;
mod testnet;

use pyo3::prelude::*;
use sojourn_list_server::Address;

/// Sessions and messages allocate small things by the million, from a few threads.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

// Settings are refused as studies are, by the exceptions that the command knows.
pyo3::import_exception!(sojourn._core, InputError);
pyo3::import_exception!(sojourn._core, StudyError);

fn refused(error: sojourn_study::SpecError) -> PyErr {
    StudyError::new_err(error.to_string())
}

fn address(text: &str) -> PyResult<Address> {
    text.parse().map_err(|why| InputError::new_err(format!("{text:?}: {why}")))
}

/// Everything that a list server can be set to, as JSON.
#[pyfunction]
fn registry() -> String {
    sojourn_study::registry_of(sojourn_list_server::registry())
}

/// The list server of sojourn: delivery, reception, spool, and a small internet to try them in.
#[pymodule]
fn sojourn_mail(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("ServerError", module.py().get_type::<delivery::ServerError>())?;
    module.add_class::<delivery::MailSettings>()?;
    module.add_class::<delivery::DeliveryServer>()?;
    module.add_class::<reception::ServeSettings>()?;
    module.add_class::<reception::ListServer>()?;
    module.add_class::<testnet::TestNetConfig>()?;
    module.add_class::<testnet::TestNet>()?;
    module.add_function(wrap_pyfunction!(delivery::mail_operate, module)?)?;
    module.add_function(wrap_pyfunction!(delivery::mail_queue, module)?)?;
    module.add_function(wrap_pyfunction!(delivery::mail_reload, module)?)?;
    module.add_function(wrap_pyfunction!(delivery::mail_shaping, module)?)?;
    module.add_function(wrap_pyfunction!(delivery::mail_spool_check, module)?)?;
    module.add_function(wrap_pyfunction!(delivery::mail_waiting, module)?)?;
    module.add_function(wrap_pyfunction!(reception::bounce_book, module)?)?;
    module.add_function(wrap_pyfunction!(reception::erase_subscribers, module)?)?;
    module.add_function(wrap_pyfunction!(reception::exposed_file, module)?)?;
    module.add_function(wrap_pyfunction!(reception::mail_password, module)?)?;
    module.add_function(wrap_pyfunction!(reception::resume_subscribers, module)?)?;
    module.add_function(wrap_pyfunction!(reception::rotate_token_keys, module)?)?;
    module.add_function(wrap_pyfunction!(reception::sign_often, module)?)?;
    module.add_function(wrap_pyfunction!(reception::suppress_subscribers, module)?)?;
    module.add_function(wrap_pyfunction!(reception::token_keys, module)?)?;
    module.add_function(wrap_pyfunction!(reception::unsubscribed, module)?)?;
    module.add_function(wrap_pyfunction!(reception::unverified_mail, module)?)?;
    module.add_function(wrap_pyfunction!(registry, module)?)
}
