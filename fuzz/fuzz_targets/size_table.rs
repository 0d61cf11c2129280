//! Size tables, under either reading; one that is taken gives sizes.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sojourn_core::{Reading, SizeTable};

fuzz_target!(|text: &str| {
    for reading in [None, Some(Reading::Linear), Some(Reading::Step)] {
        match SizeTable::parse(text, reading) {
            Ok(table) => {
                let quantiles = [1e-300, 0.25, 0.5, 0.75, 1.0].map(|p| table.quantile(p));
                assert!(quantiles[0] > 0 && quantiles.is_sorted());
                assert_eq!(quantiles[4], table.max());
                let mean = table.mean();
                assert!(mean > 0.0 && mean <= table.max() as f64 * (1.0 + 1e-9), "{mean}");
                assert!(table.mean_packets(1460) > 1.0 - 1e-9);
            }
            Err(error) => assert!((1..=text.lines().count().max(1)).contains(&error.line)),
        }
    }
});
