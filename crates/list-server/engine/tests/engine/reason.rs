//! Reasons made of replies, and the networks of hosts.

use sojourn_mail_engine::{Reason, prefix};
use sojourn_smtp::{Enhanced, Reply};

#[test]
fn a_long_reply_is_cut_and_a_missing_status_made_up() {
    let reply = Reply { code: 451, enhanced: None, lines: vec!["é".repeat(9000)] };
    let reason = Reason::reply(&reply, None);
    assert_eq!(reason.status, Enhanced(4, 0, 0));
    assert_eq!(*reason.text, format!("451 {}", "é".repeat(496)));
}

#[test]
fn prefixes() {
    let prefix = |text: &str, v4, v6| prefix(text.parse().unwrap(), v4, v6).to_string();
    assert_eq!(prefix("2001:db8:1:2:3::4", 32, 64), "2001:db8:1:2::");
    assert_eq!(prefix("2001:db8:1:2:3::4", 24, 48), "2001:db8:1::");
    assert_eq!(prefix("::ffff:192.0.2.1", 32, 64), "192.0.2.1");
    assert_eq!(prefix("192.0.2.1", 24, 48), "192.0.2.0");
    assert_eq!(
        (prefix("192.0.2.1", 0, 0), prefix("2001::1", 0, 0)),
        ("0.0.0.0".into(), "::".into())
    );
    assert_eq!(
        (prefix("192.0.2.1", 99, 0), prefix("::5", 0, 128)),
        ("192.0.2.1".into(), "::5".into())
    );
}
