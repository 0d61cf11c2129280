//! A world drawn at random: sizes, distances, and who is what.

use super::Domain;
use crate::fault::{BlackHole, Busy, Fast, FaultKind, Greylist, Hung, Refused, Slow, log_normal};
use crate::host::Host;
use crate::names::{Mx, NamesKind, Servfail, Silent};
use sojourn_core::parameters::{Check, Refusal, Value, defaults};
use sojourn_core::{Span, Stream, Streams, parameters};
use std::num::NonZeroU32;

parameters! {
    /// A list's subscribers, and where they are. The size of the `n`-th domain is proportional to
    /// `n` to the power of `-zipf`, at least one. The ten largest are providers: fast, always
    /// there, and with a limit on sessions. Among the others, in an order drawn at random, domains
    /// are made unreachable, greylisting and slow until these have their shares of all
    /// subscribers, as nearly as whole domains allow.
    pub struct Drawn: "drawn" {
        /// How many.
        pub subscribers: NonZeroU32 = NonZeroU32::new(2000).expect("above 0"),
        /// Over how many domains.
        pub domains: NonZeroU32 = NonZeroU32::new(400).expect("above 0"),
        /// The exponent of the domains' sizes.
        pub zipf: f64 [0.0..=10.0] = 1.0,
        /// The share of subscribers who cannot be reached: their hosts do not answer, hang, refuse
        /// connections, or their name servers are silent or fail, in turn.
        pub unreachable: f64 = 0.02,
        /// The share of subscribers who are greylisted.
        pub greylisted: f64 = 0.1,
        /// Duration of greylisting.
        pub greylisting: Span = Span::from_s(60),
        /// The share of subscribers whose servers take their time.
        pub slow: f64 = 0.05,
        /// How long they take for an answer: the median.
        pub slow_reply: Span = Span::from_ms(500),
        /// The median of the distance of hosts.
        pub round_trip: Span = Span::from_ms(40),
        /// The standard deviation of the logarithm of that distance (log-normal).
        pub spread: f64 [0.0..=10.0] = 0.7,
        /// The share of hosts that take BDAT (RFC 3030) beside commands in groups, as Google,
        /// Microsoft, Exim and Postfix do, and Yahoo and sendmail do not. The number is ours.
        pub chunking: f64 [0.0..=1.0] = 0.8,
        /// How many sessions a provider allows; above it answers 421.
        pub provider_sessions: NonZeroU32 = NonZeroU32::new(10).expect("above 0"),
    }
}

/// Of the largest domains, those that are providers.
const PROVIDERS: usize = 10;

impl Check for Drawn {
    fn check(&self) -> Result<(), Refusal> {
        let shares = [
            ("unreachable", self.unreachable),
            ("greylisted", self.greylisted),
            ("slow", self.slow),
        ];
        let mut sum = 0.0;
        for (key, share) in shares {
            sum += share;
            if share.is_nan() || share < 0.0 || sum > 1.0 {
                let expected = "shares from 0 on that sum up to at most 1";
                return Err(Refusal::value(&Value::Float(share), expected).under(key));
            }
        }
        if self.domains > self.subscribers {
            let given = Value::Int(self.domains.get().into());
            let expected = format!("at most as many as subscribers, {}", self.subscribers);
            return Err(Refusal::value(&given, expected).under("domains"));
        }
        Ok(())
    }
}

impl Drawn {
    /// The domains, the largest first.
    pub(super) fn domains(&self, seed: u64) -> Vec<Domain> {
        let streams = Streams::new(seed, 0);
        let distances = &mut streams.stream("distances", 0);
        let extensions = &mut streams.stream("extensions", 0);
        let sizes = self.sizes();
        let mut domains: Vec<Domain> = (1..)
            .zip(&sizes)
            .map(|(number, &subscribers)| Domain {
                name: format!("d{number}.example"),
                subscribers,
                names: NamesKind::Mx(Mx {}),
                host: vec![self.host(distances, extensions)],
            })
            .collect();
        let mut others: Vec<usize> = (PROVIDERS.min(domains.len())..domains.len()).collect();
        shuffle(&mut others, seed, "kinds");
        for provider in &mut domains[..PROVIDERS.min(sizes.len())] {
            let sessions = self.provider_sessions;
            provider.host[0].personality = FaultKind::Busy(Busy { sessions });
        }
        let mut dead = 0;
        self.mark(self.unreachable, &mut others, &mut domains, |domain| {
            make_unreachable(domain, dead);
            dead += 1;
        });
        self.mark(self.greylisted, &mut others, &mut domains, |domain| {
            let greylist = Greylist { wait: self.greylisting, ..defaults() };
            domain.host[0].personality = FaultKind::Greylist(greylist);
        });
        self.mark(self.slow, &mut others, &mut domains, |domain| {
            let slow = Slow { median: self.slow_reply, ..defaults() };
            domain.host[0].personality = FaultKind::Slow(slow);
        });
        domains
    }

    fn host(&self, distances: &mut Stream, extensions: &mut Stream) -> Host {
        let round_trip = log_normal(self.round_trip, self.spread, distances);
        let chunking = extensions.uniform() < self.chunking;
        let personality = FaultKind::Fast(Fast {});
        Host { personality, round_trip, chunking, ..defaults() }
    }

    /// How many subscribers each domain has: all of them together, each at least one, the rest by
    /// the largest remainders.
    fn sizes(&self) -> Vec<u32> {
        let (all, domains) = (self.subscribers.get(), self.domains.get());
        let weights: Vec<f64> = (1..=domains).map(|n| f64::from(n).powf(-self.zipf)).collect();
        let total: f64 = weights.iter().sum();
        let spare = f64::from(all - domains);
        let shares: Vec<f64> = weights.iter().map(|weight| spare * weight / total).collect();
        let mut sizes: Vec<u32> = shares.iter().map(|share| 1 + share.floor() as u32).collect();
        let mut rest: Vec<usize> = (0..shares.len()).collect();
        rest.sort_by(|&a, &b| shares[b].fract().total_cmp(&shares[a].fract()));
        let missing = all - sizes.iter().sum::<u32>();
        rest.into_iter().take(missing as usize).for_each(|at| sizes[at] += 1);
        sizes
    }

    /// Takes domains out of `others`, in order, as long as they fit a share of all subscribers.
    fn mark(
        &self,
        share: f64,
        others: &mut Vec<usize>,
        domains: &mut [Domain],
        mut kind: impl FnMut(&mut Domain),
    ) {
        let mut left = (share * f64::from(self.subscribers.get())).round() as u32;
        others.retain(|&number| {
            let domain = &mut domains[number];
            let fits = domain.subscribers <= left;
            if fits {
                left -= domain.subscribers;
                kind(domain);
            }
            !fits
        });
    }
}

/// One of the ways in which a domain is not reached.
fn make_unreachable(domain: &mut Domain, number: usize) {
    let personality = match number % 5 {
        0 => FaultKind::BlackHole(BlackHole {}),
        1 => FaultKind::Hung(defaults::<Hung>()),
        2 => FaultKind::Refused(Refused {}),
        3 => return domain.names = NamesKind::Silent(defaults::<Silent>()),
        _ => return domain.names = NamesKind::Servfail(defaults::<Servfail>()),
    };
    domain.host[0].personality = personality;
}

/// Puts a list into an order drawn at random (Fisher and Yates).
pub(super) fn shuffle<T>(list: &mut [T], seed: u64, purpose: &str) {
    let stream = &mut Streams::new(seed, 0).stream(purpose, 0);
    for last in (1..list.len()).rev() {
        list.swap(last, stream.below(last as u64 + 1) as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Class, TestNetConfig};

    #[test]
    fn shares_and_sizes_are_as_they_are_set() {
        let drawn = Some(Drawn { greylisted: 0.25, ..defaults() });
        let world = TestNetConfig { drawn, ..defaults() };
        let domains = world.domains();
        assert_eq!(domains.len(), 400);
        // Of 1600 beyond one each: 1600 / H(400) = 243.5 for the first, half of that for the next: 243,
        // 121 and 81, and one more where the remainder is among the largest.
        assert_eq!(
            domains[..3].iter().map(|it| it.subscribers).collect::<Vec<_>>(),
            [244, 123, 82]
        );
        let subscribers = world.subscribers();
        let share = |class| subscribers.iter().filter(|it| it.class == class).count();
        assert_eq!(subscribers.len(), 2000);
        assert_eq!(
            [Class::Unreachable, Class::Deferring, Class::Slow, Class::Fast].map(share),
            [40, 500, 99, 1361]
        );
        let mut trips: Vec<_> = domains.iter().map(|it| it.host[0].round_trip).collect();
        trips.sort();
        let median = trips[200].seconds();
        assert!((0.036..0.044).contains(&median), "{median}");
        let chunking = domains.iter().filter(|it| it.host[0].chunking).count();
        assert!((300..340).contains(&chunking), "{chunking}");
        assert_eq!(world, TestNetConfig { drawn: world.drawn.clone(), ..defaults() });
    }

    #[test]
    fn the_same_seed_draws_the_same_world() {
        let world = |seed| TestNetConfig { seed, drawn: Some(defaults()), ..defaults() };
        assert_eq!(world(3).domains(), world(3).domains());
        assert_ne!(world(3).domains(), world(4).domains());
        assert_ne!(world(3).subscribers(), world(4).subscribers());
    }
}
