//! Tokens that this server gives out and can verify when they come back: in the return path of a
//! copy, in its link to unsubscribe.
//!
//! A token names a subscriber of a list by number, and the mailing and the day that it was made
//! for, in 10 octets; 80 bits of an HMAC-SHA-256 (RFC 2104, RFC 6234) follow. Together they are 32
//! characters of base32 (RFC 4648 section 6), whose case does not matter: some hosts change that
//! of a local part.

use crate::address::Address;
use data_encoding::BASE32_NOPAD;
use ring::hmac::{self, HMAC_SHA256};
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
    /// To unsubscribe.
    Unsubscribe,
    /// To be known when the message comes back: no claim is of interest.
    Loop,
}

/// The secret keys of a server: the last one signs, and all of them verify.
#[derive(Clone)]
pub struct TokenKeys {
    keys: Vec<hmac::Key>,
}

/// Octets of a secret key.
pub const SECRET: usize = 32;
/// Characters of a token.
pub const LENGTH: usize = 32;
const CLAIM: usize = 10;
const MAC: usize = 10;

impl TokenKeys {
    /// Keys from their secrets, the newest last; nothing where there are none.
    pub fn new(secrets: &[[u8; SECRET]]) -> Option<TokenKeys> {
        let keys = secrets.iter().map(|secret| hmac::Key::new(HMAC_SHA256, secret));
        let keys: Vec<_> = keys.collect();
        (!keys.is_empty()).then_some(TokenKeys { keys })
    }

    /// The token for `claim` on the list whose return path is `list`, in lower case.
    pub fn sign(&self, purpose: Purpose, list: &Address, claim: Claim) -> String {
        let octets = claim.octets();
        let key = self.keys.last().expect("there is at least one");
        let token = [&octets[..], &mac(key, purpose, list, &octets)].concat();
        BASE32_NOPAD.encode(&token).to_ascii_lowercase()
    }

    /// What `token` claims, if one of the keys made it for this purpose and list. The comparison
    /// takes the same time wherever they differ.
    pub fn verify(&self, purpose: Purpose, list: &Address, token: &str) -> Option<Claim> {
        if token.len() != LENGTH {
            return None;
        }
        let octets = BASE32_NOPAD.decode(token.to_ascii_uppercase().as_bytes()).ok()?;
        let (claim, given) = octets.split_at_checked(CLAIM)?;
        let made_by = |key| bool::from(mac(key, purpose, list, claim)[..].ct_eq(given));
        self.keys.iter().any(made_by).then(|| Claim::read(claim)).flatten()
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

    fn read(octets: &[u8]) -> Option<Claim> {
        let (day, rest) = octets.split_first_chunk()?;
        let (mailing, rest) = rest.split_first_chunk()?;
        Some(Claim {
            subscriber: u32::from_be_bytes(rest.try_into().ok()?),
            mailing: u32::from_be_bytes(*mailing),
            day: u16::from_be_bytes(*day),
        })
    }
}

fn mac(key: &hmac::Key, purpose: Purpose, list: &Address, claim: &[u8]) -> [u8; MAC] {
    let mut context = hmac::Context::with_key(key);
    context.update(match purpose {
        Purpose::Bounce => b"bounce\0",
        Purpose::Unsubscribe => b"unsubscribe\0",
        Purpose::Loop => b"loop\0",
    });
    // The claim has a fixed length, so nothing of the list's name can pass for a part of it.
    context.update(claim);
    context.update(list.as_str().to_ascii_lowercase().as_bytes());
    let tag = context.sign();
    *tag.as_ref().first_chunk().expect("SHA-256 has 32 octets")
}

impl fmt::Debug for TokenKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TokenKeys({})", self.keys.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLAIM: Claim = Claim { subscriber: 7, mailing: 1_000_000, day: 20_781 };

    fn keys(secrets: &[u8]) -> TokenKeys {
        let secrets: Vec<_> = secrets.iter().map(|&octet| [octet; SECRET]).collect();
        TokenKeys::new(&secrets).unwrap()
    }

    fn list(text: &str) -> Address {
        text.parse().unwrap()
    }

    #[test]
    fn a_token_says_what_was_signed() {
        let (keys, list) = (keys(&[1]), list("announce-bounces@lists.example"));
        let token = keys.sign(Purpose::Bounce, &list, CLAIM);
        assert_eq!(token.len(), LENGTH);
        assert_eq!(keys.verify(Purpose::Bounce, &list, &token), Some(CLAIM));
        let upper = token.to_ascii_uppercase();
        assert_eq!(keys.verify(Purpose::Bounce, &list, &upper), Some(CLAIM));
    }

    #[test]
    fn every_character_counts() {
        let (keys, list) = (keys(&[1]), list("announce-bounces@lists.example"));
        let token = keys.sign(Purpose::Bounce, &list, CLAIM);
        for place in 0..LENGTH {
            for other in "abcdefghijklmnopqrstuvwxyz234567=-é".chars() {
                if token[place..].starts_with(other) {
                    continue;
                }
                let forged = format!("{}{other}{}", &token[..place], &token[place + 1..]);
                assert_eq!(keys.verify(Purpose::Bounce, &list, &forged), None, "{forged}");
            }
        }
        for other in ["", &token[1..], &format!("{token}a")] {
            assert_eq!(keys.verify(Purpose::Bounce, &list, other), None, "{other}");
        }
    }

    #[test]
    fn another_list_purpose_or_key_does_not_pass() {
        let (own, announce) = (keys(&[1]), list("announce-bounces@lists.example"));
        let token = own.sign(Purpose::Bounce, &announce, CLAIM);
        assert_eq!(own.verify(Purpose::Unsubscribe, &announce, &token), None);
        assert_eq!(own.verify(Purpose::Bounce, &list("other@lists.example"), &token), None);
        assert_eq!(keys(&[2]).verify(Purpose::Bounce, &announce, &token), None);
        // A key that was added signs; the one before still verifies, until it is taken away.
        let rotated = keys(&[1, 2]);
        assert_eq!(rotated.verify(Purpose::Bounce, &announce, &token), Some(CLAIM));
        let newer = rotated.sign(Purpose::Bounce, &announce, CLAIM);
        assert_ne!(newer, token);
        assert_eq!(keys(&[2]).verify(Purpose::Bounce, &announce, &newer), Some(CLAIM));
        assert!(TokenKeys::new(&[]).is_none());
    }
}
