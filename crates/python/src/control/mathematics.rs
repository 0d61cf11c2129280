//! Mathematics for classes, the same to the last bit on all machines, which a machine's own is not.
//!
//! Plain classes call these functions through Python, compiled ones at their addresses.

use super::random::{c_draw_below, c_draw_uniform};
use pyo3::prelude::*;
use sojourn_fabric::transport::cube_root;

extern "C" fn c_cbrt(x: f64) -> f64 {
    cube_root(x)
}

extern "C" fn c_power(base: f64, exponent: f64) -> f64 {
    libm::pow(base, exponent)
}

extern "C" fn c_exp(x: f64) -> f64 {
    libm::exp(x)
}

extern "C" fn c_log(x: f64) -> f64 {
    libm::log(x)
}

/// The real cube root.
#[pyfunction]
#[pyo3(signature = (x, /))]
pub(crate) fn cbrt(x: f64) -> f64 {
    c_cbrt(x)
}

/// `base` to the power of `exponent`.
#[pyfunction]
#[pyo3(signature = (base, exponent, /))]
pub(crate) fn power(base: f64, exponent: f64) -> f64 {
    c_power(base, exponent)
}

/// e to the power of x.
#[pyfunction]
#[pyo3(signature = (x, /))]
pub(crate) fn exp(x: f64) -> f64 {
    c_exp(x)
}

/// The natural logarithm.
#[pyfunction]
#[pyo3(signature = (x, /))]
pub(crate) fn log(x: f64) -> f64 {
    c_log(x)
}

/// Where the functions of C are that compiled code calls, by the names of those that do the same in Python.
#[pyfunction]
pub(crate) fn c_addresses() -> [(&'static str, usize); 6] {
    [
        ("draw_uniform", c_draw_uniform as *const () as usize),
        ("draw_below", c_draw_below as *const () as usize),
        ("cbrt", c_cbrt as *const () as usize),
        ("power", c_power as *const () as usize),
        ("exp", c_exp as *const () as usize),
        ("log", c_log as *const () as usize),
    ]
}
