//! Internets drawn from laws, and presets of them.

use super::peer::{Peer, Way, answered};
use super::{Domain, Kind};
use sojourn_core::parameters::{Check, Refusal, Value, defaults};
use sojourn_core::{LogNormal, Span, Stream, Streams, parameters};
use std::num::NonZeroU32;

/// Declares an internet: the same parameters as all others that are drawn, each with its own value.
macro_rules! internet {
    (
        $(#[doc = $doc:literal])+
        $type:ident: $name:literal {
            subscribers: $subscribers:literal over $domains:literal by $zipf:literal,
            round_trip: $round_trip:expr, $distances:literal,
            reply: $reply:expr, $replies:literal, $spread:literal,
            slow: $slow:literal, $slow_reply:expr,
            names: $names:expr, $name_servers:literal,
            pipelining: $pipelining:literal,
            down: $down:literal, $outage:expr, $silent:literal, $hung:literal,
            dead: $dead:literal,
            greylisted: $greylisted:literal, $greylisting:expr,
            unknown: $unknown:literal,
            providers: $providers:literal, $provider_sessions:expr, $recipients:expr,
        }
    ) => {
        parameters! {
            $(#[doc = $doc])+
            pub struct $type: $name {
                /// Number of subscribers of the list.
                pub subscribers: NonZeroU32 = some($subscribers),
                /// Number of domains, each with its own host.
                pub domains: NonZeroU32 = some($domains),
                /// The size of the n-th domain is proportional to n to the power of minus this, at
                /// least one.
                pub zipf: f64 [0.0..=10.0] = $zipf,
                /// Median round-trip time to hosts.
                pub round_trip: Span = $round_trip,
                /// Standard deviation of the logarithm of that time (log-normal).
                pub distances: f64 [0.0..=10.0] = $distances,
                /// Time until a host replies: the median of the hosts' medians.
                pub reply: Span = $reply,
                /// Standard deviation of the logarithm of a host's median.
                pub replies: f64 [0.0..=10.0] = $replies,
                /// Standard deviation of the logarithm of a host's reply times around its median.
                pub spread: f64 [0.0..=10.0] = $spread,
                /// Share of slow hosts, which have `slow_reply` instead of `reply`. Without slow
                /// hosts, `slow_reply` has no effect.
                pub slow: f64 [0.0..=1.0] = $slow,
                /// Time until a slow host replies: the median of their medians.
                pub slow_reply: Span = $slow_reply,
                /// Median time until a domain's name servers answer.
                pub names: Span = $names,
                /// Standard deviation of the logarithm of that time.
                pub name_servers: f64 [0.0..=10.0] = $name_servers,
                /// Share of hosts that offer PIPELINING (RFC 2920).
                pub pipelining: f64 [0.0..=1.0] = $pipelining,
                /// Share of the time in which a living host is down.
                pub down: f64 [0.0..=1.0] = $down,
                /// Mean duration of an outage of such a host.
                pub outage: Span = $outage,
                /// Share of outages in which connections get no answer.
                pub silent: f64 [0.0..=1.0] = $silent,
                /// Share of outages in which the host accepts connections and never replies. In the
                /// remaining outages it refuses connections.
                pub hung: f64 [0.0..=1.0] = $hung,
                /// Share of hosts that are always down.
                pub dead: f64 [0.0..=1.0] = $dead,
                /// Share of hosts that greylist.
                pub greylisted: f64 [0.0..=1.0] = $greylisted,
                /// Duration of greylisting.
                pub greylisting: Span = $greylisting,
                /// Share of subscribers that are unknown to their hosts.
                pub unknown: f64 [0.0..=1.0] = $unknown,
                /// Number of providers, which are the largest domains. They are never down and do
                /// not greylist.
                pub providers: u32 = $providers,
                /// Maximum simultaneous sessions at a provider.
                pub provider_sessions: Option<NonZeroU32> = $provider_sessions,
                /// Maximum recipients of one transaction at a host.
                pub recipients: Option<NonZeroU32> = $recipients,
            }
        }

        impl Check for $type {
            fn check(&self) -> Result<(), Refusal> {
                self.laws().check()
            }
        }

        impl Kind for $type {
            fn domains(&self, streams: Streams) -> Result<Vec<Domain>, Refusal> {
                Ok(self.laws().domains(streams))
            }
        }

        impl $type {
            fn laws(&self) -> Laws {
                Laws {
                    sizes: (self.subscribers.get(), self.domains.get(), self.zipf),
                    round_trip: (self.round_trip, self.distances),
                    reply: (self.reply, self.replies),
                    slow_reply: self.slow_reply,
                    names: (self.names, self.name_servers),
                    shares: [
                        ("pipelining", self.pipelining),
                        ("down", self.down),
                        ("silent", self.silent),
                        ("hung", self.hung),
                        ("dead", self.dead),
                        ("greylisted", self.greylisted),
                        ("unknown", self.unknown),
                        ("slow", self.slow),
                    ],
                    greylisting: self.greylisting,
                    providers: self.providers,
                    provider_sessions: self.provider_sessions,
                    // What all hosts have alike; the rest is drawn.
                    peer: Peer {
                        spread: self.spread,
                        outage: self.outage,
                        unknown: self.unknown,
                        recipients: self.recipients,
                        ..defaults()
                    },
                }
            }
        }
    };
}

const fn some(number: u32) -> NonZeroU32 {
    NonZeroU32::new(number).expect("above 0")
}

internet! {
    /// What an office writes to: near hosts that answer at once and are hardly ever out.
    Office: "office" {
        subscribers: 500 over 50 by 1.0,
        round_trip: Span::from_ms(5), 0.5,
        reply: Span::from_ms(20), 0.5, 0.3,
        slow: 0.0, Span::from_s(2),
        names: Span::from_ms(5), 0.5,
        pipelining: 1.0,
        down: 0.001, Span::from_s(1800), 0.5, 0.1,
        dead: 0.0,
        greylisted: 0.0, Span::from_s(300),
        unknown: 0.0,
        providers: 0, None, None,
    }
}

internet! {
    /// The internet of 1997, as the paper's list met it: 1,400 subscribers at internet providers,
    /// one or two at each; one to three in a hundred of them unavailable at any time ("Next Analysis
    /// Step"), some for many days; no PIPELINING. The others are prompt or slow: what the text
    /// leaves open of them, their shares and their times, is chosen once (decision 0041).
    In1997: "internet-1997" {
        subscribers: 1400 over 1300 by 0.5,
        round_trip: Span::from_ms(60), 0.7,
        reply: Span::from_ms(50), 0.0, 0.7,
        slow: 0.45, Span::from_ms(3400),
        names: Span::from_ms(300), 1.0,
        pipelining: 0.0,
        down: 0.015, Span::from_s(8 * 3600), 0.6, 0.3,
        dead: 0.005,
        greylisted: 0.0, Span::from_s(300),
        unknown: 0.0,
        providers: 0, None, None,
    }
}

internet! {
    /// Today's internet, as far as a list meets it: half of the subscribers at ten providers, which
    /// allow ten sessions each; a tenth of the other hosts greylist for five minutes; two in a
    /// hundred are out, or were given up by their owners. The numbers are ours.
    Today: "internet" {
        subscribers: 2000 over 400 by 1.0,
        round_trip: Span::from_ms(40), 0.7,
        reply: Span::from_ms(50), 1.0, 0.5,
        slow: 0.0, Span::from_s(2),
        names: Span::from_ms(30), 1.0,
        pipelining: 0.95,
        down: 0.01, Span::from_s(2 * 3600), 0.6, 0.1,
        dead: 0.01,
        greylisted: 0.1, Span::from_s(300),
        unknown: 0.005,
        providers: 10, Some(some(10)), Some(some(100)),
    }
}

/// What is drawn from.
struct Laws {
    sizes: (u32, u32, f64),
    round_trip: (Span, f64),
    reply: (Span, f64),
    slow_reply: Span,
    names: (Span, f64),
    /// In the order in which [`Laws::share`] counts them.
    shares: [(&'static str, f64); 8],
    greylisting: Span,
    providers: u32,
    provider_sessions: Option<NonZeroU32>,
    peer: Peer,
}

impl Laws {
    fn share(&self, name: &str) -> f64 {
        self.shares.iter().find(|share| share.0 == name).expect("a law has this share").1
    }

    fn check(&self) -> Result<(), Refusal> {
        if self.share("silent") + self.share("hung") > 1.0 {
            let given = Value::Float(self.share("hung"));
            let expected = "shares of outages that sum up to at most 1 with silent";
            return Err(Refusal::value(&given, expected).under("hung"));
        }
        let (subscribers, domains, _) = self.sizes;
        if domains > subscribers {
            let given = Value::Int(domains.into());
            let expected = format!("at most as many as subscribers, {subscribers}");
            return Err(Refusal::value(&given, expected).under("domains"));
        }
        if self.greylisting < Span::from_s(1) {
            return Err(Refusal::of(&self.greylisting, "at least 1s").under("greylisting"));
        }
        self.peer.check()
    }

    /// The domains, the largest first. What a host draws is its own: another share or another size
    /// moves no other draw.
    fn domains(&self, streams: Streams) -> Vec<Domain> {
        let sizes = self.domain_sizes();
        let domain = |(number, subscribers): (u64, u32)| Domain {
            name: format!("d{number}.example"),
            subscribers,
            peer: self.peer(number, &mut streams.stream("hosts", number)),
            provider: None,
        };
        (0..).zip(sizes).map(domain).collect()
    }

    fn peer(&self, number: u64, stream: &mut Stream) -> Peer {
        let drawn = |(median, spread): (Span, f64), stream: &mut Stream| {
            answered(&LogNormal { median: median.seconds(), spread }, stream)
        };
        let round_trip = drawn(self.round_trip, stream);
        // One draw is a host's place in its kind, so that `slow` changes no other draw.
        let mut again = stream.clone();
        let reply = drawn(self.reply, stream);
        let names = drawn(self.names, stream);
        let mut is = |share: f64| stream.uniform() < share;
        let (pipelining, dead) = (is(self.share("pipelining")), is(self.share("dead")));
        let greylists = is(self.share("greylisted"));
        let way = stream.uniform();
        let way = match way - self.share("silent") {
            below if below < 0.0 => Way::Silent,
            rest if rest < self.share("hung") => Way::Hung,
            _ => Way::Refused,
        };
        let reply = match stream.uniform() < self.share("slow") {
            true => drawn((self.slow_reply, self.reply.1), &mut again),
            false => reply,
        };
        let peer = Peer { round_trip, reply, names, pipelining, way, ..self.peer.clone() };
        if number < u64::from(self.providers) {
            return Peer { sessions: self.provider_sessions, ..peer };
        }
        Peer {
            down: if dead { 1.0 } else { self.share("down") },
            greylisting: greylists.then_some(self.greylisting),
            ..peer
        }
    }

    /// How many subscribers each domain has: at least one, the rest by the largest remainders.
    fn domain_sizes(&self) -> Vec<u32> {
        let (subscribers, domains, zipf) = self.sizes;
        let weight = |n: u32| libm::pow(f64::from(n), -zipf);
        let total: f64 = (1..=domains).map(weight).sum();
        let spare = f64::from(subscribers - domains);
        let parts: Vec<f64> = (1..=domains).map(|n| spare * weight(n) / total).collect();
        let mut sizes: Vec<u32> = parts.iter().map(|part| 1 + part.floor() as u32).collect();
        let mut by_rest: Vec<usize> = (0..parts.len()).collect();
        by_rest.sort_by(|&a, &b| parts[b].fract().total_cmp(&parts[a].fract()));
        let left = subscribers - sizes.iter().sum::<u32>();
        by_rest.iter().take(left as usize).for_each(|&domain| sizes[domain] += 1);
        sizes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_subscriber_has_a_domain_and_shares_are_kept() {
        let today: Today = Today { subscribers: some(40_000), domains: some(20_000), ..defaults() };
        let domains = today.laws().domains(Streams::new(1, 0));
        assert_eq!(domains.iter().map(|it| it.subscribers).sum::<u32>(), 40_000);
        assert!(domains.windows(2).all(|pair| pair[0].subscribers >= pair[1].subscribers));
        let share = |fits: &dyn Fn(&Peer) -> bool| {
            domains.iter().filter(|it| fits(&it.peer)).count() as f64 / 20_000.0
        };
        let near = |value: f64, expected: f64| assert!((value - expected).abs() < 0.01, "{value}");
        near(share(&|peer| peer.greylisting.is_some()), 0.1);
        near(share(&|peer| peer.down == 1.0), 0.01);
        near(share(&|peer| peer.pipelining), 0.95);
        near(share(&|peer| peer.way == Way::Silent), 0.6);
        near(share(&|peer| peer.reply < today.reply), 0.5);
        assert!(domains[..10].iter().all(|it| it.peer.sessions == Some(some(10))));
        assert!(domains[10..].iter().all(|it| it.peer.sessions.is_none()));
    }

    #[test]
    fn slow_hosts_are_slower_and_move_no_other() {
        let drawn = |slow| {
            let hosts = In1997 {
                subscribers: some(4_000),
                domains: some(4_000),
                replies: 0.5,
                slow,
                ..defaults()
            };
            hosts.laws().domains(Streams::new(1, 0))
        };
        let (none, half) = (drawn(0.0), drawn(0.5));
        let ratio =
            defaults::<In1997>().slow_reply.seconds() / defaults::<In1997>().reply.seconds();
        let mut slow = 0;
        for (before, after) in none.iter().zip(&half) {
            if before.peer == after.peer {
                continue;
            }
            slow += 1;
            let slower = after.peer.reply.seconds() / before.peer.reply.seconds();
            assert!((slower / ratio - 1.0).abs() < 1e-6, "{slower} times, expected {ratio}");
            assert_eq!(Peer { reply: before.peer.reply, ..after.peer.clone() }, before.peer);
        }
        assert!((1_900..2_100).contains(&slow), "{slow} of 4,000");
    }
}
