//! Signatures of list mail: DKIM (RFC 6376), by RSA or Ed25519 (RFC 8463).

use crate::error::{SetupError, read};
use crate::lists::now;
use data_encoding::BASE64;
use mail_auth::common::crypto::{DkimKey, Ed25519Key, RsaKey, SigningKey};
use mail_auth::dkim::Canonicalization::Relaxed;
use sojourn_core::parameters::{Check, Refusal, Value};
use sojourn_core::{nested, parameters};
use sojourn_smtp::Address;
use sojourn_smtp::header::{each, header};
use std::path::Path;
use std::sync::Arc;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;

parameters! {
    /// A DKIM signature for all mail of the lists whose return path is in this domain or below it.
    pub struct Dkim: "dkim" {
        /// Domain that is responsible for the mail (`d=`).
        pub domain: String,
        /// Name of the key (`s=`). The public key is at SELECTOR._domainkey.DOMAIN.
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
    selector: String,
    key: Arc<DkimKey>,
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
            Some(key) => DkimKey::Ed25519(key),
            None => RsaKey::from_key_der(der)
                .map(DkimKey::Rsa)
                .map_err(|_| bad("neither an RSA key of 2048 bits or more nor Ed25519".into()))?,
        };
        let domain = settings.domain.to_ascii_lowercase();
        Ok(Signer { domain, selector: settings.selector.clone(), key: Arc::new(key) })
    }

    pub(crate) fn domain(&self) -> &str {
        &self.domain
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
        let (mut headers, mut names) = (Vec::new(), Vec::new());
        for (name, value) in parts.iter().flat_map(|part| each(part)) {
            if let Some(signed) = SIGNED.iter().find(|it| name.eq_ignore_ascii_case(it.as_bytes()))
            {
                headers.push((signed.as_bytes(), value));
                names.push(*signed);
            }
        }
        if !names.contains(&"From") {
            return None;
        }
        // Verifiers take fields of one name from the last to the first (section 5.4.2).
        names.reverse();
        names.extend(SIGNED);
        let body = self.key.hash(Relaxed.canonical_body(body(parts.last()?), 0));
        let algorithm = match *self.key {
            DkimKey::Rsa(_) => "rsa-sha256",
            DkimKey::Ed25519(_) => "ed25519-sha256",
        };
        let tags = folded(&format!(
            "v=1; a={algorithm}; c=relaxed/relaxed; d={}; s={}; t={}; h={}; bh={};",
            self.domain,
            self.selector,
            now(),
            names.join(":"),
            BASE64.encode(body.as_ref()),
        ));
        // What is signed is what is sent, in relaxed form and without the value of b= (section 3.7).
        let mut signed = Vec::new();
        Relaxed.canonicalize_headers(headers.into_iter().rev(), &mut signed);
        signed.extend(format!("dkim-signature:{} b=;", tags.replace(FOLD, " ")).into_bytes());
        let signature = BASE64.encode(&self.key.sign(&*signed).ok()?);
        let mut field = format!("{NAME}{tags}{FOLD}b=");
        for (place, digit) in signature.chars().enumerate() {
            if place > 0 && place % (LINE - 4) == 0 {
                field.push_str(FOLD);
            }
            field.push(digit);
        }
        // dkimpy refuses a signature with white space between the value and the `;`.
        Some(field + ";\r\n")
    }
}

/// The domain that answers for the mail (`d=`), by the value of a `DKIM-Signature:` field.
pub(crate) fn signing_domain(value: &[u8]) -> Option<&str> {
    let mut tags = value.split(|&octet| octet == b';').map(<[u8]>::trim_ascii);
    let domain = tags.find_map(|tag| tag.strip_prefix(b"d")?.trim_ascii_start().strip_prefix(b"="));
    str::from_utf8(domain?.trim_ascii()).ok()
}

const NAME: &str = "DKIM-Signature: ";
/// A fold, which is one space in relaxed form (RFC 6376 section 3.4.2).
const FOLD: &str = "\r\n\t";
/// Most octets of a line (RFC 5322 section 2.1.1), as long as no name is longer.
const LINE: usize = 78;

/// The tags in lines that end after a space or a colon; the first line starts after the name.
fn folded(tags: &str) -> String {
    let (mut lines, mut width) = (String::new(), NAME.len());
    for piece in tags.split_inclusive([' ', ':']) {
        if width + piece.trim_end().len() > LINE {
            lines.truncate(lines.trim_end().len());
            lines.push_str(FOLD);
            width = 1;
        }
        lines.push_str(piece);
        width += piece.len();
    }
    lines
}

/// The body without the white space at its end, which relaxed form ignores (RFC 6376 section
/// 3.4.4). mail-auth 0.13 would hash a last line of spaces.
fn body(text: &[u8]) -> &[u8] {
    let body = &text[header(text).len()..];
    let body = body.strip_prefix(b"\r\n").unwrap_or(body);
    let last = body.iter().rposition(|octet| !b" \t\r\n".contains(octet));
    &body[..last.map_or(0, |last| last + 1)]
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
            assert!(field.lines().all(|line| line.len() <= LINE), "{field}");
            assert!(field.ends_with("==;\r\n"), "{field}");
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
    fn white_space_at_the_end_of_a_body_is_not_signed() {
        for (text, signed) in [
            ("From: x\r\n", ""),
            ("From: x\r\n\r\n", ""),
            ("\r\nA \r\n", "A"),
            ("From: x\r\n\r\n \t\r\n\r\n", ""),
            ("From: x\r\n\r\n \r\nA\r\n \r\nB \r\n\t\r\n", " \r\nA\r\n \r\nB"),
        ] {
            assert_eq!(body(text.as_bytes()), signed.as_bytes(), "{text:?}");
        }
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
