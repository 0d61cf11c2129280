//! Hosts that take a message and say nothing any more.

use crate::delivery::sink::Manners;
use crate::delivery::world::{World, outcomes};
use sojourn_core::parameters::{Table, Value};
use sojourn_mail_engine::Outcome::Delivered;
use std::time::{Duration, Instant};

const TEXT: &str = "Subject: hello\r\n\r\nhello\r\n";

/// A hundred and twenty tarpits in twelve networks could hold all of a hundred places. People at other
/// hosts have their mail within five seconds all the same.
#[test]
fn tarpits_hold_up_nobody() {
    let mut world = World::new();
    let mut limits = Table::default();
    limits.set("sessions", Value::Int(100));
    limits.set("network", Value::Int(10));
    world.set("mail", "limits", Value::Table(limits));
    let near = |network: usize, n: usize| format!("127.0.{network}.{n}");
    let tarpits: Vec<_> = (0..120).map(|n| near(100 + n / 10, 1 + n % 10)).collect();
    let honest: Vec<_> = (0..20).map(|n| near(200 + n, 1)).collect();
    let silent = Manners { silent: true, ..Manners::default() };
    tarpits.iter().for_each(|it| world.host(it, silent.clone()));
    honest.iter().for_each(|it| world.host(it, Manners::default()));
    let people = |hosts: &[String]| hosts.iter().map(|it| format!("r@[{it}]")).collect::<Vec<_>>();
    let server = world.start();
    let submit = |people: &[String]| {
        server.submit(&people.iter().map(String::as_str).collect::<Vec<_>>(), TEXT)
    };
    submit(&people(&tarpits));
    for _ in 0..2 {
        let began = Instant::now();
        let told = server.until_finished(submit(&people(&honest)));
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
        assert!(outcomes(&told).iter().all(|it| it.1 == Delivered), "{told:?}");
    }
    // A quarter of each network's places is held now, and no more.
    world.wait_for(40 + 12 * 2);
    assert_eq!(world.taken().len(), 40 + 12 * 2);
    server.stop();
}
