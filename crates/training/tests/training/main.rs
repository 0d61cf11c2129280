//! Collectives and programs against symbolic execution, closed forms, and a slow oracle of ports.

mod closed_forms;
mod common;
mod conservation;
mod ports;
mod programs;
