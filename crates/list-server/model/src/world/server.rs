//! A host's side of one session. It takes for granted what an honest client does, and panics where
//! ours is not one.

use super::host::{Act, Host, SessionView, Step};

/// A host's side of one session.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Server {
    mail: bool,
    recipients: u32,
    in_data: bool,
    ignoring: bool,
}

/// Octets of most answers to one command.
const ONE_LINE: usize = 64;

/// What a server says and does when something came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) bytes: Vec<u8>,
    /// Whether the connection is closed after that.
    pub(super) closes: bool,
    /// Whether it took over the message.
    pub(super) took: bool,
}

impl Answer {
    /// An empty one, with memory for so many bytes.
    fn with_room(bytes: usize) -> Answer {
        Answer { bytes: Vec::with_capacity(bytes), ..Answer::default() }
    }

    fn say(&mut self, line: &str) {
        self.bytes.extend_from_slice(line.as_bytes());
        self.bytes.extend_from_slice(b"\r\n");
    }
}

impl Server {
    /// A connection was made.
    pub(super) fn greet(&mut self, host: &mut impl Host, view: SessionView) -> Answer {
        let mut answer = Answer::with_room(ONE_LINE);
        self.act(host, Step::Greeting, view, &mut answer, |answer| answer.say("220 ready"));
        answer
    }

    /// Commands have come, whole lines; `rcpt` receives the recipients that they name, and whether they are taken.
    pub(super) fn read(
        &mut self,
        host: &mut impl Host,
        view: SessionView,
        bytes: &[u8],
        mut rcpt: impl FnMut(&str, bool),
    ) -> Answer {
        assert!(bytes.ends_with(b"\r\n"), "a command without an end");
        // About as long as what it answers, or what EHLO tells.
        let mut answer = Answer::with_room(bytes.len().max(ONE_LINE));
        let mut begin = 0;
        for end in memchr::memchr_iter(b'\n', bytes) {
            if self.ignoring || answer.closes {
                break;
            }
            self.perform(host, view, &bytes[begin..=end], &mut answer, &mut rcpt);
            begin = end + 1;
        }
        answer
    }

    fn perform(
        &mut self,
        host: &mut impl Host,
        view: SessionView,
        line: &[u8],
        answer: &mut Answer,
        rcpt: &mut impl FnMut(&str, bool),
    ) {
        if self.in_data {
            // Without recipients nothing but the dot may follow.
            assert_eq!(line, b".\r\n");
            (self.in_data, self.mail) = (false, false);
            return answer.say("554 no valid recipients");
        }
        match &line[..4] {
            b"EHLO" => {
                let usual = host.extensions();
                self.act(host, Step::Ehlo, view, answer, |answer| {
                    answer.bytes.extend_from_slice(usual.as_bytes());
                });
            }
            b"HELO" => {
                self.act(host, Step::Helo, view, answer, |answer| answer.say("250 hello"));
            }
            b"MAIL" => {
                assert!(!self.mail, "MAIL within a transaction");
                self.recipients = 0;
                let usual = self.act(host, Step::Mail, view, answer, |it| it.say("250 2.1.0 ok"));
                self.mail = usual;
            }
            b"RCPT" => {
                let named = std::str::from_utf8(&line[9..line.len() - 3])
                    .expect("the engine sends addresses in UTF-8");
                assert!(self.mail, "RCPT before MAIL");
                let usual =
                    self.act(host, Step::Rcpt(named), view, answer, |it| it.say("250 2.1.5 ok"));
                self.recipients += u32::from(usual);
                rcpt(named, usual);
            }
            b"DATA" => {
                let usual = self.act(host, Step::Data, view, answer, |it| it.say("354 go on"));
                self.in_data = usual;
            }
            b"BDAT" => {}
            b"RSET" => {
                self.mail = false;
                answer.say("250 2.0.0 ok");
            }
            b"QUIT" => {
                answer.say("221 2.0.0 bye");
                answer.closes = true;
            }
            _ => panic!("{} is no command", line.escape_ascii()),
        }
    }

    /// The whole text of a message has come.
    pub(super) fn text(&mut self, host: &mut impl Host, view: SessionView) -> Answer {
        if self.ignoring {
            return Answer::default();
        }
        let mut answer = Answer::with_room(ONE_LINE);
        let recipients = self.recipients;
        (self.in_data, self.mail) = (false, false);
        if recipients == 0 {
            // It came with its commands, and is passed over (RFC 3030 section 2).
            answer.say("554 no valid recipients");
            return answer;
        }
        self.act(host, Step::Dot, view, &mut answer, |answer| {
            answer.say("250 2.0.0 taken");
            answer.took = true;
        });
        answer
    }

    /// Does what the host wants done at a step; whether that was the usual.
    fn act(
        &mut self,
        host: &mut impl Host,
        step: Step<'_>,
        view: SessionView,
        answer: &mut Answer,
        usual: impl FnOnce(&mut Answer),
    ) -> bool {
        match host.act(step, &SessionView { recipients: self.recipients, ..view }) {
            Act::Usual => {
                usual(answer);
                return true;
            }
            Act::Say(line) => answer.say(line),
            Act::SayThenClose(line) => {
                answer.say(line);
                answer.closes = true;
            }
            Act::UsualThenClose(line) => {
                usual(answer);
                answer.say(line);
                answer.closes = true;
                return true;
            }
            Act::Hang => self.ignoring = true,
            Act::Close => answer.closes = true,
            Act::TakeThenClose => {
                answer.took = true;
                answer.closes = true;
            }
        }
        false
    }
}
