//! What a list server can be set to, documented: what `sojourn list` and the reference pages show.

use crate::http::live::access::Live;
use crate::lists::signing::Dkim;
use crate::lists::unsubscribe::Unsubscribe;
use crate::settings::Network;
use crate::smtp_in::settings::{Certificate, Listener, Rules, Serving};
use crate::smtp_in::submitters::{Program, User};
use sojourn_core::parameters::{Entry, Parameters};
use sojourn_mail_engine::Config;
use sojourn_mail_engine::bounce::Rule;
use sojourn_mail_engine::list::List;
use sojourn_mail_engine::policy::{
    CheckpointKind, DomainLimits, Limits, OrderKind, RetryKind, SplitKind, TimeoutsKind,
};
use sojourn_smtp::server::{Bounds, Stressed};

/// The topics, each with its entries.
pub fn registry() -> Vec<(&'static str, Vec<Entry>)> {
    vec![
        (
            "mail-servers",
            vec![
                Serving::entry(),
                Config::entry(),
                Limits::entry(),
                DomainLimits::entry(),
                Network::entry(),
                Rules::entry(),
                Bounds::entry(),
                Stressed::entry(),
                Listener::entry(),
                Certificate::entry(),
                User::entry(),
                Program::entry(),
                List::entry(),
                Dkim::entry(),
                Rule::entry(),
                Unsubscribe::entry(),
                Live::entry(),
            ],
        ),
        ("mail-splits", SplitKind::entries()),
        ("mail-orders", OrderKind::entries()),
        ("mail-timeouts", TimeoutsKind::entries()),
        ("mail-checkpoints", CheckpointKind::entries()),
        ("mail-retries", RetryKind::entries()),
    ]
}
