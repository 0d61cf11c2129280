//! Logs whose stamps have no year.

use crate::kept::{Kept, NEWEST};
use sojourn_mail_logs::{Reader, Settings};

const DAY: i64 = 86_400_000_000;

/// The first and last time of a log of these days, whose last line was written about `newest`.
fn span(days: &[&str], newest: i64) -> (i64, i64) {
    let mut reader = Reader::new(Settings::default(), Kept::default());
    reader.begin("log", newest);
    for day in days {
        reader.feed(format!("{day} 00:00:00 mx cron[1]: tick\n").as_bytes());
    }
    let counts = reader.counts();
    assert_eq!(counts.passed, days.len() as u64);
    (counts.first.unwrap(), counts.last.unwrap())
}

#[test]
fn a_log_ends_before_its_file_was_written() {
    assert_eq!(span(&["Dec 30", "Dec 31"], NEWEST), (NEWEST - 2 * DAY, NEWEST - DAY));
    assert_eq!(span(&["Dec 31", "Jan  1"], NEWEST), (NEWEST - DAY, NEWEST));
    // a day ahead may be the zone's doing, more is a year ago
    assert_eq!(span(&["Jan  2"], NEWEST), (NEWEST + DAY, NEWEST + DAY));
    assert_eq!(span(&["Jan  3"], NEWEST), (NEWEST - 363 * DAY, NEWEST - 363 * DAY));
}

#[test]
fn years_go_on_through_a_long_log() {
    let months = ["Jun  1", "Dec  1", "Mar  1", "Sep  1", "Feb  1"];
    let (first, last) = span(&months, NEWEST - 600 * DAY);
    // 2024-06-01 to 2026-02-01
    assert_eq!((last - first) / DAY, 610);
}
