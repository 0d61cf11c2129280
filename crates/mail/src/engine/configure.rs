//! Settings that change while the server runs.

use super::config::Config;
use super::{Engine, Timer};

impl Engine {
    /// Goes by other settings from now on. What is under way ends as it began; the name stays.
    pub(super) fn configure(&mut self, config: Config) {
        let is_shorter = config.lifetime < self.config.lifetime;
        self.config = config;
        for number in 0..self.destinations.list.len() as u32 {
            let destination = &mut self.destinations.list[number as usize];
            destination.set_limits(&self.config);
            self.look_at(number);
        }
        self.hosts.list.iter_mut().for_each(|host| host.set_limits(&self.config.limits));
        if is_shorter {
            for (&id, message) in &self.messages {
                let expires = message.accepted + self.config.lifetime;
                self.timers.schedule(expires.max(self.now), Timer::Expiry(id));
            }
        }
    }
}
