//! Unsubscribing with one click (RFC 8058): a separate link for each recipient, and the endpoint
//! where it leads.
//!
//! `POST` unsubscribes at once; `GET` shows a page with a button, as programs that scan mail follow
//! its links. There are no cookies, no redirects and no other paths. What a link may do is said by
//! its token alone ([`sojourn_mail_engine::list::token`]).

mod page;
mod settings;
mod site;

pub use super::unsubscribe::settings::Unsubscribe;
pub(crate) use super::unsubscribe::site::{Endpoint, Link, NotNow, Subscription, Subscriptions};
