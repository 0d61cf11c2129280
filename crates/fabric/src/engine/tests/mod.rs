//! The engine against slow and obvious ones, in random scenarios.

mod fifo_ahead;
mod cancellation;
mod parallel;
mod random_scenarios;
mod reference;
