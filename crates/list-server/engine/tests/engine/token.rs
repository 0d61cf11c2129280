//! Tokens that were given out, and come back.

use data_encoding::BASE32_NOPAD;
use sojourn_mail_engine::list::token::{Claim, LENGTH, Purpose, SECRET, TokenKeys};
use sojourn_smtp::Address;

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
    // Made before tokens had a mask.
    let old = "kewqad2ciaaaaaah73gv2r54e76ixwet";
    assert_eq!(keys.verify(Purpose::Bounce, &list, old), Some(CLAIM));
    assert_eq!(keys.verify(Purpose::Unsubscribe, &list, old), None);
}

/// Two tokens of one subscriber, or one mailing, have no more in common than any two.
#[test]
fn a_token_shows_no_number() {
    let (keys, list) = (keys(&[1]), list("announce-bounces@lists.example"));
    let octets = |claim| {
        BASE32_NOPAD
            .decode(keys.sign(Purpose::Bounce, &list, claim).to_ascii_uppercase().as_bytes())
            .unwrap()
    };
    let mut alike = 0;
    for subscriber in 0..100 {
        let (one, other) =
            (Claim { subscriber, ..CLAIM }, Claim { subscriber, mailing: 7, ..CLAIM });
        alike += octets(one).iter().zip(octets(other)).filter(|(a, b)| **a == *b).count();
    }
    assert!(alike < 50, "{alike} of 2000");
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
