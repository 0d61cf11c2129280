//! Text from other hosts, as it is shown.

use sojourn_smtp::plain;

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
