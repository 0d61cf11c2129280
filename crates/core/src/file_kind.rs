//! What a file looks like that is not the text that was expected, and how to convert it.

/// What binary data looks like, by its first bytes; none where they say nothing.
///
/// Returns words that fit behind "it looks like".
pub fn of_bytes(bytes: &[u8]) -> Option<&'static str> {
    let by_magic = MAGIC.iter().find(|(magic, _)| bytes.starts_with(magic)).map(|(_, kind)| *kind);
    // ASCII in UTF-16 without a byte order mark: every second byte is zero.
    by_magic.or_else(|| bytes.iter().take(LOOKED_AT).any(|byte| *byte == 0).then_some(ZEROS))
}

/// What a text looks like that is no table of numbers; none where it could be one.
///
/// Returns words that fit behind "it looks like".
pub fn of_text(text: &str) -> Option<&'static str> {
    if text.contains('\r') && !text.contains('\n') {
        return Some(CARRIAGE_RETURNS);
    }
    let first = crate::files::lines(text).next()?.1;
    TEXTS.iter().find(|(start, _)| first.starts_with(start)).map(|(_, kind)| *kind)
}

/// How many bytes are searched for zeros.
const LOOKED_AT: usize = 64;

const UTF16: &str = "text in UTF-16: convert it with `iconv -f UTF-16 -t UTF-8`";
const ZEROS: &str = "binary data, or text in UTF-16: convert text with `iconv -f UTF-16 -t UTF-8`";
const PCAP: &str = "a capture of packets, which are not flows: write one line per flow, such as \
                    src,dst,size_bytes,arrival_s";
const CARRIAGE_RETURNS: &str =
    "lines that end with carriage returns alone: convert them with `tr '\\r' '\\n'`";
const JSON: &str = "JSON: write its records as a table of text, one per line";
const XML: &str = "XML: write its records as a table of text, one per line";

/// First bytes of files, and what these are.
const MAGIC: &[(&[u8], &str)] = &[
    (b"\x1f\x8b", "compressed data: unpack it first with `gunzip`"),
    (b"\x28\xb5\x2f\xfd", "compressed data: unpack it first with `unzstd`"),
    (b"\xfd7zXZ\0", "compressed data: unpack it first with `unxz`"),
    (b"BZh", "compressed data: unpack it first with `bunzip2`"),
    (b"PK\x03\x04", "a ZIP archive or a spreadsheet: unpack it, or export the sheet as CSV"),
    (b"\xd0\xcf\x11\xe0", "a spreadsheet: export the sheet as CSV"),
    (b"PAR1", "Parquet: a list of flows in Parquet has workload.kind = \"table\""),
    (b"ARROW1", "Arrow: a list of flows is handed over from Python, with `flows=`"),
    (b"\x89HDF", "HDF5: a list of flows is handed over from Python, with `flows=`"),
    (b"\x93NUMPY", "NumPy: a list of flows is handed over from Python, with `flows=`"),
    (b"SQLite format 3\0", "an SQLite database: export a table as CSV"),
    (b"\xff\xfe", UTF16),
    (b"\xfe\xff", UTF16),
    (b"\xd4\xc3\xb2\xa1", PCAP),
    (b"\xa1\xb2\xc3\xd4", PCAP),
    (b"\x4d\x3c\xb2\xa1", PCAP),
    (b"\xa1\xb2\x3c\x4d", PCAP),
    (b"\x0a\x0d\x0d\x0a", PCAP),
];

/// The beginnings of first lines, and what these are of.
const TEXTS: &[(&str, &str)] = &[
    ("{", JSON),
    ("[", JSON),
    ("<!", "a page of HTML: save the file itself, not the page that shows it"),
    ("<html", "a page of HTML: save the file itself, not the page that shows it"),
    ("<FlowMonitor", "results of ns-3's flow monitor: a list has flows before they run"),
    ("<", XML),
    ("version https://git-lfs", "a pointer of Git LFS: fetch the file itself with `git lfs pull`"),
];
