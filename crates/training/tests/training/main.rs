//! Collectives, programs and models against symbolic execution, closed forms, published counts and slow oracles.

mod closed_forms;
mod common;
mod conservation;
mod executed;
mod iterations;
mod models;
mod ports;
mod programs;
