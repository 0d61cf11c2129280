//! The name server.

use crate::{PATIENCE, domain, near};
use hickory_proto::op::{Message, Query, ResponseCode};
use hickory_proto::rr::{Name, RData, RecordType};
use sojourn_core::Span;
use sojourn_core::parameters::{Setting, Value, defaults};
use sojourn_testnet::names::NamesKind;
use sojourn_testnet::{Host, TestNet, TestNetConfig};
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::time::{Duration, Instant};

fn question(name: &str, kind: RecordType) -> Vec<u8> {
    let mut message = Message::query();
    message.add_query(Query::query(Name::from_ascii(name).unwrap(), kind));
    message.to_vec().unwrap()
}

/// What is answered over UDP; nothing where nothing is in time.
fn ask(internet: &TestNet, name: &str, kind: RecordType, patience: Duration) -> Option<Message> {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(patience)).unwrap();
    let question = question(name, kind);
    socket.send_to(&question, internet.resolver()).unwrap();
    let mut buffer = [0; 4096];
    match socket.recv(&mut buffer) {
        Ok(size) => {
            let reply = Message::from_vec(&buffer[..size]).unwrap();
            assert_eq!(question[..2], buffer[..2], "the number is the question's");
            Some(reply)
        }
        Err(error) => {
            assert!(matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut));
            None
        }
    }
}

/// The records of an answer, written in brief; or how it failed.
fn brief(reply: Option<Message>) -> String {
    let Some(reply) = reply else { return "silence".into() };
    if reply.metadata.response_code != ResponseCode::NoError {
        return format!("{:?}", reply.metadata.response_code);
    }
    let records = reply.answers.iter().map(|record| match &record.data {
        RData::MX(mx) => format!("{} {}", mx.preference, mx.exchange),
        RData::A(a) => a.to_string(),
        RData::AAAA(aaaa) => aaaa.to_string(),
        other => panic!("{other:?}"),
    });
    records.collect::<Vec<_>>().join(", ")
}

#[test]
fn each_kind_of_names_says_its_own() {
    let kinds =
        ["mx", "address-only", "null-mx", "no-records", "nxdomain", "servfail", "silent", "slow"];
    let domain = kinds.map(|kind| {
        let hosts = vec![
            Host { preference: 5, ..near("fast") },
            Host { dead_ipv6: true, preference: 20, ..near("fast") },
        ];
        let names = NamesKind::read(&Value::Text(kind.into())).unwrap();
        sojourn_testnet::Domain { names, ..domain(&format!("{kind}.example"), hosts) }
    });
    let dns_round_trip = Span::from_ms(5);
    let world = TestNetConfig { domain: domain.to_vec(), dns_round_trip, ..defaults() };
    let internet = TestNet::start(&world).unwrap();
    let say = |name: &str, kind| brief(ask(&internet, name, kind, PATIENCE));
    use RecordType::{A, AAAA, MX, TXT};
    assert_eq!(say("MX.example", MX), "5 mx0.mx.example., 20 mx1.mx.example.");
    assert_eq!(say("mx.example", A), "");
    assert_eq!(say("mx.example", TXT), "");
    assert_eq!(say("mx0.mx.example", A), "127.64.0.1");
    assert_eq!(say("mx0.mx.example", AAAA), "");
    assert_eq!(say("mx1.mx.example", AAAA), "2001:db8::40:1:1");
    assert_eq!(say("mx2.mx.example", A), "NXDomain");
    assert_eq!(say("www.mx.example", A), "NXDomain");
    assert_eq!(say("address-only.example", MX), "");
    assert_eq!(say("address-only.example", A), "127.64.2.1, 127.64.3.1");
    assert_eq!(say("null-mx.example", MX), "0 .");
    assert_eq!(say("no-records.example", MX), "");
    assert_eq!(say("nxdomain.example", MX), "NXDomain");
    assert_eq!(say("elsewhere.test", MX), "NXDomain");
    assert_eq!(say("servfail.example", MX), "ServFail");
    let silence = ask(&internet, "silent.example", MX, Duration::from_millis(50));
    assert_eq!(brief(silence), "silence");
    let since = Instant::now();
    assert_eq!(say("slow.example", MX), "5 mx0.slow.example., 20 mx1.slow.example.");
    assert!(since.elapsed() >= Duration::from_millis(2005));
}

#[test]
fn what_does_not_fit_udp_is_had_over_tcp() {
    let hosts = (0..60).map(|_| near("fast")).collect();
    let world = TestNetConfig { domain: vec![domain("many.example", hosts)], ..defaults() };
    let internet = TestNet::start(&world).unwrap();
    let short = ask(&internet, "many.example", RecordType::MX, PATIENCE).unwrap();
    assert!(short.metadata.truncation && short.answers.is_empty());
    let mut stream = TcpStream::connect(internet.resolver()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    // Two questions over one connection.
    for _ in 0..2 {
        let question = question("many.example", RecordType::MX);
        stream.write_all(&(question.len() as u16).to_be_bytes()).unwrap();
        stream.write_all(&question).unwrap();
        let mut size = [0; 2];
        stream.read_exact(&mut size).unwrap();
        let mut reply = vec![0; u16::from_be_bytes(size).into()];
        stream.read_exact(&mut reply).unwrap();
        assert_eq!(Message::from_vec(&reply).unwrap().answers.len(), 60);
    }
}

#[test]
fn a_name_server_can_die_and_come_back() {
    let internet = crate::start(vec![near("fast")]);
    let mx = |patience| brief(ask(&internet, "x.example", RecordType::MX, patience));
    assert_eq!(mx(PATIENCE), "10 mx0.x.example.");
    internet.set_names(false);
    assert_eq!(mx(Duration::from_millis(50)), "silence");
    internet.set_names(true);
    assert_eq!(mx(PATIENCE), "10 mx0.x.example.");
}
