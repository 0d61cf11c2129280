//! Quantiles of the distributions that intervals are made of.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use statrs::distribution::{Beta, ContinuousCDF, StudentsT};

/// What Student's t stays below with this probability.
#[pyfunction]
pub(crate) fn student_t_quantile(degrees: f64, probability: f64) -> PyResult<f64> {
    quantile(StudentsT::new(0.0, 1.0, degrees), probability)
}

/// What a Beta(a, b) stays below with this probability.
#[pyfunction]
pub(crate) fn beta_quantile(a: f64, b: f64, probability: f64) -> PyResult<f64> {
    quantile(Beta::new(a, b), probability)
}

/// With which probability Student's t stays below this value.
#[pyfunction]
pub(crate) fn student_t_probability(degrees: f64, value: f64) -> PyResult<f64> {
    let of = StudentsT::new(0.0, 1.0, degrees);
    Ok(of.map_err(|error| PyValueError::new_err(error.to_string()))?.cdf(value))
}

fn quantile<D: ContinuousCDF<f64, f64>, E: ToString>(
    of: Result<D, E>,
    probability: f64,
) -> PyResult<f64> {
    let of = of.map_err(|error| PyValueError::new_err(error.to_string()))?;
    match probability {
        0.0..=1.0 => Ok(of.inverse_cdf(probability)),
        _ => Err(PyValueError::new_err(format!("{probability} is no probability"))),
    }
}
