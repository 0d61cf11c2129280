//! Chakra execution traces (MLCommons, ASTRA-sim): one file a rank.
//!
//! A file is a sequence of messages, each behind its length: first metadata, then nodes in any order. What is
//! replayed, and how:
//!
//! - a compute node takes its duration, or 1 ns if that is 0, as in ASTRA-sim; with [`Options::flops`], a node without
//!   a duration takes its operations at this speed. CPU operations have a stream of their own, and so have loads
//!   and stores;
//! - a collective's size is the part of one rank for all-gathers, and the whole buffer for all others, as in
//!   ASTRA-sim. Its n-th call in a group is the n-th of the other ranks, in the order of the ids of nodes;
//! - a node waits for its data and its control dependencies, unless [`Options::control`] says otherwise. Traces of one
//!   and the same file differ in time by that: ASTRA-sim's feeder waited for data only until 2025.
//!
//! A collective on the CPU without a type is the call of one in PyTorch (a public sample has it): it computes. Nodes
//! without a type and metadata take no time.
//!
//! Refused: reduce, gather, scatter, barrier, storage nodes, and collectives of some dimensions of a network only.

mod node;
mod protobuf;

use crate::options::span;
use crate::{File, Place, SendEnd, TraceError};
use node::Node;
use protobuf::{Broken, Fields};
use sojourn_core::Span;
use sojourn_core::parameters::Value;
use sojourn_core::tree::{Fault, Malformed, Tree};
use sojourn_training::collective::{Collective, Operation};
use sojourn_training::program::{
    Call, Event, Execution, Graph, GraphBuilder, Groups, NodeId, Op, Program, ProgramError,
};
use std::collections::BTreeMap;

/// What traces leave open.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// Whether control dependencies are ignored.
    pub control: Control,
    /// When a send ends.
    pub send_end: SendEnd,
    /// Operations that a rank computes in a second, for nodes without a duration.
    pub flops: Option<f64>,
    /// The ranks of each process group, by its name (`pg_name`). A call without a name is of all ranks, and so is a
    /// call of the group "0" unless that is listed here.
    pub groups: BTreeMap<String, Vec<u32>>,
}

/// Which dependencies a node waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Control {
    /// Data and control dependencies.
    #[default]
    Waited,
    /// Data dependencies only.
    Ignored,
}

/// The streams of a rank: the accelerator, its CPU, and its memory.
const CPU: u8 = 1;
const MEMORY: u8 = 2;

/// The most bytes of a size, so that no rank's part of a group overflows.
const MOST_BYTES: u64 = 1 << 50;

/// The ranks of each process group, from the file that ASTRA-sim reads beside traces: a JSON object with a list of ranks
/// for each name, such as `{"1": [0, 1, 2, 3]}`. Refuses ranks that none of `ranks` traces is of.
pub fn groups(file: File, ranks: u32) -> Result<BTreeMap<String, Vec<u32>>, TraceError> {
    let wrong = |place, why: String| TraceError::new(file.name, None, place, why);
    let expected = "expected a list of ranks for each name of a group";
    let text = std::str::from_utf8(file.bytes)
        .map_err(|_| wrong(Place::File, format!("{expected}, as UTF-8")))?;
    let tree = Tree::of_json(text).map_err(|Malformed { line, fault }| {
        let why = match fault {
            Fault::Syntax(words) => words,
            Fault::TooLarge => "a number of over 64 bits".to_owned(),
            Fault::NoSetting { given, .. } => given,
        };
        wrong(Place::Line(line), format!("{expected}: {why}"))
    })?;
    let mut groups = BTreeMap::new();
    for (name, members) in tree.root.iter() {
        let rank = |value: &Value| match value {
            Value::Int(rank) => u32::try_from(*rank).ok(),
            _ => None,
        };
        let members: Option<Vec<u32>> = match members {
            Value::List(members) => members.iter().map(rank).collect(),
            _ => None,
        };
        let line = tree.line(&[name.to_owned()]).unwrap_or(1);
        let members = members.ok_or_else(|| wrong(Place::Line(line), expected.to_owned()))?;
        groups.insert(name.to_owned(), members);
    }
    for (name, members) in &groups {
        let why = match members.iter().find(|&&rank| rank >= ranks) {
            Some(rank) => format!("rank {rank}, which is not one of {ranks} ranks"),
            None if members.is_empty() => "no rank".to_owned(),
            None if Groups::listed(ranks, vec![members.clone()]).is_err() => {
                "a rank twice".to_owned()
            }
            None => continue,
        };
        return Err(wrong(Place::File, format!("the group {name:?} names {why}")));
    }
    Ok(groups)
}

/// The program of these files: the first is rank 0's, and so on.
pub fn read(files: &[File], options: &Options) -> Result<Program, TraceError> {
    let ranks = u32::try_from(files.len()).unwrap_or(u32::MAX);
    let first = files.first().map_or("", |file| file.name);
    if ranks == 0 {
        return Err(TraceError::new("no file", None, Place::File, "expected a file for each rank"));
    }
    let mut calls = Calls::new(options, ranks)
        .map_err(|why| TraceError::new(first, None, Place::File, why.to_string()))?;
    let mut graphs = Vec::new();
    let mut numbers = Vec::new();
    for (rank, file) in (0..).zip(files) {
        let nodes = nodes(*file, rank)?;
        numbers.push(nodes.iter().map(|node| node.id).collect::<Vec<u64>>());
        let mut ready =
            Rank { file: *file, rank, ranks, options, calls: &mut calls, made: BTreeMap::new() };
        graphs.push((ready.graph(&nodes)?, vec![rank]));
    }
    let Calls { list, groups, .. } = calls;
    Program::new(ranks, graphs, groups, list).map_err(|error| {
        let at = error.at();
        let place =
            at.map_or(Place::File, |at| Place::Node(numbers[at.rank as usize][at.node as usize]));
        let file = at.map_or(first, |at| files[at.rank as usize].name);
        let why = format!("{error} (nodes are counted from 0 in the order of their ids)");
        TraceError::new(file, at.map(|at| at.rank), place, why)
    })
}

/// The nodes of a file by ascending id.
fn nodes(file: File, rank: u32) -> Result<Vec<Node>, TraceError> {
    let broken =
        |start: usize, what: &str| TraceError::new(file.name, Some(rank), Place::Byte(start), what);
    let mut messages = Fields::new(file.bytes);
    let mut nodes = Vec::new();
    let mut is_first = true;
    while !messages.is_at_end() {
        let start = messages.at;
        let cut = |_: Broken| broken(start, "the file ends in the midst of a message");
        let message = messages.delimited().map_err(cut)?;
        let start = messages.at - message.len();
        if is_first {
            let mut fields = Fields::new(message);
            let read = |Broken(at)| broken(start + at, "expected metadata of a Chakra trace");
            while fields.next().map_err(read)?.is_some() {}
            is_first = false;
            continue;
        }
        let node = Node::read(message);
        nodes.push(
            node.map_err(|Broken(at)| broken(start + at, "expected a node of a Chakra trace"))?,
        );
    }
    if is_first {
        return Err(broken(0, "the file is empty, expected metadata and nodes"));
    }
    nodes.sort_by_key(|node| node.id);
    if let Some(pair) = nodes.windows(2).find(|pair| pair[0].id == pair[1].id) {
        let place = Place::Node(pair[0].id);
        return Err(TraceError::new(file.name, Some(rank), place, "the id is used twice"));
    }
    Ok(nodes)
}

/// The collectives of all ranks.
struct Calls {
    list: Vec<Call>,
    groups: Vec<Groups>,
    /// The place of each named group.
    names: BTreeMap<String, usize>,
    places: BTreeMap<(usize, u64, u64), u32>,
}

impl Calls {
    fn new(options: &Options, ranks: u32) -> Result<Calls, ProgramError> {
        let mut groups = vec![Groups::strided(ranks, ranks, 1)?];
        let mut names = BTreeMap::from([(String::new(), 0), ("0".to_owned(), 0)]);
        for (name, members) in &options.groups {
            names.insert(name.clone(), groups.len());
            groups.push(Groups::listed(ranks, vec![members.clone()])?);
        }
        Ok(Calls { list: Vec::new(), groups, names, places: BTreeMap::new() })
    }
}

/// A rank while its graph is made.
struct Rank<'a> {
    file: File<'a>,
    rank: u32,
    ranks: u32,
    options: &'a Options,
    calls: &'a mut Calls,
    /// How often each call was made.
    made: BTreeMap<u32, u32>,
}

impl Rank<'_> {
    fn refused(&self, node: &Node, why: impl Into<String>) -> TraceError {
        TraceError::new(self.file.name, Some(self.rank), Place::Node(node.id), why)
    }

    fn graph(&mut self, nodes: &[Node]) -> Result<Graph, TraceError> {
        let mut graph = GraphBuilder::new(self.rank, self.ranks);
        for node in nodes {
            graph.label(&String::from_utf8_lossy(node.name));
            let op = self.op(node)?;
            graph.add(op).map_err(|error| self.refused(node, error.to_string()))?;
        }
        for (child, node) in nodes.iter().enumerate() {
            let control = match self.options.control {
                Control::Waited => &node.control[..],
                Control::Ignored => &[],
            };
            for &id in node.data.iter().chain(control) {
                let parent = nodes.binary_search_by_key(&id, |node| node.id).map_err(|_| {
                    self.refused(node, format!("it depends on node {id}, which is not in the file"))
                })?;
                let event = match nodes[parent].kind {
                    SEND => self.options.send_end.event(),
                    _ => Event::Finished,
                };
                let edge = graph.edge(parent as NodeId, child as NodeId, event);
                edge.map_err(|error| self.refused(node, error.to_string()))?;
            }
        }
        graph.build().map_err(|error| {
            let node = error.at().map_or(0, |at| at.node as usize);
            self.refused(
                &nodes[node],
                format!("{error} (counted from 0 in the order of their ids)"),
            )
        })
    }

    fn op(&mut self, node: &Node) -> Result<Op, TraceError> {
        match node.kind {
            INVALID | METADATA => Ok(Op::Join),
            LOAD | STORE => self.compute(node, MEMORY),
            COMPUTE if node.attributes.on_cpu => self.compute(node, CPU),
            COMPUTE => self.compute(node, 0),
            SEND => {
                let own = node.attributes.from.is_none_or(|from| from == u64::from(self.rank));
                if !own {
                    return Err(self.refused(node, "the send is from another rank (comm_src)"));
                }
                let to = self.whole(node, "comm_dst", node.attributes.to)?;
                let tag = self.whole(node, "comm_tag", node.attributes.tag.or(Some(0)))?;
                Ok(Op::Send { to, tag, bytes: self.bytes(node)? })
            }
            RECEIVE => {
                let from = self.whole(node, "comm_src", node.attributes.from)?;
                let tag = self.whole(node, "comm_tag", node.attributes.tag.or(Some(0)))?;
                Ok(Op::Receive { from, tag })
            }
            COLLECTIVE if node.attributes.on_cpu && node.attributes.kind.is_none() => {
                self.compute(node, CPU)
            }
            COLLECTIVE => self.collective(node),
            kind => Err(self.refused(node, format!("the type {kind} is unknown, expected 0 to 7"))),
        }
    }

    fn compute(&self, node: &Node, stream: u8) -> Result<Op, TraceError> {
        let too_long = || self.refused(node, "it takes longer than 2400h");
        let span = match (node.duration_us, self.options.flops, node.attributes.operations) {
            (0, Some(flops), Some(operations)) => Span::from_seconds(operations as f64 / flops),
            (0, _, _) => Span::from_ns(1),
            (duration, _, _) => span(duration, Span::from_us(1)).ok_or_else(too_long)?,
        };
        if span > Span::LONGEST_SETTING {
            return Err(too_long());
        }
        Ok(Op::Compute { stream, span })
    }

    fn whole(&self, node: &Node, key: &str, value: Option<u64>) -> Result<u32, TraceError> {
        let value = value.ok_or_else(|| self.refused(node, format!("{key} is missing")))?;
        value.try_into().map_err(|_| {
            self.refused(node, format!("{key} is {}, expected 0 to 4294967295", value as i64))
        })
    }

    fn bytes(&self, node: &Node) -> Result<u64, TraceError> {
        let bytes = node.attributes.bytes;
        let bytes = bytes.ok_or_else(|| self.refused(node, "comm_size is missing"))?;
        if bytes > MOST_BYTES {
            let why = format!("comm_size is {}, expected 0 to {MOST_BYTES}", bytes as i64);
            return Err(self.refused(node, why));
        }
        Ok(bytes)
    }

    fn collective(&mut self, node: &Node) -> Result<Op, TraceError> {
        if node.attributes.partial {
            let why = "it involves only some dimensions of a network (involved_dim), expected all: \
                       name a process group (pg_name) instead";
            return Err(self.refused(node, why));
        }
        let kind = node.attributes.kind;
        let kind = kind.ok_or_else(|| self.refused(node, "comm_type is missing"))?;
        let operation = match kind {
            0 => Operation::AllReduce,
            2 => Operation::AllGather,
            5 => Operation::Broadcast,
            6 => Operation::AllToAll,
            7 | 8 => Operation::ReduceScatter,
            _ => {
                let why = format!(
                    "comm_type is {kind}, expected 0 (all-reduce), 2 (all-gather), 5 (broadcast), \
                     6 (all-to-all), 7 or 8 (reduce-scatter)"
                );
                return Err(self.refused(node, why));
            }
        };
        let name = String::from_utf8_lossy(node.attributes.group.unwrap_or_default());
        let groups = *self.calls.names.get(&*name).ok_or_else(|| {
            self.refused(node, format!("the process group {name:?} (pg_name) is not listed"))
        })?;
        let (group, _) = self.calls.groups[groups].place(self.rank).ok_or_else(|| {
            self.refused(node, format!("the rank is not in the process group {name:?} (pg_name)"))
        })?;
        let parts = match operation {
            Operation::AllGather => self.calls.groups[groups].size(group),
            _ => 1,
        };
        let bytes = self.bytes(node)?.saturating_mul(parts.into());
        let list = &mut self.calls.list;
        let call = *self.calls.places.entry((groups, kind, bytes)).or_insert_with(|| {
            let label = String::from_utf8_lossy(node.name).into_owned();
            let collective = Collective::usual(operation);
            list.push(Call { groups, collective, bytes, execution: Execution::Messages, label });
            list.len() as u32 - 1
        });
        let tag = self.made.entry(call).or_default();
        *tag += 1;
        Ok(Op::Collective { call, tag: *tag - 1 })
    }
}

// The types of nodes.
const INVALID: u64 = 0;
const METADATA: u64 = 1;
const LOAD: u64 = 2;
const STORE: u64 = 3;
const COMPUTE: u64 = 4;
const SEND: u64 = 5;
const RECEIVE: u64 = 6;
const COLLECTIVE: u64 = 7;
