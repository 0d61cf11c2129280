//! Whom a request names as its host. A page elsewhere can have a browser ask this server under a name
//! of its own, which it lets point here (DNS rebinding): such a name is none of ours.

use super::settings::Live;
use hyper::header::HOST;
use hyper::http::uri::Authority;
use hyper::{Request, StatusCode, Version};
use std::net::{IpAddr, SocketAddr};

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

#[cfg(test)]
mod tests {
    use super::*;

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
}
