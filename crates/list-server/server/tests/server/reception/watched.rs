//! A server that is watched: its page, its events, its numbers, and who may see them.

use crate::reception::{PAGE, Place, connect, table};
use serde_json::Value as Json;
use sojourn_core::parameters::Value;
use sojourn_list_server::ListServer;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

const UNREACHABLE: &str = "x@[127.0.0.77]";

pub(crate) fn watched() -> Place {
    let mut place = Place::trusting(&[]);
    let address = Value::Text("127.0.0.1:0".into());
    place.settings.set("live", table(&[("address", address)]));
    place
}

pub(crate) fn token(server: &ListServer) -> String {
    let path = &server.live.as_ref().unwrap().token;
    std::fs::read_to_string(path).unwrap().trim().to_owned()
}

fn ask(server: &ListServer, request: &str) -> BufReader<TcpStream> {
    let mut stream = TcpStream::connect(server.live.as_ref().unwrap().address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    write!(stream, "{request}\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    BufReader::new(stream)
}

/// Status, head and body of the answer.
pub(crate) fn get(server: &ListServer, path: &str, line: &str) -> (u16, String, String) {
    let mut all = String::new();
    let request = format!("GET {path} HTTP/1.1{line}");
    ask(server, &request).read_to_string(&mut all).unwrap();
    let (head, body) = all.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, head.to_lowercase(), body.to_owned())
}

fn state(server: &ListServer) -> Json {
    let (status, _, body) = get(server, &format!("/state?token={}", token(server)), "");
    assert_eq!(status, 200);
    serde_json::from_str(&body).unwrap()
}

#[test]
fn who_has_the_token_sees_it() {
    let place = watched();
    let server = place.start();
    let token = token(&server);
    for path in
        ["/", "/state", "/events", "/metrics", "/x", "/?token=", "/?token=1", "/?x=1&token="]
    {
        let (status, _, body) = get(&server, path, "");
        assert!(status == 401 && body.starts_with("the token"), "{path}: {status} {body}");
    }
    assert_eq!(get(&server, "/", "\r\nAuthorization: Bearer x").0, 401);
    assert_eq!(get(&server, "/x", &format!("\r\nAuthorization: Bearer {token}")).0, 404);
    let (status, head, body) = get(&server, &format!("/?a=b&token={token}"), "");
    assert_eq!((status, &*body), (200, PAGE));
    for wanted in [
        "content-type: text/html; charset=utf-8",
        "cache-control: no-store",
        "referrer-policy: no-referrer",
        "content-security-policy: default-src 'none';",
    ] {
        assert!(head.contains(wanted), "{head}");
    }
    // Whether it is well is no secret.
    assert_eq!((get(&server, "/healthz", "").0, &*get(&server, "/healthz", "").2), (200, "well\n"));
    let mut said = String::new();
    ask(&server, &format!("POST /?token={token} HTTP/1.1")).read_to_string(&mut said).unwrap();
    assert!(said.starts_with("HTTP/1.1 405 "), "{said}");
    server.stop();
}

#[test]
fn what_waits_and_why() {
    let place = watched();
    let server = place.start();
    let mut client = connect(&server);
    client.hear();
    client.say("EHLO x");
    client.mail("a@b", &[UNREACHABLE, "y@[127.0.0.77]"], "x");
    let end = Instant::now() + Duration::from_secs(60);
    let state = loop {
        let state = state(&server);
        if state["queue"]["deferred"] == 2 {
            break state;
        }
        assert!(Instant::now() < end, "{state}");
    };
    assert_eq!(state["totals"]["messages"], 1);
    assert_eq!(state["totals"]["recipients"], 2);
    assert_eq!(state["queue"]["left"], 2);
    assert_eq!(state["queue"]["largest"][0]["message"], "0000000001");
    assert_eq!(state["queue"]["largest"][0]["sender"], "a@b");
    assert_eq!(state["stragglers"]["people"], 2);
    assert_eq!(state["stragglers"]["most"][0]["messages"], 1);
    assert_eq!(state["slowest"][0]["domain"], "[127.0.0.77]");
    assert!(state["errors"].as_array().unwrap().len() >= 2);
    assert_eq!(state["errors"][0]["kind"], "deferred");
    assert_eq!(state["sessions"]["reception"], 1);
    let sum = |series: &str, what: &str| -> u64 {
        let bins = state[series][what].as_array().unwrap().iter();
        bins.map(|bin| bin.as_u64().unwrap()).sum()
    };
    for series in ["seconds", "minutes"] {
        assert_eq!((sum(series, "messages"), sum(series, "arrived")), (1, 2));
        assert_eq!((sum(series, "attempted"), sum(series, "delivered")), (2, 0));
    }
    let (_, _, metrics) = get(&server, &format!("/metrics?token={}", token(&server)), "");
    for line in [
        "sojourn_mail_messages_total 1\n",
        "sojourn_mail_attempts_total{outcome=\"deferred\"} 2\n",
        "sojourn_mail_queue_recipients 2\n",
        "sojourn_mail_delay_seconds_bucket{le=\"+Inf\"} 0\n",
    ] {
        assert!(metrics.contains(line), "{metrics}");
    }
    server.stop();
}

#[test]
fn events_follow() {
    let place = watched();
    let server = place.start();
    let path = format!("GET /events?token={} HTTP/1.1", token(&server));
    let mut stream = ask(&server, &path);
    let mut event = || loop {
        let mut line = String::new();
        assert!(stream.read_line(&mut line).unwrap() > 0, "the stream ended");
        if let Some(data) = line.trim_end().strip_prefix("data: ") {
            return serde_json::from_str::<Json>(data).unwrap();
        }
    };
    assert_eq!(event()["totals"]["messages"], 0);
    let mut client = connect(&server);
    client.hear();
    client.say("EHLO x");
    client.mail("a@b", &[UNREACHABLE], "x");
    while event()["totals"]["messages"] != 1 {}
    let tick = event();
    assert!(tick["minutes"]["delivered"].as_array().unwrap().len() <= 3);
    // Who follows does not keep a server from its end.
    server.stop();
}

/// Finding 13: 200 clients that ask for nothing do not keep others from their answers.
#[test]
fn idle_clients_do_not_block_the_metrics() {
    let place = watched();
    let server = place.start();
    let address = server.live.as_ref().unwrap().address;
    let _idle: Vec<_> = (0..200).map(|_| TcpStream::connect(address).unwrap()).collect();
    for _ in 0..3 {
        assert_eq!(get(&server, "/healthz", "").0, 200);
        assert_eq!(get(&server, &format!("/metrics?token={}", token(&server)), "").0, 200);
    }
    server.stop();
}

/// Finding 13: under a name that is not ours nothing is told, whatever the token.
#[test]
fn the_host_has_to_be_ours() {
    let mut place = watched();
    let names = Value::List(vec![Value::Text("lists.example".into())]);
    let address = Value::Text("127.0.0.1:0".into());
    place.settings.set("live", table(&[("address", address), ("names", names)]));
    let server = place.start();
    let address = server.live.as_ref().unwrap().address;
    for (host, status) in
        [("lists.example", "200"), ("127.0.0.1:8026", "200"), ("evil.example", "421")]
    {
        let mut stream = TcpStream::connect(address).unwrap();
        let path = format!("/state?token={}", token(&server));
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
        let mut said = String::new();
        stream.read_to_string(&mut said).unwrap();
        assert!(said.starts_with(&format!("HTTP/1.1 {status} ")), "{host}: {said}");
        assert_eq!(said.contains("totals"), status == "200");
    }
    server.stop();
}
