//! Addresses: one that is taken stays itself and cannot end the line of its command.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sojourn_smtp::Address;

fuzz_target!(|text: &str| {
    let Ok(address) = text.parse::<Address>() else { return };
    assert!(address.as_str().len() <= 254 && !address.as_str().contains(char::is_control));
    assert!(address.local().starts_with('"') || !address.as_str().contains(['<', '>', ' ']));
    assert_eq!(address.as_str().parse(), Ok(address));
});
