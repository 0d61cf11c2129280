//! The delivery engine ([`sojourn_mail_engine`]) on real sockets, names, clock and storage.
//!
//! - [`DeliveryServer`]: a running list server, to which messages are handed over;
//! - [`Settings`]: how it decides, and how it reaches the world;
//! - [`ServerEvent`], [`Observer`]: what it does, as it happens, and who follows: [`Log`] writes it
//!   down, [`Tally`] counts;
//! - [`ListServer`]: one that takes mail from other programs, by SMTP and LMTP;
//! - [`Live`]: where it is watched;
//! - [`SubscriberStore`]: which of a list's subscribers are suspended, and why.

mod accepting;
mod connection_limits;
pub mod control;
mod delivery;
mod error;
mod event;
mod hourly;
mod http;
mod lists;
mod log;
mod registry;
mod settings;
mod smtp_in;
mod tally;

pub use delivery::local::{Addressed, Ended, LocalDelivery};
pub use delivery::mail::Mail;
pub use delivery::request::{Refused, Sessions, StopReport};
pub use delivery::server::{DeliveryServer, ServerHandle, StartError};
pub use delivery::smtp_out::tls::TlsError;
pub use error::SetupError;
pub use event::{Observer, ServerEvent};
pub use hourly::HourlyBounds;
pub use http::live::Shown;
pub use http::live::access::Live;
pub use lists::alarms::Alarm;
pub use lists::keys::{KEYS_MAX, KeyFile};
pub use lists::signing::{Dkim, sign_often};
pub use lists::state;
pub use lists::subscribers::{
    COUNTED_DAYS, Counted, Entered, FailedMailing, MAILED_DAYS, Member, NotEntered, SUSPENDED_DAYS,
    SubscriberError, SubscriberStore, Suppressed, Suppression, Unverified,
};
pub use lists::unsubscribe::Unsubscribe;
pub use log::{Lines, Log};
pub use registry::registry;
pub use settings::{Families, Network, Settings, complete};
pub use smtp_in::privileges::give;
pub use smtp_in::reload::{NotReloaded, needs_restart};
pub use smtp_in::server::{ListServer, Reloader, ServeError};
pub use smtp_in::settings::{Certificate, Listener, Rules, Serving};
pub use smtp_in::submitters::{NotASubnet, Pattern, Program, Subnet, User, hash_password};
/// How a [`Member`] stands.
pub use sojourn_mail_engine::bounce::Standing;
/// Senders and recipients of [`Mail`].
pub use sojourn_smtp::Address;
pub use tally::{Count, Tally, Trouble};
