//! Networks that a configuration names.

use sojourn_list_server::{NotASubnet, Subnet};

#[test]
fn networks() {
    for (net, address, inside) in [
        ("192.0.2.0/24", "192.0.2.255", true),
        ("192.0.2.0/24", "192.0.3.0", false),
        ("192.0.2.0/24", "::ffff:192.0.2.9", true),
        ("192.0.2.7", "192.0.2.7", true),
        ("192.0.2.7", "192.0.2.6", false),
        ("0.0.0.0/0", "203.0.113.1", true),
        ("0.0.0.0/0", "::1", false),
        ("::/0", "2001:db8::1", true),
        ("2001:db8::/32", "2001:db8:ffff::", true),
        ("2001:db8::/32", "2001:db9::", false),
        ("::1", "::1", true),
        ("128.0.0.0/1", "255.255.255.255", true),
    ] {
        let net: Subnet = net.parse().unwrap();
        assert_eq!(net.contains(address.parse().unwrap()), inside, "{net} {address}");
    }
    let covers = |a: &str, b: &str| a.parse::<Subnet>().unwrap().covers(b.parse().unwrap());
    assert!(covers("10.0.0.0/8", "10.1.0.0/16") && covers("::1", "::1"));
    assert!(!covers("10.1.0.0/16", "10.0.0.0/8") && !covers("::/0", "10.0.0.0/8"));
    for text in ["", "192.0.2.1/24", "192.0.2.0/33", "::/129", "x/8", "1.2.3.4/", "1.2.3.4/-1"] {
        assert_eq!(text.parse::<Subnet>(), Err(NotASubnet), "{text}");
    }
}
