//! Where the mail of a domain goes.

use crate::event::{Answer, MailHost};
use crate::host::Route;
use crate::moment::Moment;
use crate::own_hosts::OwnHosts;
use crate::reason::{Reason, status};
use sojourn_core::Span;
use sojourn_smtp::Address;
use std::sync::Arc;

/// Where a destination's mail goes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Routes {
    Unknown,
    /// The name servers are asked, until this time.
    Asking(Moment),
    /// Hosts, best first; until this time.
    Known(Vec<Route>, Moment),
}

impl Routes {
    /// Hosts that are known for so long from `now` on, and at least for now: an answer of no lifetime
    /// would be asked for without end.
    pub(crate) fn known(hosts: Vec<Route>, now: Moment, lifetime: Span) -> Routes {
        Routes::Known(hosts, now + lifetime.max(Span::from_s(1)))
    }

    /// The hosts, where they are known.
    pub(crate) fn hosts(&self) -> &[Route] {
        match self {
            Routes::Known(hosts, _) => hosts,
            Routes::Unknown | Routes::Asking(_) => &[],
        }
    }
}

/// What an answer of the name servers means for a domain's mail.
#[derive(Debug)]
pub(crate) enum Resolved {
    /// It goes to one of these hosts, which holds for so long.
    To(Vec<MailHost>, Span),
    /// It has to be asked again; why.
    NotNow(String),
    /// It goes nowhere; why.
    Never(Reason),
}

impl Resolved {
    /// What `answer` means for `domain`, where the server `hello` is at `own`.
    pub(crate) fn of(answer: Answer, domain: &str, own: &OwnHosts, hello: &str) -> Resolved {
        let never = |status, why: &str| Resolved::Never(Reason::new(status, why));
        match answer {
            Answer::Hosts { mut hosts, lifetime } if hosts.iter().any(has_address) => {
                own.drop_from(&mut hosts, hello);
                if hosts.is_empty() {
                    never(status::LOOPS, &format!("mail for {domain} loops back to myself"))
                } else if !hosts.iter().any(has_address) {
                    let why = "no mail host is found that is preferred to this one";
                    Resolved::NotNow(why.into())
                } else {
                    Resolved::To(hosts, lifetime)
                }
            }
            Answer::NoSuchDomain => never(status::NO_SUCH_DOMAIN, "there is no such domain"),
            Answer::Hosts { .. } | Answer::NoMail => {
                never(status::NO_MAIL, "the domain takes no mail")
            }
            Answer::Failed(why) => Resolved::NotNow(why),
        }
    }
}

fn has_address(host: &MailHost) -> bool {
    !host.addresses.is_empty()
}

/// Where the mail of an address literal goes (RFC 5321 section 4.1.3); nothing for another domain.
pub(crate) fn literal(domain: &Arc<str>) -> Option<Answer> {
    let address = format!("x@{domain}").parse::<Address>().ok()?.literal()?;
    let name = Arc::clone(domain);
    let host = MailHost { name, preference: 0, addresses: vec![address] };
    Some(Answer::Hosts { hosts: vec![host], lifetime: Span::MAX })
}
