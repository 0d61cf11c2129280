//! Return paths with tokens.

use proptest::prelude::*;
use sojourn_core::parameters::{Parameters, Table, Value};
use sojourn_mail_engine::list::return_path::{Form, LOCAL_MAX, ReturnPaths, form, with_token};
use sojourn_mail_engine::list::token::{Claim, Purpose, TokenKeys};
use sojourn_mail_engine::list::{List, token};
use sojourn_properties::cases;
use sojourn_smtp::Address;

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
    #![proptest_config(cases(256))]

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
        let path = with_token(&keys(), Purpose::Bounce, &back, claim).expect("it fits");
        prop_assert!(path.local().len() <= 64, "{}", path);
        let Some(Form::Token(token)) = form(&back, &path) else { panic!("{path}") };
        prop_assert_eq!(keys().verify(Purpose::Bounce, &back, &token), Some(claim));
    }
}
