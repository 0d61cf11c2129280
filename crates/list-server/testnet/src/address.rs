//! Where hosts live.

use std::net::Ipv4Addr;

/// The address of the `n`-th host. Each has 24 bits of 127/8 of its own, so that what a sender
/// allows one network it allows one host; `network` is the second octet of the first.
pub(crate) fn of_host(network: u8, n: usize) -> Ipv4Addr {
    let third = u32::from(network) << 8 | 127 << 16;
    Ipv4Addr::from((third + n as u32) << 8 | 1)
}

/// How many hosts there is room for, the name server's address not counted.
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
