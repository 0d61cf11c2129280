//! Sessions, line by line.

use proptest::prelude::*;
use sojourn_properties::cases;
use sojourn_smtp::client::{Client, Envelope, Framing, Loss, Output, Step, Tls, Verdict};

/// A session and what it said so far.
struct Session {
    client: Client,
    outputs: Vec<Output>,
}

const PIPELINING: &str = "250-hi\r\n250-PIPELINING\r\n250-SIZE 1000000\r\n250 8BITMIME\r\n";
const CHUNKING: &str = "250-hi\r\n250-PIPELINING\r\n250-CHUNKING\r\n250 SMTPUTF8\r\n";

impl Session {
    fn new(tls: Tls) -> Session {
        Session { client: Client::new("lists.example".into(), tls), outputs: Vec::new() }
    }

    /// A session that is ready, to a server with these extensions.
    fn ready(ehlo: &str) -> Session {
        let mut session = Session::new(Tls::Opportunistic);
        assert_eq!(session.hear("220 hi\r\n"), "EHLO lists.example\r\n");
        assert_eq!(session.hear(ehlo), "");
        assert_eq!(session.outputs, [Output::Ready]);
        session
    }

    /// What is sent in answer to `text`; other outputs are left in `outputs`.
    fn hear(&mut self, text: &str) -> String {
        self.outputs.clear();
        self.client.received(text.as_bytes(), &mut self.outputs);
        self.sent()
    }

    fn begin(&mut self, envelope: Envelope) -> String {
        self.begin_as(envelope, false)
    }

    fn begin_as(&mut self, envelope: Envelope, whole: bool) -> String {
        self.outputs.clear();
        self.client.begin(envelope, whole, &mut self.outputs);
        self.sent()
    }

    fn sent(&mut self) -> String {
        let mut sent = String::new();
        self.outputs.retain(|output| match output {
            Output::Send(bytes) => {
                sent += std::str::from_utf8(bytes).unwrap();
                false
            }
            _ => true,
        });
        sent
    }

    /// The verdicts of the transaction that was settled just now, one letter each.
    fn verdicts(&self) -> String {
        let settled = self.outputs.iter().find_map(|output| match output {
            Output::Settled(verdicts) | Output::Lost(_, verdicts) => Some(letters(verdicts)),
            _ => None,
        });
        settled.unwrap_or_else(|| panic!("not settled: {:?}", self.outputs))
    }
}

fn letters(verdicts: &[Verdict]) -> String {
    let letter = |verdict: &Verdict| match verdict {
        Verdict::Delivered(_) => 'D',
        Verdict::Refused(..) => 'R',
        Verdict::Deferred(..) => 'L',
        Verdict::Again => 'A',
        Verdict::Unsettled => '?',
    };
    verdicts.iter().map(letter).collect()
}

fn envelope(recipients: &[&str]) -> Envelope {
    Envelope {
        sender: Some("owner@lists.example".parse().unwrap()),
        recipients: recipients.iter().map(|it| it.parse().unwrap()).collect(),
        size: 321,
        eight_bit: false,
        utf8: false,
    }
}

#[test]
fn a_transaction_takes_two_round_trips_with_pipelining() {
    let mut session = Session::ready(PIPELINING);
    let sent = session.begin(Envelope { eight_bit: true, ..envelope(&["a@x", "b@x"]) });
    let commands = [
        "MAIL FROM:<owner@lists.example> SIZE=321 BODY=8BITMIME\r\n",
        "RCPT TO:<a@x>\r\n",
        "RCPT TO:<b@x>\r\n",
        "DATA\r\n",
    ];
    assert_eq!(sent, commands.concat());
    assert_eq!(session.client.step(), Step::Mail);
    assert_eq!(session.hear("250 ok\r\n250 ok\r\n"), "");
    assert_eq!(session.client.step(), Step::Rcpt);
    assert_eq!(session.hear("250 ok\r\n354 go\r\n"), "");
    assert_eq!(session.outputs, [Output::Body(Framing::Dots)]);
    assert_eq!(session.client.step(), Step::Block);
    session.client.written();
    assert_eq!(session.client.step(), Step::Dot);
    assert_eq!(session.hear("250 2.0.0 queued\r\n"), "");
    assert_eq!(session.verdicts(), "DD");
    assert_eq!(session.outputs.last(), Some(&Output::Ready));
    assert_eq!(session.client.step(), Step::Idle);
}

/// A session whose first message is written, and that has begun the next transaction.
fn early(ehlo: &str) -> (Session, String) {
    let mut session = Session::ready(ehlo);
    session.begin(envelope(&["a@x"]));
    assert!(!session.client.can_begin_early(1));
    session.hear("250 ok\r\n250 ok\r\n");
    if session.client.step() == Step::Data {
        session.hear("354 go\r\n");
    }
    assert!(!session.client.can_begin_early(1));
    session.client.written();
    assert!(session.client.can_begin_early(1));
    let sent = session.begin(envelope(&["b@x"]));
    assert!(!session.client.can_begin_early(1));
    assert_eq!(session.client.step(), Step::Dot);
    (session, sent)
}

#[test]
fn the_next_transaction_follows_a_message_without_waiting() {
    let (mut session, sent) = early(PIPELINING);
    let commands = "MAIL FROM:<owner@lists.example> SIZE=321\r\nRCPT TO:<b@x>\r\n";
    assert_eq!(sent, format!("{commands}DATA\r\n"));
    // The answer to the message and those to the commands, in one breath.
    assert_eq!(session.hear("250 taken\r\n250 ok\r\n250 ok\r\n354 go\r\n"), "");
    assert_eq!(session.verdicts(), "D");
    assert_eq!(session.outputs.len(), 2, "{:?}", session.outputs);
    assert_eq!(session.outputs[1], Output::Body(Framing::Dots));
    session.client.written();
    session.hear("250 taken\r\n");
    assert_eq!(session.verdicts(), "D");
    assert_eq!(session.outputs.last(), Some(&Output::Ready));

    // With BDAT, which leaves a server unsettled when it fails.
    let (mut session, sent) = early("250-hi\r\n250-PIPELINING\r\n250 CHUNKING\r\n");
    assert_eq!(sent, "RSET\r\nMAIL FROM:<owner@lists.example>\r\nRCPT TO:<b@x>\r\n");
    assert_eq!(session.hear("451 full\r\n250 ok\r\n250 ok\r\n250 ok\r\n"), "");
    assert_eq!(session.verdicts(), "L");
    assert_eq!(session.outputs.last(), Some(&Output::Body(Framing::Chunk)));
    session.client.written();
    session.hear("250 taken\r\n");
    assert_eq!(session.verdicts(), "D");
}

/// Whatever a server says and wherever it stops, the first transaction has one verdict, and the
/// second is delivered by its own answer only.
#[test]
fn cuts_of_a_pipeline() {
    let replies = ["250 taken\r\n", "250 ok\r\n", "250 ok\r\n", "354 go\r\n", "250 taken\r\n"];
    let after = [("?", ""), ("D", "?"), ("D", "?"), ("D", "?"), ("D", "?"), ("D", "D")];
    for (said, (first, second)) in after.into_iter().enumerate() {
        for last in ["", "421 bye\r\n", "garbage\r\n"] {
            let (mut session, _) = early(PIPELINING);
            let mut verdicts = Vec::new();
            for reply in replies[..said].iter().copied().chain([last]) {
                if session.client.step() == Step::Block {
                    session.client.written();
                }
                session.hear(reply);
                verdicts.extend(session.outputs.iter().filter_map(|output| match output {
                    Output::Settled(it) | Output::Lost(_, it) => Some(letters(it)),
                    _ => None,
                }));
            }
            if last.is_empty() {
                verdicts.push(letters(&session.client.closed()));
            }
            verdicts.retain(|it| !it.is_empty());
            let expected: Vec<_> =
                [first, second].into_iter().filter(|it| !it.is_empty()).collect();
            assert_eq!(verdicts, expected, "{said} replies, then {last:?}");
            // Nothing was heard of the second: it may have come too soon.
            assert_eq!(session.client.is_early_unheard(), said == 1, "{said}, {last:?}");
        }
    }
}

#[test]
fn a_refusal_of_what_came_early_is_not_believed() {
    let (mut session, _) = early(PIPELINING);
    session.hear("250 taken\r\n503 not yet\r\n503 MAIL first\r\n503 RCPT first\r\n");
    let settled: Vec<_> = session
        .outputs
        .iter()
        .filter_map(|output| match output {
            Output::Settled(verdicts) => Some(letters(verdicts)),
            _ => None,
        })
        .collect();
    assert_eq!(settled, ["D", "?"]);
    assert_eq!(session.client.step(), Step::Idle);
    // Nor that of a server that would take an empty message.
    let (mut session, _) = early(PIPELINING);
    assert_eq!(session.hear("250 taken\r\n503 not yet\r\n503 no\r\n354 go\r\n"), ".\r\n");
    session.hear("554 nobody\r\n");
    assert_eq!(session.verdicts(), "?");
}

/// A session to a server that takes whole transactions, with three of them under way.
fn window() -> Session {
    let mut session = Session::ready(CHUNKING);
    for (n, who) in ["a@x", "b@x", "c@x"].into_iter().enumerate() {
        assert!(n == 0 || session.client.can_begin_early(3));
        let sent = session.begin_as(envelope(&[who]), true);
        let reset = if n == 0 { "" } else { "RSET\r\n" };
        let commands = format!("MAIL FROM:<owner@lists.example>\r\nRCPT TO:<{who}>\r\n");
        assert_eq!(sent, format!("{reset}{commands}"));
        assert_eq!(session.outputs, [Output::Body(Framing::Chunk)]);
    }
    assert!(!session.client.can_begin_early(3) && session.client.is_sending());
    assert_eq!(session.client.step(), Step::Block);
    (0..3).for_each(|_| session.client.written());
    session
}

/// The letters of all verdicts of one turn.
fn all_verdicts(session: &Session) -> String {
    let each = session.outputs.iter().filter_map(|output| match output {
        Output::Settled(it) | Output::Lost(_, it) => Some(letters(it)),
        _ => None,
    });
    each.collect()
}

#[test]
fn whole_transactions_share_a_round_trip() {
    let mut session = window();
    let one = "250 ok\r\n250 ok\r\n250 taken\r\n";
    assert_eq!(session.hear(&format!("{one}250 reset\r\n{one}")), "");
    assert_eq!(all_verdicts(&session), "DD");
    assert!(session.client.can_begin_early(2) && !session.client.can_begin_early(1));
    session.hear(&format!("250 reset\r\n{one}"));
    assert_eq!(all_verdicts(&session), "D");
    assert_eq!(session.outputs.last(), Some(&Output::Ready));
    assert_eq!(session.client.step(), Step::Idle);
}

/// A recipient, a message and a MAIL that are refused concern no other transaction.
#[test]
fn refusals_in_a_window() {
    let one = "250 ok\r\n250 ok\r\n250 taken\r\n";
    for (first, verdicts) in [
        ("250 ok\r\n550 5.1.1 no\r\n554 nobody\r\n", "RDD"),
        ("250 ok\r\n250 ok\r\n451 full\r\n", "LDD"),
        ("451 later\r\n503 mail\r\n503 mail\r\n", "LDD"),
    ] {
        let mut session = window();
        session.hear(&format!("{first}250 reset\r\n{one}250 reset\r\n{one}"));
        assert_eq!(all_verdicts(&session), verdicts);
    }
    // A MAIL that was sent ahead may only have come too soon; the last failure wants a RSET.
    let mut session = window();
    let refused = "503 not yet\r\n503 mail\r\n503 mail\r\n";
    let failed = "250 ok\r\n250 ok\r\n451 full\r\n";
    assert_eq!(
        session.hear(&format!("{one}250 reset\r\n{refused}250 reset\r\n{failed}")),
        "RSET\r\n"
    );
    assert_eq!(all_verdicts(&session), "D?L");
}

/// Wherever a session ends, each transaction has one verdict at most, in order, and what is
/// delivered was answered for.
#[test]
fn cuts_of_a_window() {
    let one = ["250 ok\r\n", "250 ok\r\n", "250 taken\r\n"];
    let replies = [&one[..], &["250 reset\r\n"], &one, &["250 reset\r\n"], &one].concat();
    for said in 0..replies.len() {
        for last in ["", "421 bye\r\n", "garbage\r\n"] {
            let mut session = window();
            session.hear(&replies[..said].concat());
            let mut verdicts = all_verdicts(&session);
            session.hear(last);
            verdicts += &all_verdicts(&session);
            verdicts += &letters(&session.client.closed());
            let delivered = if said < 3 { 0 } else { (said - 3) / 4 + 1 };
            assert_eq!(verdicts, "D".repeat(delivered) + "?", "{said}, {last:?}");
        }
    }
}

#[test]
fn one_command_at_a_time_without() {
    let mut session = Session::ready("250 hi\r\n");
    assert_eq!(session.begin(envelope(&["a@x", "b@x"])), "MAIL FROM:<owner@lists.example>\r\n");
    assert_eq!(session.hear("250 ok\r\n"), "RCPT TO:<a@x>\r\n");
    assert_eq!(session.hear("550 5.1.1 no\r\n"), "RCPT TO:<b@x>\r\n");
    assert_eq!(session.hear("250 ok\r\n"), "DATA\r\n");
    assert_eq!(session.hear("354 go\r\n"), "");
    session.client.written();
    session.hear("250 ok\r\n");
    assert_eq!(session.verdicts(), "RD");
}

#[test]
fn chunking_sends_the_message_as_it_is() {
    let mut session = Session::ready(CHUNKING);
    let sent = session.begin(envelope(&["é@x"]));
    assert_eq!(sent, "MAIL FROM:<owner@lists.example> SMTPUTF8\r\nRCPT TO:<é@x>\r\n");
    assert_eq!(session.hear("250 ok\r\n250 ok\r\n"), "");
    assert_eq!(session.outputs, [Output::Body(Framing::Chunk)]);
    session.client.written();
    // A BDAT that failed leaves the server unsettled: RSET.
    assert_eq!(session.hear("451 disk full\r\n"), "RSET\r\n");
    assert_eq!(session.verdicts(), "L");
    session.hear("250 ok\r\n");
    assert_eq!(session.outputs, [Output::Ready]);
}

/// Each way in which a transaction can end, with pipelining: replies from MAIL on, the verdicts,
/// and what the client says at the end.
#[test]
fn verdicts() {
    for (replies, verdicts, last) in [
        ("250 ok\r\n250 ok\r\n250 ok\r\n354 go\r\n", "DD", ""),
        ("250 ok\r\n450 4.7.1 grey\r\n250 ok\r\n354 go\r\n", "LD", ""),
        ("250 ok\r\n250 ok\r\n452 4.5.3 full\r\n354 go\r\n", "DA", ""),
        ("250 ok\r\n250 ok\r\n552 full\r\n354 go\r\n", "DA", ""),
        ("250 ok\r\n250 ok\r\n451 4.5.3 full\r\n354 go\r\n", "DA", ""),
        ("250 ok\r\n250 ok\r\n550 5.5.3 full\r\n354 go\r\n", "DA", ""),
        ("250 ok\r\n451 4.5.3 full\r\n250 ok\r\n354 go\r\n", "LD", ""),
        // Nobody was accepted before: the disk is full, not the transaction.
        ("250 ok\r\n452 4.3.1 full\r\n452 4.3.1 full\r\n554 no\r\n", "LL", "RSET\r\n"),
        ("250 ok\r\n550 no\r\n550 no\r\n554 no\r\n", "RR", "RSET\r\n"),
        ("250 ok\r\n550 no\r\n550 no\r\n354 go\r\n554 no\r\n", "RR", ".\r\n"),
        ("550 no\r\n503 mail\r\n503 mail\r\n503 mail\r\n", "RR", ""),
        ("451 later\r\n503 mail\r\n503 mail\r\n503 mail\r\n", "LL", ""),
        ("250 ok\r\n550 no\r\n250 ok\r\n451 later\r\n", "RL", "RSET\r\n"),
        ("250 ok\r\n550 no\r\n250 ok\r\n554 no\r\n", "RR", "RSET\r\n"),
    ] {
        let mut session = Session::ready(PIPELINING);
        session.begin(envelope(&["a@x", "b@x"]));
        let said = session.hear(replies);
        if session.client.step() == Step::Block {
            session.client.written();
            session.hear("250 taken\r\n");
        }
        assert_eq!((session.verdicts().as_str(), said.as_str()), (verdicts, last), "{replies:?}");
    }
}

/// The session breaks off after so much of a transaction: what was refused stays refused, of the
/// others nothing is known.
#[test]
fn verdicts_of_a_session_that_is_lost() {
    let said = ["250 ok\r\n", "550 no\r\n", "250 ok\r\n", "354 go\r\n"];
    for (heard, verdicts) in [(0, "??"), (1, "??"), (2, "R?"), (3, "R?"), (4, "R?")] {
        let mut session = Session::ready(PIPELINING);
        session.begin(envelope(&["a@x", "b@x"]));
        session.hear(&said[..heard].concat());
        assert_eq!(letters(&session.client.closed()), verdicts);

        let mut session = Session::ready(PIPELINING);
        session.begin(envelope(&["a@x", "b@x"]));
        session.hear(&said[..heard].concat());
        session.client.written();
        session.hear("421 4.3.2 going down\r\n");
        assert_eq!(session.verdicts(), verdicts);
        assert!(matches!(&session.outputs[..], [Output::Lost(Loss::Unavailable(_), _)]));
    }
}

/// An answer and a farewell that come in one packet: nothing begins on a session that is over.
#[test]
fn a_server_that_takes_the_message_and_leaves() {
    let mut session = Session::ready(PIPELINING);
    session.begin(envelope(&["a@x.example"]));
    session.hear("250 ok\r\n250 ok\r\n354 go\r\n");
    session.client.written();
    assert_eq!(session.hear("250 taken\r\n421 that was all\r\n"), "");
    assert!(matches!(&session.outputs[..], [Output::Settled(_), Output::Lost(_, left)]
        if left.is_empty()));
    assert_eq!(session.verdicts(), "D");
}

#[test]
fn an_answer_in_mid_message_ends_the_session() {
    for (answer, verdict, loss_is_fault) in
        [("552 too big\r\n", "R", false), ("250 ok\r\n", "?", true)]
    {
        let mut session = Session::ready(PIPELINING);
        session.begin(envelope(&["a@x"]));
        session.hear("250 ok\r\n250 ok\r\n354 go\r\n");
        session.hear(answer);
        assert_eq!(session.verdicts(), verdict);
        let fault = matches!(session.outputs[0], Output::Lost(Loss::OutOfTurn, _));
        assert_eq!(fault, loss_is_fault);
    }
}

#[test]
fn greetings_and_their_ends() {
    let lost = |session: &Session| match &session.outputs[..] {
        [Output::Lost(loss, verdicts)] if verdicts.is_empty() => loss.to_string(),
        other => panic!("{other:?}"),
    };
    let mut session = Session::new(Tls::Never);
    session.hear("554 5.3.2 no mail here\r\n");
    assert_eq!(lost(&session), "554 5.3.2 no mail here");

    let mut session = Session::new(Tls::Never);
    session.hear("220 hi\r\n");
    assert_eq!(session.hear("502 what\r\n"), "HELO lists.example\r\n");
    session.hear("250 ok\r\n");
    assert_eq!(session.outputs, [Output::Ready]);
    assert!(!session.client.extensions().pipelining);

    let mut session = Session::ready("250 hi\r\n");
    session.hear("250 unasked\r\n");
    assert_eq!(lost(&session), "an answer where none was due");

    let mut session = Session::ready("250 hi\r\n");
    session.outputs.clear();
    session.client.quit(&mut session.outputs);
    assert_eq!(session.sent(), "QUIT\r\n");
    session.hear("421 gone already\r\n");
    assert_eq!(session.outputs, [Output::Close]);
}

const OFFER: &str = "250-hi\r\n250 STARTTLS\r\n";

#[test]
fn tls() {
    let mut session = Session::new(Tls::Required);
    session.hear("220 hi\r\n");
    assert_eq!(session.hear(OFFER), "STARTTLS\r\n");
    session.hear("220 go\r\n");
    assert_eq!(session.outputs, [Output::StartTls]);
    assert!(session.client.is_securing());
    session.outputs.clear();
    session.client.secured(&mut session.outputs);
    assert_eq!(session.sent(), "EHLO lists.example\r\n");
    // What was offered in plain text counts no more; TLS is not begun twice.
    assert_eq!(session.hear(OFFER), "");
    assert_eq!(session.outputs, [Output::Ready]);

    // Nor does half a reply that somebody put before the handshake.
    let mut session = Session::new(Tls::Required);
    session.hear("220 hi\r\n");
    session.hear(OFFER);
    session.hear("220 go\r\n");
    session.hear("2");
    session.outputs.clear();
    session.client.secured(&mut session.outputs);
    session.outputs.clear();
    assert_eq!(session.hear(OFFER), "");
    assert_eq!(session.outputs, [Output::Ready]);

    // Refused: required or not.
    for (tls, ready) in [(Tls::Required, false), (Tls::Opportunistic, true)] {
        let mut session = Session::new(tls);
        session.hear("220 hi\r\n");
        session.hear(OFFER);
        session.hear("454 not now\r\n");
        assert_eq!(session.outputs == [Output::Ready], ready);
        assert_eq!(matches!(session.outputs[..], [Output::Lost(Loss::NoTls, _)]), !ready);
    }
    let mut session = Session::new(Tls::Required);
    session.hear("220 hi\r\n");
    session.hear("250 hi\r\n");
    assert!(matches!(session.outputs[..], [Output::Lost(Loss::NoTls, _)]));

    // Plain text slipped in behind the answer, to be taken for the server's under TLS.
    let mut session = Session::new(Tls::Opportunistic);
    session.hear("220 hi\r\n");
    session.hear(OFFER);
    session.hear("220 go\r\n250 injected\r\n");
    assert!(matches!(session.outputs[..], [Output::Lost(Loss::OutOfTurn, _)]));
}

proptest! {
    #![proptest_config(cases(256))]

    /// Whatever a server says, each recipient gets one verdict, and nobody is delivered who was not
    /// accepted.
    #[test]
    fn any_server(
        extensions in prop::sample::select(vec!["250 hi\r\n", PIPELINING, CHUNKING]),
        codes in prop::collection::vec(
            prop::sample::select(vec![250, 250, 250, 354, 421, 450, 452, 503, 550, 552]), 0..12),
    ) {
        let mut session = Session::ready(extensions);
        session.begin(envelope(&["a@x", "b@x", "c@x"]));
        let mut settled = None;
        for code in codes {
            if session.client.step() == Step::Block {
                session.client.written();
            }
            session.hear(&format!("{code} so\r\n"));
            for output in &session.outputs {
                if let Output::Settled(verdicts) | Output::Lost(_, verdicts) = output {
                    prop_assert!(settled.is_none() || verdicts.is_empty(), "settled twice");
                    settled.get_or_insert(verdicts.clone());
                }
            }
        }
        let verdicts = settled.unwrap_or_else(|| session.client.closed());
        prop_assert_eq!(verdicts.len(), 3);
    }
}
