//! Each port of a switch by itself, with the buffer of its discipline.

use super::switches::Switches;
use super::{Engine, Port, Scene};
use crate::packet::{NIL, Slab};
use crate::qdisc::Discipline;
use crate::topology::Network;

/// Ports share nothing.
pub(super) struct Apart;

impl Switches for Apart {
    type Share = ();

    fn shares(_: &Scene) -> impl Iterator<Item = ()> {
        std::iter::repeat(())
    }

    /// Visits it at once: what arrives and the port's service, merged in one loop.
    #[inline]
    fn visit<D: Discipline, T>(engine: &mut Engine<'_, D, T, Apart>, unit: u32) {
        let port = &mut engine.ports[unit as usize];
        let fabric = &mut engine.fabric;
        let mut first = fabric.mailbox.take(unit, &mut fabric.slab);
        let mut next = fabric.slab.known(first).arrives();
        loop {
            let (at, id) = if !port.queue.is_empty() && port.free < next {
                (port.free, port.queue.dequeue(&mut fabric.slab))
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
                    let dropped = &mut fabric.figures.dropped_at_switches;
                    port.queue.enqueue(id, &mut fabric.slab, |id, slab| {
                        *dropped += 1;
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

    #[inline]
    fn all_came<D: Discipline, T>(_: &mut Engine<'_, D, T, Apart>) {}

    fn hold<D: Discipline>(&self, _: &Network, _: &[Port<D, ()>], _: &Slab) -> bool {
        true
    }

    fn peak(&self) -> Option<u64> {
        None
    }
}
