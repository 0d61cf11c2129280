//! What the name servers of a world know.

use sojourn_core::{Span, Time};
use sojourn_mail_engine::{Answer, MailHost};
use std::net::IpAddr;
use std::sync::Arc;

/// What the name servers know of a domain.
#[derive(Clone, Debug)]
pub struct Names {
    /// How long they take for an answer.
    pub takes: Span,
    /// How long it holds.
    pub lifetime: Span,
    /// What they say.
    pub say: Say,
}

/// What name servers say of a domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Say {
    /// Its mail goes to these hosts: their preferences and addresses.
    Hosts(Vec<(u16, Vec<IpAddr>)>),
    /// Its mail goes to the host of this provider, at this address.
    Provider(Arc<str>, IpAddr),
    /// There is no such domain.
    NoSuchDomain,
    /// Nothing.
    Silent,
    /// They fail until this time, then know these hosts.
    FailUntil(Time, Vec<(u16, Vec<IpAddr>)>),
}

impl Names {
    /// The answer at a time, if there is one.
    pub(super) fn answer(&self, now: Time) -> Option<Answer> {
        let hosts = |list: &[(u16, Vec<IpAddr>)]| {
            // Hosts of separate addresses have separate providers, as far as is known.
            let name = |address: &IpAddr| match address {
                IpAddr::V4(it) => format!("mx.h{}.example", it.to_bits()),
                IpAddr::V6(it) => format!("mx.h{}.example", it.to_bits()),
            };
            let host = |(preference, addresses): &(u16, Vec<IpAddr>)| MailHost {
                name: addresses.first().map_or_else(String::new, name).into(),
                preference: *preference,
                addresses: addresses.clone(),
            };
            Answer::Hosts { hosts: list.iter().map(host).collect(), lifetime: self.lifetime }
        };
        match &self.say {
            Say::Hosts(list) => Some(hosts(list)),
            Say::Provider(provider, address) => {
                let name = format!("mx.{provider}").into();
                let host = MailHost { name, preference: 10, addresses: vec![*address] };
                Some(Answer::Hosts { hosts: vec![host], lifetime: self.lifetime })
            }
            Say::NoSuchDomain => Some(Answer::NoSuchDomain),
            Say::Silent => None,
            Say::FailUntil(until, _) if now < *until => Some(Answer::Failed("SERVFAIL".into())),
            Say::FailUntil(_, list) => Some(hosts(list)),
        }
    }
}
