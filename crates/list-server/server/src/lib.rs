//! The delivery engine ([`sojourn_mail_engine`]) on real sockets, names, clock and storage.
//!
//! - [`DeliveryServer`]: a running list server, to which messages are handed over;
//! - [`Settings`]: how it decides, and how it reaches the world;
//! - [`ServerEvent`], [`Observer`]: what it does, as it happens, and who follows: [`Log`] writes it
//!   down, [`Tally`] counts;
//! - [`ListServer`]: one that takes mail from other programs, by SMTP and LMTP;
//! - [`Live`]: where it is watched;
//! - [`SubscriberStore`]: which of a list's subscribers are suspended, and why.

mod connection_limits;
pub mod control;
mod delivery;
mod error;
mod event;
mod http;
mod lists;
mod log;
mod registry;
mod settings;
mod smtp_in;
mod tally;

pub use crate::delivery::local::LocalDelivery;
pub use crate::delivery::mail::Mail;
pub use crate::delivery::request::{Refused, Sessions, StopReport};
pub use crate::delivery::server::{DeliveryServer, ServerHandle, StartError};
pub use crate::delivery::smtp_out::tls::TlsError;
pub use crate::error::SetupError;
pub use crate::event::{Observer, ServerEvent};
pub use crate::http::live::Shown;
pub use crate::http::live::access::Live;
pub use crate::lists::keys::{KEYS_MAX, KeyFile};
pub use crate::lists::signing::{Dkim, sign_often};
pub use crate::lists::subscribers::{
    COUNTED_DAYS, Counted, Entered, MAILED_DAYS, Member, NotEntered, SUSPENDED_DAYS,
    SubscriberError, SubscriberStore, Unverified,
};
pub use crate::lists::unsubscribe::Unsubscribe;
pub use crate::log::{Lines, Log};
pub use crate::registry::registry;
pub use crate::settings::{Families, Network, Settings, complete};
pub use crate::smtp_in::privileges::give;
pub use crate::smtp_in::reload::{NotReloaded, needs_restart};
pub use crate::smtp_in::server::{ListServer, Reloader, ServeError};
pub use crate::smtp_in::settings::{Certificate, Listener, Rules, Serving};
pub use crate::smtp_in::submitters::{NotASubnet, Pattern, Program, Subnet, User, hash_password};
pub use crate::tally::{Count, Tally, Trouble};
