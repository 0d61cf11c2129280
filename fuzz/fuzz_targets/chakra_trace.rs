//! Chakra traces of two ranks, with one process group.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sojourn_traces::File;
use sojourn_traces::chakra::{Options, read};
use std::collections::BTreeMap;

fuzz_target!(|bytes: &[u8]| {
    // The length of the first file, and both files.
    let [low, high, files @ ..] = bytes else { return };
    let length = usize::from(u16::from_le_bytes([*low, *high]));
    let (zero, one) = files.split_at(length.min(files.len()));
    let traces = [File { name: "0.et", bytes: zero }, File { name: "1.et", bytes: one }];
    let groups = BTreeMap::from([("1".to_owned(), vec![1, 0])]);
    match read(&traces, &Options { groups, ..Options::default() }) {
        Ok(program) => {
            assert_eq!(program.ranks(), 2);
            // A node takes two bytes at least: its length and a field.
            assert!(program.nodes().count() <= files.len());
        }
        Err(error) => assert!(error.rank.is_none_or(|rank| rank < 2)),
    }
});
