//! Deadlines of flows, and their traffic classes: the terms on which a workload's flows arrive.

use super::{Drawn, MessageId, Role};
use crate::flow::Flow;
use crate::packet::{CLASSES, LATEST_ARRIVAL};
use sojourn_core::parameters::{Check, Parameters, Refusal, Setting, Shape, Table, Value};
use sojourn_core::{Bytes, Distribution, Span, Stream, Streams, Time, parameters, variants};

variants! {
    /// How long a flow may take, counted from its arrival.
    pub enum Law: "deadline" => with_law {
        Constant(Constant),
        Exponential(Exponential),
        Uniform(Uniform),
    }
}

/// Draws deadlines.
trait Draw {
    /// How long the next flow may take. The number of uniforms taken is the same each time.
    fn draw(&self, stream: &mut Stream) -> Span;
}

parameters! {
    /// One time for all flows.
    pub struct Constant: "constant" {
        /// Time that a flow may take.
        pub after: Span,
    }
}

impl Check for Constant {
    fn check(&self) -> Result<(), Refusal> {
        check_time("after", self.after)
    }
}

impl Draw for Constant {
    fn draw(&self, _: &mut Stream) -> Span {
        self.after
    }
}

parameters! {
    /// Exponential times; those below the floor are the floor. What studies of deadlines in
    /// datacenters mostly draw.
    pub struct Exponential: "exponential" {
        /// The mean before the floor.
        pub mean: Span,
        /// Shortest deadline. If it is below the time in an empty fabric, no scheme can meet some
        /// deadlines.
        pub floor: Span = Span::ZERO,
    }
}

/// No draw is more than 37 times its mean, and none may lie beyond every run.
const LONGEST_MEAN: Span = Span::from_s(900);

impl Check for Exponential {
    fn check(&self) -> Result<(), Refusal> {
        if self.mean == Span::ZERO || self.mean > LONGEST_MEAN {
            let expected = format!("a time above zero, at most {LONGEST_MEAN}");
            return Err(Refusal::of(&self.mean, expected).under("mean"));
        }
        match self.floor {
            Span::ZERO => Ok(()),
            floor => check_time("floor", floor),
        }
    }
}

impl Draw for Exponential {
    fn draw(&self, stream: &mut Stream) -> Span {
        let seconds = sojourn_core::Exponential { mean: self.mean.seconds() }.sample(stream);
        Span::from_seconds(seconds).max(self.floor)
    }
}

parameters! {
    /// Times spread evenly between two.
    pub struct Uniform: "uniform" {
        /// Shortest deadline.
        pub least: Span,
        /// Longest deadline.
        pub most: Span,
    }
}

impl Check for Uniform {
    fn check(&self) -> Result<(), Refusal> {
        check_time("least", self.least)?;
        check_time("most", self.most)?;
        if self.most < self.least {
            let expected = format!("at least {}, the least", self.least);
            return Err(Refusal::of(&self.most, expected).under("most"));
        }
        Ok(())
    }
}

impl Draw for Uniform {
    fn draw(&self, stream: &mut Stream) -> Span {
        let between =
            sojourn_core::Uniform { low: self.least.seconds(), high: self.most.seconds() };
        Span::from_seconds(between.sample(stream))
    }
}

/// Refuses a time of zero, or one beyond every run.
fn check_time(key: &str, span: Span) -> Result<(), Refusal> {
    if span == Span::ZERO || span > LATEST_ARRIVAL {
        let expected = format!("a time above zero, at most {LATEST_ARRIVAL}");
        return Err(Refusal::of(&span, expected).under(key));
    }
    Ok(())
}

const A_TIME: &str = "a time such as \"10ms\"";

/// A [`Law`]; a bare time in a study is a constant.
#[derive(Clone, Debug, PartialEq)]
pub struct Deadline(pub Law);

impl Deadline {
    /// How long the next flow may take: above zero.
    pub(super) fn draw(&self, stream: &mut Stream) -> Span {
        let span = with_law!(&self.0, |law| law.draw(stream));
        span.max(Span::from_ps(1))
    }
}

impl Setting for Deadline {
    fn expected() -> String {
        format!("{A_TIME}, or {}", Law::expected())
    }

    fn shape() -> Shape {
        Shape::Any(vec![Span::shape(), Law::shape()])
    }

    fn read(value: &Value) -> Result<Deadline, Refusal> {
        let bare = matches!(value, Value::Text(text) if text.parse::<Span>().is_ok());
        if bare {
            let mut table = Table::default();
            table.set("after", value.clone());
            return Constant::read_table(&table).map(|constant| Deadline(Law::Constant(constant)));
        }
        Law::read(value).map(Deadline).map_err(|refusal| match refusal.path.is_empty() {
            true => Refusal { expected: format!("{A_TIME}, or {}", refusal.expected), ..refusal },
            false => refusal,
        })
    }

    fn write(&self) -> Option<Value> {
        self.0.write()
    }
}

parameters! {
    /// What is asked for the flows of a workload, whatever its kind; for a query,
    /// or another job of several messages, as a whole.
    pub struct FlowTerms: "terms" {
        /// Time that each flow may take after its arrival. A flow with its own deadline keeps it,
        /// and a flow that never ends has none.
        pub deadline: Option<Deadline> = None,
        /// Share of the flows that get a deadline, chosen at random.
        pub deadline_share: f64 [0.0..=1.0] = 1.0,
        /// Largest flow that gets a deadline.
        pub deadline_upto: Option<Bytes> = None,
        /// Weights of the traffic classes, to which flows are assigned at random: with [1, 4] one
        /// in five is in class 0, the others are in class 1. If empty, all flows are in class 0,
        /// unless they have their own class.
        pub classes: Vec<f64> = Vec::new(),
    }
}

impl Check for FlowTerms {
    fn check(&self) -> Result<(), Refusal> {
        let refuse =
            |given: Value, expected: String| Err(Refusal::value(&given, expected).under("classes"));
        if let Some(bad) = self.classes.iter().find(|share| **share < 0.0) {
            return refuse(Value::Float(*bad), "a share that is not below 0".to_owned());
        }
        let all = self.classes.write().expect("a list");
        if self.classes.len() > CLASSES {
            return refuse(all, format!("a list of at most {CLASSES} shares"));
        }
        let sum = self.classes.iter().sum::<f64>();
        if !self.classes.is_empty() && sum <= 0.0 {
            return refuse(all, "a list with a share above 0".to_owned());
        }
        if !sum.is_finite() {
            return refuse(all, "a list of shares with a finite sum".to_owned());
        }
        Ok(())
    }
}

impl FlowTerms {
    /// Reads the terms in `table`. What is said of deadlines without one is refused; a deadline of
    /// "none", which a sweep may have among others, is said.
    pub(super) fn read(table: &Table) -> Result<FlowTerms, Refusal> {
        let about = ["deadline_share", "deadline_upto"];
        let stray = about.into_iter().find_map(|key| table.get(key).map(|value| (key, value)));
        match stray.filter(|_| table.get("deadline").is_none()) {
            Some((key, value)) => {
                let expected = "deadline as well: this is the share of flows that get one";
                Err(Refusal::value(value, expected).under(key))
            }
            None => FlowTerms::read_table(table),
        }
    }

    /// Sets the terms of the jobs in `drawn`: of flows, and of jobs of several messages as a whole. They come
    /// from separate streams: arrivals, pairs and sizes are the same under all terms, and a job keeps its
    /// place in the draw whatever becomes of others.
    pub(super) fn set(&self, drawn: &mut Drawn, streams: Streams) {
        if drawn.graph.jobs().is_empty() {
            self.set_deadlines(&mut drawn.flows, streams);
            self.set_classes(&mut drawn.flows, streams);
            return;
        }
        let mut wholes = wholes(drawn);
        self.set_deadlines(&mut wholes, streams);
        self.set_classes(&mut wholes, streams);
        let (jobs, single) = wholes.split_at(drawn.graph.jobs().len());
        let mut single = single.iter();
        for (message, flow) in MessageId::all().zip(&mut drawn.flows) {
            let whole = match drawn.graph.job(message) {
                Some(job) => &jobs[job.place()],
                None => single.next().expect("a whole for each single flow"),
            };
            if flow.deadline == Time::NEVER {
                flow.deadline = whole.deadline;
            }
            if !self.classes.is_empty() {
                flow.class = whole.class;
            }
        }
    }

    fn set_deadlines(&self, flows: &mut [Flow], streams: Streams) {
        let Some(deadline) = &self.deadline else { return };
        let mut lots = streams.stream("deadline-share", 0);
        let mut spans = streams.stream("deadlines", 0);
        for flow in flows {
            let (lot, span) = (lots.uniform(), deadline.draw(&mut spans));
            let small = self.deadline_upto.is_none_or(|upto| flow.bytes <= upto.0);
            let small = small && !flow.is_endless();
            if lot < self.deadline_share && small && flow.deadline == Time::NEVER {
                flow.deadline = flow.arrived + span;
            }
        }
    }

    fn set_classes(&self, flows: &mut [Flow], streams: Streams) {
        if self.classes.is_empty() {
            return;
        }
        let all: f64 = self.classes.iter().sum();
        let mut lots = streams.stream("classes", 0);
        for flow in flows {
            let mut left = lots.uniform() * all;
            let beyond = self.classes.iter().take_while(|share| {
                left -= **share;
                left >= 0.0
            });
            flow.class = beyond.count().min(self.classes.len() - 1) as u8;
        }
    }
}

/// Each job as one flow, of the size of those of its messages that have rows; and behind them the flows that
/// are of no job.
fn wholes(drawn: &Drawn) -> Vec<Flow> {
    let Drawn { flows, graph, .. } = drawn;
    let empty = Flow::new(0, 0, 0, Time::NEVER);
    let mut wholes = vec![empty; graph.jobs().len()];
    for (message, flow) in MessageId::all().zip(flows) {
        let Some(job) = graph.job(message) else {
            wholes.push(*flow);
            continue;
        };
        let whole = &mut wholes[job.place()];
        whole.arrived = whole.arrived.min(flow.arrived);
        if graph.role(message) != Role::Request {
            whole.bytes = whole.bytes.saturating_add(flow.bytes);
        }
    }
    wholes
}
