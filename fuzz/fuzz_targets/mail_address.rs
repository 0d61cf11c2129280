//! Addresses: one that is taken stays itself and cannot end the line of its command. Its canonical form
//! is an address whose canonical form is itself.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sojourn_smtp::Address;

fuzz_target!(|text: &str| {
    let Ok(address) = text.parse::<Address>() else { return };
    assert!(address.as_str().len() <= 254 && !address.as_str().contains(char::is_control));
    assert!(address.local().starts_with('"') || !address.as_str().contains(['<', '>', ' ']));
    assert_eq!(address.as_str().parse().as_ref(), Ok(&address));
    let canonical = address.canonical();
    assert_eq!(canonical.as_str().parse().as_ref(), Ok(&canonical));
    assert_eq!(canonical.canonical(), canonical);
});
