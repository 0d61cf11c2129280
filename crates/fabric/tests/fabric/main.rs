//! The fabric model from outside: whole runs against times computed by hand, exact queues, and
//! invariants on random fabrics.

mod arrivals;
mod buffers;
mod bulk;
mod classes;
mod common;
mod estimate;
mod exact;
mod failures;
mod flow_files;
mod golden;
mod hpcc;
mod invariants;
mod jobs;
mod long_flows;
mod named;
mod ndp;
mod order;
mod paths;
mod pfabric;
mod phase;
mod queries;
mod ranks;
mod regressions;
mod roce;
mod samples;
mod scripted_loss;
mod swift;
mod tables;
mod tcp;
mod terms;
mod trace;
mod uet;
mod variants;
mod witness;
mod workloads;
