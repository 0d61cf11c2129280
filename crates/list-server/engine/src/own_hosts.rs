//! What the server knows of itself: mail that it sends there comes back.

use crate::Engine;
use crate::destination::Routes;
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

impl Engine {
    /// Hosts that are the server itself, from now on.
    pub fn set_own_hosts(&mut self, own_hosts: OwnHosts) {
        if own_hosts == self.own_hosts {
            return;
        }
        self.own_hosts = own_hosts;
        for number in self.destinations.ids() {
            if let Routes::Known(..) = self.destinations[number].routes {
                self.set_routes(number, Routes::Unknown);
            }
        }
    }

    /// Drops this server from a domain's hosts, and all that are not preferred to it (RFC 5321
    /// section 5.1).
    pub(super) fn without_own_hosts(&self, hosts: &mut Vec<MailHost>) {
        let own = hosts.iter().filter(|host| self.is_own_host(host));
        if let Some(own) = own.map(|host| host.preference).min() {
            hosts.retain(|host| host.preference < own);
        }
    }

    fn is_own_host(&self, host: &MailHost) -> bool {
        self.own_hosts.by_name && host.name.eq_ignore_ascii_case(&self.hello)
            || host.addresses.iter().any(|address| self.is_own(address.to_canonical()))
    }

    fn is_own(&self, address: IpAddr) -> bool {
        let (any, one): (IpAddr, IpAddr) = match address {
            IpAddr::V4(_) => (Ipv4Addr::UNSPECIFIED.into(), Ipv4Addr::LOCALHOST.into()),
            IpAddr::V6(_) => (Ipv6Addr::UNSPECIFIED.into(), Ipv6Addr::LOCALHOST.into()),
        };
        // A connection to the unspecified address is one to the machine itself.
        let address = if address == any { one } else { address };
        let own = &self.own_hosts.addresses;
        own.contains(&address) || address.is_loopback() && own.contains(&any)
    }
}
