//! Readers of traces against public samples, files that the tests write, and files that are wrong.

mod chakra;
mod goal;
mod simai;
