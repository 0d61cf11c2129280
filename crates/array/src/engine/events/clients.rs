//! The event loop under tenants, whose requests may wait for others to be done.

use super::{Engine, LOOK_EVERY};
use crate::device::ServiceModel;
use crate::engine::{AccessCounts, Scenario, Sink};
use crate::workload::{Clients, LATEST, Request};
use sojourn_core::{Cancelled, Progress, Span, Time};
use std::sync::atomic::Ordering;

/// The most requests that are sent: this many times those that the sink hears of, or this many more. Where more comes
/// than is served, and some of these are always passed by others, a run would not end.
const MOST_TIMES: u64 = 4;
const MOST_MORE: u64 = 10_000;

/// Simulates until the first [`Scenario::requests`] requests of `clients` are done; these go on to send
/// others meanwhile, which the sink never hears of. Returns beside the sink the tenant of each, where there
/// are several.
#[inline(never)]
pub fn sojourn_simulate_clients<M: ServiceModel, S: Sink>(
    scenario: &Scenario<M>,
    clients: Clients,
    sink: S,
    progress: &Progress,
) -> Result<(S, Vec<u8>, AccessCounts), Cancelled> {
    let recorded = scenario.requests;
    let sink = Looped { sink, clients, tenants: Vec::new(), recorded, left: recorded };
    Engine::new(scenario, sink).run_clients(progress)
}

/// A sink that tells tenants that their requests are done.
struct Looped<S> {
    sink: S,
    clients: Clients,
    /// The tenant of each request so far, where there are several.
    tenants: Vec<u8>,
    /// How many requests the sink hears of, and how many of them are not done.
    recorded: u64,
    left: u64,
}

impl<S: Sink> Sink for Looped<S> {
    #[inline]
    fn arrived(&mut self, job: u64, request: &Request, ideal: Span) {
        if job < self.recorded {
            self.sink.arrived(job, request, ideal);
        }
    }

    #[inline]
    fn finished(&mut self, job: u64, at: Time) {
        let tenant = self.tenants.get(job as usize).copied().unwrap_or(0);
        self.clients.done(tenant.into(), at);
        if job < self.recorded {
            self.left -= 1;
            self.sink.finished(job, at);
        }
    }
}

impl<M: ServiceModel, S: Sink> Engine<'_, M, Looped<S>> {
    fn run_clients(mut self, progress: &Progress) -> Result<(S, Vec<u8>, AccessCounts), Cancelled> {
        let mut job = 0;
        let recorded = self.sink.recorded;
        let most = recorded.saturating_mul(MOST_TIMES).max(recorded.saturating_add(MOST_MORE));
        while self.sink.left > 0 {
            // The end of an access may let a request come before the one that was next.
            let (tenant, at) = match job < most {
                true => self.sink.clients.next(),
                false => (0, Time::NEVER),
            };
            let arrives = if at == Time::NEVER { at } else { at + self.scenario.overhead };
            if self.step(arrives.min(LATEST)) {
                continue;
            }
            if at == Time::NEVER {
                break;
            }
            let request = self.sink.clients.take(tenant);
            if self.sink.clients.are_several() {
                self.sink.tenants.push(tenant as u8);
            }
            self.arrive(job, &request, arrives);
            job += 1;
            if job.is_multiple_of(LOOK_EVERY) {
                let done = self.sink.recorded - self.sink.left;
                progress.finished.store(done, Ordering::Relaxed);
                progress.simulated_ps.store(arrives.ps(), Ordering::Relaxed);
                if progress.is_cancelled() {
                    return Err(Cancelled);
                }
            }
        }
        let (Looped { sink, mut tenants, recorded, left, .. }, counts) = self.ended();
        progress.finished.store(recorded - left, Ordering::Relaxed);
        tenants.truncate(recorded as usize);
        Ok((sink, tenants, AccessCounts { late: left > 0, ..counts }))
    }
}
