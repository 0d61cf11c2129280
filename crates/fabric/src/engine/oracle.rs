//! A slow and obvious engine.
