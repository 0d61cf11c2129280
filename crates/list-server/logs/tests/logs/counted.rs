//! Logs in the forms of public ones, counted by hand (`tests/maillog/counted`).

use crate::kept::read;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

#[test]
fn logs_counted_by_hand() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/maillog/counted");
    let table = fs::read_to_string(folder.join("counts.csv")).expect("the table is readable");
    let mut rows = table.lines();
    let names: Vec<&str> = rows.next().expect("the table has a heading").split(',').collect();
    for row in rows {
        let by_hand: BTreeMap<_, _> = names.iter().copied().zip(row.split(',')).collect();
        let log = fs::read(folder.join(by_hand["log"]).with_extension("log")).expect("a log");
        let mut reader = read(&log);
        let counts = reader.counts();
        let kept = reader.view().0.clone();
        let ended = |outcome: &str| {
            kept.iter().filter(|it| it.trim_start_matches("+ ").starts_with(outcome)).count() as u64
        };
        let by_tool = [
            ("lines", counts.lines),
            ("sent", ended("ok ")),
            ("deferred", ended("late ")),
            ("bounced", ended("no ")),
            ("hops", counts.passed_on),
            ("put_off", counts.put_off),
        ];
        let differ = by_tool.iter().filter(|(name, count)| count.to_string() != by_hand[name]);
        let differ: Vec<_> = differ.collect();
        let unread = [reader.problems(), reader.unread()].map(|it| &it.first[..]).concat();
        assert!(differ.is_empty() && unread.is_empty(), "{row}: {differ:?} {unread:?} {kept:#?}");
    }
}
