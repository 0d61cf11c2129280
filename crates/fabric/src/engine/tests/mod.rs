//! The engine against slow and obvious ones, in random scenarios.

mod fifo_ahead;
mod looks;
mod parallel;
mod random_scenarios;
mod reference;
