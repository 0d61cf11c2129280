//! Traces of training runs as programs of ranks.
