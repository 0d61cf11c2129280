//! kill -9 at random moments.

use crate::{PATIENCE, Stage, Tale, ids};
use sojourn_internet::{Acceptance, Drawn};
use sojourn_kernel::parameters::defaults;
use sojourn_kernel::{Span, Streams};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

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

/// Issue 6, point 7; see the Makefile's `kills`.
#[test]
#[ignore = "takes ten minutes; prints a table"]
fn fifty_kills() {
    let stage = Stage::new(drawn(2000, 400, Span::from_s(5)));
    let stream = &mut Streams::new(50, 0).stream("kills", 0);
    let messages = 4;
    let mut number = 0;
    let mut burst = |kill_after: Option<Duration>| {
        let mut sender = stage.sender();
        let begin = Instant::now();
        let numbers = number..number + messages;
        number += messages;
        for number in numbers.clone() {
            assert_eq!(sender.send(number, &stage.recipients), format!("accepted {number}"));
        }
        let (mut in_flight, mut killed) = (0, Duration::ZERO);
        if let Some(after) = kill_after {
            // Nobody takes so many: this waits for the time to pass.
            stage.internet.wait_for(usize::MAX, after.saturating_sub(begin.elapsed()));
            in_flight = stage.internet.sessions();
            killed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
            killed -= stage.internet.started_unix();
            sender.kill();
            sender = stage.sender();
        }
        let numbers = ids(numbers);
        let tale = stage.wait_for_all(&numbers);
        let took = begin.elapsed();
        sender.stop();
        let accepted = stage.internet.accepted_since(0);
        let copies = stage.copies(&numbers, &accepted);
        let answered = copies.iter().filter(|it| it.answered.is_some_and(|at| at < killed)).count();
        Burst { tale, in_flight, answered, took, doubtful: doubtful(&numbers, &accepted) }
    };
    let Burst { tale, took, doubtful, .. } = burst(None);
    assert_eq!(tale, Tale { lost: 0, copies: 0, repeated: 0 });
    let each = messages as usize * stage.recipients.len();
    println!(
        "a burst of {each} deliveries takes {:.1} s; of each, {:.0} ms pass between its last octet \
         and its answer: a kill at any moment finds {:.1} in 10,000 of which nobody can know",
        took.as_secs_f64(),
        doubtful.as_secs_f64() * 1e3 / each as f64,
        doubtful.as_secs_f64() / took.as_secs_f64() * 1e4 / each as f64,
    );
    println!("kill  after [s]  sessions  lost  transactions twice  copies  of them answered");
    let (mut copies, mut all_answered) = (0, 0);
    for kill in 1..=50 {
        let after = took.mul_f64(stream.uniform());
        let Burst { tale, in_flight, answered, .. } = burst(Some(after));
        println!(
            "{kill:4}  {:9.2}  {in_flight:8}  {:4}  {:18}  {:6}  {answered:16}",
            after.as_secs_f64(),
            tale.lost,
            tale.repeated,
            tale.copies,
        );
        assert_eq!(tale.lost, 0);
        assert!(tale.repeated <= in_flight, "{tale:?}");
        copies += tale.copies;
        all_answered += answered;
    }
    let share = |part: usize| part as f64 * 1e4 / (50 * each) as f64;
    let (all, answered) = (share(copies), share(all_answered));
    println!("lost 0; on average {all:.1} copies in 10,000 deliveries, {answered:.1} of them of");
    println!("messages whose answer had come; of the others nobody could know");
}

/// A burst, and what a kill in it did.
struct Burst {
    tale: Tale,
    /// Sessions at the kill.
    in_flight: usize,
    /// Copies of what was answered before the kill: a record in no time would have avoided them.
    answered: usize,
    took: Duration,
    /// How long its deliveries were in doubt, all together: sent to their end, and not answered.
    doubtful: Duration,
}

fn doubtful(messages: &[String], accepted: &[Acceptance]) -> Duration {
    let of_these = accepted.iter().filter(|it| messages.contains(&it.message.to_string()));
    of_these.filter_map(|it| Some(it.answered?.saturating_sub(it.read))).sum()
}
