//! Addresses near each other.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The first bits of an address, of IPv4 or of IPv6. An IPv4 address in the form of IPv6 counts as
/// the former.
pub fn prefix(address: IpAddr, v4_bits: u32, v6_bits: u32) -> IpAddr {
    let after = |width: u32, bits: u32| width.saturating_sub(bits);
    match address.to_canonical() {
        IpAddr::V4(v4) => {
            let mask = u32::MAX.checked_shl(after(32, v4_bits)).unwrap_or(0);
            Ipv4Addr::from_bits(v4.to_bits() & mask).into()
        }
        IpAddr::V6(v6) => {
            let mask = u128::MAX.checked_shl(after(128, v6_bits)).unwrap_or(0);
            Ipv6Addr::from_bits(v6.to_bits() & mask).into()
        }
    }
}
