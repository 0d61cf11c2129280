//! Return paths of lists at home: each copy has one with a token, by which a bounce is known to
//! come from a host that was sent the copy.
//!
//! `announce-bounces@host` becomes `announce-bounces+TOKEN@host` ([`crate::token`]).

use crate::address::Address;
use crate::report::verp::{self, Reading};
use crate::token::{self, Claim, Purpose, TokenKeys};

/// Octets that the local part of a return path may have before a token is added: 64 (RFC 5321
/// section 4.5.3.1.1) without the `+` and the token.
pub const LOCAL_MAX: usize = 64 - 1 - token::LENGTH;

/// The lists whose return paths carry tokens, and the keys that sign these. By default no list's
/// do.
#[derive(Clone, Debug, Default)]
pub struct ReturnPaths(Option<(TokenKeys, Vec<Address>)>);

/// What of a list's return path an address is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Form {
    /// The return path itself.
    Plain,
    /// The path with what has the length of a token behind it; whether it is one, keys tell.
    Token(String),
    /// The path with a subscriber's address behind it, as lists had it before there were tokens.
    Named,
}

impl ReturnPaths {
    /// Copies of mail whose sender is one of `lists` get return paths that `keys` sign.
    pub fn new(keys: TokenKeys, lists: Vec<Address>) -> ReturnPaths {
        ReturnPaths(Some((keys, lists)))
    }

    /// Whether copies of mail from `sender` get return paths of their own.
    pub fn has(&self, sender: &Address) -> bool {
        self.0.as_ref().is_some_and(|(_, lists)| lists.contains(sender))
    }

    /// The return path of the copy that `claim` names; nothing when `sender` is not one of the lists.
    pub fn path(&self, sender: &Address, claim: Claim) -> Option<Address> {
        let (keys, lists) = self.0.as_ref()?;
        lists.contains(sender).then(|| with_token(keys, sender, claim)).flatten()
    }
}

/// The return path `back` with the token for `claim`. Nothing when it would be no address, because
/// the local part of `back` has more than [`LOCAL_MAX`] octets, or its domain is too long.
pub fn with_token(keys: &TokenKeys, back: &Address, claim: Claim) -> Option<Address> {
    let token = keys.sign(Purpose::Bounce, back, claim);
    Address::of(&format!("{}+{token}", back.name()), back.domain()).ok()
}

/// What of the return path `back` the address is; nothing when it is another's. The case of the
/// return path does not matter: some hosts change it.
pub fn form(back: &Address, address: &Address) -> Option<Form> {
    match verp::decode(back, address) {
        Some(Reading::Plain) => return Some(Form::Plain),
        Some(Reading::Of(_)) => return Some(Form::Named),
        None => {}
    }
    if address.domain() != back.domain() {
        return None;
    }
    let (own, name) = (back.name(), address.name());
    let (head, rest) = name.split_at_checked(own.len())?;
    let token = rest.strip_prefix('+').filter(|_| head.eq_ignore_ascii_case(&own))?;
    let like_one =
        token.len() == token::LENGTH && token.bytes().all(|octet| octet.is_ascii_alphanumeric());
    like_one.then(|| Form::Token(token.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::list::List;
    use proptest::prelude::*;
    use sojourn_kernel::parameters::{Parameters, Table, Value};

    fn address(text: &str) -> Address {
        text.parse().unwrap_or_else(|why| panic!("{text}: {why}"))
    }

    fn keys() -> TokenKeys {
        TokenKeys::new(&[[7; token::SECRET]]).unwrap()
    }

    const CLAIM: Claim = Claim { subscriber: 1, mailing: 2, day: 20_781 };

    #[test]
    fn only_the_lists_have_tokens() {
        let (list, other) = (address("news-bounces@lists.example"), address("news@lists.example"));
        let paths = ReturnPaths::new(keys(), vec![list.clone()]);
        assert!(paths.has(&list) && !paths.has(&other) && !ReturnPaths::default().has(&list));
        let path = paths.path(&list, CLAIM).unwrap();
        assert!(path.as_str().starts_with("news-bounces+"), "{path}");
        assert_eq!(
            (paths.path(&other, CLAIM), ReturnPaths::default().path(&list, CLAIM)),
            (None, None)
        );
    }

    #[test]
    fn the_forms_of_a_return_path() {
        let back = address("news-bounces@lists.example");
        let of = |text: &str| form(&back, &address(text));
        assert_eq!(of("NEWS-bounces@lists.example"), Some(Form::Plain));
        assert_eq!(of("news-bounces+user=x.example@lists.example"), Some(Form::Named));
        let token = "a2".repeat(16);
        let tagged = format!("News-Bounces+{token}@lists.example");
        assert_eq!(of(&tagged), Some(Form::Token(token.clone())));
        for other in [
            format!("news-bounces+{}@lists.example", &token[1..]),
            format!("news-bounces+{token}b@lists.example"),
            format!("news-bounces+{}.@lists.example", &token[1..]).replace(".@", "-@"),
            format!("news-bounces-{token}@lists.example"),
            format!("news-bounces+{token}@other.example"),
            format!("old-bounces+{token}@lists.example"),
        ] {
            assert_eq!(of(&other), None, "{other}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            failure_persistence: None,
            rng_seed: proptest::test_runner::RngSeed::Fixed(1),
            ..ProptestConfig::default()
        })]

        /// Every list that is taken with VERP gets paths of at most 64 octets before the `@`, for
        /// every subscriber, and these lead back; longer names are refused.
        #[test]
        fn no_local_part_is_too_long(
            name in "[a-z\"\\\\ .+=-]{1,40}",
            subscriber in any::<u32>(), mailing in any::<u32>(), day in any::<u16>(),
        ) {
            let Ok(back) = Address::of(&name, "lists.example") else { return Ok(()) };
            let mut table = Table::default();
            table.set("bounces", Value::Text(back.to_string()));
            let list = List::read_table(&table);
            prop_assert_eq!(list.is_ok(), back.local().len() <= LOCAL_MAX);
            let claim = Claim { subscriber, mailing, day };
            if list.is_err() {
                return Ok(());
            }
            let path = with_token(&keys(), &back, claim).expect("it fits");
            prop_assert!(path.local().len() <= 64, "{}", path);
            let Some(Form::Token(token)) = form(&back, &path) else { panic!("{path}") };
            prop_assert_eq!(keys().verify(Purpose::Bounce, &back, &token), Some(claim));
        }
    }
}
