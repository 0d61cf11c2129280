//! The same bytes in any pieces: the same replies, the same messages.

use super::*;
use proptest::prelude::*;
use sojourn_properties::cases;

/// Pieces of sessions, right and wrong; no STARTTLS, behind which plain text is forgotten.
fn piece() -> impl Strategy<Value = String> {
    let known = prop::sample::select(vec![
        "EHLO x\r\n",
        "LHLO x\r\n",
        "MAIL FROM:<a@b>\r\n",
        "MAIL FROM:<> SIZE=9\r\n",
        "RCPT TO:<c@d>\r\n",
        "RCPT TO:<bounces@here.example>\r\n",
        "RCPT TO:<@x:y@z>\r\n",
        "DATA\r\n",
        "BDAT 3\r\nabc",
        "BDAT 4 LAST\r\nab\r\n",
        "BDAT 0 LAST\r\n",
        "BDAT 2\r\n\n\r",
        "Subject: x\r\n\r\n..\r\n",
        ".\r\n",
        "\r\n.\r\n",
        "\n.\n",
        "\r",
        "\n",
        ".",
        "RSET\r\n",
        "NOOP\r\n",
        "NOOP\n",
        "AUTH LOGIN eA==\r\n",
        "cmlnaHQ=\r\n",
        "VRFY x\r\n",
    ]);
    prop_oneof![8 => known.prop_map(String::from), 1 => "[.\r\nA-Z<>é]{0,9}"]
}

/// Everything said, every message taken.
fn run(
    bytes: &[u8],
    config: SessionConfig,
    mut cut: impl FnMut() -> usize,
) -> (String, Vec<Arrival>) {
    let peer = Peer { address: [127, 0, 0, 1].into(), trusted: false, secured: false };
    let mut it = Talk::with(config, peer);
    let mut rest = bytes;
    while !rest.is_empty() && !it.closed {
        let (piece, after) = rest.split_at(cut().clamp(1, rest.len()));
        rest = after;
        it.hear(piece);
    }
    (it.said, it.arrivals)
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn pieces_do_not_matter(
        begin in prop::bool::ANY,
        pieces in prop::collection::vec(piece(), 0..40),
        cuts in prop::collection::vec(1usize..20, 1..20),
        lmtp in prop::bool::ANY,
        repair in prop::bool::ANY,
    ) {
        let hello = if lmtp { "LHLO x\r\n" } else { "EHLO x\r\n" };
        let login = "AUTH PLAIN AGFubgByaWdodA==\r\nMAIL FROM:<a@b>\r\nRCPT TO:<c@d>\r\n";
        let begin = if begin { format!("{hello}{login}") } else { String::new() };
        let bytes = begin + &pieces.concat();
        let protocol = if lmtp { Protocol::Lmtp } else { Protocol::Smtp };
        let config = || SessionConfig { protocol, repair, auth: AuthUse::Loopback, ..config() };
        let whole = run(bytes.as_bytes(), config(), || usize::MAX);
        let single = run(bytes.as_bytes(), config(), || 1);
        let mut turn = cuts.iter().cycle();
        let cut = run(bytes.as_bytes(), config(), || *turn.next().unwrap());
        prop_assert_eq!(&whole, &single);
        prop_assert_eq!(&whole, &cut);
        for arrival in &whole.1 {
            let text = String::from_utf8_lossy(&arrival.text).replace("\r\n", "");
            prop_assert!(!text.contains(['\r', '\n']));
            prop_assert!(!arrival.recipients.is_empty());
        }
    }
}
