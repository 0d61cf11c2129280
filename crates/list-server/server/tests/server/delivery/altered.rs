//! A text that the disk has altered.

use crate::delivery::sink::Manners;
use crate::delivery::world::{Told, World};
use sojourn_mail_engine::{Moment, Record, Submission};
use sojourn_mail_spool::{Epoch, Spool, look};

/// It is not sent: its recipient is held, and the operator is told.
#[test]
fn its_recipients_are_held() {
    let mut world = World::new();
    world.host("127.0.0.2", Manners::default());
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let epoch = Epoch { unix_ms: now.as_millis() as i64 };
    let mut spool = Spool::open(&world.spool(), epoch).unwrap();
    let (id, text) = (spool.next_id(), b"Subject: ours\r\n\r\nunaltered\r\n");
    let submission = Submission {
        id,
        sender: Some("owner@lists.example".parse().unwrap()),
        size: text.len() as u64,
        eight_bit: false,
        utf8: false,
        recipients: vec!["a@[127.0.0.2]".parse().unwrap()],
        subscribers: Vec::new(),
        day: 0,
    };
    spool.offer(Moment::ZERO, submission, text[..].into());
    spool.write(&[Record::Accepted(id)]).unwrap();
    drop(spool);
    let mut bytes = std::fs::read(world.spool()).unwrap();
    let at = bytes.windows(9).position(|it| it == b"unaltered").unwrap();
    bytes[at] = b'U';
    std::fs::write(world.spool(), bytes).unwrap();
    let server = world.start();
    let words = "message 1: its text is not as it was written; its recipients are held";
    server.until(|told| matches!(told, Told::Trouble(what) if what.ends_with(words)));
    server.until(|told| matches!(told, Told::Attempt { .. }));
    assert_eq!(server.stop().messages, 1);
    assert!(world.taken().is_empty());
    let queued = look(&world.spool()).unwrap();
    assert_eq!((queued.len(), queued[0].held), (1, 1));
}
