//! Commands, taken apart.

use crate::address::Address;

/// A command of a client.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Command<'a> {
    Helo(&'a str),
    Ehlo(&'a str),
    Lhlo(&'a str),
    Mail(&'a str),
    Rcpt(&'a str),
    Data,
    Bdat(&'a str),
    Rset,
    Noop,
    Quit,
    Vrfy,
    Help,
    StartTls,
    Auth(&'a str),
    /// A request of HTTP, which a browser was made to send here.
    Foreign,
    Unknown,
    /// A known one with something after it that it does not take.
    Unwanted,
}

/// Why what follows MAIL or RCPT cannot be taken. Each is the reply's beginning and its words.
pub(super) type Fault = &'static str;

/// What follows `FROM:` or `TO:`: a path and parameters.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Argument<'a> {
    pub(super) path: Path<'a>,
    /// Keywords in upper case, with their values.
    pub(super) parameters: Vec<(String, Option<&'a str>)>,
}

/// What stands between `<` and `>`.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Path<'a> {
    Null,
    /// `<postmaster>`, the one mailbox without a domain.
    Postmaster,
    Mailbox(&'a str),
}

impl<'a> Command<'a> {
    pub(super) fn read(line: &'a str) -> Command<'a> {
        let (verb, rest) = line.split_once([' ', '\t']).unwrap_or((line, ""));
        let rest = rest.trim_matches([' ', '\t']);
        let bare = |command| if rest.is_empty() { command } else { Command::Unwanted };
        match verb.to_ascii_uppercase().as_str() {
            "HELO" => Command::Helo(rest),
            "EHLO" => Command::Ehlo(rest),
            "LHLO" => Command::Lhlo(rest),
            "MAIL" => Command::Mail(rest),
            "RCPT" => Command::Rcpt(rest),
            "DATA" => bare(Command::Data),
            "BDAT" => Command::Bdat(rest),
            "RSET" => bare(Command::Rset),
            "NOOP" => Command::Noop,
            "QUIT" => bare(Command::Quit),
            "VRFY" => Command::Vrfy,
            "HELP" => Command::Help,
            "STARTTLS" => bare(Command::StartTls),
            "AUTH" => Command::Auth(rest),
            "GET" | "POST" | "PUT" | "HEAD" | "OPTIONS" | "CONNECT" => Command::Foreign,
            _ => Command::Unknown,
        }
    }

    /// Whether it leads to no message.
    pub(super) fn is_detour(&self) -> bool {
        use Command::{Auth, Bdat, Ehlo, Helo, Help, Lhlo, Noop, Rset, Vrfy};
        match self {
            Helo(_) | Ehlo(_) | Lhlo(_) | Rset | Noop | Vrfy | Help | Auth(_) => true,
            // A chunk of nothing; the last one may be that.
            Bdat(rest) => bdat(rest) == Some((0, false)),
            _ => false,
        }
    }
}

/// Whether `text` may stand for the client's name: RFC 5321 wants a domain or an address literal,
/// clients say all kinds of things; here it has to fit into a `Received:` line.
pub(super) fn is_name(text: &str) -> bool {
    let fits = |c: char| c.is_ascii_graphic() && !"()<>,;\"\\".contains(c);
    !text.is_empty() && text.len() <= 255 && text.chars().all(fits)
}

/// The size of a BDAT, and whether it is the last.
pub(super) fn bdat(rest: &str) -> Option<(u64, bool)> {
    let mut words = rest.split_ascii_whitespace();
    let size = words.next()?;
    let size = size.bytes().all(|b| b.is_ascii_digit()).then(|| size.parse().ok())??;
    match (words.next(), words.next()) {
        (None, _) => Some((size, false)),
        (Some(last), None) if last.eq_ignore_ascii_case("LAST") => Some((size, true)),
        _ => None,
    }
}

/// Reads `rest` of MAIL (`FROM:`) or RCPT (`TO:`).
pub(super) fn argument<'a>(rest: &'a str, keyword: &str) -> Result<Argument<'a>, Fault> {
    const SYNTAX: Fault = "501 5.5.2 an address in <> is expected";
    let (word, rest) = rest.split_once(':').ok_or(SYNTAX)?;
    if !word.eq_ignore_ascii_case(keyword) {
        return Err(SYNTAX);
    }
    let inside = rest.trim_start_matches([' ', '\t']).strip_prefix('<').ok_or(SYNTAX)?;
    let end = path_end(inside).ok_or(SYNTAX)?;
    let (path, rest) = (&inside[..end], &inside[end + 1..]);
    if !rest.is_empty() && !rest.starts_with([' ', '\t']) {
        return Err(SYNTAX);
    }
    Ok(Argument { path: path_of(path)?, parameters: parameters(rest)? })
}

/// Where the `>` is that ends a path: not one in quotes.
fn path_end(text: &str) -> Option<usize> {
    let (mut quoted, mut escaped) = (false, false);
    text.char_indices().find_map(|(place, c)| {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            '>' if !quoted => return Some(place),
            _ => {}
        }
        None
    })
}

fn path_of(path: &str) -> Result<Path<'_>, Fault> {
    match path {
        "" => Ok(Path::Null),
        _ if path.starts_with('@') => Err("553 5.1.3 source routes are not followed"),
        _ if path.eq_ignore_ascii_case("postmaster") => Ok(Path::Postmaster),
        mailbox => Ok(Path::Mailbox(mailbox)),
    }
}

/// `keyword` or `keyword=value`, each once (RFC 5321 section 4.1.2).
fn parameters(text: &str) -> Result<Vec<(String, Option<&str>)>, Fault> {
    const SYNTAX: Fault = "501 5.5.4 a parameter is a keyword, or keyword=value, and given once";
    let mut parameters: Vec<(String, Option<&str>)> = Vec::new();
    for word in text.split_ascii_whitespace() {
        let (keyword, value) = match word.split_once('=') {
            Some((keyword, value)) => (keyword, Some(value)),
            None => (word, None),
        };
        let keyword = keyword.to_ascii_uppercase();
        let is_keyword = keyword.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        let is_value = value.is_none_or(|value| !value.is_empty() && !value.contains('='));
        let known = parameters.iter().any(|(other, _)| *other == keyword);
        if keyword.is_empty() || !is_keyword || !is_value || known {
            return Err(SYNTAX);
        }
        parameters.push((keyword, value));
    }
    Ok(parameters)
}

/// The mailbox of a path; `fault` says which of the two commands it was.
pub(super) fn mailbox(text: &str, fault: Fault) -> Result<Address, Fault> {
    text.parse().map_err(|_| fault)
}

/// Puts lines together. What it holds is bounded.
#[derive(Debug, Default)]
pub(super) struct Lines {
    line: Vec<u8>,
}

/// Why a line is no command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BadLine {
    /// Longer than any command; its end has not come, and is not awaited.
    TooLong,
    /// It has a CR, LF or NUL in it, another control character, or is not UTF-8.
    NotText,
}

/// A response to AUTH may be so long (RFC 4954 section 4); a command has to be taken with 512
/// octets (RFC 5321 section 4.5.3.1.4) and what extensions add.
const LINE_MAX: usize = 12_288;

impl Lines {
    /// Takes from `bytes` up to the end of the next line, and returns the line without its end;
    /// nothing when it needs more.
    ///
    /// Lines end with CRLF. One that ends with LF alone, or has a CR inside, is not looked at: its
    /// sender and this server may differ on where the commands are.
    pub(super) fn read(&mut self, bytes: &mut &[u8]) -> Option<Result<String, BadLine>> {
        let end = bytes.iter().position(|&byte| byte == b'\n');
        let (piece, rest) = bytes.split_at(end.map_or(bytes.len(), |end| end + 1));
        *bytes = rest;
        if self.line.len() + piece.len() > LINE_MAX {
            return Some(Err(BadLine::TooLong));
        }
        self.line.extend_from_slice(piece);
        end?;
        let line = std::mem::take(&mut self.line);
        let text = line.strip_suffix(b"\r\n").and_then(|line| std::str::from_utf8(line).ok());
        let plain = text.filter(|text| !text.contains(|c: char| c.is_control() && c != '\t'));
        Some(plain.map(str::to_owned).ok_or(BadLine::NotText))
    }

    /// Forgets what it holds.
    pub(super) fn clear(&mut self) {
        *self = Lines::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_parameters() {
        let both = |path, parameters: &[(&str, Option<&'static str>)]| {
            let parameters = parameters.iter().map(|&(key, value)| (key.to_owned(), value));
            Ok(Argument { path, parameters: parameters.collect() })
        };
        for (rest, expected) in [
            ("FROM:<>", both(Path::Null, &[])),
            ("from: <a@b> SIZE=9 smtputf8", {
                both(Path::Mailbox("a@b"), &[("SIZE", Some("9")), ("SMTPUTF8", None)])
            }),
            (
                "FROM:<\"a>b\\\">\"@c> X=1",
                both(Path::Mailbox("\"a>b\\\">\"@c"), &[("X", Some("1"))]),
            ),
            ("FROM:<POSTmaster>", both(Path::Postmaster, &[])),
        ] {
            assert_eq!(argument(rest, "FROM"), expected, "{rest}");
        }
        for rest in [
            "",
            "FROM",
            "FROM:",
            "FROM:a@b",
            "FROM:<a@b",
            "TO:<a@b>",
            "FROM:<a@b>SIZE=1",
            "FROM:<a@b> =1",
            "FROM:<a@b> X=",
            "FROM:<a@b> X=1=2",
            "FROM:<a@b> X Y X",
            "FROM:<a@b> X_Y",
            "FROM:<@x:a@b>",
            "FROM:<\"a>@b",
        ] {
            assert!(argument(rest, "FROM").is_err(), "{rest}");
        }
    }

    #[test]
    fn chunks() {
        for (rest, expected) in [
            ("0", Some((0, false))),
            ("86 last", Some((86, true))),
            ("18446744073709551615", Some((u64::MAX, false))),
            ("18446744073709551616", None),
            ("", None),
            ("+1", None),
            ("-1", None),
            ("1 FIRST", None),
            ("1 LAST LAST", None),
        ] {
            assert_eq!(bdat(rest), expected, "{rest}");
        }
    }
}
