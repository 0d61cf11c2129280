//! A textbook's device: exponential service times.

use super::chances::evenly;
use super::{
    DeviceContext, Kind, MOST_SERVERS, Op, Plain, Service, ServiceModel, ServiceStart,
    ServiceTimes, Task, WithDevice,
};
use crate::Moments;
use crate::layout::Access;
use sojourn_core::parameters::{Check, Name, Refusal};
use sojourn_core::{Span, Streams, parameters};

parameters! {
    /// A disk whose accesses take exponential times, whatever they do and however long they are: no
    /// disk is like that, but queues of it are solved exactly, so that a simulation can be held
    /// against what is known.
    pub struct Exponential: "exponential" {
        /// Name in tables, legends and plans. By default its kind.
        pub name: Option<Name> = None,
        /// Mean time of an access.
        pub mean: Span,
        /// Number of accesses that are served at once, first come, first served.
        pub servers: u16 [1..=MOST_SERVERS] = 1,
    }
}

/// The longest mean service time that a study may set.
const LONGEST: Span = Span::from_s(60);

impl Check for Exponential {
    fn check(&self) -> Result<(), Refusal> {
        match self.mean > Span::ZERO && self.mean <= LONGEST {
            true => Ok(()),
            false => {
                let expected = format!("a time above zero, at most {LONGEST}");
                Err(Refusal::of(&self.mean, expected).under("mean"))
            }
        }
    }
}

impl Kind for Exponential {
    fn ready<W: WithDevice>(&self, _: &DeviceContext<'_>, then: W) -> Result<W::Output, Refusal> {
        let (mean, servers) = (self.mean.ps() as f64, Kind::servers(self));
        Ok(then.with(Memoryless { mean, servers }))
    }

    fn servers(&self) -> usize {
        self.servers.into()
    }
}

/// A device with exponential service times, ready to be accessed.
#[derive(Clone, Debug)]
pub struct Memoryless {
    /// The mean service time in picoseconds.
    pub(crate) mean: f64,
    /// The number of accesses that it serves at once.
    pub(crate) servers: usize,
}

impl Memoryless {
    /// The service time that is longer than a share `chance` of all.
    #[inline]
    fn time(&self, chance: u32) -> Span {
        // The middle of the interval that the chance stands for, so that no time is infinite.
        let less = (f64::from(chance) + 0.5) / 4_294_967_296.0;
        Span::from_ps((-self.mean * libm::log1p(-less)).round() as u64)
    }
}

impl ServiceModel for Memoryless {
    type Spot = ();
    type State = ();
    type InOrder = Plain<Memoryless>;

    fn state(&self, _: Streams, _: u64) {}

    #[inline]
    fn transfer(&self, chance: u32, _: &Access) -> Span {
        self.time(chance)
    }

    fn spot(&self, _: &Access) {}

    #[inline]
    fn start(&self, (): &mut (), task: &Task<()>, _: ServiceStart) -> Service {
        Service::of(task.transfer)
    }

    fn longest(&self, _: u32) -> f64 {
        // The largest chance stands for 23 times the mean.
        23.0 * self.mean
    }

    fn servers(&self) -> usize {
        self.servers
    }

    fn service_times(&self) -> Option<&dyn ServiceTimes> {
        Some(self)
    }
}

impl ServiceTimes for Memoryless {
    fn moments(&self, _: Op, _: Moments) -> Moments {
        Moments { mean: self.mean, square: 2.0 * self.mean * self.mean }
    }

    fn equally_likely(&self, _: Op, _: u32) -> Vec<f64> {
        evenly(1 << 16).map(|chance| self.time(chance).ps() as f64).collect()
    }

    fn is_exponential(&self) -> bool {
        true
    }
}
