//! The state of reception that outlasts a change of the configuration.

use super::login::Passwords;
use super::message_memory::Memory;
use super::quota::Hour;
use crate::event::SharedObserver;
use crate::lists::subscribers::SubscriberStore;
use sojourn_mail_engine::list::token::TokenKeys;
use std::sync::{Arc, Mutex, RwLock};

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
    /// What people were given to read in this hour.
    pub(crate) hour: Arc<Mutex<Hour>>,
}

impl PersistentState {
    /// The state of a server that starts; all messages together may occupy `memory` octets.
    pub(crate) fn new(
        observer: SharedObserver,
        subscribers: SubscriberStore,
        keys: TokenKeys,
        memory: usize,
    ) -> PersistentState {
        let memory = Memory::new(memory);
        PersistentState {
            passwords: Arc::new(Passwords::new(observer.clone())),
            observer,
            subscribers: Arc::new(Mutex::new(subscribers)),
            keys: Arc::new(RwLock::new(keys)),
            untrusted_memory: memory.half(),
            memory,
            hour: Arc::default(),
        }
    }
}
