//! A server that says anything: each of a few transactions, whole ones in a window where the server
//! takes that, has one verdict for each recipient, and commands are complete lines.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sojourn_smtp::client::{Client, Envelope, Output, Step, Tls};

/// Transactions of a session, and how many of them may be under way.
const TRANSACTIONS: usize = 5;
const WINDOW: usize = 3;

fuzz_target!(|bytes: &[u8]| {
    let Some((&first, bytes)) = bytes.split_first() else { return };
    // The first bit says whether transactions go out whole, the others in what pieces replies come.
    let (whole, size) = (first & 1 == 1, usize::from(first >> 1) + 1);
    let mut client = Client::new("client.example".into(), Tls::Opportunistic);
    let (mut begun, mut settled) = (0, 0);
    for piece in bytes.chunks(size) {
        let mut outputs = Vec::new();
        client.received(piece, &mut outputs);
        while !outputs.is_empty() {
            for output in std::mem::take(&mut outputs) {
                match output {
                    Output::Send(lines) => assert!(lines.ends_with(b"\r\n")),
                    Output::Body(_) => client.written(),
                    Output::StartTls => client.secured(&mut outputs),
                    Output::Settled(verdicts) => {
                        assert_eq!(verdicts.len(), 3);
                        settled += 1;
                    }
                    Output::Lost(_, verdicts) => {
                        assert!(verdicts.is_empty() || verdicts.len() == 3);
                        settled += usize::from(!verdicts.is_empty());
                        return assert!(settled <= begun);
                    }
                    Output::Ready if client.step() == Step::Idle && begun < TRANSACTIONS => {
                        begin(&mut client, whole, &mut outputs);
                        begun += 1;
                    }
                    Output::Ready if client.step() == Step::Idle => client.quit(&mut outputs),
                    Output::Ready => {}
                    Output::Close => return assert_eq!(settled, begun),
                }
            }
            if begun < TRANSACTIONS && client.can_begin_early(WINDOW) {
                begin(&mut client, whole, &mut outputs);
                begun += 1;
            }
        }
    }
    settled += usize::from(!client.closed().is_empty());
    assert!(settled <= begun);
});

fn begin(client: &mut Client, whole: bool, outputs: &mut Vec<Output>) {
    let people = ["a@x", "b@x", "c@x"].map(|it| it.parse().expect("it is an address"));
    let envelope = Envelope {
        sender: None,
        recipients: people.into(),
        size: 9,
        eight_bit: false,
        utf8: false,
    };
    client.begin(envelope, whole, outputs);
}
