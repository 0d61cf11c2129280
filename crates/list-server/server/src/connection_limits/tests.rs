use crate::connection_limits::*;

type Got = (Place, oneshot::Receiver<()>);

fn few(all: usize, network: usize, client: usize, first: First) -> Arc<Places> {
    Places::new(vec![Limits { all, network, client }; 2], first)
}

fn enter(places: &Arc<Places>, address: &str) -> Option<Got> {
    let address = address.parse().unwrap();
    places.enter(0, Network::near(address), address)
}

/// Places of the first kind: addresses, their stages, and for how many seconds.
fn got(places: &Arc<Places>, all: &str) -> Vec<Got> {
    let of = |one: &str| {
        let [address, stage, ago] = one.split(' ').collect::<Vec<_>>()[..] else { panic!("{one}") };
        let stage = match stage {
            "idle" => Stage::Idle,
            "begun" => Stage::Begun,
            "text" => Stage::Text,
            _ => Stage::Busy,
        };
        let got = enter(places, address).expect(one);
        got.0.set(stage, Instant::now() - Duration::from_secs(ago.parse().unwrap()));
        got
    };
    all.split(", ").map(of).collect()
}

fn gave_way(all: &mut [Got]) -> Vec<usize> {
    let places = all.iter_mut().enumerate();
    places.filter_map(|(n, (_, told))| told.try_recv().is_ok().then_some(n)).collect()
}

#[test]
fn those_at_work_keep_their_places() {
    let all = few(5, 3, 2, First::Longest);
    let mut held = got(&all, "192.0.2.1 busy 99, ::ffff:192.0.2.1 busy 99");
    assert!(enter(&all, "192.0.2.1").is_none(), "two of one address");
    held.extend(got(&all, "192.0.2.2 busy 99"));
    assert!(enter(&all, "192.0.2.3").is_none(), "three of 24 bits");
    held.extend(got(&all, "2001:db8::1 busy 99, 2001:db8::2 busy 99"));
    assert!(enter(&all, "2001:db8::3").is_none(), "two of 64 bits");
    assert!(enter(&all, "203.0.113.1").is_none(), "five");
    assert_eq!((u8::from(held[0].0.stress()), gave_way(&mut held)), (100, vec![]));
    // Other kinds have others, and one who changes to them frees a place.
    held[0].0.change(1);
    held.extend(got(&all, "203.0.113.1 busy 99"));
    assert_eq!(all.lock().used, [5, 1]);
    held.clear();
    let open = all.lock();
    assert_eq!((open.held.len(), &open.used[..], open.leaving), (0, &[0, 0][..], 0));
}

#[test]
fn the_worst_claim_gives_way() {
    for (what, sessions, expected) in [
        (
            "who has come to nothing for long",
            "192.0.2.1 begun 1, 192.0.2.2 begun 1, 203.0.113.1 begun 11, 192.0.2.3 begun 1",
            2,
        ),
        (
            "who is of the network with the most, whatever was begun",
            "2001:db8:1::1 idle 9, 2001:db8:2::1 begun 1, 2001:db8:2::2 begun 2, 2001:db8:2::3 busy 9",
            2,
        ),
        (
            "who is of the client with the most of its network",
            "192.0.2.1 idle 9, 192.0.2.2 begun 2, 192.0.2.2 begun 1, 192.0.2.3 idle 9",
            1,
        ),
        (
            "who has begun nothing",
            "192.0.2.1 begun 9, 198.51.100.1 begun 8, 203.0.113.1 idle 1, 203.0.114.1 begun 7",
            2,
        ),
        (
            "who says nothing of its text",
            "192.0.2.1 text 1, 192.0.2.2 text 3, 192.0.2.3 text 1, 192.0.2.4 busy 9",
            1,
        ),
        (
            "who has been longest without use",
            "192.0.2.1 idle 7, 198.51.100.1 idle 9, 203.0.113.1 idle 8, 203.0.114.1 idle 1",
            1,
        ),
    ] {
        let all = few(4, 4, 4, First::Longest);
        let mut held = got(&all, sessions);
        let _new = got(&all, "2001:db8:ffff::1 idle 0");
        assert_eq!((gave_way(&mut held), all.lock().leaving), (vec![expected], 1), "{what}");
    }
    // Who was seen to send a message is kept, among those alike.
    let all = few(2, 2, 2, First::Longest);
    let mut held = got(&all, "192.0.2.1 idle 9, 203.0.113.1 idle 1");
    held[0].0.prove();
    let _new = got(&all, "198.51.100.1 idle 0");
    assert_eq!(gave_way(&mut held), [1]);
}

/// A crowd of three networks, each of which comes again at once, pushes out its own alone.
#[test]
fn a_crowd_does_not_push_others_out() {
    let v4 = |n: usize| format!("192.0.{}.{}", n % 3, n / 3 % 2);
    let v6 = |n: usize| format!("2001:db8:{}:{}::1", n % 3, n / 3 % 2);
    for from in [&v4 as &dyn Fn(usize) -> String, &v6] {
        for first in [First::Longest, First::Newest] {
            let all = few(50, 20, 10, first);
            let mut crowd: Vec<_> = (0..60).filter_map(|n| enter(&all, &from(n))).collect();
            assert_eq!(all.count(), 50);
            let mut honest = got(&all, "203.0.113.1 idle 1, 2001:db9::1 idle 1");
            crowd.extend((0..1000).filter_map(|n| enter(&all, &from(n))));
            assert_eq!((gave_way(&mut honest), all.count()), (vec![], 50));
        }
    }
}

#[test]
fn the_newest_of_a_crowd_gives_way_first() {
    let all = few(4, 3, 2, First::Newest);
    let mut crowd = got(&all, "192.0.2.1 idle 3, 192.0.2.1 idle 2, 192.0.2.2 idle 1");
    assert!(enter(&all, "192.0.2.1").is_none() && enter(&all, "192.0.2.2").is_none());
    // Its neighbour has fewer places than that one.
    let _others = got(&all, "192.0.2.3 idle 0, 203.0.113.1 idle 0");
    assert_eq!(gave_way(&mut crowd), [1]);
    // Clients of one place each: the one that has done nothing longest.
    let all = few(2, 2, 2, First::Newest);
    let mut alone = got(&all, "192.0.2.1 idle 3, 203.0.113.1 idle 2");
    let _new = got(&all, "198.51.100.1 idle 0");
    assert_eq!(gave_way(&mut alone), [0]);
}

#[test]
fn half_of_them_may_stay() {
    let all = few(4, 4, 4, First::Longest);
    let mut held = got(&all, "::1 idle 9, ::1 idle 8, ::1 idle 7, ::1 idle 6");
    assert_eq!([0, 1, 2].map(|n: usize| held[n].0.stay(2)), [true, true, false]);
    let _new = got(&all, "::1 idle 0");
    assert_eq!(gave_way(&mut held), [2]);
}
