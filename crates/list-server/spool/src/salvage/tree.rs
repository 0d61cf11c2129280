//! The trees of an SQLite file, walked past what is damaged.

use super::cells;
use super::cells::{Kind, Row};
use super::pages::Pages;
use std::collections::BTreeSet;
use std::io;

/// No tree of SQLite is deeper.
const DEEPEST: u32 = 40;

/// What a walk meets, in the order of the keys.
pub(super) enum Found<'a> {
    Row(Row<'a>),
    /// Something that cannot be read: rows are missing here.
    Hole,
}

/// A walk through a file; no page is walked through twice.
pub(super) struct Walk<'a> {
    pub(super) pages: &'a Pages,
    pub(super) seen: BTreeSet<u32>,
}

impl Walk<'_> {
    /// Walks through the tree whose root is page `number`: a table's, or an index's.
    pub(super) fn tree<E: From<io::Error>>(
        &mut self,
        number: u32,
        is_table: bool,
        each: &mut impl FnMut(Found<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.step(number, is_table, DEEPEST, each)
    }

    fn step<E: From<io::Error>>(
        &mut self,
        number: u32,
        is_table: bool,
        depth: u32,
        each: &mut impl FnMut(Found<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut page = Vec::new();
        if depth == 0 || self.seen.contains(&number) || !self.pages.read(number, &mut page)? {
            return each(Found::Hole);
        }
        let Some((kind, cells, last)) = cells::cells(number, &page, self.pages.usable()) else {
            return each(Found::Hole);
        };
        if is_table != matches!(kind, Kind::TableLeaf | Kind::TableInterior) {
            return each(Found::Hole);
        }
        self.seen.insert(number);
        for cell in cells {
            if let Some(child) = cell.child {
                self.step(child, is_table, depth - 1, each)?;
            }
            match cell.row {
                Some(row) => each(Found::Row(row))?,
                None if kind == Kind::TableInterior && cell.child.is_some() => {}
                None => each(Found::Hole)?,
            }
        }
        last.map_or(Ok(()), |last| self.step(last, is_table, depth - 1, each))
    }

    /// The rows of all pages that no walk came to and that are not free.
    ///
    /// A page that a long text goes on in begins with the number of the next one, whose first octet
    /// is 0 in a file of less than 2^24 pages: so no text passes for a page of rows, even one that is made to.
    pub(super) fn others<E: From<io::Error>>(
        &mut self,
        each: &mut impl FnMut(Kind, Row<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.pages.count() >= 1 << 24 {
            return Ok(());
        }
        let free = self.pages.free()?;
        let mut page = Vec::new();
        for number in 1..=self.pages.count() {
            if self.seen.contains(&number) || free.contains(&number) {
                continue;
            }
            self.pages.read(number, &mut page)?;
            if let Some((kind, cells, _)) = cells::cells(number, &page, self.pages.usable()) {
                cells.iter().filter_map(|cell| cell.row).try_for_each(|row| each(kind, row))?;
            }
        }
        Ok(())
    }
}
