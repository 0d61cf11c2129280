//! A view that keeps all it is told, as text.

use sojourn_mail_logs::view::View;
use sojourn_mail_logs::{Delivery, Outcome, Reader, Settings};

/// What was told, a line each.
#[derive(Debug, Default)]
pub(crate) struct Kept(pub(crate) Vec<String>);

impl View for Kept {
    fn arrived(&mut self, _: i64) {
        self.0.push("arrived".to_owned());
    }

    fn tried(&mut self, it: &Delivery<'_>) {
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        let seconds = |micros: Option<i64>| match micros {
            Some(micros) => (micros as f64 / 1e6).to_string(),
            None => "-".to_owned(),
        };
        let relay = it.attempt.relay.map_or("none".to_owned(), text);
        let dsn =
            it.attempt.dsn.map_or("-".to_owned(), |dsn| format!("{}.{}.{}", dsn.0, dsn.1, dsn.2));
        let leads = if it.leads { "" } else { "+ " };
        let outcome = match it.attempt.outcome {
            Outcome::Delivered => "ok",
            Outcome::Deferred => "late",
            Outcome::Bounced => "no",
        };
        self.0.push(format!(
            "{leads}{outcome} {} by {relay} age {} took {} {dsn}",
            text(it.recipient),
            seconds(it.age),
            seconds(it.attempt.took),
        ));
    }

    fn removed(&mut self, _: &[u8]) {
        self.0.push("removed".to_owned());
    }
}

/// A time after all logs here: 2027-01-01.
pub(crate) const NEWEST: i64 = 1_798_761_600_000_000;

/// A reader that has read this log.
pub(crate) fn read(log: &[u8]) -> Reader<Kept> {
    let mut reader = Reader::new(Settings::default(), Kept::default());
    reader.begin("log", NEWEST);
    reader.feed(log);
    reader.finish();
    reader
}
