//! Distributions, arrivals, workload tables, stations, joins.
