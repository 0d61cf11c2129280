//! What all sessions share: the configuration of now, and what clients may use.

use super::login::Passwords;
use super::message_memory::Memory;
use super::persistent::PersistentState;
use super::settings::{Listener, Serving};
use super::submitters::User;
use crate::delivery::server::DeliveryServer;
use crate::event::{ServerEvent, SharedObserver};
use crate::lists::Lists;
use sojourn_smtp::server::{AuthUse, RecipientPolicy, SessionConfig};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, PoisonError, RwLock};
use tokio_rustls::TlsAcceptor;

/// How far the server is on its way to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    Open,
    /// What is coming may still come.
    Closing,
    Closed,
}

/// What all sessions share.
pub(crate) struct ReceptionContext {
    pub(crate) name: String,
    pub(crate) delivery: DeliveryServer,
    pub(crate) lists: Arc<Lists>,
    pub(crate) users: Arc<[User]>,
    pub(crate) passwords: Arc<Passwords>,
    pub(crate) tls: Option<TlsAcceptor>,
    pub(crate) observer: SharedObserver,
    /// What messages may occupy, all sessions together.
    pub(crate) memory: Arc<Memory>,
    /// The part of it for clients who may not send on.
    pub(crate) untrusted_memory: Arc<Memory>,
}

impl ReceptionContext {
    /// What the sessions share that begin under `settings`.
    pub(crate) fn new(
        settings: &Serving,
        lists: Arc<Lists>,
        tls: Option<TlsAcceptor>,
        persistent: &PersistentState,
        delivery: DeliveryServer,
    ) -> ReceptionContext {
        ReceptionContext {
            name: settings.mail.hello.clone(),
            delivery,
            lists,
            users: settings.user.clone().into(),
            tls,
            observer: persistent.observer.clone(),
            passwords: Arc::clone(&persistent.passwords),
            memory: Arc::clone(&persistent.memory),
            untrusted_memory: Arc::clone(&persistent.untrusted_memory),
        }
    }

    /// What a client of `listener` is held to.
    pub(crate) fn session_config(&self, settings: &Serving, listener: &Listener) -> SessionConfig {
        SessionConfig {
            name: self.name.clone(),
            protocol: listener.protocol,
            auth: if settings.user.is_empty() { AuthUse::Never } else { listener.auth },
            submission: listener.is_for_submission() && !settings.user.is_empty(),
            start_tls: self.tls.is_some() && !listener.implicit_tls,
            repair: settings.reception.repair,
            bounds: settings.reception.bounds.clone(),
            recipient_policy: self.recipient_policy(),
        }
    }

    pub(crate) fn tell(&self, event: &ServerEvent<'_>) {
        self.observer.notice(event);
    }

    pub(crate) fn recipient_policy(&self) -> Arc<dyn RecipientPolicy> {
        Arc::<Lists>::clone(&self.lists)
    }

    /// Whether a network speaks for a client.
    pub(crate) fn trusts(&self, peer: SocketAddr) -> bool {
        self.lists.submitters.network(peer.ip()).is_some()
    }

    /// The hash of a user's password.
    pub(crate) fn password(&self, user: &str) -> Option<&str> {
        self.users.iter().find(|it| it.name == user).map(|it| &*it.password)
    }
}

/// What sessions are held to that begin now.
pub(crate) struct Configured {
    pub(crate) context: Arc<ReceptionContext>,
    pub(crate) settings: Serving,
    /// What is held against clients of each port, and whether TLS begins at once.
    pub(crate) ports: BTreeMap<u64, (Arc<SessionConfig>, bool)>,
}

impl Configured {
    /// What is held against a client of this port, and whether TLS begins at once; nothing for one
    /// that is no longer listened at.
    pub(crate) fn port(&self, number: u64) -> Option<(Arc<SessionConfig>, bool)> {
        self.ports.get(&number).cloned()
    }
}

/// The configuration that sessions go by; a reload replaces it at once.
pub(crate) struct Current(RwLock<Arc<Configured>>);

impl Current {
    pub(crate) fn new(configured: Configured) -> Current {
        Current(RwLock::new(Arc::new(configured)))
    }

    pub(crate) fn get(&self) -> Arc<Configured> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn set(&self, configured: Configured) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(configured);
    }
}
