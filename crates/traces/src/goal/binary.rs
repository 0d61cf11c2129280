//! GOAL in binary form (`Parser.hpp` of LogGOPSim): little endian, without padding.
//!
//! A file has the magic number 4223, the numbers of ranks, CPUs and network cards, and for each rank where its block
//! starts and ends, counted from byte 8. A block has its nodes, 39 bytes each, and behind them the numbers of nodes
//! that wait. A file with the magic number 2342 was changed by a run of LogGOPSim and is refused.

use super::{ANY, Options, ended};
use crate::options::span;
use crate::{File, Place, TraceError};
use sojourn_training::program::{Event, Graph, GraphBuilder, NodeId, Op, Program};

const MAGIC: u64 = 4223;
const USED: u64 = 2342;
/// The bytes of a file's head, of a rank's entry in it, of a block's head and of a node.
const HEAD: usize = 8 + 4 + 1 + 1;
const ENTRY: usize = 16;
const NODE: usize = 39;
/// The bytes that offsets leave out.
const BASE: usize = 8;

/// The program of a schedule.
pub fn read(file: File, options: &Options) -> Result<Program, TraceError> {
    let refused = |place, why: &str| TraceError::new(file.name, None, place, why);
    let magic = number(file.bytes, 0, 8);
    match magic {
        Some(MAGIC) => {}
        Some(USED) => {
            let why = "LogGOPSim has changed the file during a run: make it again by txt2bin";
            return Err(refused(Place::Byte(0), why));
        }
        _ => return Err(refused(Place::Byte(0), "expected the magic number 4223 of a GOAL file")),
    }
    let ranks = number(file.bytes, 8, 4).unwrap_or(0) as u32;
    let entries = file.bytes.get(HEAD..).unwrap_or_default();
    if ranks == 0 || entries.len() / ENTRY < ranks as usize {
        return Err(refused(
            Place::Byte(8),
            "expected from 1 rank to as many as the file has room for",
        ));
    }
    let mut graphs = Vec::new();
    // Blocks may not overlap, so that nodes are no more than the file has room for.
    let mut free = file.bytes.len();
    for rank in 0..ranks {
        let entry = rank as usize * ENTRY;
        let edge = |at| number(entries, entry + at, 8).and_then(|edge| usize::try_from(edge).ok());
        let block = edge(0).zip(edge(8)).and_then(|(start, end)| {
            let (start, end) = (start.checked_add(BASE)?, end.checked_add(BASE)?);
            free = free.checked_sub(end.checked_sub(start)?)?;
            file.bytes.get(start..end).map(|bytes| Block { bytes, start })
        });
        let block = block.ok_or_else(|| {
            let place = Place::Byte(HEAD + entry);
            TraceError::new(
                file.name,
                Some(rank),
                place,
                "its block is not in the file, which may be cut short, or overlaps another",
            )
        })?;
        let graph = block.graph(rank, ranks, options);
        let graph =
            graph.map_err(|(place, why)| TraceError::new(file.name, Some(rank), place, why))?;
        graphs.push((graph, vec![rank]));
    }
    Program::new(ranks, graphs, Vec::new(), Vec::new()).map_err(|error| {
        let at = error.at();
        let place = at.map_or(Place::File, |at| Place::Node(at.node.into()));
        TraceError::new(file.name, at.map(|at| at.rank), place, error.to_string())
    })
}

/// The unsigned number of `size` bytes at `at`.
fn number(bytes: &[u8], at: usize, size: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(size)?)?;
    Some(bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
}

/// The block of a rank, and its place in the file.
struct Block<'a> {
    bytes: &'a [u8],
    start: usize,
}

/// Why a block is refused, and where.
type Refused = (Place, String);

impl Block<'_> {
    fn word(&self, at: usize) -> Option<u32> {
        number(self.bytes, at, 4).map(|number| number as u32)
    }

    fn graph(&self, rank: u32, ranks: u32, options: &Options) -> Result<Graph, Refused> {
        let cut = || (Place::Byte(self.start), "the block ends before its nodes".to_owned());
        let count = self.word(0).ok_or_else(cut)?;
        let roots = self.word(4).ok_or_else(cut)?;
        let first = 8 + roots as usize * 4;
        let appendix = first + count as usize * NODE;
        if appendix > self.bytes.len() {
            return Err(cut());
        }
        let mut graph = GraphBuilder::new(rank, ranks);
        let node = |node: u32| first + node as usize * NODE;
        let mut sends = Vec::new();
        for at in 0..count {
            let refused = |why| (Place::Node(at.into()), why);
            let op = self.op(node(at), options).map_err(refused)?;
            graph.add(op).map_err(|error| refused(error.to_string()))?;
            sends.push(matches!(op, Op::Send { .. }));
        }
        // Lists may not overlap, so that edges are no more than the file has room for.
        let mut free = (self.bytes.len() - appendix) / 4;
        let mut parents = vec![0_u32; count as usize];
        for at in 0..count {
            let refused = |why: &str| (Place::Node(at.into()), why.to_owned());
            let events = [(23, ended(sends[at as usize], options)), (31, Event::Started)];
            for (place, event) in events {
                let field = |more| self.word(node(at) + place + more);
                let (children, start) = field(0).zip(field(4)).expect("the node is in the block");
                let left = free.checked_sub(children as usize);
                free = left.ok_or_else(|| refused("its list of nodes that wait is cut short"))?;
                for child in 0..children as usize {
                    let place = appendix + (start as usize + child) * 4;
                    let child = self.word(place);
                    let child =
                        child.ok_or_else(|| refused("its list of nodes that wait is cut short"))?;
                    let edge = graph.edge(at, child as NodeId, event);
                    edge.map_err(|error| refused(&error.to_string()))?;
                    parents[child as usize] += 1;
                }
            }
        }
        for at in 0..count {
            let said = self.word(node(at)).expect("the node is in the block");
            if said != parents[at as usize] {
                let why =
                    format!("it waits for {said} nodes, but {} name it", parents[at as usize]);
                return Err((Place::Node(at.into()), why));
            }
        }
        graph.build().map_err(|error| {
            let place = error.at().map_or(Place::File, |at| Place::Node(at.node.into()));
            (place, error.to_string())
        })
    }

    /// The node at `at`: the number of its parents, its type, the peer, the size, the tag, the CPU and the card.
    fn op(&self, at: usize, options: &Options) -> Result<Op, String> {
        let field = |place, size| number(self.bytes, at + place, size).expect("it is in the block");
        let (kind, peer, size) = (field(4, 1), field(5, 4) as u32, field(9, 8));
        let (tag, stream) = (field(17, 4) as u32, field(21, 1) as u8);
        let named = |what: &str, number: u32| match number {
            ANY => Err(format!("any {what} (-1) is not supported: name one")),
            number => Ok(number),
        };
        match kind {
            1 => Ok(Op::Send { to: named("rank", peer)?, tag: named("tag", tag)?, bytes: size }),
            2 => Ok(Op::Receive { from: named("rank", peer)?, tag: named("tag", tag)? }),
            3 => {
                let span = span(size, options.unit).ok_or("the calc takes longer than 2400h")?;
                Ok(Op::Compute { stream, span })
            }
            kind => Err(format!("its type is {kind}, expected 1 (send), 2 (recv) or 3 (calc)")),
        }
    }
}
