//! The shapes that logs come in, and what is wrong with them.

use crate::kept::{Kept, NEWEST, read};
use proptest::prelude::*;
use sojourn_mail_logs::view::{Rows, Tally, Waiting};
use sojourn_mail_logs::{Column, Columns, Range, Reader, Settings, mailer};

const SECOND: i64 = 1_000_000;

fn sent(id: &str, to: &str, second: u32, process: u32) -> String {
    format!(
        "Nov 22 10:00:{second:02} mx postfix/smtp[{process}]: {id}: to=<{to}>, \
         relay=h[192.0.2.1]:25, delay=1, delays=0/0/0.5/0.5, dsn=2.0.0, status=sent (250 Ok)\n"
    )
}

fn told(log: &str) -> Vec<String> {
    std::mem::take(&mut read(log.as_bytes()).view().0)
}

fn ints(columns: &Columns, name: &str) -> Vec<i64> {
    match columns.iter().find(|(column, _)| *column == name) {
        Some((_, Column::Int(values))) => values.clone(),
        other => panic!("{name}: {other:?}"),
    }
}

fn texts(columns: &Columns, name: &str) -> Vec<String> {
    let Some((_, Column::Text(offsets, bytes))) = columns.iter().find(|(it, _)| *it == name) else {
        panic!("{name}")
    };
    let text = |ends: &[i64]| str::from_utf8(&bytes[ends[0] as usize..ends[1] as usize]);
    offsets.windows(2).map(|ends| text(ends).unwrap().to_owned()).collect()
}

#[test]
fn lines_of_one_process_about_one_host_are_one_transaction() {
    let log = [
        sent("AAAAAA1", "a@x", 1, 7),
        sent("AAAAAA1", "b@x", 1, 7),
        sent("BBBBBB2", "c@x", 1, 7), // another message
        sent("AAAAAA1", "d@x", 1, 8), // another process
        sent("AAAAAA1", "e@x", 2, 8),
        sent("AAAAAA1", "f@x", 4, 8), // later
    ];
    let leads: Vec<bool> = told(&log.concat()).iter().map(|line| !line.starts_with('+')).collect();
    assert_eq!(leads, [true, false, true, true, false, true]);
}

#[test]
fn a_journal_entry_is_a_line() {
    let text = "AAAAAA1: to=<a@x>, relay=none, delay=1, delays=0/0/0.5/0.5, dsn=4.4.1, \
        status=deferred (down)";
    let mut log = format!(
        "__CURSOR=s=1\n__REALTIME_TIMESTAMP=1795341600000000\n_HOSTNAME=mx\n_PID=7\n\
         SYSLOG_IDENTIFIER=postfix/smtp\nMESSAGE={text}\n\n\
         __CURSOR=s=2\n__REALTIME_TIMESTAMP=1795341601500000\n_HOSTNAME=mx\n\
         SYSLOG_IDENTIFIER=postfix/smtp\nMESSAGE\n"
    )
    .into_bytes();
    log.extend((text.len() as u64).to_le_bytes());
    log.extend(text.bytes());
    log.extend(b"\n_PID=7\n\n__CURSOR=s=3\nMESSAGE=no time\n\n__CURSOR=s=4\n");
    log.extend(b"__REALTIME_TIMESTAMP=1795341603000000\nSYSLOG_IDENTIFIER=sshd\nMESSAGE=hello");
    let mut reader = read(&log);
    let late = "late a@x by none age 1 took 1 4.4.1";
    assert_eq!(reader.view().0, [late, late]);
    let counts = reader.counts();
    assert_eq!([counts.lines, counts.used, counts.passed, counts.malformed], [4, 2, 1, 1]);
    assert_eq!(counts.first, Some(1_795_341_600 * SECOND));
    assert_eq!(counts.last, Some(1_795_341_603 * SECOND));
}

#[test]
fn what_cannot_be_read_is_counted_and_shown() {
    let log = "rubbish\n\nNov 22 10:00:00 mx postfix/smtp[1]: AAAAAA1: to=<a@x>, delay=x\n\
        Nov 22 10:00:00 mx sshd[1]: hello\n\u{fffd}\n";
    let reader = read(log.as_bytes());
    let counts = reader.counts();
    assert_eq!([counts.lines, counts.used, counts.passed, counts.malformed], [4, 0, 1, 3]);
    let shown: Vec<_> = reader.problems().first.iter().map(|it| (it.line, it.why)).collect();
    let no_stamp = "no stamp like `Nov 22 10:00:00` or `2026-11-22T10:00:00+00:00`";
    assert_eq!(shown, [(1, no_stamp), (3, "an attempt without a status"), (5, no_stamp)]);
    assert_eq!(reader.problems().first[0].source, "log");
}

#[test]
fn only_the_first_few_are_shown() {
    let reader = read("x\n".repeat(1000).as_bytes());
    assert_eq!((reader.problems().number, reader.problems().first.len()), (1000, 5));
}

#[test]
fn a_named_mailer_reads_programs_of_any_name() {
    let log = sent("AAAAAA1", "a@x", 1, 7).replace("postfix/smtp", "outbound");
    assert!(told(&log).is_empty());
    let settings = Settings { mailer: mailer::named("postfix"), ..Settings::default() };
    let mut reader = Reader::new(settings, Kept::default());
    reader.begin("log", NEWEST);
    reader.feed(log.as_bytes());
    assert_eq!(reader.view().0, ["ok a@x by h age 1 took 1 2.0.0"]);
}

#[test]
fn logs_of_several_mailers_may_be_one() {
    let log = [
        include_str!("samples/postfix.log"),
        include_str!("samples/sendmail.log"),
        include_str!("samples/exim.log"),
    ];
    let alone: Vec<String> = log.iter().flat_map(|log| told(log)).collect();
    assert_eq!(told(&log.concat()), alone);
    assert_eq!(alone.iter().filter(|line| line.starts_with("ok")).count(), 5);
}

#[test]
fn long_lists_of_sendmail_come_in_several_lines() {
    let log = "Nov 22 10:00:00 mx sendmail[1]: 6AMAtL4C008065: to=<a@x>,<b@x> [more]\n\
        Nov 22 10:00:00 mx sendmail[1]: 6AMAtL4C008066: to=<o@y>, delay=00:00:01, stat=Sent\n\
        Nov 22 10:00:00 mx sendmail[1]: 6AMAtL4C008065: to=<c@x> [more]\n\
        Nov 22 10:00:00 mx sendmail[1]: 6AMAtL4C008065: to=<d@x>, delay=00:00:01, stat=Sent\n";
    let expected = ["ok o@y", "ok a@x", "+ ok b@x", "+ ok c@x", "+ ok d@x"];
    let expected = expected.map(|it| format!("{it} by none age 1 took - -"));
    assert_eq!(told(log), expected);
}

#[test]
fn copies_of_a_message_arrive_once() {
    let accepted = |id, message_id| {
        format!(
            "Nov 22 10:00:00 mx sendmail[1]: {id}: from=<s@x>, nrcpts=1, msgid=<{message_id}>\n"
        )
    };
    let log = [("KAA00001", "1@x"), ("KAA00002", "1@x"), ("KAA00003", "2@x"), ("KAA00003", "2@x")];
    assert_eq!(told(&log.map(|(id, text)| accepted(id, text)).concat()), ["arrived", "arrived"]);
}

#[test]
fn an_age_is_known_from_the_acceptance() {
    let log = "2026-11-22 10:00:00 1tEabc-0000AB-CD <= s@x S=1\n\
        2026-11-22 10:00:10 1tEabc-0000AB-CE => o@x R=r T=t\n\
        2026-11-22 10:01:30 1tEabc-0000AB-CD => a@x R=r T=t\n\
        2026-11-22 10:01:30 1tEabc-0000AB-CD Completed\n\
        2026-11-22 10:02:00 1tEabc-0000AB-CD => b@x R=r T=t\n";
    let expected = [
        "arrived",
        "ok o@x by none age - took - -",
        "ok a@x by none age 90 took - -",
        "removed",
        "ok b@x by none age - took - -",
    ];
    assert_eq!(told(log), expected);
}

#[test]
fn only_what_is_in_the_range_is_told() {
    let log = "2026-11-22 10:00:00 1tEabc-0000AB-CD <= s@x S=1\n\
        2026-11-22 10:00:30 1tEabc-0000AB-CD => a@x R=r T=t\n\
        2026-11-22 10:01:00 1tEabc-0000AB-CD => b@x R=r T=t\n\
        2026-11-22 10:02:00 1tEabc-0000AB-CD => c@x R=r T=t\n";
    let at = |minute: i64| (1_795_341_600 + minute * 60) * SECOND;
    let range = Range { since: at(1), until: at(2) };
    let mut reader = Reader::new(Settings { range, ..Settings::default() }, Kept::default());
    reader.begin("log", NEWEST);
    reader.feed(log.as_bytes());
    assert_eq!(reader.view().0, ["ok b@x by none age 60 took - -"]);
}

#[test]
fn messages_that_never_end_are_given_up() {
    let mut log = String::new();
    for number in 0..200_000 {
        log += &format!(
            "Nov 22 10:00:00 mx postfix/cleanup[1]: {number:07X}: message-id=<{number}@x>\n"
        );
    }
    let counts = read(log.as_bytes()).counts();
    assert_eq!((counts.open, counts.given_up), (131_072, 200_000 - 131_072));
}

#[test]
fn rows_of_one_recipient_or_domain() {
    let log = [
        sent("AAAAAA1", "a@X.example", 1, 7),
        sent("AAAAAA1", "A@x.example", 2, 7),
        sent("AAAAAA1", "b@x.example", 3, 7),
        sent("AAAAAA1", "list@y>, orig_to=<a@x.example", 4, 7),
    ];
    for (wanted, found) in [
        (None, 4),
        (Some("a@x.example"), 3),
        (Some("@x.EXAMPLE"), 4),
        (Some("@y"), 1),
        (Some("c@x.example"), 0),
    ] {
        let mut reader = Reader::new(Settings::default(), Rows::new(wanted));
        reader.begin("log", NEWEST);
        reader.feed(log.concat().as_bytes());
        let rows = reader.view().take();
        assert_eq!(texts(&rows, "recipient").len(), found, "{wanted:?}");
        assert_eq!(ints(&rows, "took_us"), vec![SECOND; found]);
        assert!(texts(&rows, "dsn").iter().all(|dsn| dsn == "2.0.0"));
        assert!(ints(&reader.view().take(), "at_us").is_empty());
    }
}

#[test]
fn those_who_wait() {
    let line = |second: u32, id: &str, to: &str, status: &str| {
        format!(
            "Nov 22 10:00:{second:02} mx postfix/smtp[1]: {id}: to=<{to}>, relay=h[192.0.2.1]:25, \
             delay={second}, dsn=4.0.0, status={status} (at {second})\n"
        )
    };
    let log = [
        line(10, "AAAAAA1", "a@x", "deferred"),
        line(11, "AAAAAA1", "b@x", "deferred"),
        line(12, "AAAAAA1", "c@x", "deferred"),
        line(13, "AAAAAA2", "a@x", "deferred"),
        line(14, "AAAAAA10", "a@x", "deferred"),
        line(20, "AAAAAA1", "a@x", "deferred"),
        line(21, "AAAAAA1", "b@x", "sent"),
        line(22, "AAAAAA1", "c@x", "bounced"),
        "Nov 22 10:00:30 mx postfix/qmgr[1]: AAAAAA2: removed\n".to_owned(),
    ];
    let mut reader = Reader::new(Settings::default(), Waiting::default());
    reader.begin("log", NEWEST);
    reader.feed(log.concat().as_bytes());
    let rows = reader.view().rows();
    assert_eq!(texts(&rows, "queue_id"), ["AAAAAA1", "AAAAAA10"]);
    assert_eq!(texts(&rows, "recipient"), ["a@x", "a@x"]);
    assert_eq!(texts(&rows, "text"), ["at 20", "at 14"]);
    assert_eq!(texts(&rows, "relay"), ["h", "h"]);
    assert_eq!(ints(&rows, "attempts"), [2, 1]);
    let ten = 1_795_341_600 * SECOND;
    assert_eq!(ints(&rows, "since_us"), [ten, ten]);
    assert_eq!(ints(&rows, "last_us"), [ten + 20 * SECOND, ten + 14 * SECOND]);
}

#[test]
fn tallies_add_up() {
    let mut reader = Reader::new(Settings::default(), Tally::new(SECOND));
    reader.begin("log", NEWEST);
    for log in [include_str!("samples/postfix.log"), include_str!("samples/sendmail.log")] {
        reader.feed(log.as_bytes());
    }
    let tally = reader.view();
    let ages = tally.ages();
    for (name, all) in [
        ("delivered", 6),
        ("delivered_hosts", 3),
        ("deferred", 3),
        ("deferred_hosts", 3),
        ("bounced", 3),
        ("bounced_hosts", 3),
    ] {
        for columns in [tally.bins(), tally.domains()] {
            assert_eq!(ints(&columns, name).iter().sum::<i64>(), all, "{name}");
        }
        let ages = ints(&ages, name);
        assert_eq!((ages[0], ages[1..].iter().sum::<i64>()), (all, all), "{name}");
    }
    assert_eq!(ints(&tally.bins(), "arrived").iter().sum::<i64>(), 3);
    let domains = texts(&tally.domains(), "domain");
    assert_eq!(domains[..3], ["nowhere.example", "down.example", "x.example"]);
    for domains in [false, true] {
        let times = tally.times(domains);
        let of = |what| {
            let rows = ints(&times, "what").into_iter().zip(ints(&times, "row"));
            let rows = rows.zip(ints(&times, "count"));
            let wanted = rows.filter(|((it, row), _)| *it == what && (domains || *row == 0));
            wanted.map(|(_, count)| count).sum::<i64>()
        };
        assert_eq!([of(0), of(1), of(2)], [6, 6, 6]);
    }
}

proptest! {
    /// Damaged logs are read to their end; where the pieces end does not matter.
    #[test]
    fn pieces_and_damage(
        edits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..20),
        size in 1usize..400,
    ) {
        let mut log = [
            &include_bytes!("samples/postfix.log")[..],
            include_bytes!("samples/sendmail.log"),
            include_bytes!("samples/exim.log"),
        ].concat();
        for (place, byte) in edits {
            let place = place.index(log.len());
            log[place] = byte;
        }
        let mut whole = read(&log);
        let mut pieces = Reader::new(Settings::default(), Kept::default());
        pieces.begin("log", NEWEST);
        log.chunks(size).for_each(|piece| pieces.feed(piece));
        pieces.finish();
        let counts = whole.counts();
        prop_assert_eq!(counts, pieces.counts());
        prop_assert_eq!(counts.lines, counts.used + counts.passed + counts.malformed);
        prop_assert_eq!(&whole.view().0, &pieces.view().0);
    }
}
