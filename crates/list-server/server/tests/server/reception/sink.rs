//! A host that takes all mail, and tells each copy as it came.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// Where the host is; its recipients are at `[127.0.0.77]`, but for one named
/// `refused`.
pub(crate) struct Sink {
    pub(crate) port: u16,
    taken: Receiver<Copy>,
}

/// A message that was taken.
#[derive(Debug)]
pub(crate) struct Copy {
    pub(crate) recipient: String,
    /// Its return path.
    pub(crate) path: String,
    /// The text as it came: with what DATA adds to dots, or without.
    pub(crate) text: String,
}

impl Sink {
    pub(crate) fn open() -> Sink {
        Sink::with("250 ok\r\n")
    }

    /// One that answers EHLO like this.
    pub(crate) fn with(extensions: &'static str) -> Sink {
        let listener = TcpListener::bind("127.0.0.77:0").unwrap();
        let (tell, taken) = channel();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let tell = tell.clone();
                std::thread::spawn(move || serve(stream, extensions, &tell));
            }
        });
        Sink { port, taken }
    }

    /// The next messages, by recipient.
    pub(crate) fn copies(&self, messages: usize) -> BTreeMap<String, Copy> {
        let next = || self.taken.recv_timeout(Duration::from_secs(60)).expect("a message comes");
        (0..messages).map(|_| next()).map(|copy| (copy.recipient.clone(), copy)).collect()
    }

    /// The return paths of the next messages, by recipient.
    pub(crate) fn paths(&self, messages: usize) -> BTreeMap<String, String> {
        self.copies(messages).into_iter().map(|(recipient, copy)| (recipient, copy.path)).collect()
    }
}

/// Speaks SMTP as far as a sender needs it, until the sender leaves.
fn serve(stream: TcpStream, extensions: &str, tell: &Sender<Copy>) -> Option<()> {
    let mut wire = BufReader::new(stream);
    let say = |wire: &mut BufReader<TcpStream>, text: &str| {
        wire.get_mut().write_all(text.as_bytes()).ok()
    };
    say(&mut wire, "220 sink\r\n")?;
    let (mut path, mut recipient) = (String::new(), String::new());
    loop {
        let mut line = String::new();
        if wire.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let inside = || line.split(['<', '>']).nth(1).unwrap_or_default().to_owned();
        let mut text = String::new();
        match line.get(..4)? {
            "EHLO" => {
                say(&mut wire, extensions)?;
                continue;
            }
            "MAIL" => path = inside(),
            "RCPT" if inside().starts_with("refused@") => {
                say(&mut wire, "550 5.1.1 not here\r\n")?;
                continue;
            }
            "RCPT" => recipient = inside(),
            "DATA" => {
                say(&mut wire, "354 go on\r\n")?;
                while !text.ends_with("\r\n.\r\n") {
                    wire.read_line(&mut text).ok()?;
                }
                text.truncate(text.len() - 3);
            }
            "BDAT" => {
                let mut octets = vec![0; line.split(' ').nth(1)?.parse().ok()?];
                wire.read_exact(&mut octets).ok()?;
                text = String::from_utf8(octets).ok()?;
            }
            _ => {}
        }
        if !text.is_empty() {
            tell.send(Copy { recipient: recipient.clone(), path: path.clone(), text }).ok()?;
        }
        say(&mut wire, "250 ok\r\n")?;
    }
}
