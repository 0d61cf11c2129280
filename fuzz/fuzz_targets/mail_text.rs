//! A message's text: in canonical form CR and LF come in pairs only, and no line of the stuffed form
//! is a dot alone but the last. The form for hosts that take no octets above 127 is canonical too, and
//! making it twice changes nothing.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sojourn_mail_engine::list::seven_bit::seven_bit;
use sojourn_smtp::{Canonical, Stuffer};

fuzz_target!(|bytes: &[u8]| {
    let Some((&size, bytes)) = bytes.split_first() else { return };
    let size = usize::from(size) + 1;
    let (mut canonical, mut text) = (Canonical::default(), Vec::new());
    bytes.chunks(size).for_each(|piece| canonical.push(piece, &mut text));
    canonical.finish(&mut text);
    let (mut stuffer, mut wire) = (Stuffer::default(), Vec::new());
    text.chunks(size).for_each(|piece| stuffer.push(piece, &mut wire));
    stuffer.finish(&mut wire);

    let pairs = wire.windows(2).filter(|pair| *pair == b"\r\n").count();
    for byte in [b'\r', b'\n'] {
        assert_eq!(wire.iter().filter(|it| **it == byte).count(), pairs);
    }
    let lines = wire.split_inclusive(|&byte| byte == b'\n');
    assert_eq!(lines.clone().filter(|line| *line == b".\r\n").count(), 1);
    assert!(lines.last() == Some(b".\r\n"));

    let encoded = seven_bit(&text);
    let mut again = Vec::new();
    let mut canonical = Canonical::default();
    canonical.push(&encoded, &mut again);
    canonical.finish(&mut again);
    assert_eq!(again, encoded);
    assert_eq!(seven_bit(&encoded), encoded);
    if text.is_ascii() {
        assert_eq!(encoded, text);
    }
});
