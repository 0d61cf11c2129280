//! What the server knows of itself: mail that it sends there comes back.

use crate::event::MailHost;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What hosts are the server itself. By default none is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnHosts {
    /// Whether those that have its name are: it takes mail where it sends mail to.
    pub by_name: bool,
    /// Those at these addresses are. An unspecified address stands for all loopback addresses of its
    /// family.
    pub addresses: Vec<IpAddr>,
}

impl OwnHosts {
    /// Drops this server, whose name is `hello`, from a domain's hosts, and all that are not
    /// preferred to it (RFC 5321 section 5.1).
    pub(super) fn drop_from(&self, hosts: &mut Vec<MailHost>, hello: &str) {
        let own = hosts.iter().filter(|host| self.has(host, hello));
        if let Some(own) = own.map(|host| host.preference).min() {
            hosts.retain(|host| host.preference < own);
        }
    }

    fn has(&self, host: &MailHost, hello: &str) -> bool {
        self.by_name && host.name.eq_ignore_ascii_case(hello)
            || host.addresses.iter().any(|address| self.has_address(address.to_canonical()))
    }

    fn has_address(&self, address: IpAddr) -> bool {
        let (any, one): (IpAddr, IpAddr) = match address {
            IpAddr::V4(_) => (Ipv4Addr::UNSPECIFIED.into(), Ipv4Addr::LOCALHOST.into()),
            IpAddr::V6(_) => (Ipv6Addr::UNSPECIFIED.into(), Ipv6Addr::LOCALHOST.into()),
        };
        // A connection to the unspecified address is one to the machine itself.
        let address = if address == any { one } else { address };
        self.addresses.contains(&address) || address.is_loopback() && self.addresses.contains(&any)
    }
}
