//! A server that is stopped, and a world that fails around it.

use crate::kill::{PATIENCE, Stage, ids};
use sojourn_core::Span;
use sojourn_core::parameters::defaults;
use sojourn_testnet::Drawn;
use std::time::{Duration, Instant};

fn stage(slow_reply: Span) -> Stage {
    Stage::new(Drawn {
        subscribers: 150.try_into().unwrap(),
        domains: 40.try_into().unwrap(),
        unreachable: 0.0,
        greylisting: Span::from_s(1),
        round_trip: Span::from_ms(5),
        slow: 0.2,
        slow_reply,
        ..defaults()
    })
}

#[test]
fn a_server_that_is_stopped_hands_back_what_is_in_flight_in_time() {
    // Servers that take 3 s for each answer cannot be waited for in the 2 s that are granted.
    let stage = stage(Span::from_s(3));
    let mut sender = stage.sender();
    assert_eq!(sender.send(0, &stage.recipients), "accepted 0");
    stage.internet.wait_for(stage.recipients.len() / 2, PATIENCE);
    let since = Instant::now();
    let said = sender.stop();
    assert!(since.elapsed() < Duration::from_secs(2 + 5 + 3), "{:?}", since.elapsed());
    assert!(said.starts_with("stopped, 1 left"), "{said}");
    let sender = stage.sender();
    assert_eq!(stage.wait_for_all(&ids([0])).lost, 0);
    assert!(sender.stop().starts_with("stopped"));
}

#[test]
fn name_servers_may_die_and_come_back() {
    let stage = stage(Span::from_ms(20));
    stage.internet.set_names(false);
    let mut sender = stage.sender();
    assert_eq!(sender.send(0, &stage.recipients), "accepted 0");
    sender.hear_of("domain down");
    stage.internet.set_names(true);
    let tale = stage.wait_for_all(&ids([0]));
    assert_eq!((tale.lost, tale.copies), (0, 0));
    assert!(sender.stop().starts_with("stopped"));
}

#[test]
fn all_hosts_may_be_down_for_a_while() {
    let stage = stage(Span::from_ms(20));
    stage.internet.set_hosts(false);
    let mut sender = stage.sender();
    assert_eq!(sender.send(0, &stage.recipients), "accepted 0");
    sender.hear_of("host down");
    stage.internet.set_hosts(true);
    // They go down once more, in the middle of it.
    stage.internet.wait_for(stage.recipients.len() / 4, PATIENCE);
    stage.internet.set_hosts(false);
    sender.hear_of("host down");
    stage.internet.set_hosts(true);
    assert_eq!(stage.wait_for_all(&ids([0])).lost, 0);
    assert!(sender.stop().starts_with("stopped"));
}

/// What a process is to note lies in the way: it says so once, and everybody has everything once.
#[test]
fn answers_that_cannot_be_noted_are_delivered_all_the_same() {
    let stage = stage(Span::from_ms(20));
    let beside = format!("{}-answers", stage.spool().display());
    std::fs::create_dir(&beside).unwrap();
    let mut sender = stage.sender();
    assert_eq!(sender.send(0, &stage.recipients), "accepted 0");
    let right = format!(
        "answers cannot be noted in {beside}, a crash repeats them: Is a directory (os error 21)"
    );
    sender.hear_of(&format!("trouble: {right}"));
    let tale = stage.wait_for_all(&ids([0]));
    assert_eq!((tale.lost, tale.copies), (0, 0));
    // It is told to stop, and everything that it has said meanwhile is heard.
    let rest = sender.stop_and_tell();
    assert!(rest.iter().all(|said| !said.starts_with("trouble")), "{rest:?}");
}
