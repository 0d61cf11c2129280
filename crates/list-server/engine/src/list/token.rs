//! Tokens that this server gives out and can verify when they come back: in the return path of a
//! copy, in its link to unsubscribe.
//!
//! A token names a subscriber of a list by number, and the mailing and the day that it was made
//! for, in 10 octets; 80 bits of an HMAC-SHA-256 (RFC 2104, RFC 6234) follow. These also choose a
//! mask that the 10 octets lie under, so that others read no numbers in them (a synthetic
//! initialisation vector, as in RFC 5297). Together they are 32 characters of base32 (RFC 4648
//! section 6), whose case does not matter: some hosts change that of a local part.

use data_encoding::BASE32_NOPAD;
use hmac::{Hmac, Mac};
use sha2::Sha256;
use sojourn_smtp::Address;
use std::fmt;
use subtle::ConstantTimeEq;

/// What a token says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The subscriber, by its number in the list's register.
    pub subscriber: u32,
    /// The mailing, by the lower 32 bits of its message's number.
    pub mailing: u32,
    /// The day that the token was made, counted from 1970.
    pub day: u16,
}

/// What a token may be used for. One for another purpose does not pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To report that a copy was not delivered.
    Bounce,
    /// To report that a probe was not delivered.
    Probe,
    /// To unsubscribe.
    Unsubscribe,
    /// To be known when the message comes back: no claim is of interest.
    Loop,
}

/// The secret keys of a server: the last one signs, and all of them verify.
#[derive(Clone)]
pub struct TokenKeys {
    keys: Vec<Key>,
}

/// A key's HMAC before the first octet.
type Key = Hmac<Sha256>;

/// Octets of a secret key.
pub const SECRET: usize = 32;
/// Characters of a token.
pub const LENGTH: usize = 32;
const CLAIM: usize = 10;
const MAC: usize = 10;

impl TokenKeys {
    /// Keys from their secrets, the newest last; nothing where there are none.
    pub fn new(secrets: &[[u8; SECRET]]) -> Option<TokenKeys> {
        let key = |secret: &[u8; SECRET]| Key::new_from_slice(secret).expect("any length will do");
        let keys: Vec<_> = secrets.iter().map(key).collect();
        (!keys.is_empty()).then_some(TokenKeys { keys })
    }

    /// The token for `claim` on the list whose return path is `list`, in lower case.
    pub fn sign(&self, purpose: Purpose, list: &Address, claim: Claim) -> String {
        let octets = claim.octets();
        let key = self.keys.last().expect("a ring has at least one key");
        let mac = mac(key, purpose, list, octets);
        let token = [masked(key, mac, octets), mac].concat();
        BASE32_NOPAD.encode(&token).to_ascii_lowercase()
    }

    /// What `token` claims, if one of the keys made it for this purpose and list. The comparison
    /// takes the same time wherever they differ.
    pub fn verify(&self, purpose: Purpose, list: &Address, token: &str) -> Option<Claim> {
        if token.len() != LENGTH {
            return None;
        }
        let octets = BASE32_NOPAD.decode(token.to_ascii_uppercase().as_bytes()).ok()?;
        let (octets, given) = octets.split_first_chunk()?;
        let given = given.try_into().ok()?;
        let found = self.keys.iter().find_map(|key| {
            // Links in messages of earlier versions have no mask.
            let forms = [masked(key, given, *octets), *octets];
            forms.into_iter().find(|it| mac(key, purpose, list, *it).ct_eq(&given).into())
        });
        found.map(Claim::read)
    }
}

impl Claim {
    fn octets(self) -> [u8; CLAIM] {
        let mut octets = [0; CLAIM];
        octets[..2].copy_from_slice(&self.day.to_be_bytes());
        octets[2..6].copy_from_slice(&self.mailing.to_be_bytes());
        octets[6..].copy_from_slice(&self.subscriber.to_be_bytes());
        octets
    }

    fn read([d0, d1, m0, m1, m2, m3, s0, s1, s2, s3]: [u8; CLAIM]) -> Claim {
        Claim {
            subscriber: u32::from_be_bytes([s0, s1, s2, s3]),
            mailing: u32::from_be_bytes([m0, m1, m2, m3]),
            day: u16::from_be_bytes([d0, d1]),
        }
    }
}

fn mac(key: &Key, purpose: Purpose, list: &Address, claim: [u8; CLAIM]) -> [u8; MAC] {
    let purpose: &[u8] = match purpose {
        Purpose::Bounce => b"bounce\0",
        Purpose::Probe => b"probe\0",
        Purpose::Unsubscribe => b"unsubscribe\0",
        Purpose::Loop => b"loop\0",
    };
    // The claim has a fixed length, so nothing of the list's name can pass for a part of it.
    tag(key, &[purpose, &claim, list.as_str().to_ascii_lowercase().as_bytes()])
}

/// `claim` under the mask that `mac` chooses, or out from under it.
fn masked(key: &Key, mac: [u8; MAC], claim: [u8; CLAIM]) -> [u8; CLAIM] {
    let mask: [u8; CLAIM] = tag(key, &[b"mask\0", &mac]);
    std::array::from_fn(|place| claim[place] ^ mask[place])
}

/// The first octets of the HMAC of these parts.
fn tag<const N: usize>(key: &Key, parts: &[&[u8]]) -> [u8; N] {
    let mut mac = key.clone();
    parts.iter().for_each(|part| mac.update(part));
    let tag: [u8; 32] = mac.finalize().into_bytes().into();
    *tag.first_chunk().expect("a tag is shorter than SHA-256")
}

impl fmt::Debug for TokenKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TokenKeys({})", self.keys.len())
    }
}
