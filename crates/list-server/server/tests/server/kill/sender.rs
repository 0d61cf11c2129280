//! The process that is killed: this test's own program, started again.

use sojourn_core::parameters::{Parameters, Table, Value};
use sojourn_list_server::{DeliveryServer, Mail, Observer, ServerEvent, Settings};
use sojourn_mail_engine::Outcome;
use sojourn_smtp::Address;
use sojourn_testnet::TestNet;
use std::io::{BufRead, BufReader, Write, stdin};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A list server that can be killed. It is told one line at a time what to do.
pub(crate) struct Sender {
    process: Child,
    orders: Option<ChildStdin>,
    says: BufReader<ChildStdout>,
}

/// The Message-ID of a message.
pub(crate) fn message_id(number: u64) -> String {
    format!("<{number}@lists.example>")
}

impl Sender {
    /// One that tries again after a second, and may tell of each delivery.
    pub(crate) fn start(internet: &TestNet, spool: &Path, tells: bool) -> Sender {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "--nocapture", "kill::sender::a_list_server"])
            .env("SENDER_SPOOL", spool)
            .env("SENDER_RESOLVER", internet.resolver().to_string())
            .env("SENDER_PORT", internet.smtp_port().to_string())
            .env("SENDER_TELLS", if tells { "yes" } else { "" })
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let orders = process.stdin.take();
        let says = BufReader::new(process.stdout.take().unwrap());
        let mut sender = Sender { process, orders, says };
        sender.hear_of("started");
        sender
    }

    /// What it says next that begins with one of our words: the test's harness talks too.
    pub(crate) fn hear(&mut self) -> Option<String> {
        loop {
            let mut line = String::new();
            if self.says.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            if let Some((_, said)) = line.trim_end().split_once("sender: ") {
                return Some(said.to_owned());
            }
        }
    }

    /// Waits until this was noticed.
    pub(crate) fn hear_of(&mut self, what: &str) {
        while self.hear().expect("it lives") != what {}
    }

    /// Sends a message and waits until it is on stable storage, or was refused; which.
    pub(crate) fn send(&mut self, number: u64, recipients: &[String]) -> String {
        self.order(number, recipients);
        loop {
            let said = self.hear().expect("it lives");
            if said.starts_with("accepted") || said.starts_with("refused") {
                return said;
            }
        }
    }

    /// Sends a message and waits for nothing.
    pub(crate) fn order(&mut self, number: u64, recipients: &[String]) {
        let line = format!("{number} {}\n", recipients.join(","));
        // A process that is dead takes no orders.
        drop(self.orders.as_mut().unwrap().write_all(line.as_bytes()));
    }

    /// kill -9; what it had said that begins with `word` and was not heard.
    pub(crate) fn kill(mut self, word: &str) -> Vec<String> {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        let mut said_last = Vec::new();
        while let Some(said) = self.hear() {
            said_last.extend(said.strip_prefix(word).map(str::to_owned));
        }
        said_last
    }

    /// Ends it as SIGTERM would; what it says at the end.
    pub(crate) fn stop(self) -> String {
        self.stop_and_tell().pop().unwrap_or_default()
    }

    /// The same; all that it says and was not heard.
    pub(crate) fn stop_and_tell(mut self) -> Vec<String> {
        drop(self.orders.take());
        let rest = std::iter::from_fn(|| self.hear()).collect();
        assert!(self.process.wait().unwrap().success());
        rest
    }
}

/// Says what its parent may wait for.
struct Crier {
    /// Of each delivery.
    tells: bool,
}

impl Observer for Crier {
    fn notice(&mut self, _: i64, event: &ServerEvent<'_>) {
        match event {
            ServerEvent::HostDown(..) => println!("sender: host down"),
            ServerEvent::DomainDown(..) => println!("sender: domain down"),
            ServerEvent::Trouble(what) => println!("sender: trouble: {what}"),
            ServerEvent::Attempt { task, recipient, outcome: Outcome::Delivered, .. }
                if self.tells =>
            {
                println!("sender: delivered {recipient} {}", task.message.0);
            }
            _ => {}
        }
    }
}

#[test]
#[ignore = "a process that other tests start and kill"]
fn a_list_server() {
    let Some(spool) = std::env::var_os("SENDER_SPOOL") else { return };
    let resolver: SocketAddr = std::env::var("SENDER_RESOLVER").unwrap().parse().unwrap();
    let port: i64 = std::env::var("SENDER_PORT").unwrap().parse().unwrap();
    let crier = Crier { tells: std::env::var_os("SENDER_TELLS").is_some_and(|it| it == "yes") };
    // Some ten messages fill a small disk.
    let lines = if crier.tells { 4000 } else { 0 };
    let (delivery, running) =
        DeliveryServer::start(settings(resolver, port), Path::new(&spool), crier).unwrap();
    println!("sender: started");
    for line in stdin().lines() {
        let line = line.unwrap();
        let (number, recipients) = line.split_once(' ').unwrap();
        let number: u64 = number.parse().unwrap();
        let recipients: Vec<Address> =
            recipients.split(',').map(|it| it.parse().unwrap()).collect();
        let text = format!("Message-ID: {}\r\n\r\nHow long does it stay?\r\n", message_id(number));
        let text = text + &"A long line of a long text, which has no end.\r\n".repeat(lines);
        let sender = Some("list-bounces@lists.example".parse().unwrap());
        match delivery.submit_blocking(Mail::new(sender, recipients, text.as_bytes())) {
            Ok(_) => println!("sender: accepted {number}"),
            Err(why) => println!("sender: refused {number}: {why}"),
        }
    }
    let left = running.stop();
    println!("sender: stopped, {} left, {} cut", left.messages, left.cut);
}

fn settings(resolver: SocketAddr, port: i64) -> Settings {
    let table = |settings: &[(&str, Value)]| {
        let mut table = Table::default();
        settings.iter().for_each(|(key, value)| table.set(key, value.clone()));
        Value::Table(table)
    };
    let resolvers = Value::List(vec![Value::Text(resolver.to_string())]);
    let soon = |key| (key, Value::Text("1s".into()));
    let fixed = ("kind", Value::Text("fixed".into()));
    let retry = table(&[fixed, soon("every"), soon("dead")]);
    let mail = [("hello", Value::Text("lists.example".into())), ("retry", retry)];
    let network = [
        ("port", Value::Int(port)),
        ("resolvers", resolvers),
        ("question", Value::Text("1s".into())),
        ("grace", Value::Text("2s".into())),
    ];
    let mut all = Table::default();
    all.set("mail", table(&mail));
    all.set("network", table(&network));
    Settings::read_table(&all).unwrap()
}
