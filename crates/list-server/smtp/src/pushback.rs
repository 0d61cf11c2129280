//! Which temporary refusals greylist, and which ask a client to send less.
//!
//! Both look alike to a client that only knows "not now", but they end differently. A greylist refuses
//! the first try of a sender and recipient, however slowly it comes, and takes a later one. A limit
//! depends on how much is sent at once, and refuses a client again that sends too much again.

use crate::Enhanced;

/// What a temporary refusal asks for, where its code, status or words tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pushback {
    /// A later try: the host has not seen this sender and recipient before.
    Greylist,
    /// Fewer messages in a given time.
    Rate,
    /// Fewer sessions at a time.
    Sessions,
}

/// Words, in lower case, of hosts that greylist.
const GREYLIST: [&str; 7] =
    ["greylist", "graylist", "grey list", "gray list", "grey-list", "gray-list", "[gl01]"];
/// Words of hosts that have too many sessions.
const SESSIONS: [&str; 14] = [
    "too many connections",
    "too many concurrent",
    "too many simultaneous",
    "too many open connections",
    "concurrent connection",
    "simultaneous connection",
    "number of connections",
    "number of concurrent",
    "connections limit",
    "connection limit",
    "connection rate",
    "too many sessions",
    "too many smtp sessions",
    "trop de connexions",
];
/// Words of hosts that were sent too much in a given time.
const RATE: [&str; 31] = [
    "too many messages",
    "too many mails",
    "too many emails",
    "too many recent",
    "too much mail",
    "rate limit",
    "rate-limit",
    "ratelimit",
    "rate exceeded",
    "rate control",
    "message rate",
    "throttl",
    "too quickly",
    "too fast",
    "slow down",
    "slower",
    "unusual rate",
    "at a rate that",
    "excessive volume",
    "unexpected volume",
    "temporarily deferred",
    "sending limit",
    "frequency limit",
    "volume limit",
    "hourly limit",
    "daily limit",
    "number of messages",
    "sending rate",
    "per minute",
    "per hour",
    "server busy",
];
/// Words of hosts that want encryption first, or cannot have it now.
const ENCRYPTION: [&str; 2] = ["starttls", "tls "];
/// Statuses of another reason, whatever the words: a full mailbox, and a transaction with too many
/// recipients, which asks for a smaller one.
const OTHER: [Enhanced; 2] = [Enhanced(4, 2, 2), Enhanced(4, 5, 3)];

impl Pushback {
    /// What the reply `code`, with this status and these words, asks for; nothing for a reply of
    /// another kind.
    ///
    /// 421 with a status X.7.X closes the session for a reason of policy (RFC 3463 section 3.8),
    /// which is a limit unless the words are of encryption.
    /// Google's 4.7.28 and Microsoft's 4.7.500 to 4.7.699 are limits in any words.
    pub fn of(code: u16, status: Enhanced, text: &str) -> Option<Pushback> {
        let Enhanced(class, subject, detail) = status;
        if !(400..500).contains(&code) || class != 4 || OTHER.contains(&status) {
            return None;
        }
        let text = text.to_ascii_lowercase();
        let has = |words: &[&str]| words.iter().any(|it| text.contains(it));
        let is_numbered = subject == 7 && (detail == 28 || (500..700).contains(&detail));
        let is_policy = code == 421 && subject == 7 && !has(&ENCRYPTION);
        match () {
            () if has(&GREYLIST) => Some(Pushback::Greylist),
            () if has(&SESSIONS) => Some(Pushback::Sessions),
            () if is_numbered || is_policy || has(&RATE) => Some(Pushback::Rate),
            () => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Option<Pushback> {
        let code = line[..3].parse().unwrap();
        let status = line[4..].split(' ').next().and_then(|it| it.parse().ok());
        Pushback::of(code, status.unwrap_or(Enhanced(4, 0, 0)), line)
    }

    #[test]
    fn words_and_numbers_tell_limits_from_greylists() {
        for (line, expected) in [
            ("450 4.2.0 <a@x>: Recipient address rejected: Greylisted", Some(Pushback::Greylist)),
            ("451 4.7.1 Greylisting in action, please come back later", Some(Pushback::Greylist)),
            ("421 4.7.0 Greylisted for 60 s", Some(Pushback::Greylist)),
            ("421 4.7.0 too many connections", Some(Pushback::Sessions)),
            (
                "421 4.7.652 The mail server has exceeded the maximum number of connections",
                Some(Pushback::Sessions),
            ),
            ("421 4.7.28 Gmail has detected an unusual rate of mail", Some(Pushback::Rate)),
            (
                "450 4.2.1 The user you are trying to contact is receiving mail too quickly",
                Some(Pushback::Rate),
            ),
            ("451 4.7.650 The mail server has been temporarily rate limited", Some(Pushback::Rate)),
            ("450 4.7.500 Access denied, please try again later", Some(Pushback::Rate)),
            (
                "421 4.7.0 [TSS04] Messages from 192.0.2.1 temporarily deferred",
                Some(Pushback::Rate),
            ),
            ("421 4.7.0 Try again later, closing connection", Some(Pushback::Rate)),
            ("421 Rate Limit exceeded - https://postmaster.gmx.net", Some(Pushback::Rate)),
            ("451 4.7.1 Client host rejected: Please try again slower", Some(Pushback::Rate)),
            ("421 [GL01] Message from (192.0.2.1) temporarily deferred", Some(Pushback::Greylist)),
            (
                "421 Service refuse. Trop de connexions, veuillez reessayer",
                Some(Pushback::Sessions),
            ),
            ("452 4.2.2 Mailbox size limit exceeded", None),
            ("450 4.7.1 please try again later", None),
            ("452 4.2.2 over quota: number of messages exceeded", None),
            ("452 4.5.3 too many recipients, see our sending limits", None),
            ("421 4.7.0 Try STARTTLS first: must issue STARTTLS", None),
            ("421 4.7.0 TLS handshake failed", None),
            (
                "421 4.7.29 An unusual rate of mail that is not sent over TLS today",
                Some(Pushback::Rate),
            ),
            ("451 4.3.0 queue file write error; try again later", None),
            ("421 4.3.2 Too many open connections", Some(Pushback::Sessions)),
            ("421 4.3.2 Service not available", None),
            ("550 5.7.1 too many messages", None),
        ] {
            assert_eq!(of(line), expected, "{line}");
        }
    }
}
