//! Every rank ends with every contribution once: collectives are executed on sets of contributors, byte by byte,
//! with messages that arrive in a random order.

use crate::common::{collective, kinds};
use proptest::prelude::*;
use sojourn_training::collective::*;
use std::collections::VecDeque;

/// A message under way, with the contributors to each of its bytes.
struct Sent {
    from: u32,
    message: Message,
    content: Vec<u32>,
}

/// A sender, a channel, a receiver and a slot.
type Connection = (u32, u32, u32, u32);

struct Symbolic<'a> {
    collective: &'a Collective,
    shape: Shape,
    /// For each rank and channel.
    cursors: Vec<Cursor>,
    /// For each rank the contributors to each byte, as bits.
    buffers: Vec<Vec<u32>>,
    /// Messages in the order of their sending, for each sender and channel and receiver and slot.
    under_way: Vec<(Connection, VecDeque<Sent>)>,
    messages: u64,
    bytes: u64,
    /// For each sender and receiver the bytes sent.
    pairs: Vec<u64>,
}

impl<'a> Symbolic<'a> {
    fn new(collective: &'a Collective, shape: Shape) -> Symbolic<'a> {
        let n = shape.ranks;
        let whole = Part::whole(shape.bytes);
        let buffer = |rank: u32| {
            let own = |byte: u64| match collective.operation() {
                Operation::AllReduce | Operation::ReduceScatter => true,
                Operation::AllGather => {
                    let block = whole.block(rank, n);
                    (block.start..block.start + block.bytes).contains(&byte)
                }
                Operation::Broadcast => rank == root(collective),
                Operation::AllToAll | Operation::SendReceive => true,
            };
            (0..shape.bytes).map(|byte| if own(byte) { 1 << rank } else { 0 }).collect()
        };
        Symbolic {
            collective,
            shape,
            cursors: (0..n * collective.channels())
                .map(|one| {
                    Cursor::new(
                        collective,
                        shape,
                        one / collective.channels(),
                        one % collective.channels(),
                    )
                })
                .collect(),
            buffers: (0..n).map(buffer).collect(),
            under_way: Vec::new(),
            messages: 0,
            bytes: 0,
            pairs: vec![0; (n * n) as usize],
        }
    }

    /// Executes everything; `random` decides what happens next.
    fn run(&mut self, mut random: impl FnMut(usize) -> usize) {
        loop {
            let senders = self.cursors.len();
            let choice = random(senders + self.under_way.len());
            let happened = match choice < senders {
                true => self.send(choice),
                false => self.deliver(choice - senders),
            };
            if !happened && !(0..senders).any(|one| self.send(one)) && !self.deliver(0) {
                break;
            }
        }
        for cursor in &self.cursors {
            assert!(cursor.is_finished(), "{cursor:?}");
        }
    }

    fn send(&mut self, place: usize) -> bool {
        let Some(message) = self.cursors[place].send(self.collective, self.shape) else {
            return false;
        };
        let channels = self.collective.channels();
        let (from, channel) = (place as u32 / channels, place as u32 % channels);
        assert_ne!(message.to, from);
        let part = message.part.start as usize..(message.part.start + message.part.bytes) as usize;
        let content = self.buffers[from as usize][part].to_vec();
        self.messages += 1;
        self.bytes += message.part.bytes;
        self.pairs[(from * self.shape.ranks + message.to) as usize] += message.part.bytes;
        let key = (from, channel, message.to, message.slot);
        let sent = Sent { from, message, content };
        match self.under_way.iter_mut().find(|queue| queue.0 == key) {
            Some(queue) => queue.1.push_back(sent),
            None => self.under_way.push((key, VecDeque::from([sent]))),
        }
        true
    }

    fn deliver(&mut self, place: usize) -> bool {
        if self.under_way.is_empty() {
            return false;
        }
        let ((_, channel, to, slot), queue) = &mut self.under_way[place];
        let sent = queue.pop_front().expect("an empty queue is removed");
        let (channel, to, slot) = (*channel, *to, *slot);
        if queue.is_empty() {
            self.under_way.swap_remove(place);
        }
        assert!(slot < self.collective.slots(self.shape));
        let start = sent.message.part.start as usize;
        let moves =
            matches!(self.collective.operation(), Operation::AllToAll | Operation::SendReceive);
        for (own, theirs) in self.buffers[to as usize][start..].iter_mut().zip(sent.content) {
            if sent.message.reduce {
                assert_eq!(*own & theirs, 0, "a contribution counts twice");
                *own |= theirs;
            } else if !moves {
                assert_ne!(theirs, 0, "nothing is there to send");
                *own = theirs;
            }
        }
        assert_ne!(sent.from, to);
        self.cursors[(to * self.collective.channels() + channel) as usize].arrived(slot);
        true
    }

    /// Checks the buffers in the end, and how many bytes went where.
    fn check(&self) {
        let (n, s) = (self.shape.ranks, self.shape.bytes);
        let whole = Part::whole(s);
        let everyone = (1_u64 << n) as u32 - 1;
        let others = u64::from(n - 1);
        for rank in 0..n {
            let buffer = &self.buffers[rank as usize];
            let block = |of: u32| {
                let block = whole.block(of, n);
                &buffer[block.start as usize..(block.start + block.bytes) as usize]
            };
            match self.collective.operation() {
                Operation::AllReduce => assert!(buffer.iter().all(|&bits| bits == everyone)),
                Operation::ReduceScatter => {
                    assert!(block(rank).iter().all(|&bits| bits == everyone))
                }
                Operation::AllGather => {
                    assert!((0..n).all(|of| block(of).iter().all(|&bits| bits == 1 << of)));
                }
                Operation::Broadcast => {
                    assert!(buffer.iter().all(|&bits| bits == 1 << root(self.collective)));
                }
                Operation::AllToAll => {
                    for to in (0..n).filter(|&to| to != rank) {
                        let sent = self.pairs[(rank * n + to) as usize];
                        assert_eq!(sent, whole.block(to, n).bytes);
                    }
                }
                Operation::SendReceive if n == 1 => {}
                Operation::SendReceive => {
                    assert_eq!(self.pairs[(rank * n + (rank + 1) % n) as usize], s);
                }
            }
        }
        let bytes = match self.collective.operation() {
            Operation::AllReduce => 2 * others * s,
            Operation::SendReceive => u64::from(n) * s * u64::from(n > 1),
            _ => others * s,
        };
        assert_eq!(self.bytes, bytes);
    }
}

fn root(collective: &Collective) -> u32 {
    match collective {
        Collective::ChainBroadcast(chain) => chain.root,
        Collective::BinomialBroadcast(tree) => tree.root,
        _ => 0,
    }
}

/// Random numbers of a linear congruential generator (Knuth's MMIX).
fn random(seed: u64) -> impl FnMut(usize) -> usize {
    let mut state = seed;
    move |below| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    }
}

fn execute(collective: &Collective, shape: Shape, seed: u64) -> u64 {
    let mut symbolic = Symbolic::new(collective, shape);
    symbolic.run(random(seed));
    symbolic.check();
    symbolic.messages
}

#[test]
fn every_rank_ends_with_every_contribution() {
    for kind in kinds() {
        for ranks in 1..=17 {
            for (channels, pieces, chunk) in [(1, 1, 1000), (2, 3, 1000), (3, 2, 7)] {
                let settings = [
                    ("channels", channels),
                    ("pairs", channels),
                    ("pieces", pieces),
                    ("chunk", chunk),
                ];
                let collective = collective(kind, &settings);
                for bytes in [1, 97, 240] {
                    execute(&collective, Shape { ranks, bytes }, bytes);
                }
            }
        }
    }
}

#[test]
fn rings_send_as_many_messages_as_their_closed_form_counts() {
    for n in 2..=17_u64 {
        // Two channels of two loops each, as a chunk holds half of what a step sends.
        let bytes = n * 24;
        let settings = [("channels", 2), ("pieces", 3), ("chunk", 6)];
        let shape = Shape { ranks: n as u32, bytes };
        let count = |kind| execute(&collective(kind, &settings), shape, n);
        assert_eq!(count("ring-all-reduce"), n * 2 * (n - 1) * 2 * 2 * 3);
        assert_eq!(count("ring-all-gather"), n * (n - 1) * 2 * 2 * 3);
        assert_eq!(count("ring-reduce-scatter"), n * (n - 1) * 2 * 2 * 3);
        assert_eq!(count("all-to-all"), n * (n - 1));
        assert_eq!(count("binomial-broadcast"), n - 1);
        assert_eq!(count("double-tree-all-reduce"), 2 * (n - 1) * 2 * (bytes / 2).div_ceil(6));
    }
}

#[test]
fn trees_over_nodes_of_several_ranks() {
    for nodes in 1..=7 {
        for node in 1..=4 {
            for kind in ["double-tree-all-reduce", "all-to-all"] {
                let collective = collective(kind, &[("node", node), ("pairs", 3), ("chunk", 9)]);
                let shape = Shape { ranks: nodes * node as u32, bytes: 131 };
                execute(&collective, shape, u64::from(nodes));
            }
        }
    }
}

proptest! {
    #![proptest_config(sojourn_properties::cases(256))]

    #[test]
    fn contributions_are_conserved_whatever_the_order_of_arrivals(
        kind in prop::sample::select(kinds()),
        ranks in 1_u32..20,
        bytes in 1_u64..400,
        channels in 1_i64..5,
        pieces in 1_i64..5,
        chunk in 1_i64..100,
        root in 0_i64..20,
        seed: u64,
    ) {
        let root = root % i64::from(ranks);
        let settings = [("channels", channels), ("pairs", channels), ("pieces", pieces), ("chunk", chunk), ("root", root)];
        execute(&collective(kind, &settings), Shape { ranks, bytes }, seed);
    }
}
