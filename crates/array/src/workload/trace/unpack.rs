//! The text of a trace's file: decompressed while it is read, or what the file looks like instead.

use flate2::bufread::MultiGzDecoder;
use sojourn_core::file_kind;
use std::io::{self, BufRead, BufReader};

/// The bytes that are decompressed at a time.
const BUFFER: usize = 1 << 16;
/// The largest window of a zstd stream, as a power of two, in bytes: zstd's own default. It bounds the
/// memory of decompression, whatever a file asks for.
const LARGEST_WINDOW: u32 = 27;

const GZIP: &[u8] = b"\x1f\x8b";
const ZSTD: &[u8] = b"\x28\xb5\x2f\xfd";

/// The text of a file that may be compressed with gzip or zstd; or what was expected of the file.
pub(super) fn text(mut file: Box<dyn BufRead>) -> Result<Box<dyn BufRead>, String> {
    let unreadable = |why: io::Error| format!("a file to read: {why}");
    let start = file.fill_buf().map_err(unreadable)?;
    let (is_gzip, is_zstd) = (start.starts_with(GZIP), start.starts_with(ZSTD));
    let mut text: Box<dyn BufRead> = if is_gzip {
        Box::new(BufReader::with_capacity(BUFFER, MultiGzDecoder::new(file)))
    } else if is_zstd {
        let decoder = zstd::Decoder::with_buffer(file).and_then(|mut decoder| {
            decoder.window_log_max(LARGEST_WINDOW)?;
            Ok(decoder)
        });
        Box::new(BufReader::with_capacity(BUFFER, decoder.map_err(unreadable)?))
    } else {
        file
    };
    match of_bytes(text.fill_buf().map_err(unreadable)?) {
        Some(kind) => Err(format!("a trace as text, but it looks like {kind}")),
        None => Ok(text),
    }
}

/// What a file looks like that is no text, if it says.
fn of_bytes(start: &[u8]) -> Option<&'static str> {
    let is_tar = start.get(257..262) == Some(b"ustar".as_slice());
    let own = BINARY.iter().find(|(magic, _)| start.starts_with(magic)).map(|(_, kind)| *kind);
    if is_tar { Some(TAR) } else { own.or_else(|| file_kind::of_bytes(start)) }
}

const TAR: &str = "a tar archive: unpack it first with `tar -xf`, and name one of its files";
const TABLE: &str = "a table in binary: export it as CSV in one of the formats of traces";

/// First bytes of binary files that hold traces, and what to do with them.
const BINARY: &[(&[u8], &str)] = &[
    // blktrace_api.h: the magic 0x65617400 and a version in the lowest byte, little endian.
    (b"\x07tae", "a binary blktrace: print it with `blkparse -i`, for kind = \"blkparse\""),
    (b"PAR1", TABLE),
    (b"ARROW1", TABLE),
    (b"\x89HDF", TABLE),
    (b"\x93NUMPY", TABLE),
];
