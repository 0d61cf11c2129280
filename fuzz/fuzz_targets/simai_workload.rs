//! Workload files of SimAI; those for few ranks become programs.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sojourn_traces::File;
use sojourn_traces::simai::parse;

const MOST_RANKS: u32 = 64;

fuzz_target!(|bytes: &[u8]| {
    let Ok(workload) = parse(File { name: "a.txt", bytes }) else { return };
    // A line has twelve columns and a blank between two of them.
    assert!(workload.layers.len() * 23 <= bytes.len());
    let ranks = workload.ranks.unwrap_or(8);
    if ranks <= MOST_RANKS
        && let Ok(program) = workload.program(Some(ranks))
    {
        assert_eq!(program.ranks(), ranks);
        assert_eq!(program.graphs(), 1);
    }
});
