//! A port by itself through a window: what arrives at it and its service, merged in one loop.

use super::border::Border;
use super::fabric::at;
use super::layout::Unit;
use super::{Fabric, Port};
use crate::packet::{PacketId, Slab};
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
        slab: &mut Slab,
        drop: impl FnMut(PacketId, &mut Slab),
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
    fabric: &mut Fabric<'_, impl Border>,
    keeper: &mut impl Keeper<S>,
) {
    let Fabric { arrivals, slab, links, routing, .. } = fabric;
    let mut first = arrivals.take(unit.nth, slab);
    let mut next = slab.known(first).arrives();
    loop {
        let port = at(ports, unit);
        let (leaves, id) = if !port.queue.is_empty() && port.free < next {
            let id = port.queue.dequeue(slab);
            // A place that is free keeps its packet until another is put in.
            slab.free(id);
            keeper.left(&mut port.share, slab.known(id).size, port.free);
            (port.free, id)
        } else if Slab::is_end(first) {
            break;
        } else {
            let (id, now) = (first, next);
            first = slab.known(id).next;
            next = slab.known(first).arrives();
            let idle = port.queue.is_empty() && port.free <= now;
            if idle && next > now {
                port.queue.pass(slab.known_mut(id));
                (now, id)
            } else if D::AHEAD {
                let leaves = port.free.max(now);
                if !port.queue.line_up(slab.known_mut(id), now, leaves) {
                    links.figures.dropped_at(routing.is_edge(unit.place));
                    continue;
                }
                (leaves, id)
            } else {
                if idle {
                    port.free = now;
                }
                let id = slab.insert_copy(id);
                keeper.offer(port, id, slab, |id, slab| {
                    links.figures.dropped_at(routing.is_edge(unit.place));
                    slab.free(id);
                });
                continue;
            }
        };
        links.launch(port, leaves, id, slab);
    }
    let port = at(ports, unit);
    if !port.queue.is_empty() {
        port.visit_at(port.free, &mut links.wheel, fabric.open, unit);
    }
}
