//! A port by itself through a window: what arrives at it and its service, merged in one loop.

use super::border::Border;
use super::{Fabric, Port};
use crate::packet::{NIL, PacketId, Slab};
use crate::qdisc::Discipline;
use sojourn_kernel::Time;

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

/// Visits `port` of a switch, number `unit`.
#[inline]
pub(super) fn visit<D: Discipline, S>(
    unit: u32,
    port: &mut Port<D, S>,
    fabric: &mut Fabric<'_, impl Border>,
    keeper: &mut impl Keeper<S>,
) {
    let mut first = fabric.mailbox.take(unit, &mut fabric.slab);
    let mut next = fabric.slab.known(first).arrives();
    loop {
        // Who sends ahead does so before the next packet comes, whenever this one leaves.
        let (at, id) = if !port.queue.is_empty() && (D::AHEAD || port.free < next) {
            let id = port.queue.dequeue(&mut fabric.slab);
            keeper.left(&mut port.share, fabric.slab.known(id).size, port.free);
            (port.free, id)
        } else if first == NIL {
            break;
        } else {
            let (id, now) = (first, next);
            first = fabric.slab.known(id).next;
            next = fabric.slab.known(first).arrives();
            let idle = port.queue.is_empty() && port.free <= now;
            if idle && next > now {
                port.queue.pass(fabric.slab.known_mut(id));
                (now, id)
            } else {
                if idle {
                    port.free = now;
                }
                let (network, figures) = (fabric.network, &mut fabric.figures);
                port.queue.at(now, port.free);
                keeper.offer(port, id, &mut fabric.slab, |id, slab| {
                    figures.dropped_at(unit, network);
                    slab.free(id);
                });
                continue;
            }
        };
        fabric.launch(port, at, id);
    }
    if !port.queue.is_empty() {
        fabric.mailbox.visit(unit, port.free);
    }
}
