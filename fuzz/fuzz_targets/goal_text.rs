//! GOAL schedules as text.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sojourn_traces::goal::{Options, text};
use sojourn_traces::{File, Place};

fuzz_target!(|bytes: &[u8]| {
    match text::read(File { name: "a.goal", bytes }, &Options::default()) {
        // A node takes a line of at least six bytes, and a rank one of at least eight.
        Ok(program) => {
            assert!(6 * program.nodes().count() + 8 * program.ranks() as usize <= bytes.len())
        }
        Err(error) => {
            if let Place::Line(line) = error.place {
                assert!(
                    (1..=1 + bytes.iter().filter(|&&byte| byte == b'\n').count()).contains(&line)
                );
            }
        }
    }
});
