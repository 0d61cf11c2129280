//! The rights that a server has when it is open: those of a user who may do little.

use super::settings::Listener;
use crate::error::SetupError;
use nix::ifaddrs::getifaddrs;
use nix::sys::socket::SockaddrStorage;
use nix::unistd::{Uid, User, geteuid, setgid, setgroups, setuid};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::os::unix::fs::chown;
use std::path::Path;

/// Takes on the rights of the user `name`, and lets go of all others for good. To be called before
/// there are threads.
pub(crate) fn become_user(name: &str) -> Result<(), SetupError> {
    let bad = |why: String| SetupError::User { name: name.to_owned(), why };
    let user = User::from_name(name).map_err(|error| bad(error.to_string()))?;
    let user = user.ok_or_else(|| bad("there is no such user".into()))?;
    if !geteuid().is_root() {
        let same = user.uid == geteuid();
        return if same { Ok(()) } else { Err(bad("only root can become another user".into())) };
    }
    setgroups(&[user.gid])
        .and_then(|()| setgid(user.gid))
        .and_then(|()| setuid(user.uid))
        .map_err(|error| bad(error.to_string()))?;
    // Who could go back has not let go.
    if !user.uid.is_root() && setuid(Uid::from_raw(0)).is_ok() {
        return Err(bad("the system gives root's rights back".into()));
    }
    Ok(())
}

/// The name of the user whose rights this process has.
pub(crate) fn own_name() -> String {
    let user = User::from_uid(geteuid()).ok().flatten();
    user.map_or_else(|| format!("user {}", geteuid()), |user| user.name)
}

/// Gives a file to the user `name`, whose rights its server is to have, where the system lets it.
pub fn give(path: &Path, name: &str) {
    if let Ok(Some(user)) = User::from_name(name) {
        drop(chown(path, Some(user.uid.as_raw()), Some(user.gid.as_raw())));
    }
}

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
    // Linux gives it connections by IPv4 too, unless a socket option says otherwise.
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
