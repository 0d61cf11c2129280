//! The program of an iteration: one graph for each pipeline stage, shared by all its ranks.

use super::iteration::{Iteration, Recompute};
use super::placement::{COMBINE, Group};
use super::schedule::{Direction, Pass};
use super::transformer::{Transformer, Weights};
use crate::collective::Operation;
use crate::program::{Call, Graph, GraphBuilder, NodeId, Op, Program, ProgramError};
use std::collections::BTreeMap;

impl Iteration {
    /// The program of all ranks. Collectives of groups within a server are executed by their closed form. The optimiser
    /// takes no time. With ZeRO 1 and 2 and overlap, parameters are gathered at the start, as they are behind the
    /// optimiser of the iteration before.
    pub fn program(&self) -> Result<Program, ProgramError> {
        let mut calls = Calls::default();
        let stage_ranks = self.tensor * self.data;
        let mut graphs = Vec::new();
        for stage in 0..self.pipeline {
            let graph = Stage::new(self, stage, &mut calls).graph()?;
            graphs.push((graph, (stage * stage_ranks..(stage + 1) * stage_ranks).collect()));
        }
        Program::new(self.ranks(), graphs, self.groups()?, calls.list)
    }
}

/// The calls of all stages, each once.
#[derive(Default)]
struct Calls {
    list: Vec<Call>,
    places: BTreeMap<(Group, &'static str, u64, String), u32>,
}

/// Gradients that are to be reduced together.
#[derive(Default)]
pub(super) struct Bucket {
    pub(super) parameters: u64,
    /// The last node that computed some of it.
    pub(super) ready: Option<NodeId>,
}

/// The graph of a stage while it is made.
pub(super) struct Stage<'a> {
    pub(super) iteration: &'a Iteration,
    pub(super) shape: Transformer,
    pub(super) stage: u32,
    calls: &'a mut Calls,
    pub(super) graph: GraphBuilder,
    /// How often each call was made.
    made: BTreeMap<u32, u32>,
    /// The last node that computes, or that computing waits for.
    pub(super) last: Option<NodeId>,
    /// The last collective between replicas: they go one after another.
    pub(super) last_replica: Option<NodeId>,
    /// The ends of the last two passes of layers, for ZeRO 3.
    pub(super) passes: [Option<NodeId>; 2],
    /// Of each layer of the stage the node that has gathered its parameters, for ZeRO 1 and 2.
    pub(super) gathered: Vec<Option<NodeId>>,
    pub(super) dense: Bucket,
    pub(super) experts: Bucket,
    /// Gradients that are reduced in the end, because they do not overlap with computing.
    pub(super) late: Vec<(Group, u64)>,
}

pub(super) type Made<T = ()> = Result<T, ProgramError>;

impl<'a> Stage<'a> {
    fn new(iteration: &'a Iteration, stage: u32, calls: &'a mut Calls) -> Stage<'a> {
        let rank = stage * iteration.tensor * iteration.data;
        let shape = iteration.transformer();
        let layers = (shape.layers / iteration.pipeline) as usize;
        Stage {
            iteration,
            shape,
            stage,
            calls,
            graph: GraphBuilder::new(rank, iteration.ranks()),
            made: BTreeMap::new(),
            last: None,
            last_replica: None,
            passes: [None; 2],
            gathered: vec![None; layers],
            dense: Bucket::default(),
            experts: Bucket::default(),
            late: Vec::new(),
        }
    }

    fn graph(mut self) -> Made<Graph> {
        let iteration = self.iteration;
        if (1..=2).contains(&iteration.zero) && iteration.overlap {
            self.gather_at_start()?;
        }
        let passes =
            iteration.schedule.passes(self.stage, iteration.pipeline, iteration.micro_batches());
        for pass in passes {
            match pass.direction {
                Direction::Forward => self.forward(pass)?,
                Direction::Backward => self.backward(pass)?,
            }
        }
        self.end()?;
        self.graph.build()
    }

    /// Layers of one chunk.
    fn chunk_layers(&self) -> u32 {
        self.shape.layers / (self.iteration.pipeline * self.iteration.schedule.chunks())
    }

    /// The place of a chunk in the order in which a micro-batch passes all of them.
    fn part(&self, chunk: u32) -> u32 {
        chunk * self.iteration.pipeline + self.stage
    }

    fn parts(&self) -> u32 {
        self.iteration.pipeline * self.iteration.schedule.chunks()
    }

    fn forward(&mut self, pass: Pass) -> Made {
        let part = self.part(pass.chunk);
        self.graph.label("forward");
        if part > 0 {
            self.receive(pass, part - 1)?;
        } else {
            self.divided_parameters(self.shape.embedding(self.iteration.sequence))?;
            self.tensor_reduce("embedding", Direction::Forward)?;
        }
        for layer in 0..self.chunk_layers() {
            let own = pass.chunk * self.chunk_layers() + layer;
            self.divided_parameters(self.shape.layer())?;
            if pass.micro_batch == 0 {
                self.wait(self.gathered[own as usize])?;
            }
            self.layer_forward()?;
            self.passes = [self.passes[1], self.last];
        }
        if part + 1 < self.parts() {
            return self.send(pass, part);
        }
        self.graph.label("loss");
        self.divided_parameters(self.shape.head(self.iteration.sequence))?;
        self.compute(self.shape.output_flops())?;
        if self.iteration.tensor > 1 {
            for _ in 0..3 {
                let bytes = 4 * self.iteration.tokens();
                self.blocking(Group::Tensor, Operation::AllReduce, bytes, "cross entropy")?;
            }
        }
        Ok(())
    }

    fn backward(&mut self, pass: Pass) -> Made {
        let part = self.part(pass.chunk);
        let ends = pass.micro_batch + 1 == self.iteration.micro_batches();
        self.graph.label("backward");
        if part + 1 < self.parts() {
            self.receive(pass, part + 1)?;
        } else {
            self.divided_parameters(self.shape.head(self.iteration.sequence))?;
            self.compute(2.0 * self.shape.output_flops())?;
            self.tensor_reduce("output", Direction::Backward)?;
            if ends {
                self.reduce(self.output_weights(), false)?;
            }
        }
        for layer in (0..self.chunk_layers()).rev() {
            self.divided_parameters(self.shape.layer())?;
            if self.iteration.recompute == Recompute::Full {
                self.layer_forward()?;
            }
            self.layer_backward()?;
            self.passes = [self.passes[1], self.last];
            if ends {
                self.reduce(self.shape.layer(), layer == 0)?;
            }
        }
        if part > 0 {
            return self.send(pass, part);
        }
        if ends {
            self.reduce(self.shape.embedding(self.iteration.sequence), true)?;
        }
        Ok(())
    }

    /// The parameters of the last stage besides its layers.
    pub(super) fn output_weights(&self) -> Weights {
        match self.iteration.shares_vocabulary() {
            true => self.shape.head(self.iteration.sequence),
            false => self.shape.output(),
        }
    }

    fn layer_forward(&mut self) -> Made {
        let attention = self.shape.attention_flops(self.iteration.sequence);
        self.half(attention, Direction::Forward, "attention")?;
        self.experts_or_ffn(1.0, Direction::Forward)
    }

    fn layer_backward(&mut self) -> Made {
        let attention = self.shape.attention_flops(self.iteration.sequence);
        self.experts_or_ffn(2.0, Direction::Backward)?;
        self.half(2.0 * attention, Direction::Backward, "attention")
    }

    /// The feed-forward block, with the exchange of tokens if experts are divided.
    fn experts_or_ffn(&mut self, times: f64, direction: Direction) -> Made {
        let flops = times * self.shape.ffn_flops();
        if self.iteration.expert == 1 {
            return self.half(flops, direction, "feed-forward");
        }
        let tokens = u64::from(self.shape.top_k) * self.iteration.activation();
        let bytes = tokens.div_ceil(self.iteration.tensor.into());
        self.tensor_before(direction, "feed-forward")?;
        self.blocking(Group::Expert, Operation::AllToAll, bytes, "dispatch")?;
        self.compute(flops)?;
        self.blocking(Group::Expert, Operation::AllToAll, bytes, COMBINE)?;
        self.tensor_after("feed-forward")
    }

    /// One of the two blocks of a layer.
    fn half(&mut self, flops: f64, direction: Direction, label: &str) -> Made {
        self.tensor_before(direction, label)?;
        self.compute(flops)?;
        self.tensor_after(label)
    }

    /// With sequence parallelism a block starts with an all-gather, backward also with one of the saved inputs.
    fn tensor_before(&mut self, direction: Direction, label: &str) -> Made {
        if self.iteration.tensor == 1 || !self.iteration.sequence_parallel {
            return Ok(());
        }
        let bytes = self.iteration.activation();
        if direction == Direction::Backward {
            self.blocking(Group::Tensor, Operation::AllGather, bytes, label)?;
        }
        self.blocking(Group::Tensor, Operation::AllGather, bytes, label)
    }

    /// A block ends with an all-reduce, or a reduce-scatter with sequence parallelism.
    fn tensor_after(&mut self, label: &str) -> Made {
        if self.iteration.tensor == 1 {
            return Ok(());
        }
        let operation = match self.iteration.sequence_parallel {
            true => Operation::ReduceScatter,
            false => Operation::AllReduce,
        };
        self.blocking(Group::Tensor, operation, self.iteration.activation(), label)
    }

    /// The collective of the embedding or the output layer.
    fn tensor_reduce(&mut self, label: &str, direction: Direction) -> Made {
        if direction == Direction::Backward {
            self.tensor_before(Direction::Forward, label)?;
        }
        self.tensor_after(label)
    }

    fn compute(&mut self, flops: f64) -> Made {
        let own = flops * self.iteration.tokens() as f64 / f64::from(self.iteration.tensor);
        let span = self.iteration.accelerator.span(own);
        self.last =
            Some(self.graph.add_after(Op::Compute { stream: 0, span }, self.last.as_slice())?);
        Ok(())
    }

    /// A collective that computing waits for.
    fn blocking(&mut self, group: Group, operation: Operation, bytes: u64, label: &str) -> Made {
        let last = self.last;
        self.last = Some(self.collective(group, operation, bytes, label, last.as_slice())?);
        Ok(())
    }

    pub(super) fn collective(
        &mut self,
        group: Group,
        operation: Operation,
        bytes: u64,
        label: &str,
        parents: &[NodeId],
    ) -> Made<NodeId> {
        let made = self.iteration.call(group, operation, bytes, label);
        let key = (group, made.collective.name(), bytes, label.to_owned());
        let Calls { list, places } = &mut *self.calls;
        let call = *places.entry(key).or_insert_with(|| {
            list.push(made);
            list.len() as u32 - 1
        });
        let tag = self.made.entry(call).or_default();
        let op = Op::Collective { call, tag: *tag };
        *tag += 1;
        self.graph.add_after(op, parents)
    }

    /// The rank of the same place in the stage of `part`.
    fn peer(&self, part: u32) -> u32 {
        part % self.iteration.pipeline * self.iteration.tensor * self.iteration.data
    }

    /// Tells the messages between two ranks apart: by what has computed them, and the direction.
    fn tag(&self, pass: Pass, part: u32) -> u32 {
        let direction = u32::from(pass.direction == Direction::Backward);
        (part * self.iteration.micro_batches() + pass.micro_batch) * 2 + direction
    }

    fn receive(&mut self, pass: Pass, from: u32) -> Made {
        let op = Op::Receive { from: self.peer(from), tag: self.tag(pass, from) };
        let received = self.graph.add(op)?;
        let parents: Vec<NodeId> = self.last.into_iter().chain([received]).collect();
        self.last = Some(self.graph.add_after(Op::Join, &parents)?);
        // A stage has one part of the sequence, and gathers the others.
        if self.iteration.sequence_parallel && self.iteration.tensor > 1 {
            let bytes = self.iteration.activation();
            self.blocking(Group::Tensor, Operation::AllGather, bytes, "hand-over")?;
        }
        Ok(())
    }

    fn send(&mut self, pass: Pass, part: u32) -> Made {
        let to = match pass.direction {
            Direction::Forward => part + 1,
            Direction::Backward => part - 1,
        };
        let divided = if self.iteration.sequence_parallel { self.iteration.tensor } else { 1 };
        let bytes = self.iteration.activation().div_ceil(divided.into());
        let op = Op::Send { to: self.peer(to), tag: self.tag(pass, part), bytes };
        let last = self.last;
        self.graph.add_after(op, last.as_slice())?;
        Ok(())
    }
}
