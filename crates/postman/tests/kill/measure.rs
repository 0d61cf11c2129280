//! How soon everybody has it, and what a delivery costs, in the world that is drawn by default.
//!
//! `cargo test -p sojourn-postman --test kill -- --ignored --nocapture --test-threads 1 measure`, on
//! a machine that does nothing else.

use crate::{Stage, ids};
use sojourn_internet::{Class, Drawn, World};
use sojourn_kernel::parameters::defaults;
use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How long everybody who can be reached is waited for.
const PATIENCE: Duration = Duration::from_secs(100);

#[test]
#[ignore = "wants a quiet machine; prints a table"]
fn one_message() {
    play("one message", defaults(), 1);
}

#[test]
#[ignore = "wants a quiet machine; prints a table"]
fn twenty_messages() {
    play("20 messages", defaults(), 20);
}

#[test]
#[ignore = "wants a quiet machine; prints a table"]
fn twenty_messages_with_a_tenth_down() {
    play("20 messages, 10 % down", Drawn { unreachable: 0.1, ..defaults() }, 20);
}

#[test]
#[ignore = "wants a quiet machine; prints a table"]
fn a_clean_world() {
    let clean = Drawn { unreachable: 0.0, greylisted: 0.0, slow: 0.0, ..defaults() };
    play("20 messages, clean", clean, 20);
}

fn play(name: &str, drawn: Drawn, messages: u64) {
    let world = World { drawn: Some(drawn), ..defaults() };
    let subscribers = world.subscribers();
    let recipients = subscribers.iter().map(|it| it.address.clone()).collect();
    let stage = Stage::of(&world, recipients);
    let classes: BTreeMap<String, Class> =
        subscribers.into_iter().map(|it| (it.address, it.class)).collect();
    let mut sender = stage.patient_sender();
    let (cpu_before, _) = sender.cost();
    let begin = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let begin = begin - stage.internet.started_unix();
    for number in 0..messages {
        assert_eq!(sender.send(number, &stage.recipients), format!("accepted {number}"));
    }
    let up_to = |most| classes.values().filter(|class| **class <= most).count() * messages as usize;
    let taken = stage.internet.wait_for(up_to(Class::Deferring), PATIENCE);
    let (cpu_s, peak_mb) = sender.cost();
    let each = (cpu_s - cpu_before) * 1e3 / taken as f64;
    println!("{name}: {taken} taken over, {each:.3} ms of CPU each, {peak_mb:.0} MB");
    let accepted = stage.internet.accepted_since(0);
    for most in [Class::Fast, Class::Slow, Class::Deferring] {
        let times = accepted.iter().filter(|it| classes[&*it.recipient] <= most);
        let mut times: Vec<f64> =
            times.map(|it| it.at.saturating_sub(begin).as_secs_f64()).collect();
        times.sort_by(f64::total_cmp);
        let members = up_to(most);
        let at = |share: f64| {
            let place = (share * members as f64).ceil() as usize - 1;
            times.get(place).copied().unwrap_or(f64::INFINITY)
        };
        println!(
            "  up to {:10} 50 % {:5.2} s, 95 % {:5.2} s, 99 % {:5.2} s",
            most.name(),
            at(0.5),
            at(0.95),
            at(0.99),
        );
    }
    assert_eq!(stage.tell(&ids(0..messages), &accepted).copies, 0);
    sender.stop();
}
