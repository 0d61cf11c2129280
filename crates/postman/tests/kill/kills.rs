//! kill -9 at random moments.

use crate::{PATIENCE, Stage, Tale, ids};
use sojourn_internet::Drawn;
use sojourn_kernel::parameters::defaults;
use sojourn_kernel::{Span, Streams};
use std::time::{Duration, Instant};

/// The world of the kills: nobody is unreachable, so everybody has to have everything.
fn drawn(subscribers: u32, domains: u32, greylisting: Span) -> Drawn {
    Drawn {
        subscribers: subscribers.try_into().unwrap(),
        domains: domains.try_into().unwrap(),
        unreachable: 0.0,
        greylisting,
        ..defaults()
    }
}

#[test]
fn a_burst_survives_kills() {
    let near = Drawn {
        round_trip: Span::from_ms(5),
        slow_reply: Span::from_ms(20),
        ..drawn(200, 40, Span::from_s(1))
    };
    let stage = Stage::new(near);
    let stream = &mut Streams::new(7, 0).stream("kills", 0);
    let (messages, kills) = (6, 6);
    let all = messages * stage.recipients.len();
    let mut sender = stage.sender();
    for number in 0..messages as u64 {
        assert_eq!(sender.send(number, &stage.recipients), format!("accepted {number}"));
    }
    for _ in 0..kills {
        let so_far = stage.internet.accepted_since(0).len();
        let step = stream.below((2 * all / kills) as u64) as usize;
        stage.internet.wait_for((so_far + step).min(all * 9 / 10), PATIENCE);
        sender.kill();
        sender = stage.sender();
    }
    assert_eq!(stage.wait_for_all(&ids(0..messages as u64)).lost, 0);
    assert_eq!(sender.stop(), "stopped, 0 left, 0 cut");
}

#[test]
fn what_is_being_taken_over_is_there_whole_or_not_at_all() {
    let stage = Stage::new(drawn(100, 20, Span::from_s(1)));
    let mut promised = Vec::new();
    for round in 0..5 {
        let mut sender = stage.sender();
        // Ten are ordered at once, and it is killed when it has answered for so many.
        (0..10).for_each(|n| sender.order(round * 10 + n, &stage.recipients));
        for n in 0..round {
            assert_eq!(sender.hear().unwrap(), format!("accepted {}", round * 10 + n));
            promised.push(round * 10 + n);
        }
        promised.extend(sender.kill());
    }
    let sender = stage.sender();
    assert_eq!(stage.wait_for_all(&ids(promised)).lost, 0);
    let accepted = stage.internet.accepted_since(0);
    assert!(sender.stop().starts_with("stopped"));
    // Of what was not promised, all recipients were there, or none.
    for number in 0..50 {
        let tale = stage.tell(&ids([number]), &accepted);
        let begun = tale.lost < stage.recipients.len();
        assert!(!begun || stage.wait_for_all(&ids([number])).lost == 0, "{number}: {tale:?}");
    }
}

/// Issue 6, point 7: `cargo test -p sojourn-postman --test kill -- --ignored --nocapture fifty`.
#[test]
#[ignore = "takes ten minutes; prints a table"]
fn fifty_kills() {
    let stage = Stage::new(drawn(2000, 400, Span::from_s(5)));
    let stream = &mut Streams::new(50, 0).stream("kills", 0);
    let messages = 4;
    let mut number = 0;
    let mut burst = |kill_after: Option<Duration>| -> (Tale, usize, Duration) {
        let mut sender = stage.sender();
        let begin = Instant::now();
        let numbers = number..number + messages;
        number += messages;
        for number in numbers.clone() {
            assert_eq!(sender.send(number, &stage.recipients), format!("accepted {number}"));
        }
        let mut in_flight = 0;
        if let Some(after) = kill_after {
            // Nobody takes so many: this waits for the time to pass.
            stage.internet.wait_for(usize::MAX, after.saturating_sub(begin.elapsed()));
            in_flight = stage.internet.sessions();
            sender.kill();
            sender = stage.sender();
        }
        let tale = stage.wait_for_all(&ids(numbers));
        let took = begin.elapsed();
        sender.stop();
        (tale, in_flight, took)
    };
    let (undisturbed, _, took) = burst(None);
    assert_eq!(undisturbed, Tale { lost: 0, copies: 0, repeated: 0 });
    let each = messages as usize * stage.recipients.len();
    println!("a burst of {each} deliveries takes {:.1} s", took.as_secs_f64());
    println!("kill  after [s]  sessions  lost  transactions twice  copies  in 10,000");
    let mut copies = 0;
    for kill in 1..=50 {
        let after = took.mul_f64(stream.uniform());
        let (tale, in_flight, _) = burst(Some(after));
        let share = tale.copies as f64 * 1e4 / each as f64;
        println!(
            "{kill:4}  {:9.2}  {in_flight:8}  {:4}  {:18}  {:6}  {share:9.1}",
            after.as_secs_f64(),
            tale.lost,
            tale.repeated,
            tale.copies,
        );
        assert_eq!(tale.lost, 0);
        assert!(tale.repeated <= in_flight, "{tale:?}");
        copies += tale.copies;
    }
    let mean = copies as f64 * 1e4 / (50 * each) as f64;
    println!("lost 0; on average {mean:.1} copies in 10,000 deliveries");
}
