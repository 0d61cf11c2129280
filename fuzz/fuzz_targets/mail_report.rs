//! Messages that come back: whatever they say, who is named is an address, what is said has no line
//! of its own, and one message speaks of no more people than it may.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sojourn_mail::Address;
use sojourn_mail::report::bounces;
use sojourn_mail::report::verp::{Reading, decode, encode};

fuzz_target!(|bytes: &[u8]| {
    let list: Address = "list-bounces@here".parse().expect("it is one");
    let subscriber: Address = "Sub+scriber@x.example".parse().expect("it is one");
    let path = encode(&list, &subscriber).expect("it is short");
    assert_eq!(decode(&list, &path), Some(Reading::Of(subscriber.clone())));

    for reading in [Reading::Plain, Reading::Of(subscriber.clone())] {
        let Some(found) = bounces(&reading, bytes) else { continue };
        assert!(found.len() <= 1000);
        for bounce in found {
            assert!(reading == Reading::Plain || bounce.subscriber == subscriber);
            assert_eq!(bounce.subscriber.as_str().parse(), Ok(bounce.subscriber.clone()));
            assert!(bounce.reason.chars().count() <= 500);
            assert!(!bounce.reason.contains(char::is_control));
        }
    }
    // An address that is a return path names the same subscriber when its path is made anew.
    if let Some(address) = std::str::from_utf8(bytes).ok().and_then(|text| text.parse().ok())
        && let Some(Reading::Of(named)) = decode(&list, &address)
        && let Some(again) = encode(&list, &named)
    {
        assert_eq!(decode(&list, &again), Some(Reading::Of(named)));
    }
});
