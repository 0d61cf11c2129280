//! One iteration of a training run, as its ranks execute it.

use super::ranks::{collectives, drawn};
use super::{Draw, Drawn, WorkloadContext};
use crate::ranks::Server;
use crate::topology::Graph;
use sojourn_core::Streams;
use sojourn_core::parameters::Refusal;
use sojourn_training::collective::Port;
use sojourn_training::model::{Iteration, Placement};
use sojourn_training::program::Program;

impl Draw for Iteration {
    fn number(&self) -> &'static str {
        "batch"
    }

    fn count(&self, context: &WorkloadContext<'_>, _: Streams) -> Result<usize, Refusal> {
        hosts(self, context.graph)?;
        Ok(1 + collectives(&program(self)?))
    }

    fn is_of_flows(&self) -> bool {
        false
    }

    fn has_ranks(&self) -> bool {
        true
    }

    fn draw(&self, context: &WorkloadContext<'_>, _: Streams) -> Result<Drawn, Refusal> {
        let port = Port { rate: self.scale_up, latency: self.scale_up_latency };
        let server = Server { ranks: self.server, port };
        let drawn = drawn(program(self)?, hosts(self, context.graph)?, server, context);
        drawn.map_err(|why| Refusal::of(&self.batch, why.to_string()).under("batch"))
    }
}

/// The program. Every number that has to divide another was checked before: what is left is its size.
fn program(iteration: &Iteration) -> Result<Program, Refusal> {
    let refused = |why| Refusal::of(&iteration.batch, format!("a program that runs: {why}"));
    iteration.program().map_err(|why| refused(why).under("batch"))
}

/// The host of each rank.
fn hosts(iteration: &Iteration, graph: &Graph) -> Result<Vec<u16>, Refusal> {
    let ranks = iteration.ranks();
    if ranks as usize > graph.hosts() {
        let expected = format!(
            "a number that makes no more than {} ranks, one for each host of the topology, not {ranks}",
            graph.hosts()
        );
        return Err(Refusal::of(&iteration.data, expected).under("data"));
    }
    match iteration.placement {
        Placement::Servers => Ok((0..ranks).map(|rank| rank as u16).collect()),
        Placement::Rails => on_rails(iteration, graph),
    }
}

/// The n-th rank of each server on the n-th leaf of as many servers as a leaf has hosts.
fn on_rails(iteration: &Iteration, graph: &Graph) -> Result<Vec<u16>, Refusal> {
    let network = graph.network();
    let mut leaves: Vec<Vec<u16>> = vec![Vec::new(); network.racks()];
    for host in 0..network.hosts {
        leaves[network.rack_of(host)].push(host as u16);
    }
    let refused =
        |expected: String| Err(Refusal::of(&iteration.placement, expected).under("placement"));
    let (cards, hosts) = (iteration.server as usize, leaves[0].len());
    if leaves.iter().any(|leaf| leaf.len() != hosts) {
        return refused("\"servers\", since leaves have different numbers of hosts".to_owned());
    }
    let servers = (iteration.ranks() as usize).div_ceil(cards);
    let needed = servers.div_ceil(hosts) * cards;
    if needed > leaves.len() {
        return refused(format!(
            "\"servers\", or a topology of {needed} leaves of {hosts} hosts, for {cards} cards of {servers} \
             servers, not of {}",
            leaves.len()
        ));
    }
    let host = |rank: usize| {
        let (server, card) = (rank / cards, rank % cards);
        leaves[server / hosts * cards + card][server % hosts]
    };
    Ok((0..iteration.ranks() as usize).map(host).collect())
}
