//! What a host is set to, and where it stands.

use crate::fault::{Fast, FaultKind, Memory};
use crate::tls::Tls;
use sojourn_core::parameters::{Check, defaults};
use sojourn_core::{Span, Streams, nested, parameters};
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

parameters! {
    /// A mail server.
    pub struct Host: "host" {
        /// How it behaves.
        pub personality: FaultKind = FaultKind::Fast(defaults::<Fast>()),
        /// The preference of its MX record; lower is better.
        pub preference: u16 = 10,
        /// How far away it is.
        pub round_trip: Span = Span::from_ms(40),
        /// Whether it offers TLS.
        pub tls: Tls = Tls::Never,
        /// Whether it takes commands in groups (RFC 2920).
        pub pipelining: bool = true,
        /// Whether it takes BDAT (RFC 3030).
        pub chunking: bool = false,
        /// Whether it takes 8-bit text (RFC 6152).
        pub eight_bit: bool = true,
        /// Whether it takes UTF-8 in addresses and headers (RFC 6531).
        pub utf8: bool = true,
        /// The largest message that it takes, in octets; 0 for any.
        pub size: u64 = 0,
        /// Whether it is at an IPv6 address, too: at ::1, of which there is one.
        pub ipv6: bool = false,
        /// Whether it also has an IPv6 address, at which nothing listens.
        pub dead_ipv6: bool = false,
    }
}

impl Check for Host {}
nested!(Host);

/// A host in its place.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) host: Host,
    pub(crate) domain: String,
    pub(crate) address: Ipv4Addr,
    /// All that it is at.
    pub(crate) addresses: Vec<IpAddr>,
    pub(crate) memory: RefCell<Memory>,
}

impl Site {
    pub(crate) fn new(host: Host, domain: &str, number: usize, network: u8, seed: u64) -> Site {
        let memory = Memory {
            sessions: 0,
            times: 0,
            counted: VecDeque::new(),
            seen: BTreeMap::new(),
            stream: Streams::new(seed, 0).stream("host", number as u64),
        };
        let address = of_host(network, number);
        let v6 = host.ipv6.then_some(Ipv6Addr::LOCALHOST.into());
        let addresses = [Some(IpAddr::V4(address)), v6].into_iter().flatten().collect();
        let domain = domain.to_ascii_lowercase();
        Site { host, domain, address, addresses, memory: RefCell::new(memory) }
    }
}

/// The address of the `n`-th host. Each has a separate network of 24 bits of 127/8, so that what a sender
/// allows one network it allows one host; `network` is the second octet of the first.
pub(crate) fn of_host(network: u8, n: usize) -> Ipv4Addr {
    let third = u32::from(network) << 8 | 127 << 16;
    Ipv4Addr::from((third + n as u32) << 8 | 1)
}

/// How many hosts the network has addresses for, the name server's not counted.
pub(crate) fn room(network: u8) -> usize {
    (256 - usize::from(network)) * 256 - 1
}

/// Where the name server is.
pub(crate) fn of_names(network: u8) -> Ipv4Addr {
    of_host(network, room(network))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_live_in_networks_of_their_own() {
        let addresses = [0, 1, 256].map(|n| of_host(64, n).to_string());
        assert_eq!(addresses, ["127.64.0.1", "127.64.1.1", "127.65.0.1"]);
        assert_eq!(of_names(64).to_string(), "127.255.255.1");
    }
}
