//! What all lines share: where they lead, where they come from, which certificates they trust.

use super::stream::Stream;
use super::tls::Security;
use crate::settings::Network;
use std::io;
use std::net::{IpAddr, SocketAddr};
use tokio::net::TcpSocket;

/// What all lines share.
#[derive(Debug)]
pub(crate) struct Wire {
    port: u16,
    sources: Vec<IpAddr>,
    pub(super) security: Security,
}

impl Wire {
    pub(crate) fn new(network: &Network, security: Security) -> Wire {
        Wire { port: network.port, sources: network.sources.clone(), security }
    }

    /// Connects to a host; the source addresses take turns.
    pub(super) async fn connect(&self, host: IpAddr, turn: u64) -> io::Result<Stream> {
        let socket = if host.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        if let Some(source) = self.source(host, turn) {
            // Ports of connections that were closed lately may be taken again.
            socket.set_reuseaddr(true)?;
            socket.bind(SocketAddr::new(source, 0))?;
        }
        let stream = socket.connect(SocketAddr::new(host, self.port)).await?;
        stream.set_nodelay(true)?;
        Ok(Stream::Plain(stream))
    }

    /// Of the sources of the host's family, the one whose turn it is.
    fn source(&self, host: IpAddr, turn: u64) -> Option<IpAddr> {
        let fits = |source: &&IpAddr| source.is_ipv4() == host.is_ipv4();
        let count = self.sources.iter().filter(fits).count() as u64;
        self.sources.iter().filter(fits).nth(turn.checked_rem(count)? as usize).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delivery::smtp_out::tls::Security;
    use sojourn_core::parameters::defaults;
    use sojourn_smtp::client::Tls;

    #[test]
    fn sources_of_a_family_take_turns() {
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        let sources = ["192.0.2.1", "2001:db8::1", "192.0.2.2"].map(address).to_vec();
        let network = Network { sources, ..defaults() };
        let wire = Wire::new(&network, Security::new(Tls::Never, None).unwrap());
        let from = |host: &str, turn| wire.source(address(host), turn).map(|it| it.to_string());
        assert_eq!(from("203.0.113.9", 6).as_deref(), Some("192.0.2.1"));
        assert_eq!(from("203.0.113.9", 7).as_deref(), Some("192.0.2.2"));
        assert_eq!(from("2001:db8::9", 7).as_deref(), Some("2001:db8::1"));
        let none = Wire { sources: vec![address("192.0.2.1")], ..wire };
        assert_eq!(none.source(address("2001:db8::9"), 0), None);
    }
}
