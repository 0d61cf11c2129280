//! What a session may do after the configuration has changed, and what its client's words become.

use crate::reception::{Client, Place, connect, table, text};
use sojourn_core::parameters::{Parameters, Table, Value};
use sojourn_list_server::{ListServer, Serving, hash_password};
use std::net::TcpStream;

const PERSON: &str = "x@[127.0.0.77]";

fn user(name: &str, password: &str, sender: &str) -> Value {
    let senders = Value::List(vec![text(sender)]);
    let password = text(&hash_password(password));
    table(&[("name", text(name)), ("password", password), ("senders", senders)])
}

fn place(users: Vec<Value>) -> Place {
    let mut place = Place::new(&[("user", Value::List(users))]);
    let listener = [("address", text("127.0.0.1:0")), ("auth", text("loopback"))];
    place.settings.set("listener", Value::List(vec![table(&listener)]));
    place
}

fn logged_in(server: &ListServer, plain: &str) -> Client<TcpStream> {
    let mut client = connect(server);
    client.hear();
    client.say("EHLO x");
    assert_eq!(client.say(&format!("AUTH PLAIN {plain}")), "235 2.7.0 welcome");
    client
}

const ANN: &str = "AGFubgByaWdodA==";
const BOB: &str = "AGJvYgByaWdodA==";

#[test]
fn rights_are_those_of_the_configuration_of_now() {
    let bob = user("bob", "right", "*");
    let place = place(vec![user("ann", "right", "*"), bob.clone()]);
    let server = place.start();
    let mut gone = logged_in(&server, ANN);
    let mut coming = logged_in(&server, ANN);
    coming.begin("a@b", &[PERSON]);
    assert!(coming.say("DATA").starts_with("354"));
    let mut fewer = logged_in(&server, BOB);
    fewer.begin("a@b", &[PERSON]);
    let reload = |users: Vec<Value>| {
        let mut settings: Table = place.settings.clone();
        settings.set("user", Value::List(users));
        let settings = Serving::read_table(&settings).unwrap();
        server.reloader().reload(Ok(settings)).unwrap();
    };
    let Value::Table(mut less) = bob else { unreachable!("it is a table") };
    less.set("senders", Value::List(vec![text("bob@there.example")]));
    reload(vec![Value::Table(less)]);
    let ended = "421 4.7.0 the password is not valid any more";
    assert_eq!((gone.say("MAIL FROM:<a@b>"), gone.hear()), (ended.into(), String::new()));
    // What was coming by then is taken, and nothing after it.
    coming.send("x\r\n.\r\nMAIL FROM:<a@b>\r\n");
    assert!(coming.hear().starts_with("250 2.0.0 taken"));
    assert_eq!((coming.hear(), coming.hear()), (ended.into(), String::new()));
    // A transaction ends as it began; the next one is held to what is new.
    assert!(fewer.say("DATA").starts_with("354"));
    assert!(fewer.say("x\r\n.").starts_with("250 2.0.0 taken"));
    fewer.say("MAIL FROM:<a@b>");
    let refused = "550 5.7.1 user bob may not send as <a@b>";
    assert_eq!(fewer.say(&format!("RCPT TO:<{PERSON}>")), refused);
    // Another password.
    reload(vec![user("bob", "other", "*")]);
    assert_eq!(fewer.say("RSET"), ended);
    server.stop();
}

/// "a", a character that turns text round, one that separates lines, "b".
#[test]
fn no_name_turns_the_log_round() {
    let place = place(vec![user("ann", "right", "*")]);
    let server = place.start();
    let mut client = connect(&server);
    client.hear();
    client.say("EHLO x");
    assert!(client.say("AUTH PLAIN AGHigK7igKhiAHg=").starts_with("535 "));
    server.stop();
    let told = place.ear.0.lock().unwrap().join("\n");
    assert_eq!(told, "wrong password: client=[127.0.0.1], user=a\u{fffd}\u{fffd}b");
}
