//! Tables that only the ids of their type index, and which row of one is reused: that of a domain
//! without mail, or of a host without routes.

use crate::ids::Id;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// Rows that are indexed by ids of their type.
#[derive(Debug)]
pub(crate) struct Table<I, T> {
    rows: Vec<T>,
    ids: PhantomData<I>,
}

impl<I, T> Default for Table<I, T> {
    fn default() -> Table<I, T> {
        Table { rows: Vec::new(), ids: PhantomData }
    }
}

impl<I, T> FromIterator<T> for Table<I, T> {
    fn from_iter<R: IntoIterator<Item = T>>(rows: R) -> Table<I, T> {
        Table { rows: rows.into_iter().collect(), ids: PhantomData }
    }
}

impl<I: Id, T> Index<I> for Table<I, T> {
    type Output = T;

    fn index(&self, id: I) -> &T {
        &self.rows[id.index()]
    }
}

impl<I: Id, T> IndexMut<I> for Table<I, T> {
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.rows[id.index()]
    }
}

impl<I: Id, T> Table<I, T> {
    #[cfg(test)]
    pub(crate) fn into_rows(self) -> Vec<T> {
        self.rows
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(crate) fn get(&self, id: I) -> Option<&T> {
        self.rows.get(id.index())
    }

    pub(crate) fn get_mut(&mut self, id: I) -> Option<&mut T> {
        self.rows.get_mut(id.index())
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = I> + use<I, T> {
        (0..self.rows.len()).map(I::new)
    }

    pub(crate) fn values(&self) -> std::slice::Iter<'_, T> {
        self.rows.iter()
    }

    pub(crate) fn values_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.rows.iter_mut()
    }

    /// Ids and their rows, in the order of the ids.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (I, &T)> {
        self.rows.iter().enumerate().map(|(index, row)| (I::new(index), row))
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (I, &mut T)> {
        self.rows.iter_mut().enumerate().map(|(index, row)| (I::new(index), row))
    }

    /// Puts a new row into a place that is free, or at the end; where.
    pub(crate) fn place(&mut self, free: &mut Vec<I>, new: T) -> I {
        match free.pop() {
            Some(id) => {
                self[id] = new;
                id
            }
            None => {
                self.rows.push(new);
                I::new(self.rows.len() - 1)
            }
        }
    }
}

/// How many are looked at before one more is remembered than should be.
const LOOKS: usize = 8;

/// Goes round a list in search of what can be forgotten: what was used since it came by last is
/// spared once (the "clock" of virtual memory).
#[derive(Debug, Default)]
pub(super) struct ClockHand(usize);

impl ClockHand {
    /// The next that can go, if it is not far.
    pub(super) fn find<I: Id, T>(
        &mut self,
        list: &mut Table<I, T>,
        mut can_go: impl FnMut(&mut T) -> bool,
    ) -> Option<I> {
        for _ in 0..LOOKS.min(list.len()) {
            let index = self.0 % list.len();
            self.0 = index + 1;
            if can_go(&mut list[I::new(index)]) {
                return Some(I::new(index));
            }
        }
        None
    }
}
