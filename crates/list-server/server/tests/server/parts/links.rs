//! Where links to unsubscribe lead.

use sojourn_core::parameters::{Parameters, Table, Value};
use sojourn_list_server::Unsubscribe;

fn is_taken(url: &str) -> bool {
    let mut table = Table::default();
    table.set("url", Value::Text(url.into()));
    Unsubscribe::read_table(&table).is_ok()
}

#[test]
fn what_is_no_url() {
    assert!(is_taken("https://lists.example/leave"));
    for url in [
        "",
        "http://lists.example",
        "https:///x",
        "https://x/?a=1",
        "https://ü.example",
        "https://@/x",
        "https://a:b@x/",
        "https://x:99999/",
        "https://x:y/",
        "https://x/a/../b",
        "https://x/{recipient}",
    ] {
        assert!(!is_taken(url), "{url}");
    }
    assert!(!is_taken(&format!("https://x/{}", "a".repeat(400))));
}
