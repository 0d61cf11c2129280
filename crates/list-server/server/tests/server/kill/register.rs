//! Processes that are killed while they write the register of subscribers.

use sojourn_list_server::{KeyFile, SubscriberStore, state};
use sojourn_smtp::Address;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Departures that are heard of before the kill.
const HEARD: usize = 150;

fn address(name: &str, number: usize) -> Address {
    format!("{name}{number}@x.example").parse().unwrap()
}

fn list() -> Address {
    "news-bounces@lists.example".parse().unwrap()
}

/// A process that has one after another leave, and says so when the answer is given.
#[test]
#[ignore = "a process that another test starts and kills"]
fn a_writer() {
    let Some(spool) = std::env::var_os("REGISTER_SPOOL") else { return };
    let name = std::env::var("REGISTER_NAME").unwrap();
    let mut register = SubscriberStore::open(&SubscriberStore::beside(Path::new(&spool))).unwrap();
    for number in 0.. {
        let person = address(&name, number);
        register.numbers(&list(), std::slice::from_ref(&person), 0, 1_000_000).unwrap();
        register.leave(&list(), &person, 1).unwrap();
        println!("left {person}");
    }
}

fn writer(spool: &Path, name: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "kill::register::a_writer", "--nocapture"])
        .envs([("REGISTER_SPOOL", spool.to_str().unwrap()), ("REGISTER_NAME", name)])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Two processes write at once and are killed: each departure that was answered is in the register and,
/// where that is lost, in its backup. A first start that is cut short is one too.
#[test]
fn departures_survive_kills() {
    let folder = tempfile::tempdir().unwrap();
    let spool = folder.path().join("spool");
    KeyFile::read_or_make(&KeyFile::beside(&spool), 0).unwrap();
    let mut answered = Vec::new();
    for round in 0..6 {
        // The first start is of one process alone, and is cut short at some place.
        let (names, heard) = if round == 0 { (&["a"][..], 0) } else { (&["a", "b"][..], HEARD) };
        let mut all: Vec<_> =
            names.iter().map(|name| writer(&spool, &format!("{name}{round}-"))).collect();
        let mut said: Vec<_> = all.iter_mut().map(|it| it.stdout.take().unwrap()).collect();
        let mut said: Vec<_> = said.iter_mut().map(|it| BufReader::new(it).lines()).collect();
        let left = |line: std::io::Result<String>| {
            line.ok()?.split_once("left ").map(|(_, who)| who.to_owned())
        };
        for lines in &mut said {
            answered.extend(lines.by_ref().filter_map(left).take(heard + 13 * round));
        }
        all.iter_mut().for_each(|it| it.kill().and_then(|()| it.wait().map(drop)).unwrap());
        // What it wrote last may be half a line.
        let rest = said.into_iter().flatten().filter_map(left);
        answered.extend(rest.filter(|it| it.ends_with("@x.example")));
        let path = SubscriberStore::beside(&spool);
        let check = |what: &str| {
            let register = SubscriberStore::open(&path).unwrap();
            let left: Vec<_> = register.left().unwrap().into_iter().map(|it| it.1).collect();
            let lost = answered.iter().filter(|it| !left.contains(it)).count();
            assert_eq!(lost, 0, "{what} in round {round}");
        };
        check("the register");
        assert_eq!(state::check(&spool), []);
        std::fs::write(&path, "").unwrap();
        for suffix in ["-wal", "-shm"] {
            drop(std::fs::remove_file(format!("{}{suffix}", path.display())));
        }
        state::repair(&spool, false, 0).unwrap();
        check("the backup");
    }
    assert!(answered.len() > 5 * 2 * HEARD);
}
