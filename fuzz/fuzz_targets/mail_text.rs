//! A message's text: in canonical form CR and LF come in pairs only, and no line of the stuffed form
//! is a dot alone but the last.

#![no_main]

use libfuzzer_sys::fuzz_target;
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
});
