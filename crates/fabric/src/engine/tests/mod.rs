//! The engine against slow and obvious ones, in random scenarios.

mod cancellation;
mod dcqcn;
mod fifo_ahead;
mod parallel;
mod random_scenarios;
mod reference;
