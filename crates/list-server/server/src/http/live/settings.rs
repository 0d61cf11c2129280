//! Where a server is watched.

use sojourn_core::parameters::Check;
use sojourn_core::{nested, parameters};
use std::net::{Ipv4Addr, SocketAddr};

parameters! {
    /// The live page, `/metrics` for Prometheus, and `/healthz`. It has no TLS of its own: from
    /// elsewhere it is reached through a tunnel, or a proxy that has.
    pub struct Live: "live" {
        /// The address and port.
        pub address: SocketAddr = SocketAddr::from((Ipv4Addr::LOCALHOST, 8026)),
        /// A file with the token that whoever watches has to show, as `?token=` or as a bearer's.
        /// Without it the server makes one, and keeps it beside its spool: `SPOOL.token`.
        pub token: Option<String>,
        /// Names under which it is reached, beside `localhost` and the address itself: a proxy's, for
        /// one. A request for another host is refused (421): a page elsewhere could have made a
        /// browser send it (DNS rebinding).
        pub names: Vec<String> = Vec::new(),
    }
}

nested!(Live);

impl Check for Live {}
