//! The fields of a header that tell what a part is (RFC 2045 section 5.1).

/// Octets of a boundary (RFC 2046 section 5.1.1).
const BOUNDARY_MAX: usize = 70;
/// Parameters of one Content-Type.
const PARAMETERS_MAX: usize = 50;

/// What a part is, as far as reports need it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ContentType {
    /// `type/subtype`, in lower case.
    pub(crate) name: Vec<u8>,
    /// What separates the parts of a multipart.
    pub(crate) boundary: Option<Vec<u8>>,
    /// What a `multipart/report` reports, in lower case (RFC 6522 section 3).
    pub(super) report_type: Option<Vec<u8>>,
}

impl ContentType {
    /// Reads the value of a field. Nothing when it has more parameters, or a longer boundary, than
    /// are read.
    pub(crate) fn read(value: &[u8]) -> Option<ContentType> {
        let mut scanner = Scanner { rest: value };
        scanner.skip();
        let name = scanner.token(b";").to_ascii_lowercase();
        let parameters = scanner.parameters()?;
        let boundary = parameter(&parameters, "boundary");
        // Mail programs remove white space at the end of a line, so that none belongs to a boundary.
        let boundary = boundary.map(|value| value.trim_ascii_end().to_owned());
        if boundary.as_ref().is_some_and(|value| value.len() > BOUNDARY_MAX) {
            return None;
        }
        let report_type = parameter(&parameters, "report-type");
        Some(ContentType {
            name,
            boundary: boundary.filter(|value| !value.is_empty()),
            report_type: report_type.map(|value| value.to_ascii_lowercase()),
        })
    }
}

/// The first word of a field's value, without the comments before it, in lower case.
pub(crate) fn word(value: &[u8]) -> Vec<u8> {
    let mut scanner = Scanner { rest: value };
    scanner.skip();
    scanner.token(b";").to_ascii_lowercase()
}

type Parameter = (Vec<u8>, Vec<u8>);

/// A parameter's value, put together when it came in pieces (RFC 2231 section 3).
fn parameter(parameters: &[Parameter], name: &str) -> Option<Vec<u8>> {
    let value = |name: &str| {
        let mut named = parameters.iter().filter(|(it, _)| it == name.as_bytes());
        named.next().map(|(_, value)| value.clone())
    };
    value(name).or_else(|| {
        let pieces = (0..).map_while(|piece| value(&format!("{name}*{piece}")));
        let whole: Vec<u8> = pieces.flatten().collect();
        (!whole.is_empty()).then_some(whole)
    })
}

/// Reads a structured field from its beginning to its end, each octet once.
struct Scanner<'a> {
    rest: &'a [u8],
}

impl<'a> Scanner<'a> {
    fn next(&mut self) -> Option<u8> {
        let (&first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(first)
    }

    /// Passes white space, line ends of folds included, and comments, which may hold comments.
    fn skip(&mut self) {
        let mut depth = 0;
        while let Some(&first) = self.rest.first() {
            match first {
                b'(' => depth += 1,
                b')' if depth > 0 => depth -= 1,
                b'\\' if depth > 0 => self.rest = &self.rest[1..],
                _ if depth > 0 || first.is_ascii_whitespace() => {}
                _ => return,
            }
            self.next();
        }
    }

    /// What stands before white space, a comment or one of `ends`.
    fn token(&mut self, ends: &[u8]) -> &'a [u8] {
        let is_end = |byte: &u8| byte.is_ascii_whitespace() || *byte == b'(' || ends.contains(byte);
        let length = self.rest.iter().position(is_end).unwrap_or(self.rest.len());
        let (token, rest) = self.rest.split_at(length);
        self.rest = rest;
        token
    }

    /// What stands in quotes; the first of them has been read.
    fn quoted(&mut self) -> Vec<u8> {
        let mut value = Vec::new();
        while let Some(byte) = self.next() {
            match byte {
                b'"' => break,
                b'\\' => value.extend(self.next()),
                b'\r' | b'\n' => {}
                _ => value.push(byte),
            }
        }
        value
    }

    /// The parameters, their names in lower case; nothing when they are too many. What is between
    /// them and is no parameter is passed.
    fn parameters(&mut self) -> Option<Vec<Parameter>> {
        let mut parameters = Vec::new();
        loop {
            self.skip();
            match self.rest.first() {
                None => return Some(parameters),
                Some(b';') => {
                    self.next();
                    continue;
                }
                Some(_) if parameters.len() == PARAMETERS_MAX => return None,
                Some(_) => {}
            }
            let name = self.token(b";=").to_ascii_lowercase();
            self.skip();
            let mut value = Vec::new();
            if self.rest.first() == Some(&b'=') {
                self.next();
                self.skip();
                value = if self.rest.first() == Some(&b'"') {
                    self.next();
                    self.quoted()
                } else {
                    self.token(b";").to_owned()
                };
            }
            parameters.push((name, value));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(value: &str) -> Option<ContentType> {
        ContentType::read(value.as_bytes())
    }

    #[test]
    fn parameters_in_all_their_forms() {
        for (value, boundary) in [
            ("multipart/report; boundary=a=b/c", Some("a=b/c")),
            ("Multipart/Report;\r\n\tBOUNDARY=\"a b\\\"c\\\\\"", Some("a b\"c\\")),
            ("multipart/report (a (nested \\) one)) ; (b) boundary (c) = (d) e(f); x", Some("e")),
            ("multipart/report; boundary=\"folded\r\n one\"", Some("folded one")),
            ("multipart/report; boundary*1=b; boundary*0=\"a\"; boundary*3=d", Some("ab")),
            ("multipart/report; boundary=\"trailing  \"", Some("trailing")),
            ("multipart/report; boundary=first; boundary=second", Some("first")),
            ("multipart/report boundary=a", Some("a")),
            ("multipart/report; boundary=", None),
            ("multipart/report; boundary=\"\"", None),
            ("multipart/report; =a; \"; ) boundary", None),
            ("multipart/report; (boundary=a", None),
            ("multipart/report", None),
        ] {
            let content = read(value).unwrap_or_else(|| panic!("{value}"));
            assert_eq!(content.name, b"multipart/report", "{value}");
            assert_eq!(content.boundary.as_deref(), boundary.map(str::as_bytes), "{value}");
        }
        let content = read("multipart/report; report-type=Delivery-Status(x)").unwrap();
        assert_eq!(content.report_type.as_deref(), Some(&b"delivery-status"[..]));
        assert_eq!(read("").unwrap().name, b"");
    }

    #[test]
    fn limits_at_their_edges() {
        let many = |count: usize| read(&format!("a/b{}", "; p=x".repeat(count)));
        assert!(many(PARAMETERS_MAX).is_some() && many(PARAMETERS_MAX + 1).is_none());
        let long = |length: usize| read(&format!("a/b; boundary={}", "x".repeat(length)));
        assert!(long(BOUNDARY_MAX).is_some() && long(BOUNDARY_MAX + 1).is_none());
        let pieces = |count: usize| {
            let pieces: String = (0..count).map(|it| format!("; boundary*{it}=xx")).collect();
            read(&format!("a/b{pieces}"))
        };
        assert!(pieces(35).is_some() && pieces(36).is_none());
    }

    #[test]
    fn words() {
        assert_eq!(word(b" (no) Auto-Replied (vacation)\r\n"), b"auto-replied");
    }
}
