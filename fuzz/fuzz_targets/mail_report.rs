//! Messages that come back: whatever they say, who is named is an address, what is said has no line
//! of its own and is never empty, one message speaks of no more people than it may, and what is
//! behind the first megabyte changes nothing.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sojourn_mail_engine::bounce::{
    Action, KINDS, Outcome, PARSED_MAX, Returned, outcomes, returned,
};
use sojourn_mail_engine::list::return_path::{Reading, decode_verp, encode_verp};
use sojourn_smtp::Address;
use std::collections::BTreeSet;

fuzz_target!(|bytes: &[u8]| {
    let list: Address = "list-bounces@here".parse().expect("it is one");
    let subscriber: Address = "Sub+scriber@x.example".parse().expect("it is one");
    let path = encode_verp(&list, &subscriber).expect("it is short");
    assert_eq!(decode_verp(&list, &path), Some(Reading::Of(subscriber.clone())));

    let outcomes = outcomes(bytes);
    for outcome in outcomes.iter().flatten() {
        assert!(outcome.diagnostic.chars().count() <= 500);
        assert!(!outcome.diagnostic.contains(char::is_control));
    }
    for reading in [Reading::Plain, Reading::Of(subscriber.clone())] {
        let is_named = |who: &Address| reading == Reading::Plain || *who == subscriber;
        let told = returned(&reading, true, bytes);
        if bytes.len() > PARSED_MAX {
            assert_eq!(told, returned(&reading, true, &bytes[..PARSED_MAX]));
        }
        assert!(KINDS.contains(&told.kind()));
        match told {
            Returned::Bounces(found) => {
                assert!(found.len() <= 1000);
                // With a verified return path it is one subscriber's.
                assert!(reading == Reading::Plain || found.len() == 1);
                let failed = |it: &&Outcome| it.action == Action::Failed;
                // A report that is forwarded has outcomes that are not read here.
                let failed =
                    outcomes.as_ref().map_or(1000, |all| all.iter().filter(failed).count());
                assert!(reading != Reading::Plain || found.len() <= failed);
                let people: BTreeSet<_> = found.iter().map(|bounce| &bounce.subscriber).collect();
                assert_eq!(people.len(), found.len());
                for bounce in &found {
                    assert!(is_named(&bounce.subscriber));
                    assert_eq!(bounce.subscriber.as_str().parse(), Ok(bounce.subscriber.clone()));
                    assert!(!bounce.reason.is_empty() && bounce.reason.chars().count() <= 500);
                    assert!(!bounce.reason.contains(char::is_control));
                }
            }
            Returned::Complaint(complaint) => {
                assert_eq!(outcomes, None);
                assert!(complaint.subscriber.iter().all(is_named));
                assert!(complaint.mentions.len() <= 100);
                assert!(complaint.mentions.iter().all(|it| it.len() <= 1000));
                assert!(reading == Reading::Plain || complaint.subscriber.is_some());
            }
            Returned::Note(_) | Returned::Unclear => {}
        }
    }
    // An address that is a return path names the same subscriber when its path is made anew.
    if let Some(address) = std::str::from_utf8(bytes).ok().and_then(|text| text.parse().ok())
        && let Some(Reading::Of(named)) = decode_verp(&list, &address)
        && let Some(again) = encode_verp(&list, &named)
    {
        assert_eq!(decode_verp(&list, &again), Some(Reading::Of(named)));
    }
});
