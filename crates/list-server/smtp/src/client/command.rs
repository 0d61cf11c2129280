//! Commands as they stand on the wire. An [`Address`] cannot break out of its line.

use super::envelope::Envelope;
use super::extensions::Extensions;
use crate::address::Address;
use std::fmt::Write;

/// The text may come.
pub(super) const DATA: &str = "DATA\r\n";
/// The transaction is given up.
pub(super) const RSET: &str = "RSET\r\n";

const MAIL: &str = "MAIL FROM:<";
const RCPT: &str = "RCPT TO:<";
const END: &str = ">\r\n";
/// The longest parameters that MAIL has here.
const PARAMETERS: usize = " SIZE=18446744073709551615 BODY=8BITMIME SMTPUTF8".len();

/// `MAIL FROM` with what the server's extensions allow and the message needs.
pub(super) fn mail(envelope: &Envelope, extensions: &Extensions) -> String {
    let sender = envelope.sender.as_ref().map_or("", Address::as_str);
    let mut line = String::with_capacity(MAIL.len() + sender.len() + PARAMETERS + END.len());
    line.push_str(MAIL);
    line.push_str(sender);
    line.push('>');
    if extensions.size {
        write!(line, " SIZE={}", envelope.size).expect("a text takes all");
    }
    if envelope.eight_bit && extensions.eight_bit_mime {
        line += " BODY=8BITMIME";
    }
    if extensions.smtp_utf8 && envelope.is_international() {
        line += " SMTPUTF8";
    }
    line + "\r\n"
}

/// Appends `RCPT TO`.
pub(super) fn rcpt(recipient: &Address, line: &mut String) {
    line.push_str(RCPT);
    line.push_str(recipient.as_str());
    line.push_str(END);
}

/// How long that is.
pub(super) fn rcpt_length(recipient: &Address) -> usize {
    RCPT.len() + recipient.as_str().len() + END.len()
}

/// `RCPT TO` alone.
pub(super) fn rcpt_alone(recipient: &Address) -> String {
    let mut line = String::with_capacity(rcpt_length(recipient));
    rcpt(recipient, &mut line);
    line
}
