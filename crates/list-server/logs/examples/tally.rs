//! Tallies a log from standard input, for measuring: `time target/release/examples/tally < mail.log`.

use sojourn_mail_logs::view::Tally;
use sojourn_mail_logs::{Reader, Settings};
use std::io::{Read, stdin};

fn main() -> std::io::Result<()> {
    const HOUR: i64 = 3_600_000_000;
    let mut reader = Reader::new(Settings::default(), Tally::new(HOUR));
    reader.begin("standard input", i64::MAX / 2);
    let mut input = stdin().lock();
    let mut piece = vec![0; 1 << 20];
    loop {
        match input.read(&mut piece)? {
            0 => break,
            length => reader.feed(&piece[..length]),
        }
    }
    reader.finish();
    println!("{:?}", reader.counts());
    Ok(())
}
