//! What stands in a page of an SQLite file: cells, and records in them
//! (<https://www.sqlite.org/fileformat2.html>, 1.6 and 2.1). Nothing in it is trusted.

use super::pages::{Pages, word};
use std::io;

/// What a page is, by its first octet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    TableLeaf,
    TableInterior,
    IndexLeaf,
    IndexInterior,
}

/// An entry of a page: a child to its left, a row, or both.
pub(super) struct Cell<'a> {
    pub(super) child: Option<u32>,
    pub(super) row: Option<Row<'a>>,
}

/// A row of a table, or of an index that is a table without row numbers.
#[derive(Clone, Copy)]
pub(super) struct Row<'a> {
    pub(super) id: i64,
    /// What of the record stands in the page.
    pub(super) local: &'a [u8],
    /// How long the record is.
    pub(super) total: u64,
    /// The page where it goes on, where it does.
    pub(super) overflow: u32,
}

/// Where a column of a record is, and of which type.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field {
    pub(super) code: u64,
    pub(super) start: u64,
    pub(super) size: u64,
}

/// A value that is small enough to be held; nothing where its octets are missing.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Null,
    Integer(i64),
    Real(f64),
    Text(String),
    Blob(Vec<u8>),
}

/// The kind and the cells of a page, and its last child; nothing where it is no page of a tree.
pub(super) fn cells(
    number: u32,
    page: &[u8],
    usable: usize,
) -> Option<(Kind, Vec<Cell<'_>>, Option<u32>)> {
    let begin = if number == 1 { 100 } else { 0 };
    let kind = match page.get(begin)? {
        0x0d => Kind::TableLeaf,
        0x05 => Kind::TableInterior,
        0x0a => Kind::IndexLeaf,
        0x02 => Kind::IndexInterior,
        _ => return None,
    };
    let short = |at: usize| {
        let two = page.get(at..).and_then(|rest| rest.first_chunk());
        two.map_or(0, |two| usize::from(u16::from_be_bytes(*two)))
    };
    let is_leaf = matches!(kind, Kind::TableLeaf | Kind::IndexLeaf);
    let pointers = begin + if is_leaf { 8 } else { 12 };
    let count = short(begin + 3).min(page.len() / 2);
    let found = (0..count)
        .map(|place| pointers + 2 * place)
        .take_while(|at| at + 2 <= page.len())
        .map(|at| cell(kind, page.get(short(at)..usable)?, usable))
        .map(|cell| cell.unwrap_or(Cell { child: None, row: None }))
        .collect();
    Some((kind, found, (!is_leaf).then(|| word(page, begin + 8))))
}

fn cell(kind: Kind, mut bytes: &[u8], usable: usize) -> Option<Cell<'_>> {
    let child = match kind {
        Kind::TableInterior | Kind::IndexInterior => {
            let child = word(bytes, 0);
            bytes = bytes.get(4..)?;
            Some(child)
        }
        Kind::TableLeaf | Kind::IndexLeaf => None,
    };
    if kind == Kind::TableInterior {
        return Some(Cell { child, row: None });
    }
    let row = row(kind, bytes, usable);
    Some(Cell { child, row })
}

fn row(kind: Kind, mut bytes: &[u8], usable: usize) -> Option<Row<'_>> {
    let total = varint(&mut bytes)?;
    let id = if kind == Kind::TableLeaf { varint(&mut bytes)? as i64 } else { 0 };
    let least = (usable - 12) * 32 / 255 - 23;
    let most = match kind {
        Kind::TableLeaf => usable - 35,
        _ => (usable - 12) * 64 / 255 - 23,
    };
    if total <= most as u64 {
        let local = bytes.get(..total as usize)?;
        return Some(Row { id, local, total, overflow: 0 });
    }
    let wanted = least as u64 + (total - least as u64) % (usable as u64 - 4);
    let local = if wanted <= most as u64 { wanted as usize } else { least };
    bytes.get(..local + 4)?;
    Some(Row { id, local: &bytes[..local], total, overflow: word(bytes, local) })
}

/// Where the columns of a record are; nothing where it is no record: its header and the sizes that
/// this tells make up all of it.
pub(super) fn fields(row: &Row<'_>) -> Option<Vec<Field>> {
    /// More than any table of ours will ever have.
    const COLUMNS: usize = 64;
    let mut rest = row.local;
    let header = varint(&mut rest)?;
    let mut rest = row.local.get(row.local.len() - rest.len()..usize::try_from(header).ok()?)?;
    let (mut start, mut found) = (header, Vec::new());
    while !rest.is_empty() {
        let code = varint(&mut rest)?;
        let size = match code {
            0 | 8 | 9 => 0,
            1..=4 => code,
            5 => 6,
            6 | 7 => 8,
            10 | 11 => return None,
            _ => (code - 12) / 2,
        };
        if found.len() == COLUMNS {
            return None;
        }
        found.push(Field { code, start, size });
        start = start.checked_add(size)?;
    }
    (start == row.total).then_some(found)
}

/// The value of a column out of the octets of a record that are known.
pub(super) fn value(field: Field, record: &[u8]) -> Option<Value> {
    let start = usize::try_from(field.start).ok()?;
    let end = start.checked_add(usize::try_from(field.size).ok()?)?;
    let bytes = record.get(start..end)?;
    Some(match field.code {
        0 => Value::Null,
        8 => Value::Integer(0),
        9 => Value::Integer(1),
        7 => Value::Real(f64::from_be_bytes(*bytes.first_chunk()?)),
        1..=6 => {
            let negative = bytes.first().is_some_and(|first| first & 0x80 != 0);
            let begin = if negative { -1 } else { 0 };
            Value::Integer(bytes.iter().fold(begin, |sum, octet| sum << 8 | i64::from(*octet)))
        }
        code if code % 2 == 1 => Value::Text(String::from_utf8(bytes.to_vec()).ok()?),
        _ => Value::Blob(bytes.to_vec()),
    })
}

/// A number of one to nine octets, seven bits of it in each.
fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for place in 0..9 {
        let octet = *bytes.get(place)?;
        if place == 8 {
            number = number << 8 | u64::from(octet);
        } else {
            number = number << 7 | u64::from(octet & 0x7f);
        }
        if place == 8 || octet & 0x80 == 0 {
            *bytes = &bytes[place + 1..];
            return Some(number);
        }
    }
    None
}

impl Pages {
    /// Hands on a record, part by part, as far as it can be followed; whether that is all of it.
    pub(super) fn follow<E: From<io::Error>>(
        &self,
        row: &Row<'_>,
        mut part: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<bool, E> {
        part(row.local)?;
        let mut left = row.total - row.local.len() as u64;
        let (mut next, mut page) = (row.overflow, Vec::new());
        let each = self.usable() - 4;
        let mut turns = self.count();
        while left > 0 {
            // A chain that leads in a circle is no longer than the file.
            if turns == 0 || !self.read(next, &mut page)? {
                return Ok(false);
            }
            // The last page of a chain ends it with a 0, as one that was wiped does.
            if page.iter().all(|octet| *octet == 0) {
                return Ok(false);
            }
            turns -= 1;
            let here = each.min(usize::try_from(left).unwrap_or(each));
            next = word(&page, 0);
            part(&page[4..4 + here])?;
            left -= here as u64;
        }
        Ok(next == 0)
    }
}
