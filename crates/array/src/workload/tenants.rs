//! Several tenants that share an array, each with its own requests; a closed loop waits for its own to
//! be done.

use super::arrivals::Arrivals;
use super::counts::Size;
use super::places::{self, Places};
use super::synthetic::{Laws, Requests, depth_of};
use super::{Kind, LATEST, Numbers, Part, Ready, Request, Source, WorkloadContext};
use sojourn_core::parameters::{Check, Refusal, Setting, Value, defaults};
use sojourn_core::{Span, Streams, Time, nested, parameters};
use std::collections::VecDeque;
use std::num::NonZeroU32;

parameters! {
    /// Several tenants that share the array: each has separate sizes, operations and places, and sends requests in
    /// a closed loop or by open arrivals. Rows have a column `tenant`: `sojourn show RUN --by tenant`.
    /// The array is empty at first; the first requests, of whichever tenant, have no rows, those
    /// after them do. All tenants go on until these are done, or until they have sent
    /// four times as many requests, or 10,000 more where that is more.
    pub struct Tenants: "tenants" {
        /// Number of requests with rows, for all tenants together.
        pub requests: NonZeroU32 = NonZeroU32::new(100_000).expect("100,000 is not zero"),
        /// Number of requests before them, which have no rows.
        pub warmup: u32 = 5_000,
        /// The tenants: `[[workload.tenant]]`.
        pub tenant: Vec<Tenant>,
    }
}

parameters! {
    /// One of the tenants that share an array.
    pub struct Tenant: "tenant" {
        /// What it is called in rows and tables.
        pub name: String,
        /// When its requests arrive.
        pub arrivals: Arrivals,
        /// Number of blocks per request.
        pub blocks: Size,
        /// Share of requests that read; the others write.
        pub reads: f64 [0.0..=1.0] = 1.0,
        /// Addresses of the requests.
        pub places: Places = Places::Uniform(defaults::<places::Uniform>()),
    }
}
nested!(Tenant);

/// The most tenants of an array.
const MOST: usize = 64;

impl Check for Tenant {
    fn check(&self) -> Result<(), Refusal> {
        match self.name.is_empty() {
            false => Ok(()),
            true => Err(Refusal::of(&self.name, "a name").under("name")),
        }
    }
}

impl Check for Tenants {
    fn check(&self) -> Result<(), Refusal> {
        let count = self.tenant.len();
        if !(1..=MOST).contains(&count) {
            let expected = format!("1 to {MOST} tenants, each a [[workload.tenant]]");
            return Err(match count {
                0 => Refusal::missing("tenant", expected),
                many => {
                    let given = Value::Text(format!("{many} tenants"));
                    Refusal::value(&given, expected).under("tenant")
                }
            });
        }
        for (place, tenant) in self.tenant.iter().enumerate() {
            let others = &self.tenant[..place];
            if others.iter().any(|other| other.name == tenant.name) {
                let refusal = Refusal::of(&tenant.name, "a name that no other tenant has");
                return Err(refusal.under("name").among(place).under("tenant"));
            }
            let has = tenant.places.have_addresses();
            if others.iter().any(|other| other.places.have_addresses() != has) {
                let expected = "places with addresses for all tenants, or anywhere for all";
                let given = Value::Text(tenant.places.name().to_owned());
                let refusal = Refusal::value(&given, expected);
                return Err(refusal.under("places").among(place).under("tenant"));
            }
        }
        Ok(())
    }
}

impl Kind for Tenants {
    fn ready(&self, context: &WorkloadContext) -> Result<Ready, Refusal> {
        let mut tenants = Vec::new();
        for (place, tenant) in self.tenant.iter().enumerate() {
            let laws = tenant.laws(context);
            let laws = laws.map_err(|refusal| refusal.among(place).under("tenant"))?;
            tenants.push((tenant.name.as_str().into(), laws));
        }
        let any = |which: usize| tenants.iter().any(|(_, laws): &(_, Laws)| laws.ops()[which]);
        Ok(Ready {
            numbers: Numbers { warmup: self.warmup, requests: self.requests.get() },
            ops: [any(0), any(1)],
            largest: tenants.iter().map(|(_, laws)| laws.largest()).max().unwrap_or(1),
            notes: depth_of(tenants.iter().map(|(_, laws)| laws)),
            source: Source::Tenants(tenants.into()),
        })
    }

    fn has_addresses(&self) -> bool {
        self.tenant.iter().any(|tenant| tenant.places.have_addresses())
    }

    fn is_uniform(&self) -> bool {
        self.tenant.iter().all(|tenant| tenant.places.are_uniform())
    }

    fn parts(&self) -> Vec<Part<'_>> {
        let parts = self.tenant.iter().enumerate().map(|(place, tenant)| Part {
            place: Some(place),
            arrivals: &tenant.arrivals,
            reads: tenant.reads,
            places: &tenant.places,
        });
        parts.collect()
    }
}

impl Tenant {
    fn laws(&self, context: &WorkloadContext) -> Result<Laws, Refusal> {
        let Tenant { arrivals, reads, places, .. } = self;
        let refuse = |expected| Refusal::value(&self.blocks.write().expect("a size"), expected);
        let blocks = self.blocks.law(context).map_err(|refusal| refusal.under("blocks"))?;
        Laws::new(arrivals, blocks, *reads, places, context)
            .map_err(|expected| refuse(expected).under("blocks"))
    }
}

/// The tenants of one run: which tenant's request comes next, and when.
pub struct Clients {
    clients: Vec<Client>,
}

/// A tenant of one run.
struct Client {
    requests: Requests,
    next: Next,
}

/// What a tenant sends next.
enum Next {
    /// A request by open arrivals.
    Open(Request),
    /// Requests of a closed loop: when each is due, the first one first, and the time to think after one
    /// is done.
    Closed { due: VecDeque<Time>, think: Span },
}

impl Client {
    /// When its next request arrives; never while all that it may have under way are.
    #[inline(always)]
    fn at(&self) -> Time {
        match &self.next {
            Next::Open(request) => request.arrived,
            Next::Closed { due, .. } => due.front().copied().unwrap_or(Time::NEVER),
        }
    }
}

impl Clients {
    /// The tenants with these laws, at the start: closed loops send all that they may.
    pub(super) fn new(tenants: &[(Box<str>, Laws)], streams: Streams) -> Clients {
        let client = |(number, (_, laws)): (u64, &(Box<str>, Laws))| {
            let mut requests = laws.requests(streams, number);
            let next = match laws.closed() {
                None => Next::Open(requests.draw()),
                Some(closed) => Next::Closed {
                    due: vec![Time::ZERO; closed.depth as usize].into(),
                    think: closed.think,
                },
            };
            Client { requests, next }
        };
        Clients { clients: (0..).zip(tenants).map(client).collect() }
    }

    /// Whether there is more than one tenant.
    #[inline(always)]
    pub fn are_several(&self) -> bool {
        self.clients.len() > 1
    }

    /// The tenant whose request comes next, and when; of several at one time the first.
    #[inline(always)]
    pub fn next(&self) -> (usize, Time) {
        let mut first = (0, self.clients[0].at());
        for (number, client) in self.clients.iter().enumerate().skip(1) {
            let at = client.at();
            if at < first.1 {
                first = (number, at);
            }
        }
        match first.1 > LATEST {
            true => (first.0, Time::NEVER),
            false => first,
        }
    }

    /// Takes the next request of a tenant.
    #[inline(always)]
    pub fn take(&mut self, tenant: usize) -> Request {
        let Client { requests, next } = &mut self.clients[tenant];
        match next {
            Next::Open(request) => std::mem::replace(request, requests.draw()),
            Next::Closed { due, .. } => {
                let arrived = due.pop_front().expect("a request that is due");
                Request { arrived, ..requests.draw() }
            }
        }
    }

    /// Notes that a request of a tenant is done.
    #[inline(always)]
    pub fn done(&mut self, tenant: usize, at: Time) {
        if let Next::Closed { due, think } = &mut self.clients[tenant].next {
            due.push_back(at + *think);
        }
    }
}
