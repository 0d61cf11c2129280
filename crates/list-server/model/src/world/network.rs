//! Connections: what goes over them, and how long it is under way.

use super::host::{ConnectionAnswer, Host, SessionView};
use super::observer::{Line, Restart, WorldObserver};
use super::server::{Answer, Server};
use super::{World, WorldEvent};
use slab::Slab;
use sojourn_core::{Span, Time};
use sojourn_mail_engine::{Event, MessageId};
use std::collections::VecDeque;
use std::net::IpAddr;

impl<H: Host, W: WorldObserver> World<H, W> {
    pub(super) fn half(&self, connection: &Connection) -> Span {
        self.sites[connection.site as usize].host.round_trip() / 2
    }

    pub(super) fn connect(&mut self, line: Line, address: IpAddr) {
        self.observer.opens(self.now, line, address);
        let site = self.by_address[&address];
        let server = Server::default();
        let (sending, behind) = (false, VecDeque::new());
        let connection =
            Connection { line, site, server, open: false, over: false, sending, behind };
        let here = self.connections.add(connection);
        let leaves = self.stations.connects(self.now);
        let host = &mut self.sites[site as usize].host;
        let at = leaves.after(host.round_trip());
        match host.connection_answer(leaves) {
            ConnectionAnswer::Open => self.calendar.schedule(at, WorldEvent::Arrives(here)),
            ConnectionAnswer::Closed => {
                self.calendar.schedule(at, WorldEvent::Closed(line, "connection refused"));
                self.calendar.schedule(at, WorldEvent::HungUp(here));
            }
            ConnectionAnswer::Silent => {}
        }
    }

    pub(super) fn arrives(&mut self, here: At) {
        let Some(connection) = self.connections.get_mut(here) else { return };
        let line = connection.line;
        connection.open = true;
        let site = &mut self.sites[connection.site as usize];
        site.connections += 1;
        let view = SessionView { now: self.now, connections: site.connections, recipients: 0 };
        let answer = connection.server.greet(&mut site.host, view);
        let (half, thinking) = (site.host.round_trip() / 2, site.host.thinking());
        // The handshake's end reaches the client a little before the greeting.
        if line.0 == self.life {
            self.tell(Event::Connected(line.1));
        }
        self.answer(here, answer, self.now, half, thinking);
    }

    /// Commands or a text go out, after the text that is on its way.
    pub(super) fn order(&mut self, line: Line, order: Behind) {
        let here = self.connections.find(line);
        match (self.connections.get_mut(here), order) {
            (Some(connection), order) if connection.sending => connection.behind.push_back(order),
            (_, Behind::Commands(bytes)) => self.send(line, &bytes),
            (connection, Behind::Text(message)) => {
                if let Some(connection) = connection {
                    connection.sending = true;
                }
                let at = self.stations.sends(self.now, self.observer.size(message));
                self.calendar.schedule(at, WorldEvent::Out(here, message));
            }
        }
    }

    /// Commands go out. What the server makes of them is known now: on one connection, and among
    /// those of one host, they come in the order in which they leave.
    pub(super) fn send(&mut self, line: Line, bytes: &[u8]) {
        let here = self.connections.find(line);
        let Some(connection) = self.connections.get_mut(here) else { return };
        if connection.over || !connection.open {
            return;
        }
        let site = &mut self.sites[connection.site as usize];
        let half = site.host.round_trip() / 2;
        let reached = self.now + half;
        let view = SessionView { now: reached, connections: site.connections, recipients: 0 };
        let observer = &mut self.observer;
        let rcpt = |recipient: &str, taken| observer.named(line, recipient, taken);
        let answer = connection.server.read(&mut site.host, view, bytes, rcpt);
        if !answer.bytes.is_empty() || answer.closes {
            let thinking = site.host.thinking();
            self.answer(here, answer, reached, half, thinking);
        }
    }

    /// A text is out: the engine hears so, and the host has it half a round trip later.
    pub(super) fn out(&mut self, here: At, message: MessageId) {
        self.read_text(here, message);
        if let Some(connection) = self.connections.get_mut(here) {
            connection.sending = false;
            for order in std::mem::take(&mut connection.behind) {
                self.order(here.line, order);
            }
        }
        // Commands that follow at once come after the text.
        self.tell(Event::Written(here.line.1, 1));
    }

    fn read_text(&mut self, here: At, message: MessageId) {
        let line = here.line;
        let Some(connection) = self.connections.get_mut(here).filter(|it| !it.over) else { return };
        let site = &mut self.sites[connection.site as usize];
        let half = site.host.round_trip() / 2;
        let reached = self.now + half;
        let view = SessionView { now: reached, connections: site.connections, recipients: 0 };
        let answer = connection.server.text(&mut site.host, view);
        let thinking = site.host.thinking();
        if answer.took {
            self.observer.took(reached, line, message);
        }
        self.answer(here, answer, reached, half, thinking);
    }

    /// What a server says, at the time `reached` and after some thought, goes to the client.
    fn answer(&mut self, here: At, answer: Answer, reached: Time, half: Span, thinking: Span) {
        let (at, line) = (reached + thinking + half, here.line);
        if !answer.bytes.is_empty() {
            self.calendar.schedule(at, WorldEvent::Heard(line, answer.bytes));
        }
        if answer.closes {
            if let Some(connection) = self.connections.get_mut(here) {
                connection.over = true;
            }
            self.calendar.schedule(reached, WorldEvent::HungUp(here));
            self.calendar.schedule(at, WorldEvent::Closed(line, "reset by peer"));
        }
    }

    /// The connection is gone for its host.
    pub(super) fn hung_up(&mut self, here: At) {
        if let Some(connection) = self.connections.remove(here)
            && connection.open
        {
            self.sites[connection.site as usize].connections -= 1;
        }
    }

    /// The power goes and comes back: nothing is left but what is stored, and what is on the wire.
    pub(super) fn restart(&mut self) {
        for here in self.connections.of_life(self.life) {
            let connection = self.connections.get(here).expect("a listed connection is known");
            let at = self.now + self.half(connection);
            self.calendar.schedule(at, WorldEvent::HungUp(here));
        }
        self.life += 1;
        self.wake = Time::NEVER;
        let Restart { engine, stored, due } = self.observer.reborn(self.now);
        self.engine = engine;
        for stored in stored {
            self.tell(Event::Restored(stored));
        }
        for (at, due) in due {
            self.remind(at, due);
        }
    }
}

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
