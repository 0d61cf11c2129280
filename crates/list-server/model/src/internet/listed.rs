//! An internet as a file lists it: what `sojourn mail fit` writes.

use super::peer::{LONGEST_ANSWER, Peer};
use super::{Domain, Kind};
use sojourn_core::files::{Row, rows};
use sojourn_core::parameters::{Check, Parameters, Refusal, Setting, Table, Value};
use sojourn_core::resource::FileName;
use sojourn_core::{Span, Streams, parameters};
use sojourn_mail_engine::provider;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::num::NonZeroU32;

parameters! {
    /// Domains from a CSV file whose first line names its columns: `domain`, `subscribers`,
    /// `provider`, and any parameters of a `peer`, each value as a study would write it without
    /// quotes; an empty cell leaves the default. Domains with one provider, which is the registered
    /// domain of their mail hosts such as google.com, share one host: its sessions, its rate, its
    /// outages. Their rows may differ in `subscribers` and `names` only. Empty lines and lines that
    /// start with # are passed over.
    pub struct Listed: "listed" {
        /// The file, relative to the study.
        pub file: FileName,
        /// File with the domain of each subscriber, one per line, in the order of the list. By
        /// default the order is drawn.
        pub order: Option<FileName> = None,
        /// Largest random delay of a domain's lookup beyond `names`. It is drawn uniformly for each
        /// domain in each replication, so that lookups of similar length end in any order.
        pub jitter: Span = Span::ZERO,
    }
}

impl Check for Listed {
    fn check(&self) -> Result<(), Refusal> {
        if self.jitter > LONGEST_ANSWER {
            let expected = format!("at most {LONGEST_ANSWER}");
            return Err(Refusal::of(&self.jitter, expected).under("jitter"));
        }
        Ok(())
    }
}

impl Kind for Listed {
    fn domains(&self, streams: Streams) -> Result<Vec<Domain>, Refusal> {
        let text = self.file.text().map_err(|refusal| refusal.under("file"))?;
        let refuse = |expected: String| self.file.refused(expected).under("file");
        let mut domains =
            parse(&text).map_err(|why| refuse(format!("a list of domains, but in its {why}")))?;
        for (number, domain) in (0..).zip(&mut domains) {
            let late = streams.stream("lookups", number).uniform();
            domain.peer.names += Span::from_seconds(self.jitter.seconds() * late);
        }
        Ok(domains)
    }

    fn order(&self, domains: &[Domain]) -> Result<Option<Vec<u32>>, Refusal> {
        let Some(file) = &self.order else { return Ok(None) };
        let text = file.text().map_err(|refusal| refusal.under("order"))?;
        let refuse = |expected: String| file.refused(expected).under("order");
        let order = in_order(&text, domains);
        order.map(Some).map_err(|why| refuse(format!("the domain of each subscriber, but {why}")))
    }
}

/// The number of the domain in each line, every domain as often as it has subscribers; or why not.
fn in_order(text: &str, domains: &[Domain]) -> Result<Vec<u32>, String> {
    let numbers: BTreeMap<&str, u32> =
        domains.iter().map(|domain| domain.name.as_str()).zip(0..).collect();
    let mut order = Vec::new();
    let mut left: Vec<u32> = domains.iter().map(|domain| domain.subscribers).collect();
    for (line, name) in (1..).zip(text.lines()) {
        let name = name.trim_ascii();
        let number =
            *numbers.get(name).ok_or(format!("its line {line} is {name:?}, none of them"))?;
        let left = &mut left[number as usize];
        *left = left.checked_sub(1).ok_or(format!("by line {line} {name:?} has one too many"))?;
        order.push(number);
    }
    match left.iter().zip(domains).find(|(left, _)| **left > 0) {
        Some((left, domain)) => Err(format!("{left} of {:?} are missing", domain.name)),
        None => Ok(order),
    }
}

/// The domains of a text, or the line that is none and why.
fn parse(text: &str) -> Result<Vec<Domain>, String> {
    let mut rows = rows(text).map(|row| row.map_err(|quote| quote.to_string()));
    let head = rows.next().ok_or("first line: no names of columns")??;
    let mut domains = Vec::new();
    for row in rows {
        let row = row?;
        let domain = domain(&head, &row).map_err(|why| format!("line {}: {why}", row.line))?;
        domains.push((row.line, domain));
    }
    one_host_each(&domains)?;
    let domains: Vec<Domain> = domains.into_iter().map(|(_, domain)| domain).collect();
    let mut sorted: Vec<&str> = domains.iter().map(|domain| domain.name.as_str()).collect();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(format!("lines: {:?} is there twice", pair[0])),
        None if domains.is_empty() => Err("lines: no domain".to_owned()),
        None => Ok(domains),
    }
}

/// Whether the rows of each provider say the same of its host.
fn one_host_each(domains: &[(usize, Domain)]) -> Result<(), String> {
    let mut first: BTreeMap<&str, (usize, Table)> = BTreeMap::new();
    for (line, domain) in domains {
        let Some(provider) = &domain.provider else { continue };
        let host = Peer { names: Span::ZERO, ..domain.peer.clone() }.write_table();
        let (there, same) = first.entry(provider).or_insert_with(|| (*line, host.clone()));
        if let Some((key, expected)) = same.iter().find(|(key, value)| host.get(key) != Some(value))
        {
            let given = host.get(key).map_or("nothing".to_owned(), Value::to_string);
            return Err(format!(
                "line {line}: {key} = {given}, expected {expected} as in line {there}: \
                 {provider:?} has one host"
            ));
        }
    }
    Ok(())
}

fn domain(head: &Row, row: &Row) -> Result<Domain, String> {
    if row.len() != head.len() {
        return Err(format!("{} cells, expected {}", row.len(), head.len()));
    }
    let mut table = Table::default();
    for (name, cell) in head.cells().zip(row.cells()).filter(|(_, cell)| !cell.is_empty()) {
        table.set(name, value(cell));
    }
    let provider = table.remove("provider").map(by_provider).transpose()?;
    let mut own = |key: &str| table.remove(key).ok_or_else(|| format!("no {key}"));
    let (name, subscribers) = (own("domain")?, own("subscribers")?);
    let name = match name {
        Value::Text(name) if format!("a@{name}").parse::<sojourn_smtp::Address>().is_ok() => name,
        other => return Err(format!("domain = {other}, expected the name of a domain")),
    };
    let count = NonZeroU32::read(&subscribers).map_err(|refusal| said(refusal, "subscribers"))?;
    let peer = Peer::read_table(&table).map_err(|refusal| said(refusal, ""))?;
    Ok(Domain { name, subscribers: count.get(), peer, provider })
}

/// A provider as the engine names it: limits that are set for it are to be found.
fn by_provider(given: Value) -> Result<String, String> {
    let named = match &given {
        Value::Text(name) if format!("a@{name}").parse::<sojourn_smtp::Address>().is_ok() => {
            provider(&format!("mx.{}", name.to_lowercase()), Ipv4Addr::LOCALHOST.into())
        }
        _ => "".into(),
    };
    match given {
        Value::Text(name) if *named == name.to_lowercase() => Ok(named.to_string()),
        _ => Err(format!(
            "provider = {given}, expected the registered domain of its mail hosts, like google.com"
        )),
    }
}

/// As a study's file would have it.
fn value(cell: &str) -> Value {
    match cell {
        "true" | "false" => Value::Bool(cell == "true"),
        _ => match (cell.parse(), cell.parse()) {
            (Ok(whole), _) => Value::Int(whole),
            (_, Ok(number)) => Value::Float(number),
            _ => Value::Text(cell.to_owned()),
        },
    }
}

fn said(refusal: Refusal, key: &str) -> String {
    let path = refusal.path.join(".");
    let key = if path.is_empty() { key } else { &path };
    match refusal.given {
        _ if refusal.unknown_key => {
            format!(
                "unknown column {key}, expected domain, subscribers, provider, {}",
                refusal.names.join(", ")
            )
        }
        Some(given) => format!("{key} = {given}, expected {}", refusal.expected),
        None => format!("no {key}, expected {}", refusal.expected),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_core::parameters::defaults;
    use sojourn_core::resource::Resource;

    #[test]
    fn by_hand() {
        let text = "# of a log\ndomain, subscribers,reply,down, greylisting,pipelining\n\n\
                    a.example,3,250ms,0.5,,false\nb.example,1,,,5s,\n";
        let b = Peer { greylisting: Some(Span::from_s(5)), ..defaults() };
        let a = Peer { reply: Span::from_ms(250), down: 0.5, pipelining: false, ..defaults() };
        let domain = |name: &str, subscribers, peer| Domain {
            name: name.into(),
            subscribers,
            peer,
            provider: None,
        };
        assert_eq!(parse(text), Ok(vec![domain("a.example", 3, a), domain("b.example", 1, b)]));
    }

    #[test]
    fn jitter_puts_lookups_into_another_order_in_each_replication() {
        let (long, ms) = (Span::from_ms(50), Span::from_ms(1));
        let lookups = |jitter, replication| {
            let file = Resource::text("f", "domain,subscribers\na,1\nb,1\n").into();
            let kind = Listed { file, order: None, jitter };
            let domains = kind.domains(Streams::new(1, replication)).unwrap();
            [domains[0].peer.names, domains[1].peer.names]
        };
        assert_eq!(lookups(Span::ZERO, 0), [long, long]);
        let of_many: Vec<_> = (0..40).map(|replication| lookups(ms, replication)).collect();
        assert!(of_many.iter().flatten().all(|&takes| long < takes && takes < long + ms));
        let first = of_many.iter().filter(|[a, b]| a < b).count();
        assert!((10..=30).contains(&first), "{first} of 40");
    }

    #[test]
    fn an_order_names_everybody_once() {
        let domains = parse("domain,subscribers\na,2\nb,1\n").unwrap();
        assert_eq!(in_order("a\nb\na\n", &domains), Ok(vec![0, 1, 0]));
        for (text, why) in [
            ("a\nc\n", "its line 2 is \"c\", none of them"),
            ("a\nb\nb\n", "by line 3 \"b\" has one too many"),
            ("b\na\n", "1 of \"a\" are missing"),
        ] {
            assert_eq!(in_order(text, &domains), Err(why.to_owned()));
        }
    }

    #[test]
    fn what_is_no_list_is_refused_by_line() {
        for (text, why) in [
            ("", "first line: no names of columns"),
            ("domain,subscribers", "lines: no domain"),
            ("domain,subscribers\na,1\na,2", "lines: \"a\" is there twice"),
            ("domain,subscribers\na", "line 2: 1 cells, expected 2"),
            (
                "domain,subscribers\na b,1",
                "line 2: domain = \"a b\", expected the name of a domain",
            ),
            ("subscribers\n1", "line 2: no domain"),
            ("domain,subscribers,down\na,1,7", "line 2: down = 7, expected a number from 0 to 1"),
        ] {
            let found = parse(text).unwrap_err();
            assert!(found.starts_with(why), "{text:?}: {found}");
        }
        let rows = |more: &str| {
            parse(&format!(
                "domain,subscribers,provider,reply,names,per_minute\na,1,P.example,1s,1s,9\n{more}"
            ))
        };
        let shared = rows("b,2,p.example,1s,2s,9").unwrap();
        assert!(shared.iter().all(|it| it.provider.as_deref() == Some("p.example")));
        for (row, why) in [
            (
                "b,2,p.example,2s,2s,9",
                "line 3: reply = \"2s\", expected \"1s\" as in line 2: \"p.example\" has one host",
            ),
            ("b,2,p.example,1s,2s,", "line 3: per_minute = \"none\", expected 9 as in line 2"),
            (
                "b,2,mx.p.example,1s,2s,9",
                "line 3: provider = \"mx.p.example\", expected the registered",
            ),
            ("b,2,7,1s,2s,9", "line 3: provider = 7, expected the registered domain"),
        ] {
            let found = rows(row).unwrap_err();
            assert!(found.starts_with(why), "{row:?}: {found}");
        }
        let unknown = parse("domain,subscribers,downs\na,1,7").unwrap_err();
        assert!(unknown.starts_with("line 2: unknown column downs, expected domain,"), "{unknown}");
    }
}
