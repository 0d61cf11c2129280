//! Signatures of list mail: DKIM (RFC 6376), by RSA or Ed25519 (RFC 8463).

use crate::error::{SetupError, read};
use mail_auth::common::crypto::{Ed25519Key, RsaKey, Sha256, SigningKey};
use mail_auth::common::headers::HeaderWriter;
use mail_auth::dkim::{DkimSigner, Done};
use sojourn_core::parameters::{Check, Refusal, Value};
use sojourn_core::{nested, parameters};
use sojourn_smtp::Address;
use sojourn_smtp::header::fields;
use std::path::Path;
use std::sync::Arc;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;

parameters! {
    /// A DKIM signature. It goes on all mail of the lists whose return path is of this domain, or
    /// of one below it.
    pub struct Dkim: "dkim" {
        /// The domain that answers for the mail (`d=`).
        pub domain: String,
        /// Which of its keys (`s=`): the public one is at SELECTOR._domainkey.DOMAIN.
        pub selector: String,
        /// A file with the private key (PEM): RSA, or Ed25519 in PKCS #8.
        pub key: String,
    }
}

nested!(Dkim);

impl Check for Dkim {
    fn check(&self) -> Result<(), Refusal> {
        for (key, name) in [("domain", &self.domain), ("selector", &self.selector)] {
            let is_domain = name.is_ascii()
                && !name.starts_with('[')
                && format!("x@{name}").parse::<Address>().is_ok();
            if !is_domain {
                let given = Value::Text(name.clone());
                return Err(Refusal::value(&given, "labels with dots between").under(key));
            }
        }
        Ok(())
    }
}

/// What is signed (RFC 6376 section 5.4.1; RFC 8058 section 4 wants the last two).
const SIGNED: [&str; 20] = [
    "From",
    "Reply-To",
    "Subject",
    "Date",
    "To",
    "Cc",
    "Message-ID",
    "In-Reply-To",
    "References",
    "MIME-Version",
    "Content-Type",
    "Content-Transfer-Encoding",
    "List-Id",
    "List-Help",
    "List-Subscribe",
    "List-Post",
    "List-Owner",
    "List-Archive",
    "List-Unsubscribe",
    "List-Unsubscribe-Post",
];

/// Signs `text` so many times with the key of `settings`, to learn what that costs.
///
/// # Errors
///
/// The key cannot be used, or the text cannot be signed.
pub fn sign_often(settings: &Dkim, text: &[u8], times: u32) -> Result<(), SetupError> {
    let signer = Signer::load(settings)?;
    for _ in 0..times {
        if signer.sign(&[text]).is_none() {
            let why = "a message without From: cannot be signed".to_owned();
            return Err(SetupError::Key { path: settings.key.clone().into(), why });
        }
    }
    Ok(())
}

/// A key, ready to sign.
#[derive(Clone)]
pub(crate) struct Signer {
    domain: String,
    key: Arc<Key>,
}

enum Key {
    Rsa(DkimSigner<RsaKey<Sha256>, Done>),
    Ed25519(DkimSigner<Ed25519Key, Done>),
}

impl Signer {
    pub(crate) fn load(settings: &Dkim) -> Result<Signer, SetupError> {
        let path = Path::new(&settings.key);
        let bad = |why: String| SetupError::Key { path: path.to_owned(), why };
        let der = PrivateKeyDer::from_pem_slice(&read(path)?)
            .map_err(|_| bad("no private key".into()))?;
        let ed25519 = match &der {
            PrivateKeyDer::Pkcs8(der) => {
                Ed25519Key::from_pkcs8_maybe_unchecked_der(der.secret_pkcs8_der()).ok()
            }
            _ => None,
        };
        let key = match ed25519 {
            Some(key) => Key::Ed25519(signer(key, settings)),
            None => match RsaKey::from_key_der(der) {
                Ok(key) => Key::Rsa(signer(key, settings)),
                Err(_) => {
                    return Err(bad("neither an RSA key of 2048 bits or more nor Ed25519".into()));
                }
            },
        };
        Ok(Signer { domain: settings.domain.to_ascii_lowercase(), key: Arc::new(key) })
    }

    /// Whether it signs mail of a list whose return path is of `domain`.
    pub(crate) fn is_for(&self, domain: &str) -> bool {
        let below = |rest: &str| rest.is_empty() || rest.ends_with('.');
        domain.strip_suffix(&*self.domain).is_some_and(below)
    }

    /// The `DKIM-Signature:` field for a text in parts, of which the last has the whole body; nothing
    /// for a message without `From:`, which cannot be signed (RFC 6376 section 5.4). One field more
    /// of each name than it has is signed as missing: none can be added (section 5.4.2).
    pub(crate) fn sign(&self, parts: &[&[u8]]) -> Option<String> {
        if parts.iter().all(|part| fields(part, "From") == 0) {
            return None;
        }
        let parts = parts.iter().copied();
        let signature = match &*self.key {
            Key::Rsa(signer) => signer.sign_chained(parts),
            Key::Ed25519(signer) => signer.sign_chained(parts),
        };
        signature.ok().map(|signature| signature.to_header())
    }
}

fn signer<K: SigningKey>(key: K, settings: &Dkim) -> DkimSigner<K, Done> {
    DkimSigner::from_key(key)
        .domain(settings.domain.to_ascii_lowercase())
        .selector(&settings.selector)
        // A name beyond the fields that there are is signed as one that is missing.
        .headers(SIGNED.iter().chain(&SIGNED).copied())
}

#[cfg(test)]
mod tests {
    use super::*;
    use mail_auth::common::parse::TxtRecordParser;
    use mail_auth::common::verify::DomainKey;
    use mail_auth::hickory_resolver::config::{ResolverConfig, ResolverOpts};
    use mail_auth::{
        AuthenticatedMessage, DkimResult, MessageAuthenticator, Parameters, ResolverCache, Txt,
    };
    use std::borrow::Borrow;
    use std::hash::Hash;
    use std::time::Instant;

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

    fn keys(name: &str) -> String {
        format!("{}/tests/keys/{name}", env!("CARGO_MANIFEST_DIR"))
    }

    fn signer(kind: &str) -> Signer {
        let (domain, selector) = ("Lists.Example".to_owned(), kind.to_owned());
        Signer::load(&Dkim { domain, selector, key: keys(&format!("{kind}.pem")) }).unwrap()
    }

    /// Whether the one signature of `text` is good, to another verifier.
    fn is_good(kind: &str, text: &[u8]) -> bool {
        let public = std::fs::read_to_string(keys(&format!("{kind}.public"))).unwrap();
        let record = format!("v=DKIM1; k={kind}; p={public}");
        let key = DomainKey::parse(record.as_bytes()).unwrap();
        let stub = OneKey(format!("{kind}._domainkey.lists.example.").into(), key.into());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let refused = ResolverConfig::from_parts(None, vec![], vec![]);
            let judge = MessageAuthenticator::new(refused, ResolverOpts::default()).unwrap();
            let message = AuthenticatedMessage::parse(text).unwrap();
            let results = judge.verify_dkim(Parameters::new(&message).with_txt_cache(&stub)).await;
            assert_eq!(results.len(), 1);
            results[0].result() == &DkimResult::Pass
        })
    }

    const TEXT: &str = "From: a@lists.example\r\nSubject:  two   words \r\n folded\r\nList-Id: <x.y>\r\n\
        List-Unsubscribe: <https://x/>\r\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n\r\n\
        Text  with \t spaces \r\nÄ\r\n\r\n\r\n";

    #[test]
    fn signatures_are_good_to_others_until_something_changes() {
        for kind in ["rsa", "ed25519"] {
            let field = signer(kind).sign(&[TEXT.as_bytes()]).unwrap();
            assert!(field.starts_with("DKIM-Signature:") && field.ends_with("\r\n"), "{field}");
            for part in ["c=relaxed/relaxed", "d=lists.example", "List-Unsubscribe-Post"] {
                assert!(field.contains(part), "{part}: {field}");
            }
            let signed = |text: &str| is_good(kind, format!("{field}{text}").as_bytes());
            assert!(signed(TEXT));
            // Relaxed: spaces, folds and empty lines at the end are others' to change.
            let relaxed = TEXT
                .replace("two   words \r\n folded", "two words folded")
                .replace("spaces \r\nÄ\r\n\r\n\r\n", "spaces\r\nÄ\r\n");
            assert!(signed(&relaxed));
            // `Received:` is not covered: it comes on top.
            assert!(is_good(kind, format!("Received: x\r\n{field}{TEXT}").as_bytes()));
            for (old, new) in
                [("words", "swords"), ("Ä", "A"), ("<x.y>", "<x.z>"), ("One-C", "Two-C")]
            {
                assert!(!signed(&TEXT.replace(old, new)), "{old}");
            }
            // A program may show the first of two fields: none may be added.
            for name in SIGNED {
                assert!(!is_good(kind, format!("{name}: x\r\n{field}{TEXT}").as_bytes()), "{name}");
            }
        }
        assert_eq!(signer("rsa").sign(&[b"Subject: x\r\n\r\nx\r\n"]), None);
    }

    #[test]
    fn whose_mail_is_signed() {
        let signer = signer("ed25519");
        assert!(signer.is_for("lists.example") && signer.is_for("a.lists.example"));
        assert!(!signer.is_for("mylists.example") && !signer.is_for("example"));
    }

    #[test]
    fn keys_that_cannot_be_used() {
        let load = |key: String| {
            let settings = Dkim { domain: "x.example".into(), selector: "s".into(), key };
            Signer::load(&settings).err().expect("a text that is no key").to_string()
        };
        assert!(load(keys("none.pem")).contains("none.pem: No such file"));
        assert!(load(keys("rsa.public")).ends_with("rsa.public: no private key"));
    }
}
