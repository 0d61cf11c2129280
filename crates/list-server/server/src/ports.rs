//! Ports that are listened at.

use crate::reception::{Listener, SetupError};
use nix::ifaddrs::getifaddrs;
use nix::sys::socket::SockaddrStorage;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};

/// Listens at `address`; nothing is taken in yet.
pub(crate) fn bind(address: SocketAddr) -> Result<TcpListener, SetupError> {
    let bound = TcpListener::bind(address).and_then(|bound| {
        bound.set_nonblocking(true)?;
        Ok(bound)
    });
    bound.map_err(|error| SetupError::Bind { address, error })
}

/// The addresses of this machine at which `listeners` take what is sent to `port`. One at `0.0.0.0`
/// or `[::]` is at all that interfaces have, and stands for all loopback addresses.
pub(crate) fn own_addresses(listeners: &[Listener], port: u16) -> Result<Vec<IpAddr>, SetupError> {
    let at_port = listeners.iter().filter(|it| it.address.port() == port);
    let mut own: Vec<IpAddr> = at_port.map(|it| it.address.ip().to_canonical()).collect();
    let (v4, v6) = (Ipv4Addr::UNSPECIFIED.into(), Ipv6Addr::UNSPECIFIED.into());
    // Linux gives it connections by IPv4 too, unless it is told otherwise.
    if own.contains(&v6) {
        own.push(v4);
    }
    let (all_v4, all_v6) = (own.contains(&v4), own.contains(&v6));
    if all_v4 || all_v6 {
        let interfaces = getifaddrs().map_err(|why| {
            let why = format!("the addresses of its interfaces (AF_NETLINK) are not told: {why}");
            SetupError::System(std::io::Error::other(why))
        })?;
        let addresses = interfaces.filter_map(|it| ip(&it.address?));
        own.extend(addresses.filter(|it| if it.is_ipv4() { all_v4 } else { all_v6 }));
    }
    Ok(own)
}

fn ip(address: &SockaddrStorage) -> Option<IpAddr> {
    let v6 = || address.as_sockaddr_in6().map(|it| it.ip().into());
    address.as_sockaddr_in().map(|it| it.ip().into()).or_else(v6)
}
