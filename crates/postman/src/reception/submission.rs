//! What is held against a message that is sent on, and what is mended, before it is signed.

use super::lists::Lists;
use sojourn_mail::author::authors;
use sojourn_mail::header::fields;
use sojourn_mail::outgoing::{without_blind_copies, wrapped};
use sojourn_mail::smtp::server::{Submitter, Text};
use sojourn_mail::smtp::{Enhanced, Reply};
use sojourn_mail::{Address, List};

/// How a message is sent on.
pub(super) struct Outgoing<'a> {
    /// Its text, in lines of 998 octets at most.
    pub(super) text: Text,
    /// Where failures are reported.
    pub(super) sender: Option<Address>,
    /// The list whose fields and signatures it gets.
    pub(super) list: Option<&'a List>,
}

/// Looks at a message for people elsewhere, and mends its text; or the reply that refuses it.
///
/// Mail that its submitter may not send has come this far because it is for a mailbox at home, such
/// as `postmaster`: it goes there as it came. If its sender is a list's return path, it loses that,
/// so that a failure is not taken for a bounce of the list's mail.
pub(super) fn outgoing<'a>(
    lists: &'a Lists,
    submitter: Submitter<'_>,
    sender: Option<Address>,
    text: Text,
) -> Result<Outgoing<'a>, Reply> {
    let (list, from) = (lists.of_sender(sender.as_ref()), sender.as_ref());
    if !lists.submitters.may_send(submitter, list, from) {
        let sender = sender.filter(|_| list.is_none());
        return Ok(Outgoing { text: wrapped(text).text, sender, list: None });
    }
    if list.is_some_and(|list| lists.signs(list)) && fields(&text, "From") != 1 {
        let why = "mail of this list has exactly one From: field (RFC 5322 section 3.6)";
        return Err(refusal(554, Enhanced(5, 6, 0), why));
    }
    let named = authors(&text);
    if !lists.submitters.may_write_as(submitter, list, from, named.as_deref()) {
        let why = match &named {
            Some(_) => "From: names an address that you may not write as",
            None => "From: has to be one field with plain addresses that you may write as",
        };
        return Err(refusal(550, Enhanced(5, 7, 1), why));
    }
    let whole = wrapped(without_blind_copies(text));
    if whole.broken_header {
        let why = "a header line has over 998 octets and no space to fold it at (RFC 5322 \
                   section 2.1.1)";
        return Err(refusal(554, Enhanced(5, 6, 0), why));
    }
    Ok(Outgoing { text: whole.text, sender, list })
}

fn refusal(code: u16, status: Enhanced, text: &str) -> Reply {
    Reply { code, enhanced: Some(status), lines: vec![text.to_owned()] }
}
