//! GOAL schedules in binary form.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sojourn_traces::File;
use sojourn_traces::goal::{Options, binary};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(program) = binary::read(File { name: "a.bin", bytes }, &Options::default()) {
        assert!(program.ranks() as usize * 16 <= bytes.len());
        for rank in 0..program.ranks() {
            assert!(program.graph(rank).len() * 39 <= bytes.len());
        }
    }
});
