//! What replicas send each other: gradients, and parameters that they divide.

use super::generate::{Bucket, Made, Stage};
use super::placement::Group;
use super::transformer::Weights;
use crate::collective::Operation;
use crate::program::{NodeId, Op};

impl Stage<'_> {
    /// With ZeRO 3, gathers parameters before they are used: while the layer before computes, if that overlaps.
    pub(super) fn divided_parameters(&mut self, weights: Weights) -> Made {
        if self.iteration.zero < 3 {
            return Ok(());
        }
        let before = if self.iteration.overlap { self.passes[0] } else { self.last };
        let gathered = self.gather(weights, before)?;
        self.wait(gathered)
    }

    /// Lets computing wait for `node`, if there is one.
    pub(super) fn wait(&mut self, node: Option<NodeId>) -> Made {
        if node.is_some() {
            let parents: Vec<NodeId> = self.last.into_iter().chain(node).collect();
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
    pub(super) fn gather_at_start(&mut self) -> Made {
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
    pub(super) fn reduce(&mut self, weights: Weights, ends: bool) -> Made {
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
    pub(super) fn end(&mut self) -> Made {
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
