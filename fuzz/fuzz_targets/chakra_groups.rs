//! Files of process groups beside Chakra traces of four ranks.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sojourn_traces::File;
use sojourn_traces::chakra::groups;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(groups) = groups(File { name: "groups.json", bytes }, 4) {
        for members in groups.values() {
            assert!(!members.is_empty() && members.iter().all(|&rank| rank < 4));
        }
    }
});
