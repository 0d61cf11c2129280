//! Stopping, and going on.

use crate::delivery::internet::{Net, fast, text};
use crate::delivery::sink::Manners;
use crate::delivery::world::{Told, World};
use sojourn_core::Span;
use sojourn_list_server::StopReport;
use sojourn_mail_engine::Outcome::Delivered;
use sojourn_testnet::Host;

const TEXT: &str = "Message-ID: <1@lists.example>\r\n\r\nhello\r\n";

/// A transaction under way ends; what has not begun is left, and delivered by the next server. All
/// get it once.
#[test]
fn what_is_left_is_delivered_by_the_next() {
    let slow = Host { round_trip: Span::from_ms(100), ..fast() };
    let mut net = Net::new().set("mail", "split", text("each"));
    for n in 0..5 {
        net = net.domain(&format!("x{n}.example"), vec![slow.clone()]);
    }
    let alive = net.start();
    let mut list: Vec<String> = (0..200).map(|i| format!("r{i}@x{}.example", i % 5)).collect();
    let server = alive.serve();
    server.submit(&list.iter().map(String::as_str).collect::<Vec<_>>(), TEXT);
    server.until(|told| matches!(told, Told::Attempt { outcome: Delivered, .. }));
    assert_eq!(server.stop(), StopReport { messages: 1, cut: 0 });
    let before = alive.recipients().len();
    assert!((1..200).contains(&before), "{before}");

    let server = alive.serve();
    server.until(|told| matches!(told, Told::Finished(_)));
    assert_eq!(server.stop(), StopReport { messages: 0, cut: 0 });
    list.sort();
    assert_eq!(alive.recipients(), list);
}

/// A host that does not answer to the final dot is not waited for longer than is set.
#[test]
fn what_does_not_end_is_cut() {
    let mut world = World::new();
    world.host("127.0.0.2", Manners { silent: true, ..Manners::default() });
    world.set("network", "grace", text("100ms"));
    let server = world.start();
    server.submit(&["a@[127.0.0.2]"], TEXT);
    world.wait_for(1);
    assert_eq!(server.stop(), StopReport { messages: 1, cut: 1 });
    // The next server finds it, and its recipient still to be tried: at once.
    let server = world.start();
    world.wait_for(2);
    assert_eq!(server.stop(), StopReport { messages: 1, cut: 1 });
}

/// A server that is started twice on one spool is refused the second time.
#[test]
fn one_server_a_spool() {
    let net = Net::new().domain("x.example", vec![fast()]);
    let alive = net.start();
    let server = alive.serve();
    let Err(error) = alive.serve_with(&[]) else { panic!("two servers") };
    assert_eq!(
        error,
        format!("the spool {} is in use by another process", alive.spool().display())
    );
    server.stop();
}
