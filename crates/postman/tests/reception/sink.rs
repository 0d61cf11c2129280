//! A host that takes all mail, and tells from which return path each message came.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// Where the host is; its recipients are at `[127.0.0.77]`.
pub(crate) struct Sink {
    pub(crate) port: u16,
    /// A recipient and the return path of its message.
    taken: Receiver<(String, String)>,
}

impl Sink {
    pub(crate) fn open() -> Sink {
        let listener = TcpListener::bind("127.0.0.77:0").unwrap();
        let (tell, taken) = channel();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let tell = tell.clone();
                std::thread::spawn(move || serve(stream, &tell));
            }
        });
        Sink { port, taken }
    }

    /// The return paths of the next messages, by recipient.
    pub(crate) fn paths(&self, messages: usize) -> BTreeMap<String, String> {
        let next = || self.taken.recv_timeout(Duration::from_secs(60)).expect("a message comes");
        (0..messages).map(|_| next()).collect()
    }
}

/// Speaks SMTP as far as a sender needs it.
fn serve(stream: TcpStream, tell: &Sender<(String, String)>) -> Option<()> {
    let mut out = stream.try_clone().ok()?;
    let mut say = |line: &str| out.write_all(format!("{line}\r\n").as_bytes()).ok();
    let (mut path, mut recipient, mut in_text) = (String::new(), String::new(), false);
    say("220 sink")?;
    for line in BufReader::new(stream).lines() {
        let line = line.ok()?;
        let inside = || line.split(['<', '>']).nth(1).unwrap_or_default().to_owned();
        if in_text {
            in_text = line != ".";
            if !in_text {
                say("250 taken")?;
                let _ = tell.send((recipient.clone(), path.clone()));
            }
            continue;
        }
        match line.get(..4).unwrap_or_default() {
            "MAIL" => path = inside(),
            "RCPT" => recipient = inside(),
            "DATA" => in_text = true,
            _ => {}
        }
        say(if in_text { "354 go on" } else { "250 ok" })?;
    }
    Some(())
}
