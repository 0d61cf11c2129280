//! Networks by their first bits.

use sojourn_kernel::parameters::{Refusal, Setting, Value};
use sojourn_mail::prefix;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// An address, and how many of its first bits count: `192.0.2.0/24`, `2001:db8::/32`, `::1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subnet {
    address: IpAddr,
    bits: u32,
}

/// A text is no network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotASubnet;

impl Subnet {
    /// Whether `address` is in it. An IPv4 address in the form of IPv6 counts as the former.
    pub fn contains(self, address: IpAddr) -> bool {
        let same = self.address.is_ipv4() == address.to_canonical().is_ipv4();
        same && prefix(address, self.bits, self.bits) == self.address
    }

    /// Whether all of `other` is in it.
    pub(super) fn covers(self, other: Subnet) -> bool {
        self.bits <= other.bits && self.contains(other.address)
    }
}

impl FromStr for Subnet {
    type Err = NotASubnet;

    fn from_str(text: &str) -> Result<Subnet, NotASubnet> {
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| NotASubnet)?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Ok(most), str::parse).map_err(|_| NotASubnet)?;
        if bits > most || prefix(address, bits, bits) != address {
            return Err(NotASubnet);
        }
        Ok(Subnet { address, bits })
    }
}

impl fmt::Display for Subnet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}

impl Setting for Subnet {
    fn expected() -> String {
        "a network, such as \"192.0.2.0/24\" (no bits set after the first 24) or \"::1\"".to_owned()
    }

    fn read(value: &Value) -> Result<Subnet, Refusal> {
        match value {
            Value::Text(text) => text.parse().ok(),
            _ => None,
        }
        .ok_or_else(|| Refusal::value(value, Subnet::expected()))
    }

    fn write(&self) -> Option<Value> {
        Some(Value::Text(self.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks() {
        for (net, address, inside) in [
            ("192.0.2.0/24", "192.0.2.255", true),
            ("192.0.2.0/24", "192.0.3.0", false),
            ("192.0.2.0/24", "::ffff:192.0.2.9", true),
            ("192.0.2.7", "192.0.2.7", true),
            ("192.0.2.7", "192.0.2.6", false),
            ("0.0.0.0/0", "203.0.113.1", true),
            ("0.0.0.0/0", "::1", false),
            ("::/0", "2001:db8::1", true),
            ("2001:db8::/32", "2001:db8:ffff::", true),
            ("2001:db8::/32", "2001:db9::", false),
            ("::1", "::1", true),
            ("128.0.0.0/1", "255.255.255.255", true),
        ] {
            let net: Subnet = net.parse().unwrap();
            assert_eq!(net.contains(address.parse().unwrap()), inside, "{net} {address}");
        }
        let covers = |a: &str, b: &str| a.parse::<Subnet>().unwrap().covers(b.parse().unwrap());
        assert!(covers("10.0.0.0/8", "10.1.0.0/16") && covers("::1", "::1"));
        assert!(!covers("10.1.0.0/16", "10.0.0.0/8") && !covers("::/0", "10.0.0.0/8"));
        for text in ["", "192.0.2.1/24", "192.0.2.0/33", "::/129", "x/8", "1.2.3.4/", "1.2.3.4/-1"]
        {
            assert_eq!(text.parse::<Subnet>(), Err(NotASubnet), "{text}");
        }
    }
}
