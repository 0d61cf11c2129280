//! Workload files of SimAI and AICB (`Workload.cc` of astra-sim-alibabacloud).
//!
//! A file is one pass over its lines, the same for all ranks. Downwards, each line computes and does its forward
//! collective, and the next line waits for both. Upwards, each line computes its input's gradient, does the collective
//! of it, and computes its weights' gradient; the collective of that is not waited for until the end.
//!
//! A collective without a suffix is of the tensor-parallel group in the forward and input columns, and of the
//! data-parallel group in the weight column. Sizes are of the whole buffer.
//!
//! It differs from SimAI in three points: `BROADCAST` is done, not ignored; unknown names are refused, not ignored; and
//! files that ask for recomputation (`checkpoints`) are refused.

use crate::options::span;
use crate::{File, Place, TraceError};
use sojourn_core::Span;
use sojourn_training::collective::{Collective, Operation};
use sojourn_training::program::{
    Call, Execution, Graph, GraphBuilder, Groups, NodeId, Op, Program, ProgramError,
};
use std::collections::BTreeMap;

/// What a file says.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    file: String,
    /// The number of ranks, if the file has it.
    pub ranks: Option<u32>,
    /// Tensor, expert and pipeline parallelism.
    pub tensor: u32,
    /// Over how many replicas experts are divided.
    pub expert: u32,
    /// The number of pipeline stages. SimAI simulates one of them.
    pub pipeline: u32,
    /// The lines.
    pub layers: Vec<Layer>,
}

/// A line of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    /// The line, from 1.
    pub line: usize,
    /// Its name.
    pub name: String,
    /// The forward pass, the gradient of the input, and the gradient of the weights.
    pub phases: [Phase; 3],
    /// The time of the update of the weights.
    pub update: Span,
}

/// A computation, and the collective after it.
#[derive(Clone, Debug, PartialEq)]
pub struct Phase {
    /// The time of the computation.
    pub compute: Span,
    /// The collective and the size of its buffer; none if there is nothing to do.
    pub collective: Option<(Operation, Group, u64)>,
}

/// The ranks of a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// Ranks that divide matrices: neighbours.
    Tensor,
    /// Replicas.
    Data,
    /// Replicas that divide experts.
    Expert,
    /// Replicas that have the same experts.
    SameExperts,
}

/// The words of the first line whose order of work is known: forward, then the gradients.
const WORDS: [&str; 3] = ["HYBRID_TRANSFORMER_FWD_IN_BCKWD", "HYBRID_TRANSFORMER", "MICRO"];

/// The most bytes of a collective.
const MOST_BYTES: u64 = 1 << 50;

/// SimAI's least size of a forward collective.
const LEAST_FORWARD: u64 = 4096;

/// Reads a file.
pub fn parse(file: File) -> Result<Workload, TraceError> {
    let text = std::str::from_utf8(file.bytes).map_err(|error| {
        let place = Place::Byte(error.valid_up_to());
        TraceError::new(file.name, None, place, "expected text in UTF-8")
    })?;
    let refused =
        |line: usize, why: String| TraceError::new(file.name, None, Place::Line(line), why);
    let mut lines = (1..).zip(text.lines());
    let (_, head) = lines.next().unwrap_or((1, ""));
    let mut workload = header(file.name, head).map_err(|why| refused(1, why))?;
    let count = lines.next().and_then(|(_, line)| line.trim().parse::<usize>().ok());
    let count =
        count.ok_or_else(|| refused(2, "expected the number of lines that follow".to_owned()))?;
    for (line, text) in lines.filter(|(_, line)| !line.trim().is_empty()) {
        if workload.layers.len() == count {
            return Err(refused(
                line,
                format!("the file has more than the {count} lines of line 2"),
            ));
        }
        workload.layers.push(layer(line, text).map_err(|why| refused(line, why))?);
    }
    if workload.layers.len() < count {
        let why = format!("the file ends after {} of {count} lines", workload.layers.len());
        return Err(TraceError::new(file.name, None, Place::File, why));
    }
    Ok(workload)
}

fn header(file: &str, line: &str) -> Result<Workload, String> {
    let mut words = line.split_whitespace();
    let word = words.next().unwrap_or("");
    if !WORDS.contains(&word) {
        return Err(format!("{word:?} is no known parallelism, expected {}", WORDS.join(", ")));
    }
    let mut workload = Workload {
        file: file.to_owned(),
        ranks: None,
        tensor: 1,
        expert: 1,
        pipeline: 1,
        layers: Vec::new(),
    };
    while let Some(key) = words.next() {
        let value = words.next();
        let number = value.and_then(|value| value.parse::<u32>().ok());
        let number = number.ok_or_else(|| format!("{key} has no number"));
        let positive = |number: u32| match number {
            0 => Err(format!("{key} is 0, expected at least 1")),
            number => Ok(number),
        };
        match key.trim_end_matches(':') {
            "model_parallel_NPU_group" => workload.tensor = positive(number?)?,
            "ep" => workload.expert = positive(number?)?,
            "pp" => workload.pipeline = positive(number?)?,
            "all_gpus" => workload.ranks = Some(positive(number?)?),
            "checkpoints" | "checkpoint_initiates" => {
                let number = number?;
                if number > 0 {
                    return Err(format!(
                        "{key} {number}: recomputation is not supported, expected 0"
                    ));
                }
            }
            "expert_parallel_npu_group" | "vpp" | "ga" | "pp_comm" => {
                number?;
            }
            _ => return Err(format!("{key:?} is no known key of the first line")),
        }
    }
    Ok(workload)
}

fn layer(line: usize, text: &str) -> Result<Layer, String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let [name, _, columns @ ..] = &words[..] else {
        return Err(format!("the line has {} columns, expected 12", words.len()));
    };
    if columns.len() < 10 {
        return Err(format!("the line has {} columns, expected 12", words.len()));
    }
    let time = |word: &str| {
        let ns = word.parse().ok().and_then(|ns| span(ns, Span::from_ns(1)));
        ns.ok_or_else(|| format!("{word:?} is no time, expected nanoseconds, at most 2400h"))
    };
    let phase = |place: usize| {
        let bytes = columns[place + 2];
        let bytes =
            bytes.parse::<u64>().ok().filter(|&bytes| bytes <= MOST_BYTES).ok_or_else(|| {
                format!("{bytes:?} is no size, expected bytes, at most {MOST_BYTES}")
            })?;
        let collective = collective(columns[place + 1], place == 6)?.map(|(operation, group)| {
            let least = if place == 0 && bytes > 0 { LEAST_FORWARD } else { 0 };
            (operation, group, bytes.max(least))
        });
        let collective = collective.filter(|(_, _, bytes)| *bytes > 0);
        Ok::<Phase, String>(Phase { compute: time(columns[place])?, collective })
    };
    Ok(Layer {
        line,
        name: (*name).to_owned(),
        phases: [phase(0)?, phase(3)?, phase(6)?],
        update: time(columns[9])?,
    })
}

/// What a word of a column means.
fn collective(word: &str, is_weight: bool) -> Result<Option<(Operation, Group)>, String> {
    let (base, group) = if let Some(base) = word.strip_suffix("_DP_EP") {
        (base, Group::SameExperts)
    } else if let Some(base) = word.strip_suffix("_EP") {
        (base, Group::Expert)
    } else {
        (word, if is_weight { Group::Data } else { Group::Tensor })
    };
    let operation = match base {
        "NONE" => return Ok(None),
        "ALLREDUCE" => Operation::AllReduce,
        "ALLGATHER" => Operation::AllGather,
        "REDUCESCATTER" => Operation::ReduceScatter,
        "ALLTOALL" => Operation::AllToAll,
        "BROADCAST" => Operation::Broadcast,
        _ => {
            return Err(format!(
                "{word:?} is no known collective, expected NONE, ALLREDUCE, ALLGATHER, \
                 REDUCESCATTER, ALLTOALL or BROADCAST, with the suffix _EP, _DP_EP or none"
            ));
        }
    };
    Ok(Some((operation, group)))
}

impl Workload {
    /// The program of all ranks. `ranks` is their number if the file does not have it. Refuses parallelism that does not
    /// divide the ranks.
    pub fn program(&self, ranks: Option<u32>) -> Result<Program, TraceError> {
        let refused = |place, why: String| TraceError::new(&self.file, None, place, why);
        let ranks = match (self.ranks, ranks) {
            (Some(own), Some(other)) if own != other => {
                let why = format!("all_gpus is {own}, but {other} ranks were asked for");
                return Err(refused(Place::Line(1), why));
            }
            (own, other) => own.or(other).ok_or_else(|| {
                let why = "all_gpus is missing: give the number of ranks".to_owned();
                refused(Place::Line(1), why)
            })?,
        };
        let groups =
            self.groups(ranks).map_err(|error| refused(Place::Line(1), error.to_string()))?;
        let mut pass = Pass {
            graph: GraphBuilder::new(0, ranks),
            calls: Vec::new(),
            places: BTreeMap::new(),
            made: BTreeMap::new(),
            last: None,
            behind: BTreeMap::new(),
            ends: Vec::new(),
        };
        let graph = pass.graph(&self.layers);
        let error = |error: ProgramError| refused(Place::File, error.to_string());
        let graph = graph.map_err(error)?;
        Program::new(ranks, vec![(graph, (0..ranks).collect())], groups, pass.calls).map_err(error)
    }

    fn groups(&self, ranks: u32) -> Result<Vec<Groups>, ProgramError> {
        let stage = Groups::strided(ranks, self.tensor, 1).and_then(|_| {
            let stage = u64::from(self.tensor) * u64::from(self.pipeline);
            match u64::from(ranks) % stage {
                0 => Ok(u64::from(ranks) / stage),
                _ => Err(ProgramError::Groups {
                    why: format!(
                        "tensor parallelism {} times {} pipeline stages do not divide {ranks} ranks",
                        self.tensor, self.pipeline
                    ),
                }),
            }
        })?;
        let replicas = stage as u32;
        if !replicas.is_multiple_of(self.expert) {
            let why =
                format!("expert parallelism {} does not divide {replicas} replicas", self.expert);
            return Err(ProgramError::Groups { why });
        }
        Ok(vec![
            Groups::strided(ranks, self.tensor, 1)?,
            Groups::strided(ranks, replicas, self.tensor)?,
            Groups::strided(ranks, self.expert, self.tensor)?,
            Groups::strided(ranks, replicas / self.expert, self.tensor * self.expert)?,
        ])
    }
}

/// The graph of a rank while it is made.
struct Pass {
    graph: GraphBuilder,
    calls: Vec<Call>,
    places: BTreeMap<(OperationPlace, Group, u64), u32>,
    /// How often each call was made.
    made: BTreeMap<u32, u32>,
    last: Option<NodeId>,
    /// The last collective of each group that was not waited for.
    behind: BTreeMap<Group, NodeId>,
    ends: Vec<NodeId>,
}

/// An operation by its place in the list of all.
type OperationPlace = u8;

impl Pass {
    fn graph(&mut self, layers: &[Layer]) -> Result<Graph, ProgramError> {
        for layer in layers {
            self.graph.label(&format!("{} forward", layer.name));
            self.phase(&layer.phases[0])?;
        }
        for layer in layers.iter().rev() {
            self.graph.label(&format!("{} backward", layer.name));
            self.phase(&layer.phases[1])?;
            self.compute(layer.phases[2].compute)?;
            let mut end = self.last;
            if let Some((operation, group, bytes)) = layer.phases[2].collective {
                let parents: Vec<NodeId> =
                    self.last.into_iter().chain(self.behind.get(&group).copied()).collect();
                let node = self.collective(operation, group, bytes, &parents)?;
                self.behind.insert(group, node);
                end = Some(node);
            }
            if layer.update > Span::ZERO {
                let update = Op::Compute { stream: 1, span: layer.update };
                end = Some(self.graph.add_after(update, end.as_slice())?);
            }
            self.ends.extend(end);
        }
        self.graph.label("end");
        self.graph.add_after(Op::Join, &self.ends)?;
        std::mem::replace(&mut self.graph, GraphBuilder::new(0, 1)).build()
    }

    /// A computation and its collective, both of which the next node waits for.
    fn phase(&mut self, phase: &Phase) -> Result<(), ProgramError> {
        self.compute(phase.compute)?;
        if let Some((operation, group, bytes)) = phase.collective {
            let last = self.last;
            self.last = Some(self.collective(operation, group, bytes, last.as_slice())?);
        }
        Ok(())
    }

    fn compute(&mut self, span: Span) -> Result<(), ProgramError> {
        let op = Op::Compute { stream: 0, span };
        self.last = Some(self.graph.add_after(op, self.last.as_slice())?);
        Ok(())
    }

    fn collective(
        &mut self,
        operation: Operation,
        group: Group,
        bytes: u64,
        parents: &[NodeId],
    ) -> Result<NodeId, ProgramError> {
        let calls = &mut self.calls;
        let call =
            *self.places.entry((operation as OperationPlace, group, bytes)).or_insert_with(|| {
                let label = match group {
                    Group::Tensor => "tensor",
                    Group::Data => "data",
                    Group::Expert => "expert",
                    Group::SameExperts => "same experts",
                };
                calls.push(Call {
                    groups: group as usize,
                    collective: Collective::usual(operation),
                    bytes,
                    execution: Execution::Messages,
                    label: label.to_owned(),
                });
                calls.len() as u32 - 1
            });
        let tag = self.made.entry(call).or_default();
        let op = Op::Collective { call, tag: *tag };
        *tag += 1;
        self.graph.add_after(op, parents)
    }
}
