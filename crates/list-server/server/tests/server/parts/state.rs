//! The register of subscribers, damaged at any place, and its backup.

use proptest::prelude::*;
use sojourn_core::parameters::defaults;
use sojourn_list_server::{FailedMailing, SubscriberStore, state};
use sojourn_mail_engine::bounce::{Failure, Rule, Severity};
use sojourn_properties::cases;
use sojourn_smtp::Address;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const DAY: i64 = 86_400;
const MOST: u64 = 1_000_000;

fn list() -> Address {
    "news-bounces@lists.example".parse().unwrap()
}

fn person(number: usize) -> Address {
    format!("person{number}@d{}.example", number % 7).parse().unwrap()
}

/// The register of some people beside the spool that is returned, with its backup: every fifth has
/// left, and every seventh is suspended.
fn register(folder: &Path, people: usize) -> PathBuf {
    let spool = folder.join("spool");
    let mut register = SubscriberStore::open(&SubscriberStore::beside(&spool)).unwrap();
    let all: Vec<_> = (0..people).map(person).collect();
    register.numbers(&list(), &all, 0, MOST).unwrap();
    let rule = Rule { probe: false, ..defaults() };
    for day in 0..5 {
        let failed = |subscriber: &Address| FailedMailing {
            subscriber: subscriber.clone(),
            failure: Failure { severity: Severity::Hard, day, returned: false },
            probe: false,
            status: None,
            reason: "550 gone".into(),
            provider: String::new(),
        };
        let gone: Vec<_> = all.iter().step_by(7).map(failed).collect();
        register.enter(&list(), &gone, day * DAY, &rule).unwrap();
    }
    for person in all.iter().step_by(5) {
        register.leave(&list(), person, 9 * DAY).unwrap();
    }
    spool
}

/// Who gets no mail.
fn barred(register: &SubscriberStore) -> BTreeSet<String> {
    let left = register.left().unwrap().into_iter().map(|(_, who, _)| who);
    let members = register.members().unwrap().into_iter();
    let suspended = members.filter(|it| it.standing.suspended.is_some()).map(|it| it.subscriber);
    left.chain(suspended).collect()
}

fn opened(spool: &Path) -> SubscriberStore {
    SubscriberStore::open(&SubscriberStore::beside(spool)).unwrap()
}

fn beside(spool: &Path, suffix: &str) -> PathBuf {
    format!("{}.{suffix}", spool.display()).into()
}

/// What a file has to be left as, when its register is repaired.
fn keys(spool: &Path) {
    sojourn_list_server::KeyFile::read_or_make(&beside(spool, "keys"), 0).unwrap();
}

proptest! {
    #![proptest_config(cases(64))]

    /// A bit that is another one, in the register or its backup, is found, or changes no one's standing;
    /// after a repair those are barred who were.
    #[test]
    fn a_bit(of_backup in any::<bool>(), at in any::<prop::sample::Index>(), bit in 0..8) {
        let folder = tempfile::tempdir().unwrap();
        let spool = register(folder.path(), 60);
        keys(&spool);
        let before = barred(&opened(&spool));
        prop_assert_eq!(before.len(), 12 + 9 - 2);
        let file = beside(&spool, if of_backup { "bounces-backup" } else { "bounces" });
        let mut bytes = fs::read(&file).unwrap();
        let at = at.index(bytes.len());
        bytes[at] ^= 1u8 << bit;
        fs::write(&file, bytes).unwrap();
        if !state::check(&spool).is_empty() {
            state::repair(&spool, false, 0).unwrap();
            prop_assert_eq!(state::check(&spool), []);
        }
        prop_assert_eq!(barred(&opened(&spool)), before);
    }
}

/// Each way to lose a file is found, with its file and a remedy, and repaired; the damaged file is
/// kept.
#[test]
fn a_file_that_is_lost() {
    type Damage = fn(&Path);
    let ways: [(&str, Damage); 4] = [
        ("No such file", |file| fs::remove_file(file).unwrap()),
        ("it is empty", |file| fs::write(file, "").unwrap()),
        ("database", |file| {
            let mut bytes = fs::read(file).unwrap();
            bytes[..4096].fill(0);
            fs::write(file, bytes).unwrap();
        }),
        ("", |file| {
            let bytes = fs::read(file).unwrap();
            fs::write(file, &bytes[..bytes.len() / 2]).unwrap();
        }),
    ];
    for (what, damage) in ways {
        for name in ["bounces", "bounces-backup"] {
            let folder = tempfile::tempdir().unwrap();
            let spool = register(folder.path(), 60);
            keys(&spool);
            let before = barred(&opened(&spool));
            let file = beside(&spool, name);
            damage(&file);
            let found = state::check(&spool);
            let told = format!("{}: ", file.display());
            assert!(found[0].what.starts_with(&told) && found[0].what.contains(what), "{found:?}");
            let is_register = name == "bounces";
            let remedy = if is_register { "restored from" } else { "made anew from" };
            assert!(found[0].remedy.starts_with(remedy), "{found:?}");
            if is_register {
                assert!(SubscriberStore::open(&file).is_err(), "{what}");
            }
            let (repaired, kept) = state::repair(&spool, false, 0).unwrap();
            assert_eq!((repaired, kept.len()), (found, usize::from(what != "No such file")));
            assert!(kept.iter().all(|it| it.exists()));
            assert_eq!((state::check(&spool), barred(&opened(&spool))), (vec![], before));
        }
    }
}

/// A register and its backup that are both lost are made anew only when the operator says so; no
/// subscriber gets a number that was another's.
#[test]
fn both_are_lost() {
    let folder = tempfile::tempdir().unwrap();
    let spool = register(folder.path(), 60);
    keys(&spool);
    for name in ["bounces", "bounces-backup"] {
        fs::write(beside(&spool, name), "").unwrap();
    }
    let refused = state::repair(&spool, false, 0).unwrap_err().to_string();
    assert!(refused.ends_with("forget who has left: --new"), "{refused}");
    let (_, kept) = state::repair(&spool, true, 20_000 * DAY).unwrap();
    assert_eq!((kept.len(), state::check(&spool)), (2, vec![]));
    let mut register = opened(&spool);
    assert_eq!(barred(&register), BTreeSet::new());
    let numbers = register.numbers(&list(), &[person(0)], 0, MOST).unwrap();
    assert_eq!(numbers, [2_000_000_001]);
}

/// Two processes write, and the backup has what both wrote.
#[test]
fn two_processes_write() {
    let folder = tempfile::tempdir().unwrap();
    let spool = register(folder.path(), 60);
    keys(&spool);
    let (mut one, mut other) = (opened(&spool), opened(&spool));
    assert_eq!(other.resume(&[(list(), person(5))]).unwrap(), 1);
    assert!(one.leave(&list(), &person(1), 10 * DAY).unwrap());
    assert!(other.leave(&list(), &person(2), 10 * DAY).unwrap());
    assert_eq!(one.resume(&[(list(), person(7))]).unwrap(), 1);
    assert_eq!(state::check(&spool), [], "while both are open");
    let before = barred(&one);
    drop((one, other));
    fs::remove_file(beside(&spool, "bounces")).unwrap();
    state::repair(&spool, false, 0).unwrap();
    assert_eq!(barred(&opened(&spool)), before);
}

/// A crash between the two files, or an older copy of one, ends no departure that was answered.
#[test]
fn one_is_behind_the_other() {
    for name in ["bounces", "bounces-backup"] {
        let folder = tempfile::tempdir().unwrap();
        let spool = register(folder.path(), 60);
        keys(&spool);
        let file = beside(&spool, name);
        let older = fs::read(&file).unwrap();
        let mut register = opened(&spool);
        register.numbers(&list(), &[person(99)], 0, MOST).unwrap();
        for number in [1, 99] {
            register.leave(&list(), &person(number), 10 * DAY).unwrap();
        }
        let before = barred(&register);
        drop(register);
        fs::write(&file, older).unwrap();
        assert_eq!(barred(&opened(&spool)), before, "{name}");
        let other = beside(&spool, if name == "bounces" { "bounces-backup" } else { "bounces" });
        fs::write(other, "").unwrap();
        state::repair(&spool, false, 0).unwrap();
        assert_eq!(barred(&opened(&spool)), before, "{name}, which follows the other now");
    }
}

/// Damage is not written to the backup with a change of the row.
#[test]
fn a_damaged_row_is_not_changed() {
    let folder = tempfile::tempdir().unwrap();
    let spool = register(folder.path(), 60);
    keys(&spool);
    let raw = rusqlite::Connection::open(beside(&spool, "bounces")).unwrap();
    raw.execute("UPDATE subscriber SET mailed_day = 7 WHERE address LIKE 'person1@%'", []).unwrap();
    drop(raw);
    let told = opened(&spool).leave(&list(), &person(1), 0).unwrap_err().to_string();
    assert!(told.ends_with("a row of subscriber is damaged"), "{told}");
    let found = state::check(&spool);
    assert!(found[0].what.ends_with(" of subscriber is not as it was written"), "{found:?}");
    state::repair(&spool, false, 0).unwrap();
    assert!(opened(&spool).leave(&list(), &person(1), 0).unwrap());
}
