//! Messages as a file lists them: what `sojourn mail plan` takes from a log.

use super::{Asked, Mailing, Process};
use sojourn_core::files::{Row, rows};
use sojourn_core::parameters::{Check, Refusal, Setting, Value};
use sojourn_core::resource::FileName;
use sojourn_core::{Bytes, Span, Time, parameters};

parameters! {
    /// Messages from a CSV file, each with its size and recipients. The columns are `message` (a
    /// number, the same in all lines of a message, whose lines follow each other), `at`, `size`,
    /// `domain` and `subscriber` (from 0 on, below the number of the domain's subscribers). A line is
    /// one recipient, in the order in which the message names them. `list.size` is not used.
    pub struct Listed: "listed" {
        /// The file, relative to the study. It needs at least as many messages as the list's
        /// `warmup` and `messages` together.
        pub file: FileName,
    }
}

impl Check for Listed {}

impl Process for Listed {
    fn mailings(&self, asked: Asked<'_>) -> Result<Vec<Mailing>, Refusal> {
        let here = |refusal: Refusal| refusal.under("file").under("arrivals").under("list");
        let text = self.file.text().map_err(here)?;
        let refuse = |expected: String| here(self.file.refused(expected));
        let mut mailings = parse(&text, &asked)
            .map_err(|why| refuse(format!("a list of messages, but in its {why}")))?;
        if mailings.len() < asked.messages as usize {
            let expected =
                format!("at least {} messages, but it has {}", asked.messages, mailings.len());
            return Err(refuse(expected));
        }
        mailings.truncate(asked.messages as usize);
        Ok(mailings)
    }
}

const COLUMNS: [&str; 5] = ["message", "at", "size", "domain", "subscriber"];

/// The messages of a text, or the line that is none and why.
fn parse(text: &str, asked: &Asked<'_>) -> Result<Vec<Mailing>, String> {
    let mut rows = rows(text).map(|row| row.map_err(|quote| quote.to_string()));
    let head = rows.next().ok_or("first line: no names of columns")??;
    if !head.cells().eq(COLUMNS) {
        return Err(format!("first line: expected {}", COLUMNS.join(",")));
    }
    let mut mailings: Vec<(String, Time, u64, Vec<u32>)> = Vec::new();
    for row in rows {
        let row = row?;
        let at_line = |why: String| format!("line {}: {why}", row.line);
        let (message, at, size, place) = recipient(&row, asked).map_err(at_line)?;
        match mailings.last_mut() {
            Some(last) if last.0 == message => last.3.push(place),
            Some(last) if at < last.1 => {
                return Err(at_line(format!("message {message} comes before the last one")));
            }
            _ => mailings.push((message.to_owned(), at, size, vec![place])),
        }
    }
    Ok(mailings.into_iter().map(|(_, at, size, to)| Mailing { at, size, to: to.into() }).collect())
}

fn recipient<'a>(row: &'a Row, asked: &Asked<'_>) -> Result<(&'a str, Time, u64, u32), String> {
    let cells: Vec<&str> = row.cells().collect();
    let [message, at, size, domain, subscriber] = cells[..] else {
        return Err(format!("{} cells, expected {}", cells.len(), COLUMNS.len()));
    };
    let text = |cell: &str| Value::Text(cell.to_owned());
    let expected = |key: &str, given: &str, what: &str| format!("{key} = {given}, expected {what}");
    let at = Span::read(&text(at))
        .ok()
        .filter(|&at| at <= asked.longest)
        .ok_or_else(|| expected("at", at, &format!("a time of at most {}", asked.longest)))?;
    let size = Bytes::read(&text(size)).map_err(|_| expected("size", size, "a size like 4KB"))?;
    let places = asked.places.get(domain);
    let places = places.ok_or_else(|| expected("domain", domain, "one of the internet"))?;
    let place = subscriber.parse().ok().and_then(|number: usize| places.clone().nth(number));
    let place = place.ok_or_else(|| {
        expected("subscriber", subscriber, &format!("a number below {}", places.len()))
    })?;
    Ok((message, Time::ZERO + at, size.0, place))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_core::Streams;
    use sojourn_core::resource::Resource;
    use std::collections::BTreeMap;
    use std::sync::Arc;

    fn mailings(text: &str, messages: u32) -> Result<Vec<Mailing>, String> {
        let asked = Asked {
            messages,
            longest: Span::from_s(100),
            size: 1,
            all_places: Arc::from([0, 1, 2]),
            places: &BTreeMap::from([("a", 0..2), ("b", 2..3)]),
            stream: Streams::new(1, 0).stream("messages", 0),
        };
        Listed { file: Resource::text("f", text).into() }
            .mailings(asked)
            .map_err(|refusal| refusal.expected)
    }

    #[test]
    fn by_hand() {
        let text = "message,at,size,domain,subscriber\n7,0s,4KB,b,0\n7,0s,4KB,a,1\n8,2s,10B,a,0\n";
        let mailing = |at, size, to: &[u32]| Mailing {
            at: Time::ZERO + Span::from_s(at),
            size,
            to: to.into(),
        };
        let both = vec![mailing(0, 4000, &[2, 1]), mailing(2, 10, &[0])];
        assert_eq!(mailings(text, 1).unwrap(), both[..1]);
        assert_eq!(mailings(text, 2).unwrap(), both);
        assert_eq!(mailings(text, 3).unwrap_err(), "at least 3 messages, but it has 2");
    }

    #[test]
    fn what_is_no_list_is_refused_by_line() {
        for (lines, why) in [
            ("1,0s,4KB,a", "line 2: 4 cells, expected 5"),
            ("1,soon,4KB,a,0", "line 2: at = soon, expected a time of at most 100s"),
            ("1,101s,4KB,a,0", "line 2: at = 101s, expected a time of at most 100s"),
            ("1,0s,big,a,0", "line 2: size = big, expected a size like 4KB"),
            ("1,0s,4KB,c,0", "line 2: domain = c, expected one of the internet"),
            ("1,0s,4KB,a,2", "line 2: subscriber = 2, expected a number below 2"),
            ("1,1s,4KB,a,0\n2,0s,4KB,a,0", "line 3: message 2 comes before the last one"),
        ] {
            let found = mailings(&format!("message,at,size,domain,subscriber\n{lines}"), 1);
            assert_eq!(found, Err(format!("a list of messages, but in its {why}")));
        }
        let found = mailings("message,at\n", 1).unwrap_err();
        assert!(
            found.contains("first line: expected message,at,size,domain,subscriber"),
            "{found}"
        );
    }
}
