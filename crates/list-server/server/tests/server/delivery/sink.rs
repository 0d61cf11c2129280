//! Hosts that take mail, each in its own way.

use std::net::SocketAddr;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// How a host behaves.
#[derive(Clone, Debug, Default)]
pub(crate) struct Manners {
    /// What EHLO lists.
    pub(crate) extensions: &'static [&'static str],
    /// What it answers to RCPT.
    pub(crate) rcpt: Option<fn(Rcpt<'_>) -> &'static str>,
    /// Whether it says nothing any more when it has a text.
    pub(crate) silent: bool,
}

/// One RCPT.
pub(crate) struct Rcpt<'a> {
    pub(crate) address: &'a str,
    /// How many of this transaction were accepted before.
    pub(crate) accepted: usize,
}

/// One message that a host has taken.
#[derive(Clone, Debug)]
pub(crate) struct Taken {
    pub(crate) host: SocketAddr,
    pub(crate) peer: SocketAddr,
    pub(crate) sender: String,
    pub(crate) recipients: Vec<String>,
    pub(crate) text: Vec<u8>,
    /// How many transactions the session had before.
    pub(crate) before: usize,
}

/// What all hosts together have taken.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<(Mutex<Vec<Taken>>, Condvar)>);

impl Log {
    fn push(&self, taken: Taken) {
        self.0.0.lock().unwrap().push(taken);
        self.0.1.notify_all();
    }

    pub(crate) fn all(&self) -> Vec<Taken> {
        self.0.0.lock().unwrap().clone()
    }

    /// Waits until there are so many, at most so long.
    pub(crate) fn wait_for(&self, many: usize, longest: Duration) {
        let fewer = |taken: &mut Vec<Taken>| taken.len() < many;
        let taken = self.0.0.lock().unwrap();
        let (taken, _) = self.0.1.wait_timeout_while(taken, longest, fewer).unwrap();
        assert!(taken.len() >= many, "{taken:?}");
    }
}

/// Serves all who connect.
pub(crate) async fn serve(listener: TcpListener, manners: Manners, log: Log) {
    while let Ok((stream, _)) = listener.accept().await {
        let (manners, log) = (manners.clone(), log.clone());
        tokio::spawn(async move { session(stream, &manners, &log).await });
    }
}

async fn session(stream: TcpStream, manners: &Manners, log: &Log) -> Option<()> {
    let (host, peer) = (stream.local_addr().ok()?, stream.peer_addr().ok()?);
    let mut stream = BufReader::new(stream);
    let (mut sender, mut recipients, mut before) = (String::new(), Vec::new(), 0);
    say(&mut stream, "220 sink").await?;
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await.ok()? == 0 {
            return None;
        }
        let path = || line.split(['<', '>']).nth(1).unwrap_or_default().to_owned();
        match line.split([' ', ':', '\r']).next()?.to_ascii_uppercase().as_str() {
            "EHLO" => {
                for extension in manners.extensions {
                    say(&mut stream, &format!("250-{extension}")).await?;
                }
                say(&mut stream, "250 hello").await?;
            }
            "MAIL" => {
                (sender, recipients) = (path(), Vec::new());
                say(&mut stream, "250 2.1.0 ok").await?;
            }
            "RCPT" => {
                let rcpt = Rcpt { address: &path(), accepted: recipients.len() };
                let answer = manners.rcpt.map_or("250 2.1.5 ok", |answer| answer(rcpt));
                if answer.starts_with('2') {
                    recipients.push(path());
                }
                say(&mut stream, answer).await?;
            }
            "DATA" if recipients.is_empty() => say(&mut stream, "554 nobody").await?,
            "DATA" => {
                say(&mut stream, "354 go").await?;
                let text = read_dots(&mut stream).await?;
                log.push(Taken { host, peer, sender, recipients, text, before });
                (sender, recipients, before) = (String::new(), Vec::new(), before + 1);
                if manners.silent {
                    return std::future::pending().await;
                }
                say(&mut stream, "250 2.0.0 taken").await?;
            }
            "BDAT" => {
                let size = line.split_whitespace().nth(1)?.parse().ok()?;
                let mut text = vec![0; size];
                stream.read_exact(&mut text).await.ok()?;
                log.push(Taken { host, peer, sender, recipients, text, before });
                (sender, recipients, before) = (String::new(), Vec::new(), before + 1);
                say(&mut stream, "250 2.0.0 taken").await?;
            }
            "QUIT" => {
                say(&mut stream, "221 bye").await?;
                return Some(());
            }
            _ => say(&mut stream, "250 ok").await?,
        }
    }
}

async fn say(stream: &mut BufReader<TcpStream>, line: &str) -> Option<()> {
    stream.write_all(format!("{line}\r\n").as_bytes()).await.ok()
}

async fn read_dots(stream: &mut BufReader<TcpStream>) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    loop {
        let mut line = Vec::new();
        if stream.read_until(b'\n', &mut line).await.ok()? == 0 {
            return None;
        }
        if line == b".\r\n" {
            return Some(text);
        }
        text.extend_from_slice(line.strip_prefix(b".").unwrap_or(&line));
    }
}
