//! The connections there are, found by their lines at once.

use super::server::Server;
use super::witness::Line;
use crate::engine::MessageId;
use slab::Slab;
use std::collections::VecDeque;

#[derive(Debug)]
pub(super) struct Connection {
    pub(super) line: Line,
    pub(super) site: u32,
    pub(super) server: Server,
    /// Whether the host counts it.
    pub(super) open: bool,
    /// Whether its server has closed it, and it is on its way out.
    pub(super) over: bool,
    /// Whether a text is on its way out, and what goes after it.
    pub(super) sending: bool,
    pub(super) behind: VecDeque<Behind>,
}

/// What goes out over a connection.
#[derive(Debug)]
pub(super) enum Behind {
    Commands(Vec<u8>),
    Text(MessageId),
}

/// Where the connection of a line is.
#[derive(Clone, Copy, Debug)]
pub(super) struct At {
    pub(super) line: Line,
    place: u32,
}

/// A connection may outlast its session: what is on the wire still comes, and its host counts it.
#[derive(Debug, Default)]
pub(super) struct Connections {
    list: Slab<Connection>,
    /// The last connection of a session of each slot.
    of_slot: Vec<u32>,
}

impl Connections {
    pub(super) fn add(&mut self, connection: Connection) -> At {
        let (line, slot) = (connection.line, connection.line.1.slot());
        let place = self.list.insert(connection) as u32;
        if self.of_slot.len() <= slot {
            self.of_slot.resize(slot + 1, u32::MAX);
        }
        self.of_slot[slot] = place;
        At { line, place }
    }

    /// Where the connection of a session is, if there is one, that the engine has not closed.
    pub(super) fn find(&self, line: Line) -> At {
        At { line, place: self.of_slot[line.1.slot()] }
    }

    pub(super) fn get(&self, here: At) -> Option<&Connection> {
        self.list.get(here.place as usize).filter(|it| it.line == here.line)
    }

    pub(super) fn get_mut(&mut self, here: At) -> Option<&mut Connection> {
        self.list.get_mut(here.place as usize).filter(|it| it.line == here.line)
    }

    pub(super) fn remove(&mut self, here: At) -> Option<Connection> {
        self.get(here)?;
        Some(self.list.remove(here.place as usize))
    }

    /// Those of one life of the engine, the oldest first.
    pub(super) fn of_life(&self, life: u32) -> Vec<At> {
        let here = |(place, it): (usize, &Connection)| At { line: it.line, place: place as u32 };
        let mut all: Vec<At> =
            self.list.iter().filter(|(_, it)| it.line.0 == life).map(here).collect();
        all.sort_unstable_by_key(|here| here.line);
        all
    }
}
