//! The best possible times of the jobs of a run.

use crate::flow::{Completion, Flow, Packets, alone_fct, ideal_fct};
use crate::job::{Asked, Script};
use crate::topology::{Hop, Network};
use sojourn_core::Span;

/// Best possible times; each pair of racks is routed once.
pub(crate) struct Ideals<'a> {
    network: &'a Network,
    packets: &'a Packets,
    /// By the racks of source and destination: the hops out and back.
    trips: Vec<Option<Box<RoundTrip>>>,
}

type RoundTrip = (Vec<Hop>, Vec<Hop>);

impl<'a> Ideals<'a> {
    pub(crate) fn new(network: &'a Network, packets: &'a Packets) -> Ideals<'a> {
        Ideals { network, packets, trips: vec![None; network.racks() * network.racks()] }
    }

    /// Of all flows until their `completion`; those of answers count from the question on, and end at
    /// the client.
    pub(crate) fn flows(&mut self, script: &Script, completion: Completion) -> Vec<Span> {
        let (known, answers) = script.flows.split_at(script.first_answer());
        let mut spans: Vec<Span> = known.iter().map(|flow| self.of(flow, completion)).collect();
        for (answer, after) in answers.iter().zip(&*script.after) {
            let request = self.one_way(&script.flows[after.flow as usize]);
            spans.push(request + after.delay + self.one_way(answer));
        }
        spans
    }

    /// Of all queries, `of_flows` being those of the flows. None is done before its slowest answer
    /// would be alone, nor before all answers have crossed the client's link, one after the other
    /// from the moment that the first of them can be there.
    pub(crate) fn queries(&mut self, script: &Script, of_flows: &[Span]) -> Vec<Span> {
        let of = |asked: &Asked| {
            let places = asked.answers.clone().map(|answer| script.first_answer() + answer);
            let slowest = places.clone().map(|place| of_flows[place]).max();
            let soonest = places
                .clone()
                .map(|place| self.waiting(&script.flows[place], of_flows[place]))
                .min();
            let last = self.network.links[usize::from(asked.query.client)].spec;
            let bytes =
                places.map(|place| self.packets.on_the_wire(script.flows[place].bytes)).sum();
            let joint = soonest.unwrap_or(Span::ZERO) + last.rate.span(bytes) + last.delay;
            slowest.unwrap_or(Span::ZERO).max(joint)
        };
        script.queries.iter().map(of).collect()
    }

    /// When an answer that is done after `alone` at best can begin to cross the client's link.
    fn waiting(&mut self, answer: &Flow, alone: Span) -> Span {
        let begun = alone - self.one_way(answer);
        // A queue may let a short last packet go first.
        let packets = self.packets;
        let short = packets.wire(packets.last_payload(answer.bytes));
        let (out, _) = self.trip(answer);
        let first = |hop: &Hop| if hop.cuts { packets.smallest() } else { short };
        let cross = |hop: &Hop| hop.link.rate.span(first(hop).into()) + hop.link.delay;
        begun + out[..out.len() - 1].iter().map(cross).sum::<Span>()
    }

    /// What one flow takes alone, its packets on one path and in order.
    pub(crate) fn alone(&mut self, flow: &Flow, completion: Completion) -> Span {
        let packets = self.packets;
        let (out, back) = self.until(flow, completion);
        alone_fct(packets, flow.bytes, out, back)
    }

    /// What one flow takes at best.
    pub(crate) fn of(&mut self, flow: &Flow, completion: Completion) -> Span {
        let packets = self.packets;
        let (out, back) = self.until(flow, completion);
        ideal_fct(packets, flow.bytes, out, back)
    }

    fn one_way(&mut self, flow: &Flow) -> Span {
        self.of(flow, Completion::Receiver)
    }

    /// The hops of a flow, and those of its last acknowledgement as far as it is waited for.
    fn until(&mut self, flow: &Flow, completion: Completion) -> (&[Hop], &[Hop]) {
        let (out, back) = self.trip(flow);
        match completion {
            Completion::Receiver => (out, &[]),
            Completion::Sender => (out, back),
        }
    }

    /// The way of a flow and its acknowledgements'.
    fn trip(&mut self, flow: &Flow) -> &RoundTrip {
        let (from, to) = (usize::from(flow.from), usize::from(flow.to));
        let network = self.network;
        let pair = network.rack_of(from) * network.racks() + network.rack_of(to);
        let trip = self.trips[pair]
            .get_or_insert_with(|| Box::new((network.path(from, to), network.path(to, from))));
        // Between two racks all paths are alike but for their first and last links.
        let (out, back) = &mut **trip;
        let ends = [&network.links[from], &network.links[to]];
        for (path, [first, last]) in [(out, ends), (back, [ends[1], ends[0]])] {
            (path[0].link, path[0].cuts) = (first.spec, first.cuts);
            path.last_mut().expect("two hops at least").link = last.spec;
        }
        trip
    }
}
