//! Ids that index the tables of the engine ([`crate::table`]).
//!
//! Ids that leave the engine for good (messages, sessions, writes) are in [`crate::event`].

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

    /// Limits that destinations share; the id of those that are forgotten is given again.
    pub(crate) struct ShaperId;

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
