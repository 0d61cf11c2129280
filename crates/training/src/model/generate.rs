//! The program of an iteration: one graph for each pipeline stage, shared by all its ranks.
//!
//! Ranks are numbered as in Megatron-LM: tensor parallelism is innermost, then data, then pipeline parallelism.
//! Expert-parallel groups are neighbours among the replicas.

use super::iteration::{Iteration, Recompute};
use super::schedule::{Direction, Pass};
use super::transformer::{Transformer, Weights};
use crate::collective::{Collective, Operation, Port, Shape};
use crate::program::{
    Call, Execution, Graph, GraphBuilder, Groups, NodeId, Op, Program, ProgramError,
};
use std::collections::BTreeMap;

/// The groups of a program, by their place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Group {
    Tensor,
    Data,
    /// Replicas that divide the experts.
    Expert,
    /// Replicas that have the same experts.
    SameExperts,
    /// The first and the last stage, which share a vocabulary.
    Vocabulary,
}

impl Iteration {
    /// The program of all ranks. Collectives of groups within a host are executed by their closed form. The optimiser
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

    fn groups(&self) -> Result<Vec<Groups>, ProgramError> {
        let ranks = self.ranks();
        let (t, e) = (self.tensor, self.expert);
        let between = ranks - t * self.data;
        let ends = (0..t * self.data).map(|rank| vec![rank, rank + between]);
        let ends = if between > 0 { ends.collect() } else { Vec::new() };
        Ok(vec![
            Groups::strided(ranks, t, 1)?,
            Groups::strided(ranks, self.data, t)?,
            Groups::strided(ranks, e, t)?,
            Groups::strided(ranks, self.data / e, t * e)?,
            Groups::listed(ranks, ends)?,
        ])
    }

    /// The number of ranks of a group, and the distance between the first and the last.
    fn extent(&self, group: Group) -> (u32, u32) {
        let (t, e, d) = (self.tensor, self.expert, self.data);
        let (size, stride) = match group {
            Group::Tensor => (t, 1),
            Group::Data => (d, t),
            Group::Expert => (e, t),
            Group::SameExperts => (d / e, t * e),
            Group::Vocabulary => (2, t * d * (self.pipeline - 1)),
        };
        (size, stride * (size - 1))
    }

    /// Whether every group of this kind is on one host.
    fn on_a_host(&self, group: Group) -> bool {
        let (size, distance) = self.extent(group);
        match group {
            Group::Vocabulary => self.ranks() <= self.host,
            _ => self.host.is_multiple_of(distance + distance / (size - 1).max(1)),
        }
    }

    fn call(&self, group: Group, operation: Operation, bytes: u64, label: &str) -> Call {
        let collective = match operation {
            Operation::AllReduce => &self.all_reduce,
            Operation::AllGather => &self.all_gather,
            Operation::ReduceScatter => &self.reduce_scatter,
            _ => &self.all_to_all,
        };
        let (ranks, _) = self.extent(group);
        let (collective, execution) = if self.on_a_host(group) {
            let usual = Collective::usual(operation);
            let port = Port { rate: self.scale_up, latency: self.scale_up_latency };
            let time = usual.time(Shape { ranks, bytes }, &port);
            (usual, Execution::ClosedForm(time))
        } else {
            (collective.clone(), Execution::Messages)
        };
        Call { groups: group as usize, collective, bytes, execution, label: label.to_owned() }
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
struct Bucket {
    parameters: u64,
    /// The last node that computed some of it.
    ready: Option<NodeId>,
}

/// The graph of a stage while it is made.
struct Stage<'a> {
    iteration: &'a Iteration,
    shape: Transformer,
    stage: u32,
    calls: &'a mut Calls,
    graph: GraphBuilder,
    /// How often each call was made.
    made: BTreeMap<u32, u32>,
    /// The last node that computes, or that computing waits for.
    last: Option<NodeId>,
    /// The last collective between replicas: they go one after another.
    last_replica: Option<NodeId>,
    /// The ends of the last two passes of layers, for ZeRO 3.
    passes: [Option<NodeId>; 2],
    /// Of each layer of the stage the node that has gathered its parameters, for ZeRO 1 and 2.
    gathered: Vec<Option<NodeId>>,
    dense: Bucket,
    experts: Bucket,
    /// Gradients that are reduced in the end, because they do not overlap with computing.
    late: Vec<(Group, u64)>,
}

type Made<T = ()> = Result<T, ProgramError>;

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
        self.graph.label(&format!("micro-batch {} forward", pass.micro_batch));
        if part > 0 {
            self.receive(pass, part - 1)?;
        } else {
            self.tensor_reduce("embedding", Direction::Forward)?;
        }
        for layer in 0..self.chunk_layers() {
            let own = pass.chunk * self.chunk_layers() + layer;
            self.graph.label(&format!(
                "micro-batch {} forward, layer {}",
                pass.micro_batch,
                part * self.chunk_layers() + layer
            ));
            self.parameters(self.shape.layer(), pass.micro_batch, own)?;
            self.layer_forward()?;
            self.passes = [self.passes[1], self.last];
        }
        if part + 1 < self.parts() {
            return self.send(pass, part);
        }
        self.graph.label(&format!("micro-batch {} loss", pass.micro_batch));
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
        self.graph.label(&format!("micro-batch {} backward", pass.micro_batch));
        if part + 1 < self.parts() {
            self.receive(pass, part + 1)?;
        } else {
            self.compute(2.0 * self.shape.output_flops())?;
            self.tensor_reduce("output", Direction::Backward)?;
            if ends {
                self.reduce(self.output_weights(), false)?;
            }
        }
        for layer in (0..self.chunk_layers()).rev() {
            self.graph.label(&format!(
                "micro-batch {} backward, layer {}",
                pass.micro_batch,
                part * self.chunk_layers() + layer
            ));
            if self.iteration.zero == 3 {
                self.parameters(self.shape.layer(), pass.micro_batch, 0)?;
            }
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
    fn output_weights(&self) -> Weights {
        let output = self.shape.output();
        match self.iteration.shares_vocabulary() {
            true => {
                let divided = self.shape.embedding(self.iteration.sequence).divided;
                Weights { divided, ..output }
            }
            false => output,
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
        self.blocking(Group::Expert, Operation::AllToAll, bytes, "combine")?;
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

    fn collective(
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

    /// The gathered parameters of a layer, before it computes.
    fn parameters(&mut self, weights: Weights, micro_batch: u32, own: u32) -> Made {
        let gathered = match self.iteration.zero {
            3 => {
                let before = if self.iteration.overlap { self.passes[0] } else { self.last };
                self.gather(weights, before)?
            }
            _ if micro_batch == 0 => self.gathered[own as usize],
            _ => None,
        };
        if let Some(gathered) = gathered {
            let parents: Vec<NodeId> = self.last.into_iter().chain([gathered]).collect();
            self.last = Some(self.graph.add_after(Op::Join, &parents)?);
        }
        Ok(())
    }

    /// Gathers parameters among replicas after `before`; none if nobody else has them.
    fn gather(&mut self, weights: Weights, before: Option<NodeId>) -> Made<Option<NodeId>> {
        let mut gathered = None;
        let parts = [
            (Group::Data, self.iteration.dense(weights)),
            (Group::SameExperts, self.iteration.experts(weights)),
        ];
        for (group, parameters) in parts {
            if parameters > 0 && self.iteration.extent(group).0 > 1 {
                let parents: Vec<NodeId> = self.last_replica.into_iter().chain(before).collect();
                let bytes = 2 * parameters;
                let node =
                    self.collective(group, Operation::AllGather, bytes, "parameters", &parents)?;
                self.last_replica = Some(node);
                gathered = Some(node);
            }
        }
        Ok(gathered)
    }

    /// Gathers all parameters in the order in which the first micro-batch needs them.
    fn gather_at_start(&mut self) -> Made {
        self.graph.label("parameters");
        if self.stage == 0 {
            self.last = self.gather(self.shape.embedding(self.iteration.sequence), None)?;
        }
        for layer in 0..self.gathered.len() {
            self.gathered[layer] = self.gather(self.shape.layer(), None)?;
        }
        if self.stage + 1 == self.iteration.pipeline {
            self.gather(self.output_weights(), None)?;
        }
        Ok(())
    }

    /// The gradients of `weights` are computed: reduces those before them, if all of them do not fit into a bucket,
    /// and these too if nothing follows.
    fn reduce(&mut self, weights: Weights, ends: bool) -> Made {
        let own = self.iteration;
        for (group, parameters) in
            [(Group::Data, own.dense(weights)), (Group::SameExperts, own.experts(weights))]
        {
            let most = own.bucket.0 / own.gradient_bytes();
            if self.bucket(group).parameters + parameters > most {
                self.reduce_bucket(group)?;
            }
            let ready = self.last;
            let bucket = self.bucket(group);
            bucket.parameters += parameters;
            bucket.ready = ready;
            if ends {
                self.reduce_bucket(group)?;
            }
        }
        Ok(())
    }

    fn bucket(&mut self, group: Group) -> &mut Bucket {
        match group {
            Group::SameExperts => &mut self.experts,
            _ => &mut self.dense,
        }
    }

    fn reduce_bucket(&mut self, group: Group) -> Made {
        let Bucket { parameters, ready } = std::mem::take(self.bucket(group));
        if parameters == 0 || self.iteration.extent(group).0 == 1 {
            return Ok(());
        }
        if !self.iteration.overlap {
            self.late.push((group, parameters));
            return Ok(());
        }
        self.reduce_now(group, parameters, ready)
    }

    fn reduce_now(&mut self, group: Group, parameters: u64, ready: Option<NodeId>) -> Made {
        let operation = match self.iteration.zero {
            0 => Operation::AllReduce,
            _ => Operation::ReduceScatter,
        };
        let bytes = parameters * self.iteration.gradient_bytes();
        let parents: Vec<NodeId> = self.last_replica.into_iter().chain(ready).collect();
        self.last_replica =
            Some(self.collective(group, operation, bytes, "gradients", &parents)?);
        Ok(())
    }

    /// Adds what follows the last backward pass.
    fn end(&mut self) -> Made {
        self.graph.label("end");
        let late = std::mem::take(&mut self.late);
        for &(group, parameters) in &late {
            self.reduce_now(group, parameters, self.last)?;
        }
        let ends = [0, self.iteration.pipeline - 1].contains(&self.stage);
        if self.iteration.shares_vocabulary() && ends {
            let shared = Weights { whole: 0, ..self.shape.embedding(self.iteration.sequence) };
            let bytes = self.iteration.dense(shared) * self.iteration.gradient_bytes();
            let parents: Vec<NodeId> = self.last.into_iter().chain(self.last_replica).collect();
            let node = self.collective(
                Group::Vocabulary,
                Operation::AllReduce,
                bytes,
                "vocabulary",
                &parents,
            )?;
            self.last = Some(node);
        }
        let parents: Vec<NodeId> = self.last.into_iter().chain(self.last_replica).collect();
        let end = self.graph.add_after(Op::Join, &parents)?;
        if (1..=2).contains(&self.iteration.zero) && !self.iteration.overlap {
            for (group, parameters) in late {
                let parents: Vec<NodeId> = self.last_replica.into_iter().chain([end]).collect();
                let bytes = 2 * parameters;
                let node =
                    self.collective(group, Operation::AllGather, bytes, "parameters", &parents)?;
                self.last_replica = Some(node);
            }
        }
        Ok(())
    }
}
