//! Traffic classes: a separate queue for each, and a policy between them (pFabric section 2.5).

mod strict;
mod weighted;

pub use strict::Strict;
pub use weighted::Weighted;

use super::{AnyPort, Builder, Outlet, PFabric, Queue, QueueKind};
use crate::packet::{CLASSES, PacketArena, PacketId};
use sojourn_core::parameters::{Check, Refusal, Value, defaults};
use sojourn_core::{CodeFailed, Streams, Time, parameters, variants};
use strict::Strictly;
use weighted::ByWeight;

parameters! {
    /// A queue for each traffic class, each with its own buffer, and a policy between them:
    /// "operating the pFabric priority scheduling and dropping mechanisms within individual traffic
    /// classes in an hierarchical fashion" (pFabric section 2.5). The class of a packet, its ACKs
    /// too, is that of its flow.
    pub struct Classes: "classes" {
        /// The queue of each class, from class 0 on. Flows of further classes use the last one.
        pub inside: Vec<QueueKind> = vec![
            QueueKind::PFabric(defaults::<PFabric>()),
            QueueKind::PFabric(defaults::<PFabric>()),
        ],
        /// Which waiting class is served next.
        pub between: Between = Between::Weighted(defaults()),
    }
}

impl Check for Classes {
    fn check(&self) -> Result<(), Refusal> {
        if !(1..=CLASSES).contains(&self.inside.len()) {
            let expected = format!("a list of 1 to {CLASSES} queues, one per class");
            return Err(Refusal::of(&self.inside, expected).under("inside"));
        }
        if let Some(queue) = self.inside.iter().find(|queue| matches!(queue, QueueKind::Classes(_)))
        {
            let given = Value::Text(queue.name().to_owned());
            let expected = "a queue of another kind: a class has no classes inside";
            return Err(Refusal::value(&given, expected).under("inside"));
        }
        match &self.between {
            Between::Weighted(weighted) => weighted.check_count(self.inside.len()),
            Between::Strict(_) => Ok(()),
        }
    }
}

/// Chooses among classes at one port.
trait Policy {
    /// For so many classes.
    type Params;

    /// No class has been served yet.
    fn new(params: &Self::Params, classes: usize) -> Self;

    /// A packet has come to a class in which none waited.
    fn joins(&mut self, class: usize);

    /// Which of the classes in `waiting`, a bit for each and at least one, goes next.
    fn next(&self, waiting: u8) -> usize;

    /// A packet of `size` bytes of a class is sent.
    fn sends(&mut self, class: usize, size: u16);
}

/// Declares the policies, one line each: the registry of their parameters, and what a port keeps.
macro_rules! policies {
    ($($variant:ident($running:ty),)+) => {
        variants! {
            /// Which of several classes goes next.
            pub enum Between: "policy between classes" { $($variant($variant),)+ }
        }

        #[derive(Debug)]
        enum Running { $($variant($running),)+ }

        impl Running {
            fn new(between: &Between, classes: usize) -> Running {
                match between {
                    $(Between::$variant(params) =>
                        Running::$variant(Policy::new(params, classes)),)+
                }
            }
            #[inline]
            fn joins(&mut self, class: usize) {
                match self { $(Running::$variant(running) => running.joins(class),)+ }
            }
            #[inline]
            fn next(&self, waiting: u8) -> usize {
                match self { $(Running::$variant(running) => running.next(waiting),)+ }
            }
            #[inline]
            fn sends(&mut self, class: usize, size: u16) {
                match self { $(Running::$variant(running) => running.sends(class, size),)+ }
            }
        }
    };
}

policies! {
    Weighted(ByWeight),
    Strict(Strictly),
}

/// What a port with classes keeps.
#[derive(Debug)]
pub struct ClassesPort {
    queues: Vec<AnyPort>,
    policy: Running,
    /// The classes in which a packet waits, a bit for each.
    waiting: u8,
}

impl Builder for Classes {
    type Port = ClassesPort;

    fn port(&self, outlet: Outlet) -> ClassesPort {
        self.of(outlet, QueueKind::port)
    }

    fn host_port(&self, outlet: Outlet) -> ClassesPort {
        self.of(outlet, QueueKind::host_port)
    }

    fn in_memory(&self, outlet: Outlet) -> ClassesPort {
        self.of(outlet, QueueKind::in_memory)
    }

    fn endless_port(&self, outlet: Outlet) -> ClassesPort {
        self.of(outlet, QueueKind::endless_port)
    }

    fn check_largest(&self, largest: u16) -> Result<(), Refusal> {
        let checks = self.inside.iter().map(|queue| queue.check_largest(largest));
        checks.collect::<Result<(), Refusal>>().map_err(|refusal| refusal.under("inside"))
    }
}

impl Classes {
    /// A port whose queues `port` makes. Class 0 draws what its queue would draw on its own.
    fn of(&self, outlet: Outlet, port: fn(&QueueKind, Outlet) -> AnyPort) -> ClassesPort {
        let others = Streams::new(outlet.stream.clone().bits(), 0);
        let own = |class| match class {
            0 => outlet.clone(),
            class => Outlet { stream: others.stream("class", class), ..outlet.clone() },
        };
        let queues = (0..).zip(&self.inside).map(|(class, queue)| port(queue, own(class)));
        ClassesPort {
            queues: queues.collect(),
            policy: Running::new(&self.between, self.inside.len()),
            waiting: 0,
        }
    }
}

impl ClassesPort {
    #[inline]
    fn class_of(&self, id: PacketId, arena: &PacketArena) -> usize {
        arena.class(id).min(self.queues.len() - 1)
    }
}

impl Queue for ClassesPort {
    #[inline]
    fn enqueue(
        &mut self,
        now: Time,
        link_free: Time,
        id: PacketId,
        arena: &mut PacketArena,
        drop: impl FnMut(PacketId, &mut PacketArena),
    ) {
        let class = self.class_of(id, arena);
        if self.queues[class].is_empty() {
            self.policy.joins(class);
        }
        self.queues[class].enqueue(now, link_free, id, arena, drop);
        self.waiting |= u8::from(!self.queues[class].is_empty()) << class;
    }

    #[inline]
    fn trims(&self, arriving: PacketId, arena: &mut PacketArena) -> bool {
        self.queues[self.class_of(arriving, arena)].trims(arriving, arena)
    }

    /// A packet of the same class has to go.
    #[inline]
    fn evict(&mut self, arriving: PacketId, arena: &mut PacketArena) -> Option<PacketId> {
        let class = self.class_of(arriving, arena);
        let victim = self.queues[class].evict(arriving, arena);
        self.waiting &= !(u8::from(self.queues[class].is_empty()) << class);
        victim
    }

    #[inline]
    fn dequeue(
        &mut self,
        now: Time,
        arena: &mut PacketArena,
        drop: impl FnMut(PacketId, &mut PacketArena),
    ) -> Option<PacketId> {
        let class = self.policy.next(self.waiting);
        let next = self.queues[class].dequeue(now, arena, drop);
        self.waiting &= !(u8::from(self.queues[class].is_empty()) << class);
        self.policy.sends(class, next.map_or(0, |id| arena[id].size));
        next
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    fn waiting(&self, arena: &PacketArena) -> Vec<PacketId> {
        self.queues.iter().flat_map(|queue| queue.waiting(arena)).collect()
    }

    fn peak(&self) -> u64 {
        self.queues.iter().map(Queue::peak).max().unwrap_or(0)
    }

    fn failure(&self) -> Option<&CodeFailed> {
        self.queues.iter().find_map(AnyPort::failure)
    }
}

#[cfg(test)]
mod tests;
