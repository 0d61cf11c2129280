//! The pages of an SQLite file, read without SQLite (<https://www.sqlite.org/fileformat2.html>).
//!
//! SQLite refuses a file whose header or schema is damaged, and a tree from its first damaged page
//! on. What is read here may be anything: nothing in it is trusted, and nothing of it is held but
//! one page at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// What SQLite makes pages of when it is not told otherwise.
const USUAL_SIZE: usize = 4096;
const MAGIC: &[u8; 16] = b"SQLite format 3\0";
const WAL_HEADER: usize = 32;
const FRAME_HEADER: usize = 24;

/// A database file together with the committed frames of its write-ahead log.
pub(super) struct Pages {
    file: File,
    wal: Option<File>,
    size: usize,
    usable: usize,
    count: u32,
    /// Where in the write-ahead log the newest version of a page stands.
    newer: BTreeMap<u32, u64>,
    /// Whether the first page begins as it should.
    has_header: bool,
}

impl Pages {
    pub(super) fn open(path: &Path) -> io::Result<Pages> {
        let file = File::open(path)?;
        let wal = match File::open(PathBuf::from(format!("{}-wal", path.display()))) {
            Ok(wal) => Some(wal),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let mut header = [0; 100];
        read_at(&file, &mut header, 0)?;
        let mut wal_header = [0; WAL_HEADER];
        if let Some(wal) = &wal {
            read_at(wal, &mut wal_header, 0)?;
        }
        let of_file = match u16::from_be_bytes([header[16], header[17]]) {
            1 => 65536,
            size => usize::from(size),
        };
        let of_wal = usize::try_from(word(&wal_header, 8)).unwrap_or(0);
        let is_size = |size: usize| size.is_power_of_two() && (512..=65536).contains(&size);
        let named = header.starts_with(MAGIC) && is_size(of_file);
        let size = if named {
            of_file
        } else if is_size(of_wal) {
            of_wal
        } else {
            USUAL_SIZE
        };
        let reserved = if named { usize::from(header[20]) } else { 0 };
        // SQLite's own least is 480.
        let usable = if size - reserved < 480 { size } else { size - reserved };
        let whole = file.metadata()?.len().div_ceil(size as u64);
        let count = u32::try_from(whole).unwrap_or(u32::MAX);
        let newer = BTreeMap::new();
        let mut pages = Pages { file, wal, size, usable, count, newer, has_header: false };
        pages.find_frames(&wal_header)?;
        let mut first = Vec::new();
        pages.has_header = pages.read(1, &mut first)? && first.starts_with(MAGIC);
        Ok(pages)
    }

    /// Finds the frames that belong to transactions that were committed. A frame is good where its
    /// salts are the log's and its checksum, which continues that of the frame before, fits: so a
    /// damaged frame does not take those after it along.
    fn find_frames(&mut self, header: &[u8; WAL_HEADER]) -> io::Result<()> {
        let Some(wal) = &self.wal else { return Ok(()) };
        let frame_size = FRAME_HEADER + self.size;
        let frames = wal.metadata()?.len().saturating_sub(WAL_HEADER as u64) / frame_size as u64;
        let mut frame = vec![0; frame_size];
        let header_is_good = checksum(&header[..24], (0, 0), word(header, 0) & 1 == 1)
            == (word(header, 24), word(header, 28));
        let big_endian = header_is_good && word(header, 0) & 1 == 1;
        let mut salts = (word(header, 16), word(header, 20));
        let mut before = (word(header, 24), word(header, 28));
        let (mut open, mut pages) = (Vec::new(), 0);
        for place in 0..frames {
            let at = WAL_HEADER as u64 + place * frame_size as u64;
            read_at(wal, &mut frame, at)?;
            if place == 0 && !header_is_good {
                salts = (word(&frame, 8), word(&frame, 12));
            }
            let summed = checksum(&frame[..8], before, big_endian);
            let summed = checksum(&frame[FRAME_HEADER..], summed, big_endian);
            before = (word(&frame, 16), word(&frame, 20));
            let (number, commit) = (word(&frame, 0), word(&frame, 4));
            if summed != before || salts != (word(&frame, 8), word(&frame, 12)) || number == 0 {
                continue;
            }
            open.push((number, at + FRAME_HEADER as u64));
            if commit != 0 {
                self.newer.extend(open.drain(..));
                pages = commit;
            }
        }
        // A file that was cut off still ends where its log says, if that has the pages.
        let last = self.newer.keys().filter(|number| **number <= pages).max();
        self.count = self.count.max(last.copied().unwrap_or(0));
        Ok(())
    }

    /// Reads a page, with zeros after the end of the file; whether there is such a page.
    pub(super) fn read(&self, number: u32, page: &mut Vec<u8>) -> io::Result<bool> {
        if number == 0 || number > self.count {
            return Ok(false);
        }
        page.clear();
        page.resize(self.size, 0);
        match (self.newer.get(&number), &self.wal) {
            (Some(at), Some(wal)) => read_at(wal, page, *at)?,
            _ => read_at(&self.file, page, u64::from(number - 1) * self.size as u64)?,
        }
        Ok(true)
    }

    /// The number of the last page.
    pub(super) fn count(&self) -> u32 {
        self.count
    }

    /// How many octets of a page are used.
    pub(super) fn usable(&self) -> usize {
        self.usable
    }

    /// The pages that are free, whose rows were removed; as far as the list of them can be read.
    pub(super) fn free(&self) -> io::Result<BTreeSet<u32>> {
        let (mut free, mut page) = (BTreeSet::new(), Vec::new());
        if !self.has_header || !self.read(1, &mut page)? {
            return Ok(free);
        }
        let mut trunk = word(&page, 32);
        while trunk != 0 && free.insert(trunk) && self.read(trunk, &mut page)? {
            let listed = word(&page, 4) as usize;
            if listed > self.usable / 4 - 2 {
                break;
            }
            free.extend((0..listed).map(|place| word(&page, 8 + 4 * place)));
            trunk = word(&page, 0);
        }
        Ok(free)
    }
}

/// Four octets as a number; 0 where there are none.
pub(super) fn word(bytes: &[u8], at: usize) -> u32 {
    let four = bytes.get(at..).and_then(|rest| rest.first_chunk());
    four.map_or(0, |four| u32::from_be_bytes(*four))
}

/// SQLite's checksum of whole pairs of words, continued.
fn checksum(bytes: &[u8], (mut a, mut b): (u32, u32), big_endian: bool) -> (u32, u32) {
    let read = if big_endian { u32::from_be_bytes } else { u32::from_le_bytes };
    let (pairs, _) = bytes.as_chunks::<8>();
    for [x0, x1, x2, x3, y0, y1, y2, y3] in pairs {
        a = a.wrapping_add(read([*x0, *x1, *x2, *x3])).wrapping_add(b);
        b = b.wrapping_add(read([*y0, *y1, *y2, *y3])).wrapping_add(a);
    }
    (a, b)
}

/// Reads as much as there is.
fn read_at(file: &File, mut into: &mut [u8], mut at: u64) -> io::Result<()> {
    while !into.is_empty() {
        match file.read_at(into, at) {
            Ok(0) => return Ok(()),
            Ok(read) => {
                into = &mut into[read..];
                at += read as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
