//! A port by itself through a window: what arrives at it and its service, merged in one loop.

use super::boundary::Boundary;
use super::fabric::at;
use super::layout::Unit;
use super::{Fabric, Port};
use crate::packet::{PacketArena, PacketId};
use crate::queue::Discipline;
use sojourn_core::Time;

/// What has room for the packets that wait at a port; `S` is what the port has of it.
pub(super) trait Keeper<S> {
    /// A packet comes to the queue of a port: it waits there, or others make room for it, or it is
    /// dropped. What is dropped is handed to `drop`.
    fn offer<D: Discipline>(
        &mut self,
        port: &mut Port<D, S>,
        id: PacketId,
        arena: &mut PacketArena,
        drop: impl FnMut(PacketId, &mut PacketArena),
    );

    /// A packet of `size` bytes has left the queue at `at`.
    fn left(&mut self, share: &mut S, size: u16, at: Time);
}

/// Visits a port of a switch: `unit` of the open block. The port is looked up in every turn of the
/// loop: were it held all along, the compiler would keep each of its fields on the stack.
#[inline]
#[expect(clippy::ptr_arg, reason = "of a slice the compiler knows what of a port it may keep")]
pub(super) fn visit<D: Discipline, S>(
    unit: Unit,
    ports: &mut Vec<Port<D, S>>,
    fabric: &mut Fabric<'_, impl Boundary>,
    keeper: &mut impl Keeper<S>,
) {
    let Fabric { arrivals, arena, links, routing, .. } = fabric;
    let mut first = arrivals.take(unit.nth, arena);
    let mut next = arena.known(first).arrives();
    loop {
        let port = at(ports, unit);
        let (leaves, id) = if !port.queue.is_empty() && port.free < next {
            let id = port.queue.dequeue(arena);
            // A place that is free keeps its packet until another is put in.
            arena.free(id);
            keeper.left(&mut port.share, arena.known(id).size, port.free);
            (port.free, id)
        } else if PacketArena::is_end(first) {
            break;
        } else {
            let (id, now) = (first, next);
            first = arena.known(id).next;
            next = arena.known(first).arrives();
            let idle = port.queue.is_empty() && port.free <= now;
            if idle && next > now {
                port.queue.pass(arena.known_mut(id));
                (now, id)
            } else if D::AHEAD {
                let leaves = port.free.max(now);
                if !port.queue.line_up(arena.known_mut(id), now, leaves) {
                    links.counts.dropped_at(routing.is_edge(unit.place));
                    continue;
                }
                (leaves, id)
            } else {
                if idle {
                    port.free = now;
                }
                let id = arena.insert_copy(id);
                keeper.offer(port, id, arena, |id, arena| {
                    links.counts.dropped_at(routing.is_edge(unit.place));
                    arena.free(id);
                });
                continue;
            }
        };
        links.launch(port, leaves, id, arena);
    }
    let port = at(ports, unit);
    if !port.queue.is_empty() {
        port.visit_at(port.free, &mut links.wheel, fabric.open, unit);
    }
}
