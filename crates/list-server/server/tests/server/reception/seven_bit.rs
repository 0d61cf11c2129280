//! Texts with octets above 127, at hosts that take none.

use crate::reception::sink::{Copy, Sink};
use crate::reception::{Place, connect, table, text};
use mail_auth::common::parse::TxtRecordParser;
use mail_auth::common::verify::DomainKey;
use mail_auth::hickory_resolver::config::{ResolverConfig, ResolverOpts};
use mail_auth::{
    AuthenticatedMessage, DkimResult, MessageAuthenticator, Parameters, ResolverCache, Txt,
};
use sojourn_core::parameters::Value;
use std::borrow::Borrow;
use std::hash::Hash;
use std::time::Instant;

const LIST: &str = "news-bounces@lists.example";
const PEOPLE: [&str; 2] = ["ann@[127.0.0.77]", "bob@[127.0.0.77]"];
const MESSAGE: &str = "From: news@lists.example\r\nSubject: x\r\nMIME-Version: 1.0\r\n\
    Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: 8bit\r\n\r\n\
    Grüße von der ganzen Liste";
const PLAIN: &str = "\r\n\r\nGrüße von der ganzen Liste\r\n";
const ENCODED: &str = "\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n\
    Gr=C3=BC=C3=9Fe von der ganzen Liste\r\n";

/// The copies that a list's message becomes at a host with these extensions, and their one text where
/// the list has no copies of its own.
fn copies(extensions: &'static str, verp: bool, signed: bool, messages: usize) -> Vec<Copy> {
    let sink = Sink::with(extensions);
    let mut place = Place::trusting(&[("verp", Value::Bool(verp))]);
    place.settings.set("network", table(&[("port", Value::Int(sink.port.into()))]));
    let key = format!("{}/tests/keys/ed25519.pem", env!("CARGO_MANIFEST_DIR"));
    let dkim = [("domain", text("lists.example")), ("selector", text("s")), ("key", text(&key))];
    if signed {
        place.settings.set("dkim", Value::List(vec![table(&dkim)]));
    }
    let server = place.start();
    let mut client = connect(&server);
    client.hear();
    client.say("EHLO client.example");
    assert!(client.mail(LIST, &PEOPLE, MESSAGE).starts_with("250"));
    let copies = sink.copies(messages).into_values().collect();
    server.stop();
    copies
}

#[test]
fn texts_are_encoded_for_hosts_that_take_seven_bits() {
    for (extensions, encoded) in [
        ("250 hi\r\n", true),
        ("250-hi\r\n250-PIPELINING\r\n250 CHUNKING\r\n", true),
        ("250-hi\r\n250 8BITMIME\r\n", false),
    ] {
        for (verp, messages) in [(false, 1), (true, 2)] {
            for copy in copies(extensions, verp, false, messages) {
                let end = if encoded { ENCODED } else { PLAIN };
                assert!(copy.text.ends_with(end), "{extensions} {verp} {}", copy.text);
                assert!(!encoded || copy.text.is_ascii());
            }
        }
    }
}

/// What is signed is what is sent: there is one signature, and it is good.
#[test]
fn encoded_texts_have_one_good_signature() {
    for extensions in ["250 hi\r\n", "250-hi\r\n250 8BITMIME\r\n"] {
        for (verp, messages) in [(false, 1), (true, 2)] {
            for copy in copies(extensions, verp, true, messages) {
                assert_eq!(is_signed(&copy.text), [true], "{extensions} {verp} {}", copy.text);
            }
        }
    }
}

/// A name server that knows one key.
struct OneKey(Box<str>, Txt);

impl ResolverCache<Box<str>, Txt> for OneKey {
    fn get<Q: Hash + Eq + ?Sized>(&self, name: &Q) -> Option<Txt>
    where
        Box<str>: Borrow<Q>,
    {
        (Borrow::<Q>::borrow(&self.0) == name).then(|| self.1.clone())
    }

    fn remove<Q: Hash + Eq + ?Sized>(&self, _: &Q) -> Option<Txt>
    where
        Box<str>: Borrow<Q>,
    {
        None
    }

    fn insert(&self, _: Box<str>, _: Txt, _: Instant) {}
}

/// Whether each signature of `text` is good.
fn is_signed(text: &str) -> Vec<bool> {
    let public = format!("{}/tests/keys/ed25519.public", env!("CARGO_MANIFEST_DIR"));
    let public = std::fs::read_to_string(public).unwrap();
    let record = format!("v=DKIM1; k=ed25519; p={public}");
    let key = DomainKey::parse(record.as_bytes()).unwrap();
    let stub = OneKey("s._domainkey.lists.example.".into(), key.into());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let refused = ResolverConfig::from_parts(None, vec![], vec![]);
        let judge = MessageAuthenticator::new(refused, ResolverOpts::default()).unwrap();
        let message = AuthenticatedMessage::parse(text.as_bytes()).unwrap();
        let results = judge.verify_dkim(Parameters::new(&message).with_txt_cache(&stub)).await;
        results.iter().map(|it| it.result() == &DkimResult::Pass).collect()
    })
}
