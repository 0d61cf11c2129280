//! How each mail server writes its log: one file each, and a line in [`MAILERS`].

use crate::event::Event;
use crate::problems::Why;

mod exim;
mod kumomta;
mod opensmtpd;
mod postfix;
mod sendmail;
mod sojourn;

pub(crate) use kumomta::Record as KumoRecord;

/// What a line says: of which message, by the queue's name for it, and what.
pub type Said<'a> = Option<(&'a [u8], Event<'a>)>;

/// A kind of mail server.
#[derive(Debug)]
pub struct Mailer {
    /// Its name, as it is given to commands.
    pub name: &'static str,
    /// Whether a program of this name in a log is one of its.
    pub(crate) owns: fn(program: &[u8]) -> bool,
    /// Whether it says when a message has left the queue.
    pub(crate) says_removed: bool,
    /// Whether a line may name several recipients, with commas between.
    pub(crate) has_lists: bool,
    /// What its line says; nothing where that is not about a message's way.
    pub(crate) read: for<'a> fn(text: &'a [u8]) -> Result<Said<'a>, Why>,
}

/// Those whose logs can be read.
pub static MAILERS: [&Mailer; 6] = [
    &postfix::POSTFIX,
    &sendmail::SENDMAIL,
    &exim::EXIM,
    &sojourn::SOJOURN,
    &opensmtpd::OPENSMTPD,
    &kumomta::KUMOMTA,
];

/// The mailer of this name.
pub fn named(name: &str) -> Option<&'static Mailer> {
    MAILERS.into_iter().find(|mailer| mailer.name == name)
}

/// The mailer that has a program of this name.
pub(crate) fn of_program(program: &[u8]) -> Option<&'static Mailer> {
    MAILERS.into_iter().find(|mailer| (mailer.owns)(program))
}

/// What a status of delivery is when its words are missing.
pub(crate) const NO_STATUS: Why = "an attempt without a status";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Attempt;

    impl Mailer {
        pub(super) fn event<'a>(&self, text: &'a str) -> Result<Option<Event<'a>>, Why> {
            Ok((self.read)(text.as_bytes())?.map(|(_, event)| event))
        }

        pub(super) fn attempted<'a>(&self, text: &'a str) -> Attempt<'a> {
            let Ok(Some(Event::Attempt(attempt))) = self.event(text) else { panic!("{text}") };
            attempt
        }

        pub(super) fn ignores(&self, lines: &[&str]) {
            for line in lines {
                assert_eq!(self.event(line), Ok(None), "{line}");
            }
        }

        pub(super) fn refuses(&self, lines: &[&str]) {
            for line in lines {
                assert!(self.event(line).is_err(), "{line}");
            }
        }
    }

    #[test]
    fn a_program_has_one_mailer() {
        for (program, name) in [
            ("postfix/smtp", Some("postfix")),
            ("postfix-out/smtp", Some("postfix")),
            ("postfix", Some("postfix")),
            ("sendmail", Some("sendmail")),
            ("sm-mta", Some("sendmail")),
            ("sm-msp-queue", Some("sendmail")),
            ("exim", Some("exim")),
            ("exim4", Some("exim")),
            ("sojourn/smtp", Some("sojourn")),
            ("sshd", None),
            ("postfix2/smtp", Some("postfix")),
            ("out-1/qmgr", Some("postfix")),
            ("postfix@-.service", Some("postfix")),
            ("smtpd", Some("opensmtpd")),
            ("kumomta", Some("kumomta")),
            ("postfixadmin", None),
            ("dovecot/auth", None),
            ("", None),
        ] {
            let owners = MAILERS.iter().filter(|mailer| (mailer.owns)(program.as_bytes()));
            assert!(owners.count() <= 1, "{program}");
            assert_eq!(of_program(program.as_bytes()).map(|mailer| mailer.name), name, "{program}");
            assert_eq!(name.and_then(named).map(|mailer| mailer.name), name);
        }
    }
}
