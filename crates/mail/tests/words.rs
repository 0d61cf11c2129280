//! What strangers write, as it is shown; and where they are.

use sojourn_mail::{plain, prefix};

#[test]
fn nothing_turns_a_line_round_or_breaks_it() {
    for c in ["\n", "\r", "\0", "\u{1b}", "\u{85}", "\u{ad}", "\u{200b}", "\u{202e}", "\u{2028}"] {
        assert_eq!(plain(&format!("a{c}b")), "a\u{fffd}b", "{c:?}");
    }
    for c in ["\u{2029}", "\u{2066}", "\u{feff}", "\u{e0041}"] {
        assert_eq!(plain(&format!("a{c}b")), "a\u{fffd}b", "{c:?}");
    }
    for text in ["", "a b~", "Ä€😀", "שלום", "日本\u{3000}語", "e\u{301}", "\u{fffd}"] {
        assert_eq!(plain(text), text);
    }
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
