//! The state of reception that outlasts a change of the configuration.

use super::login::Passwords;
use super::message_memory::Memory;
use crate::delivery::mail::Mail;
use crate::event::SharedObserver;
use crate::hourly::{Bound, Window};
use crate::lists::alarms::Alarms;
use crate::lists::subscribers::{SubscriberError, SubscriberStore};
use sojourn_mail_engine::list::token::TokenKeys;
use sojourn_smtp::Address;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, RwLock};
use tokio::sync::mpsc::UnboundedSender;

/// What a server keeps when its configuration changes.
#[derive(Clone)]
pub(crate) struct PersistentState {
    pub(crate) observer: SharedObserver,
    pub(crate) subscribers: Arc<Mutex<SubscriberStore>>,
    pub(crate) keys: Arc<RwLock<TokenKeys>>,
    /// Counts wrong passwords.
    pub(crate) passwords: Arc<Passwords>,
    /// What messages may occupy, all sessions together.
    pub(crate) memory: Arc<Memory>,
    /// The part of it for clients who may not send on.
    pub(crate) untrusted_memory: Arc<Memory>,
    /// What clients made the server send or store in this hour.
    pub(crate) hour: Arc<Mutex<Window<Bound>>>,
    /// What providers were sent today.
    pub(crate) alarms: Arc<Mutex<Alarms>>,
    /// Subscribers whose mail failed lately.
    pub(crate) scored: Arc<RwLock<BTreeSet<Address>>>,
    /// Where messages of this server go to be delivered.
    pub(crate) letters: UnboundedSender<Mail>,
}

impl PersistentState {
    /// The state of a server that starts; all messages together may occupy `memory` octets, and those
    /// of the server go to `letters`.
    pub(crate) fn new(
        observer: SharedObserver,
        subscribers: SubscriberStore,
        keys: TokenKeys,
        memory: usize,
        letters: UnboundedSender<Mail>,
    ) -> Result<PersistentState, SubscriberError> {
        let memory = Memory::new(memory);
        Ok(PersistentState {
            passwords: Arc::new(Passwords::new(observer.clone())),
            observer,
            scored: Arc::new(RwLock::new(subscribers.scored()?)),
            subscribers: Arc::new(Mutex::new(subscribers)),
            keys: Arc::new(RwLock::new(keys)),
            untrusted_memory: memory.half(),
            memory,
            hour: Arc::new(Mutex::new(Window::of_seconds(3600))),
            alarms: Arc::default(),
            letters,
        })
    }
}
