//! Networks, as configurations write them.

use ipnet::IpNet;
use sojourn_core::parameters::{Refusal, Setting, Shape, Value};
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// An address, and how many of its first bits count: `192.0.2.0/24`, `2001:db8::/32`, `::1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subnet(IpNet);

/// A text is no network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotASubnet;

impl Subnet {
    /// Whether `address` is in it. An IPv4 address in the form of IPv6 counts as the former.
    pub fn contains(self, address: IpAddr) -> bool {
        self.0.contains(&address.to_canonical())
    }

    /// Whether all of `other` is in it.
    pub fn covers(self, other: Subnet) -> bool {
        self.0.contains(&other.0)
    }
}

impl FromStr for Subnet {
    type Err = NotASubnet;

    fn from_str(text: &str) -> Result<Subnet, NotASubnet> {
        let alone = |_| text.parse().map(|address: IpAddr| IpNet::from(address));
        let net: IpNet = text.parse().or_else(alone).map_err(|_| NotASubnet)?;
        if net == net.trunc() { Ok(Subnet(net)) } else { Err(NotASubnet) }
    }
}

impl fmt::Display for Subnet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Setting for Subnet {
    fn expected() -> String {
        "a network, such as \"192.0.2.0/24\" (no bits set after the first 24) or \"::1\"".to_owned()
    }

    fn shape() -> Shape {
        Shape::Text(None)
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
