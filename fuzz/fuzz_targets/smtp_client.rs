//! A server that says anything: one transaction, one verdict for each recipient, and commands that
//! are complete lines.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sojourn_mail::smtp::{Client, Envelope, Output, Step, Tls};

fuzz_target!(|bytes: &[u8]| {
    let Some((&size, bytes)) = bytes.split_first() else { return };
    let mut client = Client::new("client.example".into(), Tls::Opportunistic);
    let mut verdicts = None;
    for piece in bytes.chunks(usize::from(size) + 1) {
        let mut outputs = Vec::new();
        client.received(piece, &mut outputs);
        while !outputs.is_empty() {
            for output in std::mem::take(&mut outputs) {
                match output {
                    Output::Send(line) => assert!(line.ends_with(b"\r\n")),
                    Output::Body(_) => client.written(),
                    Output::StartTls => client.secured(&mut outputs),
                    Output::Settled(settled) => assert!(verdicts.replace(settled).is_none()),
                    Output::Lost(_, settled) if settled.is_empty() => return,
                    Output::Lost(_, settled) => assert!(verdicts.replace(settled).is_none()),
                    Output::Ready if verdicts.is_none() => {
                        let people = ["a@x", "b@x", "c@x"].map(|it| it.parse().unwrap());
                        let envelope = Envelope {
                            sender: None,
                            recipients: people.into(),
                            size: 9,
                            eight_bit: false,
                            utf8: false,
                        };
                        client.begin(envelope, &mut outputs);
                    }
                    Output::Ready if client.step() == Step::Idle => client.quit(&mut outputs),
                    Output::Ready => {}
                    Output::Close => return,
                }
            }
        }
    }
    let settled = verdicts.unwrap_or_else(|| client.closed());
    assert!(settled.is_empty() || settled.len() == 3);
});
