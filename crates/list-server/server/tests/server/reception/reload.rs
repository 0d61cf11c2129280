//! Another configuration for a server that runs: what is said of it, and what is refused.

use crate::reception::{Place, connect, table, text};
use sojourn_core::parameters::Value;
use sojourn_list_server::{ListServer, needs_restart, registry};

/// Mail for it stays in the spool.
const GONE: &str = "x@[127.0.0.77]";
const NEWS: &str = "news-bounces@lists.example";

fn list(settings: &[(&str, Value)]) -> Value {
    let mut news = vec![("bounces", text(NEWS))];
    news.extend(settings.iter().cloned());
    table(&news)
}

fn place() -> Place {
    let mut place = Place::trusting(&[]);
    let trusted = Value::List(vec![text("127.0.0.0/8")]);
    let reception = [("trusted", trusted), ("postmaster", text("admin@[127.0.0.77]"))];
    place.settings.set("reception", table(&reception));
    place
}

fn reload(server: &ListServer, place: &Place) -> Result<Vec<String>, String> {
    server.reloader().reload(Ok(place.serving())).map_err(|why| why.to_string())
}

#[test]
fn what_changed_is_named() {
    let mut place = place();
    let key = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/keys/ed25519.pem");
    let dkim = [("domain", "lists.example"), ("selector", "s1"), ("key", key)];
    place.settings.set("dkim", Value::List(vec![table(&dkim.map(|(k, v)| (k, text(v))))]));
    let server = place.start();
    assert_eq!(reload(&server, &place), Ok(vec![]));
    let more = table(&[("bounces", text("more-bounces@lists.example"))]);
    let lists = Value::List(vec![more, list(&[("id", text("news.lists.example"))])]);
    place.settings.set("list", lists);
    let trusted = ("trusted", Value::List(vec![text("127.0.0.1")]));
    let rules = [trusted, ("postmaster", text("admin@[127.0.0.77]"))];
    place.settings.set("reception", table(&rules));
    place.settings.set("dkim", Value::List(Vec::new()));
    let changes = [
        "reception.trusted changed",
        "list news-bounces@lists.example changed",
        "list more-bounces@lists.example added",
        "dkim s1 of lists.example removed",
    ];
    assert_eq!(reload(&server, &place), Ok(changes.map(str::to_owned).to_vec()));
    place.settings.set("list", Value::List(vec![list(&[])]));
    let removed = "list more-bounces@lists.example removed".to_owned();
    let changed = "list news-bounces@lists.example changed".to_owned();
    assert_eq!(reload(&server, &place), Ok(vec![removed, changed.clone()]));
    server.stop();
    let told = place.ear.0.lock().unwrap().join("\n");
    assert!(told.contains(&format!("the configuration was reloaded: {}", changes.join("; "))));
    assert!(told.ends_with(&changed), "{told}");
}

/// It would be sent unsigned and without links.
#[test]
fn nothing_is_taken_from_a_list_whose_mail_waits() {
    let mut place = place();
    place.settings.set("list", Value::List(vec![list(&[])]));
    let server = place.start();
    let mut client = connect(&server);
    client.hear();
    client.say("EHLO x");
    assert!(
        client.mail(NEWS, &[GONE, "else@[127.0.0.77]"], "From: a@b\r\n\r\nx").starts_with("250")
    );
    for (less, lost) in [
        (Value::List(Vec::new()), "the list"),
        (Value::List(vec![list(&[("verp", Value::Bool(false))])]), "verp"),
    ] {
        place.settings.set("list", less);
        let why = reload(&server, &place).unwrap_err();
        let begins = format!("{lost} of {NEWS} cannot go while its mail waits, for 2 recipients");
        assert!(why.starts_with(&begins), "{why}");
    }
    let more = list(&[("id", text("news.lists.example"))]);
    place.settings.set("list", Value::List(vec![more]));
    assert_eq!(reload(&server, &place).unwrap().len(), 1);
    server.stop();
}

/// The page says what of a configuration takes effect at a start only.
#[test]
fn the_page_has_what_needs_a_restart() {
    let page = include_str!("../../../../../../docs/how-to/run-a-list-server.md");
    let begin = page.find("A restart is needed for").expect("the page says it");
    let said = page[begin..].split("\n\n").next().unwrap();
    let (_, entries) = registry().into_iter().find(|(topic, _)| *topic == "mail-servers").unwrap();
    let tables = [("mail server", ""), ("mail", "mail."), ("network", "network.")];
    for (entry, prefix) in tables.into_iter().chain([("reception", "reception.")]) {
        let entry = entries.iter().find(|it| it.name == entry).expect(entry);
        for key in &entry.parameters {
            let path = format!("{prefix}{}", key.name);
            let of_table = tables.iter().any(|(_, it)| *it == format!("{path}."));
            let wanted = needs_restart(&path) && !of_table && path != "reception";
            assert_eq!(said.contains(&format!("`{path}`")), wanted, "{path}");
        }
    }
}
