//! Whose fault a failure is: refusals of the sender or the message, this server's own decisions,
//! reports, and tables by operators.

use proptest::prelude::*;
use sojourn_mail_engine::bounce::{Fault, Faults, Stage};
use sojourn_smtp::Enhanced;

fn fault(stage: Stage, text: &str) -> Fault {
    Faults::built_in().of(Some(stage), None, text)
}

/// The fourteen refusals that once scored against 600 subscribers.
#[test]
fn faults_of_the_sender_and_the_message_are_not_the_address() {
    let own = |detail: (u16, u16), text: &str| {
        Faults::built_in().of(Some(Stage::Own), Some(Enhanced(5, detail.0, detail.1)), text)
    };
    let listed = "550 5.7.1 Service unavailable, your IP is on a block list";
    let faults = [
        (fault(Stage::Rcpt, listed), Fault::Policy),
        (fault(Stage::Mail, listed), Fault::Policy),
        (fault(Stage::Text, "550 5.7.1 this looks like spam"), Fault::Content),
        (fault(Stage::Text, "554 5.7.1 message rejected as spam"), Fault::Content),
        (fault(Stage::Text, "550 5.7.26 DMARC check failed"), Fault::Policy),
        (fault(Stage::Text, "550 5.6.0 missing Message-ID"), Fault::Content),
        (fault(Stage::Mail, "552 5.3.4 too large"), Fault::Content),
        (fault(Stage::Rcpt, "503 5.5.1 out of order"), Fault::Protocol),
        (fault(Stage::Mail, "530 5.7.0 log in first"), Fault::Policy),
        (fault(Stage::Mail, "530 Authentication required"), Fault::Protocol),
        (fault(Stage::Data, "500 what is BDAT?"), Fault::Protocol),
        (own((6, 3), "the host takes no 8-bit text"), Fault::Protocol),
        (own((4, 6), "the mail comes back to this server"), Fault::Protocol),
        (own((4, 7), "it could not be delivered in its time"), Fault::Protocol),
    ];
    for (number, (fault, expected)) in faults.into_iter().enumerate() {
        assert_eq!(fault, expected, "{number}");
    }
}

/// A block list counts whatever code it has; an unknown mailbox does, too.
#[test]
fn words_outrank_codes() {
    assert_eq!(fault(Stage::Rcpt, "550 5.1.1 blocked, see spamhaus.org"), Fault::Policy);
    assert_eq!(fault(Stage::Rcpt, "550 your server is blacklisted"), Fault::Policy);
    assert_eq!(fault(Stage::Rcpt, "550 5.7.1 user unknown"), Fault::Address);
    assert_eq!(
        fault(Stage::Rcpt, "550 5.2.1 sender address rejected: user unknown"),
        Fault::Policy
    );
    assert_eq!(fault(Stage::Mail, "550 user unknown"), Fault::Policy);
}

#[test]
fn the_stage_counts_where_codes_decide() {
    for (stage, expected) in [
        (Stage::Connect, Fault::Policy),
        (Stage::Mail, Fault::Policy),
        (Stage::Rcpt, Fault::Address),
        (Stage::Text, Fault::Unknown),
        (Stage::Report, Fault::Address),
    ] {
        assert_eq!(fault(stage, "550 no"), expected, "{stage:?}");
    }
    assert_eq!(fault(Stage::Text, "550 5.1.1 no"), Fault::Unknown);
    assert_eq!(fault(Stage::Rcpt, "550 5.1.1 no"), Fault::Address);
    assert_eq!(fault(Stage::Rcpt, "550 5.1.8 no"), Fault::Policy);
}

#[test]
fn a_report_names_the_command_in_its_text() {
    let of = |text| Faults::built_in().of(Some(Stage::Report), Some(Enhanced(5, 0, 0)), text);
    assert_eq!(of("550 no (in reply to RCPT TO command)"), Fault::Address);
    assert_eq!(of("550 no (in reply to MAIL FROM command)"), Fault::Policy);
    assert_eq!(of("host a said: 554 no (in reply to end of DATA command)"), Fault::Unknown);
    assert_eq!(
        of("SMTP error from remote mail server after pipelined MAIL FROM:<a@b.example>: 550 no"),
        Fault::Policy
    );
    assert_eq!(of("it did not work"), Fault::Address);
    assert_eq!(of("it looked like spam"), Fault::Content);
}

/// An expired message is the mailbox's fault when the last reply named the mailbox.
#[test]
fn this_servers_decisions() {
    let of = |status, text: &str| Faults::built_in().of(None, Some(status), text);
    assert_eq!(of(Enhanced(5, 1, 2), "the name servers know no such domain"), Fault::Address);
    assert_eq!(of(Enhanced(5, 1, 10), "the domain has a null MX"), Fault::Address);
    let expired = |text: &str| of(Enhanced(5, 4, 7), &format!("not delivered in its time: {text}"));
    assert_eq!(expired("452 4.2.2 full (in reply to RCPT TO command)"), Fault::Address);
    assert_eq!(expired("450 4.1.1 not now (in reply to RCPT TO command)"), Fault::Address);
    assert_eq!(expired("450 4.2.0 greylisted (in reply to RCPT TO command)"), Fault::Policy);
    assert_eq!(expired("451 4.3.0 not now (in reply to RCPT TO command)"), Fault::Protocol);
    assert_eq!(expired("connection refused"), Fault::Protocol);
    assert_eq!(expired("4.0.0: 451 try again"), Fault::Protocol);
    assert_eq!(expired("4.2.2: 452 4.2.2 the mailbox is full"), Fault::Address);
    assert_eq!(expired("4.4.1: no host answers"), Fault::Protocol);
}

/// Names in addresses, and the codes of continued lines, are no words.
#[test]
fn addresses_are_left_out() {
    let spam = "550 5.1.1 <spamhaus-blacklist@virus.example>: Recipient address rejected";
    assert_eq!(fault(Stage::Rcpt, spam), Fault::Address);
    assert_eq!(fault(Stage::Rcpt, "550-5.1.1 user\r\n550 5.1.1 unknown"), Fault::Address);
    assert_eq!(
        fault(Stage::Text, "550-5.7.1 This message looks 550 5.7.1 like spam"),
        Fault::Content
    );
}

#[test]
fn names_are_read_as_they_are_written() {
    for fault in [Fault::Address, Fault::Content, Fault::Policy, Fault::Protocol, Fault::Unknown] {
        assert_eq!(fault.to_string().parse(), Ok(fault));
    }
    assert!("adress".parse::<Fault>().is_err());
}

#[test]
fn an_operators_table() {
    let text = "[[rule]]\nwords = [\"moon\"]\nstages = [\"rcpt\"]\nstatus = [\"5.*.9\"]\ncode = [599]\n\
                fault = \"content\"\n";
    let faults = Faults::parse(text, "mine.toml").unwrap();
    let of = |text| faults.of(Some(Stage::Rcpt), None, text);
    assert_eq!(of("599 5.4.9 the Moon is full"), Fault::Content);
    assert_eq!(of("599 5.4.8 the Moon is full"), Fault::Unknown);
    assert_eq!(of("598 5.4.9 the Moon is full"), Fault::Unknown);
    assert_eq!(of("599 5.4.9 the sun"), Fault::Unknown);
    assert_eq!(faults.of(Some(Stage::Mail), None, "599 5.4.9 moon"), Fault::Unknown);
}

#[test]
fn a_table_that_cannot_be_read_names_the_line() {
    let error = |text: &str| Faults::parse(text, "mine.toml").unwrap_err().to_string();
    let rule = |line: &str| error(&format!("[[rule]]\n{line}\nfault = \"policy\"\n"));
    assert_eq!(
        error("[[rule]]\nfault = \"polcy\"\n"),
        "mine.toml:2: fault = \"polcy\": unknown variant `polcy`, expected one of `address`, \
         `content`, `policy`, `protocol`, `unknown`"
    );
    assert!(rule("words = [\"Spam\"]").contains("mine.toml:2: words = [\"Spam\"]: expected words"));
    assert!(rule("words = [\" \"]").contains("expected words in lower case"));
    assert!(rule("status = [\"5.7\"]").contains("expected a status such as"));
    assert!(rule("stage = [\"rcpt\"]").contains("unknown field `stage`, expected"));
    assert!(rule("stages = [\"rctp\"]").contains("unknown variant `rctp`, expected"));
    assert!(error("fault = 1").contains("mine.toml:1: "));
    assert!(error("").contains("missing field `rule`"));
    assert!(error(&" ".repeat(100_000)).contains("at most"));
}

proptest! {
    #[test]
    fn any_text_has_a_fault(text in "\\PC*", code in "[0-9]{3}[ -]?", words in "[a-z @<>.0-9-]{0,80}") {
        for stage in [None, Some(Stage::Rcpt), Some(Stage::Report)] {
            Faults::built_in().of(stage, None, &text);
            Faults::built_in().of(stage, None, &format!("{code}{words}{text}"));
        }
    }

    /// What follows the first 500 characters changes nothing.
    #[test]
    fn only_the_beginning_counts(text in "[a-z0-9 .é]{500}", rest in "\\PC*") {
        let of = |text: &str| Faults::built_in().of(Some(Stage::Rcpt), None, text);
        prop_assert_eq!(of(&text), of(&format!("{text}{rest}")));
    }

    #[test]
    fn any_table_is_read_or_refused(text in "(?s).*", value in "[\\[\\]\"a-z0-9.*, =]{0,40}") {
        if let Err(error) = Faults::parse(&text, "a") {
            prop_assert!(!error.to_string().contains(char::is_control), "{error:?}");
        }
        for key in ["words", "stages", "status", "code", "fault"] {
            let _ = Faults::parse(&format!("[[rule]]\n{key} = {value}\nfault = \"policy\""), "a");
        }
    }
}
