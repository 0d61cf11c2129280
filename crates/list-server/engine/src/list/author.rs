//! The addresses that a message names as its authors (RFC 5322 section 3.6.2).

use sojourn_smtp::Address;
use sojourn_smtp::header::all;

/// Octets of a `From:` field that are read.
const FIELD_MAX: usize = 10_000;

/// The addresses in the `From:` field of `text`; nothing when there is not one such field, or it is
/// not written as RFC 5322 has it. What programs could read in two ways is not read at all.
pub fn authors(text: &[u8]) -> Option<Vec<Address>> {
    let mut named = all(text, "From");
    let field = named.next().filter(|field| field.len() <= FIELD_MAX)?;
    if named.next().is_some() {
        return None;
    }
    mailboxes(std::str::from_utf8(field).ok()?)
}

/// A list of mailboxes: `address`, `phrase <address>`, with quoted strings and comments. Groups and
/// routes are not taken.
fn mailboxes(text: &str) -> Option<Vec<Address>> {
    let mut all = Vec::new();
    let mut one = Mailbox::default();
    let mut chars = text.chars();
    let mut comments = 0;
    while let Some(c) = chars.next() {
        match c {
            '\\' if comments > 0 => drop(chars.next()?),
            '(' => comments += 1,
            ')' if comments > 0 => comments -= 1,
            _ if comments > 0 => {}
            ',' if one.at != At::Inside => all.push(std::mem::take(&mut one).address()?),
            '"' => {
                one.push('"')?;
                loop {
                    let c = chars.next()?;
                    one.push(c)?;
                    match c {
                        '\\' => one.push(chars.next()?)?,
                        '"' => break,
                        _ => {}
                    }
                }
            }
            // Some take an address that stands where a name belongs for the author's.
            '<' if one.at == At::Before && !one.bare_at => one.at = At::Inside,
            '>' if one.at == At::Inside => one.at = At::After,
            '<' | '>' | ')' | ':' | ';' => return None,
            c => {
                one.bare_at |= c == '@';
                one.push(c)?;
            }
        }
    }
    all.push(one.address()?);
    (comments == 0).then_some(all)
}

#[derive(Default)]
struct Mailbox {
    before: String,
    inside: String,
    at: At,
    /// Whether an `@` stood outside of quotes.
    bare_at: bool,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum At {
    #[default]
    Before,
    /// Between `<` and `>`.
    Inside,
    After,
}

impl Mailbox {
    fn push(&mut self, c: char) -> Option<()> {
        match self.at {
            At::Before => self.before.push(c),
            At::Inside => self.inside.push(c),
            At::After if c.is_ascii_whitespace() => {}
            At::After => return None,
        }
        Some(())
    }

    fn address(self) -> Option<Address> {
        match self.at {
            At::After => self.inside.trim_ascii().parse().ok(),
            At::Before => self.before.trim_ascii().parse().ok(),
            At::Inside => None,
        }
    }
}
