//! Addresses: what is one, what is none, and that none can break out of its command.

use proptest::prelude::*;
use sojourn_properties::cases;
use sojourn_smtp::{Address, BadAddress};
use std::net::IpAddr;

#[test]
fn addresses() {
    for (text, local, domain) in [
        ("kolstad@bsd.com", "kolstad", "bsd.com"),
        ("Peter.J.Scott@JPL.NASA.GOV", "Peter.J.Scott", "jpl.nasa.gov"),
        (
            "owner-list+user=example.org@origin.example",
            "owner-list+user=example.org",
            "origin.example",
        ),
        ("!#$%&'*+-/=?^_`{|}~@x", "!#$%&'*+-/=?^_`{|}~", "x"),
        ("\"a b\"@example.org", "\"a b\"", "example.org"),
        ("\"a@b\\\"<c>\"@example.org", "\"a@b\\\"<c>\"", "example.org"),
        ("\"\"@example.org", "\"\"", "example.org"),
        ("用户@例子.广告", "用户", "例子.广告"),
        ("postmaster@[192.0.2.1]", "postmaster", "[192.0.2.1]"),
        ("postmaster@[IPv6:2001:db8::1]", "postmaster", "[ipv6:2001:db8::1]"),
    ] {
        let address: Address = text.parse().unwrap_or_else(|why| panic!("{text}: {why}"));
        assert_eq!((address.local(), address.domain()), (local, domain));
    }
    let literal = |text: &str| text.parse::<Address>().unwrap().literal();
    assert_eq!(literal("x@[192.0.2.1]"), Some(IpAddr::from([192, 0, 2, 1])));
    assert_eq!(literal("x@[IPv6:::1]"), Some("::1".parse().unwrap()));
    assert_eq!(literal("x@example.org"), None);
}

#[test]
fn no_addresses() {
    let long = |n: usize| "a".repeat(n);
    for (text, why) in [
        ("".into(), BadAddress::NoDomain),
        ("nobody".into(), BadAddress::NoDomain),
        ("@example.org".into(), BadAddress::LocalPart),
        ("a..b@example.org".into(), BadAddress::LocalPart),
        (".a@example.org".into(), BadAddress::LocalPart),
        ("a b@example.org".into(), BadAddress::LocalPart),
        ("a\r\nDATA@example.org".into(), BadAddress::LocalPart),
        ("\"a\r\nDATA\"@example.org".into(), BadAddress::LocalPart),
        ("\"a\\\n\"@example.org".into(), BadAddress::LocalPart),
        ("\"a\0\"@example.org".into(), BadAddress::LocalPart),
        ("\"a@example.org".into(), BadAddress::LocalPart),
        ("\"a\"b@example.org".into(), BadAddress::LocalPart),
        ("a>@example.org".into(), BadAddress::LocalPart),
        ("a\u{85}b@example.org".into(), BadAddress::LocalPart),
        ("a\u{2028}b@example.org".into(), BadAddress::LocalPart),
        ("a@".into(), BadAddress::Domain),
        ("a@b@c".into(), BadAddress::Domain),
        ("a@example.org.".into(), BadAddress::Domain),
        ("a@-x.org".into(), BadAddress::Domain),
        ("a@x-.org".into(), BadAddress::Domain),
        ("a@x_y.org".into(), BadAddress::Domain),
        ("a@x.org>".into(), BadAddress::Domain),
        ("a@x.org\r\nRSET".into(), BadAddress::Domain),
        ("a@[300.0.2.1]".into(), BadAddress::Domain),
        ("a@[::1]".into(), BadAddress::Domain),
        (format!("{}@x", long(65)), BadAddress::LocalPart),
        (format!("a@{}.x", long(64)), BadAddress::Domain),
        (format!("{}@{}", long(64), vec![long(63); 3].join(".")), BadAddress::TooLong),
    ] as [(String, _); 28]
    {
        assert_eq!(text.parse::<Address>(), Err(why), "{text:?}");
    }
}

/// Spellings of one mailbox have one canonical form, and other mailboxes have others.
#[test]
fn canonical_forms() {
    let canonical = |text: &str| text.parse::<Address>().unwrap().canonical().to_string();
    for (spellings, expected) in [
        (
            &["ide1@d.example", "Ide1@D.Example", "\"ide1\"@d.example", "\"i\\de1\"@d.example"][..],
            "ide1@d.example",
        ),
        (
            &["x@Bücher.example", "x@BU\u{308}CHER.example", "x@XN--Bcher-KVA.example"],
            "x@xn--bcher-kva.example",
        ),
        (&["a@例子。广告", "a@例子.广告"], "a@xn--fsqu00a.xn--4rr70v"),
        (&["É@x", "é@x", "\"é\"@x"], "é@x"),
        (&["\"A b\"@x", "\"a\\ b\"@x"], "\"a b\"@x"),
        (&["\"a.\"@x"], "\"a.\"@x"),
        (&["a@[IPv6:2001:DB8:0::1]", "a@[ipv6:2001:db8::1]"], "a@[ipv6:2001:db8::1]"),
        (&["a@[192.0.2.1]"], "a@[192.0.2.1]"),
        // No domain of A-labels is like these.
        (&["a@b＠c.example"], "a@b＠c.example"),
        (&["a@xn--0.example"], "a@xn--0.example"),
    ] {
        for spelling in spellings {
            assert_eq!(canonical(spelling), expected, "{spelling}");
        }
    }
    let given = ["B@x", "a@X", "\"b\"@x", "A@x", "c@x"].map(|text| text.parse().unwrap());
    let distinct = Address::distinct(given.to_vec());
    assert_eq!(distinct, [given[0].clone(), given[1].clone(), given[4].clone()]);
}

/// Outside of quotes, nothing that ends the path or the line.
fn is_harmless(text: &str) -> bool {
    let quoted = text.starts_with('"');
    !text.contains(|c: char| c.is_control() || (c == '<' || c == '>' || c == ' ') && !quoted)
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn whatever_parses_is_harmless_and_stays_itself(
        text in "(\"[ -~é\\\\\r\n]{0,8}\"|[a-zA-ZΣ.\"<> \r\n\0é]{0,9})@[a-zA-Z.\\-\\[\\]0-9:> \r\néÜ。]{0,9}"
    ) {
        if let Ok(address) = text.parse::<Address>() {
            prop_assert!(is_harmless(address.as_str()), "{}", address);
            prop_assert_eq!(&address.as_str().parse::<Address>().unwrap(), &address);
            let canonical = address.canonical();
            prop_assert_eq!(&canonical.as_str().parse::<Address>().unwrap(), &canonical);
            prop_assert_eq!(canonical.canonical(), canonical);
        }
    }

    #[test]
    fn ordinary_addresses_parse(
        text in "[a-z0-9]{1,20}(\\.[a-z0-9+_]{1,9}){0,3}@[a-z0-9]{1,20}(\\.[a-z]{2,8}){0,4}"
    ) {
        let address: Address = text.parse().unwrap();
        prop_assert_eq!(address.as_str(), text);
    }
}
