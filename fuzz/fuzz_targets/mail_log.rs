//! Delivery logs: the first byte says how long the pieces are in which the rest comes.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sojourn_mail_logs::view::{Rows, Tally, Waiting};
use sojourn_mail_logs::{Counts, Reader, Settings, View};

const NEWEST: i64 = 1_798_761_600_000_000;

fn read<V: View>(view: V, log: &[u8], size: usize) -> (Reader<V>, Counts) {
    let mut reader = Reader::new(Settings::default(), view);
    reader.begin("log", NEWEST);
    log.chunks(size).for_each(|piece| reader.feed(piece));
    reader.finish();
    let counts = reader.counts();
    assert_eq!(counts.lines, counts.used + counts.passed + counts.malformed);
    (reader, counts)
}

fuzz_target!(|bytes: &[u8]| {
    let Some((&first, log)) = bytes.split_first() else { return };
    let size = usize::from(first) + 1;
    let (mut tally, counts) = read(Tally::new(1), log, size);
    let (mut rows, same) = read(Rows::new(None), log, log.len().max(1));
    assert_eq!(counts, same);
    let (mut waiting, _) = read(Waiting::default(), log, size);
    let tally = tally.view();
    for columns in [
        tally.bins(),
        tally.ages(),
        tally.domains(),
        tally.times(true),
        rows.view().take(),
        waiting.view().rows(),
    ] {
        assert!(columns.iter().all(|(_, column)| column.len() == columns[0].1.len()));
    }
});
