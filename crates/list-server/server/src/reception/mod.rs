//! Taking mail in: the sessions of [`sojourn_smtp::server`] on sockets, and what they need of
//! the world: certificates, passwords, the lists' book of bounces, signatures.

mod changes;
mod connections;
mod door;
mod error;
mod few;
mod hall;
mod happening;
mod hours;
mod leaving;
mod lists;
mod marks;
mod memory;
mod not_taken;
mod passwords;
mod reload;
mod returns;
mod rights;
mod ring;
mod settings;
mod signing;
mod submission;
mod submitters;
mod subnet;
mod tls;
mod tries;
mod users;
mod visit;

pub use changes::needs_restart;
pub use door::{MailServer, Reloader, ServeError, Stopped};
pub use error::SetupError;
pub use happening::{Attendant, Happening};
pub use reload::NotReloaded;
pub use rights::give;
pub use settings::{Certificate, Listener, Rules, Serving};
pub use signing::{Dkim, sign_often};
pub use submitters::{Pattern, Program};
pub use subnet::{NotASubnet, Subnet};
pub use users::{User, hash_password};
