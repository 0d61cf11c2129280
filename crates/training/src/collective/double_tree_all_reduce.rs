//! All-reduce by NCCL's double binary tree.

use super::{Links, Message, Need, Operation, Part, Place, Port, Shape, Steps, double_tree};
use sojourn_core::parameters::{Check, Refusal};
use sojourn_core::{Bytes, Span, parameters};

parameters! {
    /// All-reduce by NCCL's double binary tree, about 2 log2 n steps: its algorithm for small buffers on many
    /// nodes. Half of the buffer is reduced up and broadcast down each of two trees over nodes. The ranks of a
    /// node are a chain below its head.
    pub struct DoubleTreeAllReduce: "double-tree-all-reduce" {
        /// How many pairs of trees share the buffer, and on a host with one network card the card. Each pair has
        /// its own head on a node, so with fewer pairs than ranks of a node some network cards idle. With too
        /// many, messages are small and every one pays its headers.
        pub pairs: u8 [1..=32] = 1,
        /// The most bytes of a message (NCCL: 512 KiB with its protocol Simple). Too small, and many messages pay
        /// their headers. Too large, and each level of the tree waits long for the one below.
        pub chunk: Bytes = Bytes(512 << 10),
        /// How many ranks a node has. Too few, and messages within a node cross the network in the tree. Too many,
        /// and ranks of different nodes form a chain, which is slower than a tree.
        pub node: u16 [1..=1024] = 1,
    }
}

impl Check for DoubleTreeAllReduce {
    fn check(&self) -> Result<(), Refusal> {
        match self.chunk {
            Bytes(0) => Err(Refusal::of(&self.chunk, "a size of at least 1 B").under("chunk")),
            _ => Ok(()),
        }
    }
}

/// The slot of messages from the parent, from the next rank of the chain, and from the two nodes below.
const PARENT: u32 = 0;
const CHAIN: u32 = 1;
const NODES: [u32; 2] = [2, 3];
const SLOTS: u32 = 4;

const UP: u32 = 0;

/// The neighbours of a rank on a channel.
struct Neighbours {
    /// The parent, and the slot there that this rank counts up.
    parent: Option<(u32, u32)>,
    /// The children by the slots that they count up here.
    children: [Option<u32>; SLOTS as usize],
}

impl Neighbours {
    fn children(&self) -> impl Iterator<Item = (u32, u32)> {
        (0..SLOTS).filter_map(|slot| self.children[slot as usize].map(|child| (slot, child)))
    }

    /// The arrival of the `piece`-th message from every child.
    fn reduced(&self, piece: u64) -> [Need; 3] {
        let mut needs = [Need::default(); 3];
        for ((slot, _), need) in self.children().zip(&mut needs) {
            *need = Need { slot, count: piece + 1 };
        }
        needs
    }
}

impl DoubleTreeAllReduce {
    fn neighbours(&self, shape: Shape, at: Place) -> Neighbours {
        let size = u32::from(self.node);
        let (tree, head) = (at.channel % 2, at.channel / 2 % size);
        let nodes = shape.ranks / size;
        let own = at.rank / size;
        let place = (at.rank % size + size - head) % size;
        let rank = |node: u32, place: u32| node * size + (head + place) % size;
        let links = match place {
            0 => double_tree(own, tree, nodes),
            _ => Links::default(),
        };
        let mut children = [None; SLOTS as usize];
        children[CHAIN as usize] = (place + 1 < size).then(|| rank(own, place + 1));
        for (slot, child) in NODES.iter().zip(links.children) {
            children[*slot as usize] = child.map(|node| rank(node, 0));
        }
        let parent = match (place, links.parent) {
            (0, None) => None,
            (0, Some(node)) => {
                let second = double_tree(node, tree, nodes).children[1] == Some(own);
                Some((rank(node, 0), NODES[usize::from(second)]))
            }
            _ => Some((rank(own, place - 1), CHAIN)),
        };
        Neighbours { parent, children }
    }

    fn part(&self, shape: Shape, at: Place) -> Part {
        Part::whole(shape.bytes).block(at.channel, self.channels())
    }

    fn pieces(&self, shape: Shape, at: Place) -> u64 {
        self.part(shape, at).bytes.div_ceil(self.chunk.0).max(1)
    }

    /// The number of ranks on the longest way to a root.
    fn depth(&self, shape: Shape) -> u64 {
        let nodes = shape.ranks / u32::from(self.node);
        let above = |node| double_tree(node, 0, nodes).parent;
        let depth = |node| std::iter::successors(above(node), |&node| above(node)).count();
        let deepest = (0..nodes).map(depth).max().unwrap_or(0);
        deepest as u64 + u64::from(self.node) - 1
    }

    /// The most bytes that a rank sends, or receives, on all channels together.
    fn busiest(&self, shape: Shape) -> u64 {
        let bytes = |rank: u32| {
            let on = |channel| {
                let at = Place { rank, channel, lane: UP };
                let neighbours = self.neighbours(shape, at);
                let count =
                    neighbours.children().count() + usize::from(neighbours.parent.is_some());
                self.part(shape, at).bytes * count as u64
            };
            (0..self.channels()).map(on).sum::<u64>()
        };
        (0..shape.ranks).map(bytes).max().unwrap_or(0)
    }
}

impl Steps for DoubleTreeAllReduce {
    const OPERATION: Operation = Operation::AllReduce;

    fn channels(&self) -> u32 {
        2 * u32::from(self.pairs)
    }

    fn slots(&self, _: Shape) -> u32 {
        SLOTS
    }

    fn two_lanes(&self) -> bool {
        true
    }

    fn steps(&self, shape: Shape, at: Place) -> u64 {
        let neighbours = self.neighbours(shape, at);
        let targets = match at.lane {
            UP => usize::from(neighbours.parent.is_some()),
            _ => neighbours.children().count(),
        };
        self.pieces(shape, at) * targets as u64
    }

    fn arrivals(&self, shape: Shape, at: Place) -> u64 {
        let neighbours = self.neighbours(shape, at);
        let sources = neighbours.children().count() + usize::from(neighbours.parent.is_some());
        self.pieces(shape, at) * sources as u64
    }

    /// Up: a piece, when all children have sent theirs. Down: a piece to each child, when the parent has sent it;
    /// at the root, when all children have.
    fn step(&self, shape: Shape, at: Place, index: u64) -> Option<Message> {
        let neighbours = self.neighbours(shape, at);
        let pieces = self.pieces(shape, at);
        let piece = |number| self.part(shape, at).block(number, pieces);
        if at.lane == UP {
            let (to, slot) = neighbours.parent?;
            let needs = neighbours.reduced(index);
            return Some(Message { to, slot, part: piece(index), reduce: true, needs });
        }
        let children = neighbours.children().count() as u64;
        let (number, child) = (index / children, index % children);
        let (_, to) = neighbours.children().nth(child as usize)?;
        let needs = match neighbours.parent {
            Some(_) => [Need { slot: PARENT, count: number + 1 }, Need::default(), Need::default()],
            None => neighbours.reduced(number),
        };
        Some(Message { to, slot: PARENT, part: piece(number), reduce: false, needs })
    }

    /// An estimate: the bytes of the busiest rank at full rate, and a message alone up and down all levels. If each
    /// channel sends in turn, up to 32 ranks take 0.82 to 1.08 times as long.
    fn time(&self, shape: Shape, port: &Port) -> Span {
        let at = Place { rank: 0, channel: 0, lane: UP };
        let piece = self.part(shape, at).bytes.div_ceil(self.pieces(shape, at));
        let levels = port.alone(piece).saturating_mul(2 * self.depth(shape));
        port.serial(self.busiest(shape)).saturating_add(levels)
    }

    fn check_for(&self, ranks: u32) -> Result<(), String> {
        match ranks % u32::from(self.node) {
            0 => Ok(()),
            _ => Err(format!("a group of {ranks} ranks has no whole nodes of {} ranks", self.node)),
        }
    }
}
