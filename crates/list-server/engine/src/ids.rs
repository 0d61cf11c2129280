//! Ids that index tables, and tables that only the ids of their type index.
//!
//! Ids that leave the engine for good (messages, sessions, writes) are in [`crate::event`].

use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// An id that says a row of a table.
pub(crate) trait Id: Copy {
    /// The id of the row that stands at `index`.
    fn new(index: usize) -> Self;

    /// Where its row stands.
    fn index(self) -> usize;
}

macro_rules! ids {
    ($($(#[$words:meta])* $visibility:vis struct $Name:ident;)+) => { $(
        $(#[$words])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        $visibility struct $Name($visibility u32);

        impl Id for $Name {
            fn new(index: usize) -> $Name {
                $Name(u32::try_from(index).expect("a table has fewer than 2^32 rows"))
            }

            fn index(self) -> usize {
                self.0 as usize
            }
        }
    )+ };
}

ids! {
    /// A recipient's place in its message's list, from 0.
    pub struct RecipientIndex;

    /// A destination, a domain of recipients; the id of one that is forgotten is given again.
    pub struct DestinationId;

    /// A host, one address; the id of one that is forgotten is given again.
    pub(crate) struct HostId;

    /// A network, hosts whose addresses are near each other.
    pub(crate) struct NetworkId;

    /// An envelope, recipients of one message whose groups are worked off one after the other.
    pub(crate) struct EnvelopeId;
}

impl RecipientIndex {
    /// The indices of a list's recipients, in its order.
    pub fn all() -> impl Iterator<Item = RecipientIndex> {
        (0..).map(RecipientIndex)
    }

    /// Its place in a list.
    pub fn index(self) -> usize {
        Id::index(self)
    }
}

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
