//! Queries: a client asks many servers at once, and waits for the last answer.

use super::{Draw, Drawn, JobKind, WorkloadContext};
use crate::flow::Flow;
use crate::packet::{LATEST_ARRIVAL, LONGEST_TIMER};
use sojourn_core::parameters::{Check, Refusal, Setting, Shape, Value};
use sojourn_core::{Bytes, Frequency, Gaps, Span, Stream, Streams, Time, choices, parameters};
use std::num::NonZeroU32;

parameters! {
    /// Queries: a client sends a request to each of `fan_in` servers at once; each answers as soon
    /// as its request has arrived whole and it has thought; the query is done when the last byte of
    /// the last answer has reached the client (HOTI 2013, section IV; big buffers, figure 4).
    /// Requests are flows like others. Rows: `query`, one a query, and `response`, one an answer,
    /// which counts from the moment its query was asked; requests have no rows. Not
    /// modelled: what answers cost the servers and the client, beyond the time to think.
    pub struct Queries: "query" {
        /// Total number of queries.
        pub queries: NonZeroU32 = NonZeroU32::new(1_000).expect("above zero"),
        /// Number of servers that a query asks. With a list, each number applies to the same number
        /// of queries, in random order.
        pub fan_in: FanIn = FanIn(vec![8]),
        /// Number of hosts that ask, which are the first ones; by default all hosts. All hosts
        /// answer.
        pub clients: Option<NonZeroU32> = None,
        /// Mean rate of queries per client (HOTI 2013: about 10 per second).
        pub rate: Frequency = Frequency::new(10.0).expect("above zero"),
        /// When clients ask.
        pub arrivals: When = When::Poisson,
        /// With `periodic`: the longest random delay of a query.
        pub jitter: Span = Span::ZERO,
        /// How a client chooses servers.
        pub servers: Servers = Servers::Random,
        /// Size of the answers.
        pub size: Bytes = Bytes(1_000_000),
        /// Whether `size` is that of one answer or of all answers together.
        pub size_of: SizeOf = SizeOf::Query,
        /// Size of each request.
        pub request: Bytes = Bytes(100),
        /// Shortest time between a request and its answer at the server.
        pub think: Span = Span::ZERO,
        /// Largest random addition to that time.
        pub think_spread: Span = Span::ZERO,
    }
}

choices! {
    /// When clients ask.
    pub enum When: "way of arriving" {
        /// Each client by its own Poisson process.
        Poisson = "poisson",
        /// Each client again and again after the same time, from a random moment on.
        Periodic = "periodic",
    }
}

choices! {
    /// How a client chooses servers.
    pub enum Servers: "choice of servers" {
        /// Others for each query, by chance.
        Random = "random",
        /// Each client always the same ones, chosen once by chance; a query with a smaller fan-in
        /// the first of them.
        Fixed = "fixed",
    }
}

choices! {
    /// What a size is that of.
    pub enum SizeOf: "meaning of a size" {
        /// All answers of a query together, split evenly: the first ones are larger by a byte where
        /// that does not come out even.
        Query = "query",
        /// Each answer.
        Response = "response",
    }
}

/// How many servers queries ask: one number for all, or several.
#[derive(Clone, Debug, PartialEq)]
pub struct FanIn(pub Vec<u32>);

impl Setting for FanIn {
    fn expected() -> String {
        "a list of whole numbers from 1 on, or one such".to_owned()
    }

    fn shape() -> Shape {
        let one = NonZeroU32::shape();
        Shape::Any(vec![one.clone(), Shape::List(Box::new(one))])
    }

    fn read(value: &Value) -> Result<FanIn, Refusal> {
        let one = |value: &Value| NonZeroU32::read(value).map(NonZeroU32::get);
        let read: Result<Vec<u32>, Refusal> = match value {
            Value::List(values) => values.iter().map(one).collect(),
            single => one(single).map(|number| vec![number]),
        };
        let numbers = read.ok().filter(|numbers| !numbers.is_empty());
        numbers.map(FanIn).ok_or_else(|| Refusal::value(value, FanIn::expected()))
    }

    fn write(&self) -> Option<Value> {
        match self.0[..] {
            [one] => Some(Value::Int(one.into())),
            _ => Some(Value::List(self.0.iter().map(|&one| Value::Int(one.into())).collect())),
        }
    }
}

impl FanIn {
    /// The largest.
    fn most(&self) -> u32 {
        self.0.iter().copied().max().unwrap_or(0)
    }

    /// Those of `queries` queries, in turn.
    fn of(&self, queries: NonZeroU32) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().copied().cycle().take(queries.get() as usize)
    }
}

impl Check for Queries {
    fn check(&self) -> Result<(), Refusal> {
        let refuse = |key: &str, value: Option<Value>, expected: String| {
            Err(Refusal::value(&value.expect("a value"), expected).under(key))
        };
        if self.request.0 == 0 {
            return refuse("request", self.request.write(), "at least \"1B\"".to_owned());
        }
        let least = match self.size_of {
            SizeOf::Query => u64::from(self.fan_in.most()),
            SizeOf::Response => 1,
        };
        if self.size.0 < least {
            let expected = format!("at least \"{}\", one byte per answer", Bytes(least));
            return refuse("size", self.size.write(), expected);
        }
        let (jitter, thought) = (self.jitter, self.think.saturating_add(self.think_spread));
        let period = Span::from_seconds(1.0 / self.rate.per_second());
        if jitter > period {
            let expected = format!("at most {period}, the time between two queries of a client");
            return refuse("jitter", jitter.write(), expected);
        }
        if thought > LONGEST_TIMER {
            let expected = format!("at most {LONGEST_TIMER} together with think_spread");
            return refuse("think", self.think.write(), expected);
        }
        Ok(())
    }
}

impl Draw for Queries {
    fn number(&self) -> &'static str {
        "queries"
    }

    fn count(&self, context: &WorkloadContext<'_>, _: Streams) -> Result<usize, Refusal> {
        let hosts = context.graph.hosts();
        if self.fan_in.most() as usize >= hosts {
            let expected = format!("fewer than the {hosts} hosts of the topology");
            return Err(Refusal::of(&self.fan_in, expected).under("fan_in"));
        }
        if let Some(clients) = self.clients.filter(|clients| clients.get() as usize > hosts) {
            let expected = format!("at most the {hosts} hosts of the topology");
            return Err(Refusal::of(&clients, expected).under("clients"));
        }
        let together = match self.size_of {
            SizeOf::Query => 1,
            SizeOf::Response => self.fan_in.most(),
        };
        context.check_size("request", self.request, 1)?;
        context.check_size("size", self.size, together)?;
        let rounds = f64::from(self.queries.get()) / self.clients(context) as f64;
        if Span::from_seconds((rounds + 3.0) / self.rate.per_second()) > LATEST_ARRIVAL {
            return Err(self.too_long());
        }
        let answers: u64 = self.fan_in.of(self.queries).map(u64::from).sum();
        Ok(self.queries.get() as usize + answers as usize)
    }

    fn is_of_flows(&self) -> bool {
        false
    }

    fn draw(&self, context: &WorkloadContext<'_>, streams: Streams) -> Result<Drawn, Refusal> {
        self.count(context, streams)?;
        let hosts: Vec<u16> = (0..context.graph.hosts()).map(|host| host as u16).collect();
        let mut numbers: Vec<u32> = self.fan_in.of(self.queries).collect();
        shuffle(&mut numbers, &mut streams.stream("query-fan-in", 0));
        let mut thoughts = streams.stream("query-thoughts", 0);
        let mut choices = streams.stream("query-servers", 0);
        let fixed: Vec<Vec<u16>> = match self.servers {
            Servers::Random => Vec::new(),
            Servers::Fixed => hosts
                .iter()
                .map(|&client| {
                    let mut others = others(client, &hosts);
                    shuffle(&mut others, &mut streams.stream("query-servers", client.into()));
                    others
                })
                .collect(),
        };
        let mut order = hosts;
        let mut drawn = Drawn::default();
        for ((arrived, client), fan_in) in self.asked(context, streams)?.into_iter().zip(numbers) {
            let servers = match self.servers {
                Servers::Fixed => &fixed[usize::from(client)][..fan_in as usize],
                Servers::Random => chosen(&mut order, client, fan_in as usize, &mut choices),
            };
            let query = drawn.graph.add_job(JobKind::Query);
            for (place, &server) in (0..).zip(servers) {
                let think = self.think + Span::from_ps(thoughts.below(self.think_spread.ps() + 1));
                let request = Flow::new(client, server, self.request.0, arrived);
                let request = drawn.message(request, &[], Span::ZERO, Some(query));
                let response = self.bytes(place, fan_in.into());
                let response = Flow::new(server, client, response, arrived);
                drawn.message(response, &[request], think, Some(query));
            }
        }
        Ok(drawn)
    }
}

impl Queries {
    fn clients(&self, context: &WorkloadContext<'_>) -> usize {
        self.clients.map_or(context.graph.hosts(), |clients| clients.get() as usize)
    }

    /// The size of the answer number `place` of `fan_in`.
    fn bytes(&self, place: u64, fan_in: u64) -> u64 {
        match self.size_of {
            SizeOf::Response => self.size.0,
            SizeOf::Query => self.size.0 / fan_in + u64::from(place < self.size.0 % fan_in),
        }
    }

    /// When who asks, in order of time.
    fn asked(
        &self,
        context: &WorkloadContext<'_>,
        streams: Streams,
    ) -> Result<Vec<(Time, u16)>, Refusal> {
        let (clients, queries) = (self.clients(context), self.queries.get() as usize);
        let mut asked = Vec::with_capacity(queries);
        match self.arrivals {
            When::Poisson => {
                let all = self.rate.per_second() * clients as f64;
                let gaps = Gaps::Poisson(Frequency::new(all).ok_or_else(|| self.too_long())?);
                let mut gap = streams.stream("query-gaps", 0);
                let mut who = streams.stream("query-clients", 0);
                let mut since_start = Span::ZERO;
                for _ in 0..queries {
                    since_start = since_start.saturating_add(gaps.draw(&mut gap));
                    asked.push((since_start, who.below(clients as u64) as u16));
                }
            }
            When::Periodic => {
                let period = Span::from_seconds(1.0 / self.rate.per_second());
                // The rounds after these come later than as many queries as are wanted.
                let rounds = queries.div_ceil(clients) as u64;
                for client in (0..clients).map(|client| client as u16) {
                    let mut own = streams.stream("query-gaps", client.into());
                    let first = own.below(period.ps() + 1);
                    asked.extend((0..=rounds).map(|round| {
                        let late = Span::from_ps(first + own.below(self.jitter.ps() + 1));
                        (period.saturating_mul(round).saturating_add(late), client)
                    }));
                }
                asked.sort_unstable();
                asked.truncate(queries);
            }
        }
        match asked.last() {
            Some(&(last, _)) if last > LATEST_ARRIVAL => Err(self.too_long()),
            _ => Ok(asked.into_iter().map(|(at, client)| (Time::ZERO + at, client)).collect()),
        }
    }

    fn too_long(&self) -> Refusal {
        let expected = format!("a rate at which all queries are asked within {LATEST_ARRIVAL}");
        Refusal::value(&self.rate.write().expect("a rate"), expected).under("rate")
    }
}

/// Everyone but `client`.
fn others(client: u16, hosts: &[u16]) -> Vec<u16> {
    hosts.iter().copied().filter(|host| *host != client).collect()
}

/// A random order.
fn shuffle<T>(items: &mut [T], stream: &mut Stream) {
    for last in (1..items.len()).rev() {
        items.swap(last, stream.below(last as u64 + 1) as usize);
    }
}

/// `count` different hosts but `client`; `order` is all hosts in any order, and stays that.
fn chosen<'a>(order: &'a mut [u16], client: u16, count: usize, stream: &mut Stream) -> &'a [u16] {
    let own = order.iter().position(|host| *host == client).expect("the client is a host");
    order.swap(0, own);
    for place in 1..=count {
        let other = place + stream.below((order.len() - place) as u64) as usize;
        order.swap(place, other);
    }
    &order[1..=count]
}
