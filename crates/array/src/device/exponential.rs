//! A textbook's device: exponential service times.

use super::{DeviceContext, Drive, Kind, Op, Ready};
use crate::Moments;
use sojourn_core::parameters::{Check, Refusal};
use sojourn_core::{Span, parameters};

parameters! {
    /// A disk whose accesses take exponential times, whatever they do and however long they are: no
    /// disk is like that, but queues of it are solved exactly, so that a simulation can be held
    /// against what is known.
    pub struct Exponential: "exponential" {
        /// What an access takes on average.
        pub mean: Span,
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
    fn ready(&self, _: &DeviceContext<'_>) -> Result<Ready, Refusal> {
        Ok(Ready::Memoryless(Memoryless { mean: self.mean.ps() as f64 }))
    }
}

/// A device with exponential service times, ready to be accessed.
#[derive(Clone, Debug)]
pub struct Memoryless {
    /// The mean service time in picoseconds.
    mean: f64,
}

impl Drive for Memoryless {
    #[inline]
    fn transfer(&self, place: u32, _: Op, _: u32) -> Span {
        // The middle of the interval that the chance stands for, so that no time is infinite.
        let less = (f64::from(place) + 0.5) / 4_294_967_296.0;
        Span::from_ps((-self.mean * libm::log1p(-less)).round() as u64)
    }

    fn longest(&self, _: u32) -> f64 {
        // The largest chance stands for 23 times the mean.
        23.0 * self.mean
    }

    fn is_exponential(&self) -> bool {
        true
    }

    fn service(&self, _: Op, _: Moments) -> Moments {
        Moments { mean: self.mean, square: 2.0 * self.mean * self.mean }
    }
}
