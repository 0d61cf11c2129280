//! What a server said it can do (RFC 5321 section 4.1.1.1).

/// The extensions among a server's that a client of ours makes use of.
#[expect(clippy::struct_excessive_bools, reason = "a server offers each by itself")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extensions {
    /// Commands may follow each other without waiting (RFC 2920).
    pub pipelining: bool,
    /// Sizes may be declared (RFC 1870).
    pub size: bool,
    /// The largest message it takes, when it names one.
    pub largest: Option<u64>,
    /// Bytes above 127 in a body (RFC 6152).
    pub eight_bit_mime: bool,
    /// Characters beyond ASCII in addresses and headers (RFC 6531).
    pub smtp_utf8: bool,
    /// A session may turn to TLS (RFC 3207).
    pub start_tls: bool,
    /// BDAT (RFC 3030).
    pub chunking: bool,
}

impl Extensions {
    /// Reads the lines of a reply to EHLO, without their codes; the first is the greeting.
    pub fn read<'a>(lines: impl Iterator<Item = &'a [u8]>) -> Extensions {
        let mut extensions = Extensions::default();
        for line in lines.skip(1) {
            let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
            let Some(keyword) = words.next() else { continue };
            let is = |name: &str| keyword.eq_ignore_ascii_case(name.as_bytes());
            if is("SIZE") {
                extensions.size = true;
                // Zero means that there is no fixed limit (RFC 1870 section 4).
                let largest =
                    words.next().and_then(|it| std::str::from_utf8(it).ok()?.parse().ok());
                extensions.largest = largest.filter(|&size| size > 0);
            }
            extensions.pipelining |= is("PIPELINING");
            extensions.eight_bit_mime |= is("8BITMIME");
            extensions.smtp_utf8 |= is("SMTPUTF8");
            extensions.start_tls |= is("STARTTLS");
            extensions.chunking |= is("CHUNKING");
        }
        extensions
    }
}
