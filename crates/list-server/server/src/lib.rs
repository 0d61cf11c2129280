//! The list engine ([`sojourn_mail_engine`]) on real sockets, names, clock and storage.
//!
//! - [`Postman`]: a running list server, to which messages are handed over;
//! - [`Settings`]: how it decides, and how it reaches the world;
//! - [`Observer`], [`News`]: what it does, as it happens; [`Log`] writes it down, [`Tally`]
//!   counts;
//! - [`MailServer`]: one that takes mail from other programs, by SMTP and LMTP;
//! - [`Live`]: where it is watched;
//! - [`Book`]: who of a list's subscribers is suspended, and why;

mod book;
mod clock;
pub mod control;
mod driver;
mod handle;
mod home;
mod http;
mod keys;
mod line;
mod lines;
mod live;
mod log;
mod mail;
mod names;
mod news;
mod places;
mod ports;
pub mod reception;
mod registry;
mod settings;
mod tally;
mod texts;
mod unsubscribe;

pub use book::{
    Book, BookError, COUNTED_DAYS, Counted, Entered, MAILED_DAYS, Member, NotEntered,
    SUSPENDED_DAYS, Unverified,
};
pub use handle::{Left, Postman, Refused, Running, Sessions, StartError};
pub use home::Home;
pub use keys::{KEYS_MAX, KeyFile};
pub use line::TlsError;
pub use lines::Lines;
pub use live::{Live, Shown};
pub use log::Log;
pub use mail::Mail;
pub use news::{News, Observer};
pub use reception::{MailServer, Serving};
pub use registry::registry;
pub use settings::{Families, Network, Settings, complete};
pub use tally::{Count, Tally, Trouble};
pub use unsubscribe::Unsubscribe;
