//! Commands as they stand on the wire. An [`Address`] cannot break out of its line.

use super::envelope::Envelope;
use super::extensions::Extensions;
use crate::address::Address;

/// `MAIL FROM` with what the server's extensions allow and the message needs.
pub(super) fn mail(envelope: &Envelope, extensions: &Extensions) -> String {
    let mut line = String::from("MAIL FROM:<");
    line.push_str(envelope.sender.as_ref().map_or("", Address::as_str));
    line.push('>');
    if extensions.size {
        line += &format!(" SIZE={}", envelope.size);
    }
    if envelope.eight_bit && extensions.eight_bit_mime {
        line += " BODY=8BITMIME";
    }
    if envelope.is_international() && extensions.smtp_utf8 {
        line += " SMTPUTF8";
    }
    line + "\r\n"
}

/// Appends `RCPT TO`.
pub(super) fn rcpt(recipient: &Address, line: &mut String) {
    line.push_str("RCPT TO:<");
    line.push_str(recipient.as_str());
    line.push_str(">\r\n");
}
