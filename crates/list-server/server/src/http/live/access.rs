//! The settings of the live page, and who may see it: the names under which it is reached, and the
//! token.
//!
//! A page elsewhere can have a browser ask this server under a name of another domain, which it lets
//! point here (DNS rebinding): a request under such a name is refused.

use crate::error::SetupError;
use argon2::password_hash::rand_core::{OsRng, RngCore};
use hyper::header::HOST;
use hyper::http::uri::Authority;
use hyper::{Request, StatusCode, Version};
use sojourn_core::parameters::Check;
use sojourn_core::{nested, parameters};
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use subtle::ConstantTimeEq;

parameters! {
    /// The live page, `/metrics` for Prometheus, and `/healthz`. They have no TLS: from other
    /// machines use a tunnel, or a proxy with TLS.
    pub struct Live: "live" {
        /// Address and port.
        pub address: SocketAddr = SocketAddr::from((Ipv4Addr::LOCALHOST, 8026)),
        /// File with the token that a browser or a program has to present, as `?token=` or as a
        /// bearer token. By default the server creates one next to its spool: `SPOOL.token`.
        pub token: Option<String>,
        /// Further names under which it is reached, besides `localhost` and the address itself, for
        /// example those of a proxy. A request for another host is refused (421), because a foreign
        /// page may have caused it (DNS rebinding).
        pub names: Vec<String> = Vec::new(),
    }
}

nested!(Live);

impl Check for Live {}

/// Names that are ours.
#[derive(Clone, Debug)]
pub(super) struct Names(Vec<String>);

impl Names {
    pub(super) fn new(live: &Live) -> Names {
        Names(live.names.iter().map(|name| name.to_ascii_lowercase()).collect())
    }

    /// Why a request that came to `local` is not answered: it has no host or several (RFC 9112
    /// section 3.2), or another one (RFC 9110 section 15.5.20). HTTP/1.0 knows no hosts, and is
    /// spoken by no browser.
    pub(super) fn refuse<B>(&self, request: &Request<B>, local: SocketAddr) -> Option<StatusCode> {
        let mut hosts = request.headers().get_all(HOST).iter();
        let host = match (hosts.next(), hosts.next()) {
            (Some(host), None) => host.to_str().ok().and_then(|host| host.parse().ok()),
            (None, None) if request.version() < Version::HTTP_11 => return None,
            _ => None,
        };
        let Some(host) = host else { return Some(StatusCode::BAD_REQUEST) };
        // A whole address in the request's line counts before the field (section 3.2.2).
        let host: &Authority = request.uri().authority().unwrap_or(&host);
        (!self.has(host.host(), local)).then_some(StatusCode::MISDIRECTED_REQUEST)
    }

    fn has(&self, host: &str, local: SocketAddr) -> bool {
        let host = host.to_ascii_lowercase();
        let literal = host.strip_prefix('[').and_then(|it| it.strip_suffix(']')).unwrap_or(&host);
        match literal.parse::<IpAddr>() {
            Ok(address) => address.is_loopback() || address == local.ip().to_canonical(),
            Err(_) => host == "localhost" || self.0.contains(&host),
        }
    }
}

/// A secret that is shown, not logged.
#[derive(Clone)]
pub(super) struct Token(String);

/// Fewer could be guessed.
const SHORTEST: usize = 16;
const LONGEST: usize = 256;
/// 128 bits.
const OCTETS: usize = 16;

impl Token {
    /// The one that the file at `path` has.
    pub(super) fn read(path: &Path) -> Result<Token, SetupError> {
        let bad = |why: String| SetupError::Key { path: path.to_owned(), why };
        let text = std::fs::read_to_string(path).map_err(|error| bad(error.to_string()))?;
        let token = text.trim();
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.~".contains(c);
        if !(SHORTEST..=LONGEST).contains(&token.len()) || !token.chars().all(plain) {
            return Err(bad(format!(
                "no token: expected {SHORTEST} to {LONGEST} letters, digits, -, _, . and ~"
            )));
        }
        Ok(Token(token.to_owned()))
    }

    /// Where the token of the server with the spool at `spool` is kept.
    pub(super) fn beside(spool: &Path) -> PathBuf {
        let mut name = spool.as_os_str().to_owned();
        name.push(".token");
        name.into()
    }

    /// The one that the file at `path` has; where there is no such file, it is made.
    pub(super) fn read_or_make(path: &Path) -> Result<Token, SetupError> {
        let bad = |error: std::io::Error| SetupError::Key {
            path: path.to_owned(),
            why: error.to_string(),
        };
        // For its owner alone.
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
            Ok(mut file) => {
                let mut octets = [0; OCTETS];
                OsRng.fill_bytes(&mut octets);
                let token: String = octets.iter().map(|octet| format!("{octet:02x}")).collect();
                writeln!(file, "{token}").and_then(|()| file.sync_all()).map_err(bad)?;
                Ok(Token(token))
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Token::read(path),
            Err(error) => Err(bad(error)),
        }
    }

    /// Whether `given` is this one; how long that takes says nothing of where they differ.
    pub(super) fn is(&self, given: &str) -> bool {
        self.0.as_bytes().ct_eq(given.as_bytes()).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn hosts() {
        let names = Names(vec!["lists.example".into()]);
        let local = "192.0.2.1:8026".parse().unwrap();
        for (host, expected) in [
            ("localhost", None),
            ("LocalHost:8026", None),
            ("127.0.0.1:80", None),
            ("[::1]:8026", None),
            ("192.0.2.1:8026", None),
            ("Lists.Example", None),
            ("192.0.2.2", Some(StatusCode::MISDIRECTED_REQUEST)),
            ("evil.example:8026", Some(StatusCode::MISDIRECTED_REQUEST)),
            ("localhost.evil.example", Some(StatusCode::MISDIRECTED_REQUEST)),
            ("", Some(StatusCode::BAD_REQUEST)),
            ("a b", Some(StatusCode::BAD_REQUEST)),
        ] {
            let request = Request::get("/").header(HOST, host).body(()).unwrap();
            assert_eq!(names.refuse(&request, local), expected, "{host}");
        }
        let request = |version| Request::get("/").version(version).body(()).unwrap();
        assert_eq!(names.refuse(&request(Version::HTTP_10), local), None);
        let missing = names.refuse(&request(Version::HTTP_11), local);
        assert_eq!(missing, Some(StatusCode::BAD_REQUEST));
        let twice = Request::get("/").header(HOST, "localhost").header(HOST, "localhost");
        let twice = names.refuse(&twice.body(()).unwrap(), local);
        assert_eq!(twice, Some(StatusCode::BAD_REQUEST));
        let whole = Request::get("http://evil.example/").header(HOST, "localhost").body(());
        let whole = names.refuse(&whole.unwrap(), local);
        assert_eq!(whole, Some(StatusCode::MISDIRECTED_REQUEST));
    }

    #[test]
    fn one_is_made_once_and_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = Token::beside(&folder.path().join("spool"));
        let token = Token::read_or_make(&path).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(token.0.len(), 2 * OCTETS);
        let again = Token::read_or_make(&path).unwrap();
        assert!(again.is(&token.0) && !again.is(&token.0[1..]) && !again.is(""));
    }

    #[test]
    fn what_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        assert!(Token::read(&path).is_err());
        for text in ["", "short", "with a space in the middle", "no-ümlaut-in-a-token"] {
            std::fs::write(&path, text).unwrap();
            let told = Token::read(&path).err().expect(text).to_string();
            assert!(told.contains("token: no token: expected 16 to 256"), "{told}");
        }
    }
}
