//! A small internet, spoken to over plain sockets.

mod config;
mod faults;
mod names;

use sojourn_core::Span;
use sojourn_core::parameters::{Setting, Table, Value, defaults};
use sojourn_testnet::fault::FaultKind;
use sojourn_testnet::{Domain, Host, TestNet, TestNetConfig};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(20);

fn domain(name: &str, host: Vec<Host>) -> Domain {
    let mut table = Table::default();
    table.set("name", Value::Text(name.into()));
    let domain = <Domain as sojourn_core::parameters::Parameters>::read_table(&table);
    Domain { host, ..domain.unwrap() }
}

/// A host that is 2 ms away.
fn near(personality: &str) -> Host {
    host(personality, &[])
}

fn host(personality: &str, settings: &[(&str, Value)]) -> Host {
    let mut table = Table::default();
    table.set("kind", Value::Text(personality.into()));
    settings.iter().for_each(|(key, value)| table.set(key, value.clone()));
    let personality = FaultKind::read(&Value::Table(table)).unwrap();
    Host { personality, round_trip: Span::from_ms(2), ..defaults() }
}

/// An internet of one domain, `x.example`, with these hosts; and the first host's number.
fn start(hosts: Vec<Host>) -> TestNet {
    let domain = vec![domain("x.example", hosts)];
    TestNet::start(&TestNetConfig { domain, keep_texts: true, ..defaults() }).unwrap()
}

/// A client that says and reads line by line.
struct Client {
    stream: BufReader<TcpStream>,
}

impl Client {
    fn connect(internet: &TestNet, host: u8) -> std::io::Result<Client> {
        let address = (Ipv4Addr::new(127, 64, host, 1), internet.smtp_port());
        let stream = TcpStream::connect_timeout(&address.into(), Duration::from_secs(2))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Client { stream: BufReader::new(stream) })
    }

    /// A client that was greeted and has said EHLO.
    fn ready(internet: &TestNet, host: u8) -> Client {
        let mut client = Client::connect(internet, host).unwrap();
        assert_eq!(client.reply(), "220 mx.x.example ESMTP");
        assert!(client.ask("EHLO me.example").starts_with("250"));
        client
    }

    fn send(&mut self, bytes: &[u8]) {
        self.stream.get_mut().write_all(bytes).unwrap();
    }

    /// The last line of a reply; "reset" or "closed" where there is none.
    fn reply(&mut self) -> String {
        loop {
            let mut line = String::new();
            match self.stream.read_line(&mut line) {
                Ok(0) => return "closed".into(),
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return "reset".into(),
                Err(error) => panic!("{error}"),
                Ok(_) if line.as_bytes().get(3) == Some(&b'-') => {}
                Ok(_) => return line.trim_end().into(),
            }
        }
    }

    fn ask(&mut self, line: &str) -> String {
        self.send(format!("{line}\r\n").as_bytes());
        self.reply()
    }

    /// One transaction as far as it goes well: the reply that it ends with.
    fn transact(&mut self, recipients: &[&str], text: &str) -> String {
        let mail = self.ask("MAIL FROM:<list@me.example>");
        if !mail.starts_with("250") {
            return mail;
        }
        let replies: Vec<_> =
            recipients.iter().map(|it| self.ask(&format!("RCPT TO:<{it}>"))).collect();
        if let Some(refusal) = replies.into_iter().find(|it| !it.starts_with("250")) {
            return refusal;
        }
        let data = self.ask("DATA");
        if !data.starts_with("354") {
            return data;
        }
        self.ask(&format!("Message-ID: <1@me>\r\n\r\n{text}\r\n."))
    }

    fn read_until_end(mut self) -> Vec<u8> {
        let mut all = Vec::new();
        self.stream.read_to_end(&mut all).unwrap();
        all
    }
}
