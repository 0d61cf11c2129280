//! A client that says anything: the same replies however its bytes are cut, complete lines, texts
//! without a CR or LF that stands alone, and nobody at a stranger's service.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sojourn_core::Time;
use sojourn_core::parameters::defaults;
use sojourn_smtp::server::{
    Arrival, AuthUse, Output, Peer, Protocol, RecipientDecision, RecipientPolicy, Session,
    SessionConfig, Submitter, Verdict,
};
use sojourn_smtp::{Address, Enhanced, Reply};
use std::sync::Arc;

struct Here;

impl RecipientPolicy for Here {
    fn receives(
        &self,
        _: Submitter<'_>,
        _: Option<&Address>,
        recipient: &Address,
    ) -> RecipientDecision {
        match recipient.domain() {
            "here" => RecipientDecision::Local,
            _ => RecipientDecision::Relay,
        }
    }

    fn postmaster(&self) -> Option<Address> {
        None
    }
}

fn run(first: u8, bytes: &[u8], size: usize) -> (Vec<u8>, Vec<Arrival>) {
    let config = SessionConfig {
        name: "here".into(),
        protocol: if first & 1 == 0 { Protocol::Smtp } else { Protocol::Lmtp },
        auth: AuthUse::Loopback,
        start_tls: false,
        submission: first & 4 == 0,
        repair: first & 2 == 0,
        bounds: defaults(),
        recipient_policy: Arc::new(Here),
    };
    let peer = Peer { address: [127, 0, 0, 1].into(), trusted: first & 4 == 0, secured: false };
    let mut out = Vec::new();
    let mut session = Session::new(Arc::new(config), peer, Time::ZERO, &mut out);
    let (mut said, mut arrivals) = (Vec::new(), Vec::new());
    for piece in bytes.chunks(size) {
        session.received(Time::ZERO, piece, &mut out);
        while !out.is_empty() {
            for output in std::mem::take(&mut out) {
                match output {
                    Output::Send(bytes) => said.extend_from_slice(&bytes),
                    Output::StartTls => panic!("it is not offered"),
                    Output::Verify(it) => {
                        let right = it.password.0 == "right";
                        let verdict = if right { Verdict::Right } else { Verdict::Wrong };
                        session.verified(Time::ZERO, verdict, &mut out);
                    }
                    Output::Deliver(arrival) => {
                        let mut people = arrival.recipients.iter();
                        let stranger = !peer.trusted && session.user().is_none();
                        assert!(!stranger || people.all(|it| it.domain() == "here"));
                        arrivals.push(arrival);
                        let status = Some(Enhanced(2, 0, 0));
                        let reply = Reply { code: 250, enhanced: status, lines: vec![] };
                        session.taken(Time::ZERO, &reply, &mut out);
                    }
                    Output::Close => return (said, arrivals),
                }
            }
        }
    }
    (said, arrivals)
}

fuzz_target!(|bytes: &[u8]| {
    let Some(([first, size], bytes)) = bytes.split_first_chunk() else { return };
    if bytes.is_empty() {
        return;
    }
    let whole = run(*first, bytes, usize::MAX);
    assert_eq!(whole, run(*first, bytes, usize::from(*size) + 1));
    assert!(whole.0.ends_with(b"\r\n"));
    for arrival in whole.1 {
        let pairs = arrival.text.windows(2).filter(|pair| *pair == b"\r\n").count();
        for byte in [b'\r', b'\n'] {
            assert_eq!(arrival.text.iter().filter(|it| **it == byte).count(), pairs);
        }
    }
});
