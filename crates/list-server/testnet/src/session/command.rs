//! Commands as they come.

/// One command.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Command<'a> {
    Hello {
        extended: bool,
    },
    StartTls,
    Mail {
        sender: &'a str,
        /// What it says of the message's size; 0 where it says nothing.
        size: u64,
    },
    Rcpt {
        recipient: &'a str,
    },
    Data,
    Bdat {
        size: u64,
        last: bool,
    },
    Rset,
    Noop,
    Quit,
    Unknown,
}

/// Reads a line without its end.
pub(super) fn parse(line: &[u8]) -> Command<'_> {
    let Ok(line) = std::str::from_utf8(line) else { return Command::Unknown };
    let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
    match verb.to_ascii_uppercase().as_str() {
        "EHLO" => Command::Hello { extended: true },
        "HELO" => Command::Hello { extended: false },
        "STARTTLS" => Command::StartTls,
        "MAIL" => match path(rest, "FROM:") {
            Some((sender, with)) => Command::Mail { sender, size: size(with) },
            None => Command::Unknown,
        },
        "RCPT" => match path(rest, "TO:") {
            Some((recipient, _)) => Command::Rcpt { recipient },
            None => Command::Unknown,
        },
        "DATA" => Command::Data,
        "BDAT" => {
            let (size, last) = rest.split_once(' ').unwrap_or((rest, ""));
            match size.parse() {
                Ok(size) => Command::Bdat { size, last: last.eq_ignore_ascii_case("LAST") },
                Err(_) => Command::Unknown,
            }
        }
        "RSET" => Command::Rset,
        "NOOP" => Command::Noop,
        "QUIT" => Command::Quit,
        _ => Command::Unknown,
    }
}

/// The path of MAIL or RCPT, and its parameters.
fn path<'a>(rest: &'a str, name: &str) -> Option<(&'a str, &'a str)> {
    let (head, path) = rest.split_at_checked(name.len())?;
    let path = path.trim_start().strip_prefix('<').filter(|_| head.eq_ignore_ascii_case(name))?;
    path.rsplit_once('>')
}

fn size(with: &str) -> u64 {
    let words = with.split(' ').filter_map(|word| word.split_once('='));
    let mut sizes = words.filter(|(key, _)| key.eq_ignore_ascii_case("SIZE"));
    sizes.next().and_then(|(_, size)| size.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read() {
        let cases = [
            ("EHLO lists.example", Command::Hello { extended: true }),
            ("mail from:<a@b> BODY=8BITMIME SIZE=17", Command::Mail { sender: "a@b", size: 17 }),
            ("MAIL FROM:<>", Command::Mail { sender: "", size: 0 }),
            ("RCPT TO:<\">\"@b>", Command::Rcpt { recipient: "\">\"@b" }),
            ("RCPT TO:a@b", Command::Unknown),
            ("RCPT T", Command::Unknown),
            ("BDAT 12 last", Command::Bdat { size: 12, last: true }),
            ("BDAT 12", Command::Bdat { size: 12, last: false }),
            ("BDAT -1", Command::Unknown),
            ("", Command::Unknown),
        ];
        for (line, command) in cases {
            assert_eq!(parse(line.as_bytes()), command, "{line}");
        }
        assert_eq!(parse(b"\xff"), Command::Unknown);
    }
}
