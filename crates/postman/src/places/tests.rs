use super::*;

type Got = (Place, oneshot::Receiver<()>);

fn few(all: usize, network: usize, client: usize, first: First) -> Arc<Places> {
    Places::new(vec![Limits { all, network, client }; 2], first)
}

/// A place of the first kind, at a stage since so many seconds ago.
fn got(places: &Arc<Places>, address: &str, stage: Stage, ago: u64) -> Got {
    let address = address.parse().unwrap();
    let got = places.enter(0, Network::near(address), address).expect("a place");
    got.0.set(stage, Instant::now() - Duration::from_secs(ago));
    got
}

fn refused(places: &Arc<Places>, address: &str) -> bool {
    let address = address.parse().unwrap();
    places.enter(0, Network::near(address), address).is_none()
}

fn gave_way(all: &mut [Got]) -> Vec<usize> {
    let places = all.iter_mut().enumerate();
    places.filter_map(|(n, (_, told))| told.try_recv().is_ok().then_some(n)).collect()
}

#[test]
fn those_at_work_keep_their_places() {
    let all = few(5, 3, 2, First::Longest);
    let busy = |address| got(&all, address, Stage::Busy, 100);
    let mut held = vec![busy("192.0.2.1"), busy("::ffff:192.0.2.1")];
    assert!(refused(&all, "192.0.2.1"), "two of one address");
    held.push(busy("192.0.2.2"));
    assert!(refused(&all, "192.0.2.3"), "three of 24 bits");
    held.push(busy("2001:db8::1"));
    held.push(busy("2001:db8::2"));
    assert!(refused(&all, "2001:db8::3"), "two of 64 bits");
    assert!(refused(&all, "203.0.113.1"), "five");
    assert_eq!((u8::from(held[0].0.stress()), gave_way(&mut held)), (100, vec![]));
    // Other kinds have others, and one who changes to them makes room.
    held[0].0.change(1);
    held.push(busy("203.0.113.1"));
    assert_eq!(all.lock().used, [5, 1]);
    held.clear();
    let open = all.lock();
    assert_eq!((open.held.len(), &open.used[..], open.leaving), (0, &[0, 0][..], 0));
}

#[test]
fn the_worst_claim_gives_way() {
    let (idle, begun) = (Stage::Idle, Stage::Begun);
    let cases: [(&str, [(&str, Stage, u64); 4], usize); 5] = [
        (
            "one that has come to nothing for long",
            {
                let fresh = |address| (address, begun, 1);
                [
                    fresh("192.0.2.1"),
                    fresh("192.0.2.2"),
                    ("203.0.113.1", begun, 11),
                    fresh("192.0.2.3"),
                ]
            },
            2,
        ),
        (
            "one of the network with the most, whatever it has begun",
            {
                [
                    ("2001:db8:1::1", idle, 9),
                    ("2001:db8:2:1::1", begun, 1),
                    ("2001:db8:2:2::1", begun, 2),
                    ("2001:db8:2:3::1", Stage::Busy, 99),
                ]
            },
            2,
        ),
        (
            "one of the client with the most of its network",
            {
                [
                    ("192.0.2.1", idle, 9),
                    ("192.0.2.2", begun, 2),
                    ("192.0.2.2", begun, 1),
                    ("192.0.2.3", idle, 9),
                ]
            },
            1,
        ),
        (
            "one that has begun nothing",
            {
                [
                    ("192.0.2.1", begun, 9),
                    ("198.51.100.1", begun, 8),
                    ("203.0.113.1", idle, 1),
                    ("203.0.114.1", begun, 7),
                ]
            },
            2,
        ),
        (
            "the one that has been longest without use",
            {
                [
                    ("192.0.2.1", idle, 7),
                    ("198.51.100.1", idle, 9),
                    ("203.0.113.1", idle, 8),
                    ("203.0.114.1", idle, 1),
                ]
            },
            1,
        ),
    ];
    for (what, sessions, expected) in cases {
        let all = few(4, 4, 4, First::Longest);
        let of = |(address, stage, ago)| got(&all, address, stage, ago);
        let mut held: Vec<_> = sessions.map(of).into();
        let _new = got(&all, "2001:db8:ffff::1", idle, 0);
        assert_eq!(gave_way(&mut held), [expected], "{what}");
        assert_eq!(all.lock().leaving, 1);
    }
    // Who was seen to send a message is kept, among those alike.
    let all = few(2, 2, 2, First::Longest);
    let mut held = vec![got(&all, "192.0.2.1", idle, 9), got(&all, "203.0.113.1", idle, 1)];
    held[0].0.prove();
    let _new = got(&all, "198.51.100.1", idle, 0);
    assert_eq!(gave_way(&mut held), [1]);
}

/// A crowd of three networks, each of which comes again at once, pushes out its own alone.
#[test]
fn a_crowd_does_not_push_others_out() {
    for first in [First::Longest, First::Newest] {
        for [crowd, honest] in [["192.0", "203.0.113.1"], ["2001:db8", "2001:db9::1"]] {
            let all = few(50, 20, 10, first);
            let from = |n: usize| match crowd {
                "192.0" => format!("192.0.{}.{}", n % 3, n / 3 % 2),
                _ => format!("2001:db8:{}:{}::1", n % 3, n / 3 % 2),
            };
            let enter = |n| {
                let address: IpAddr = from(n).parse().unwrap();
                all.enter(0, Network::near(address), address)
            };
            let mut crowd: Vec<_> = (0..60).filter_map(enter).collect();
            assert_eq!(all.count(), 50);
            let mut honest = vec![got(&all, honest, Stage::Idle, 1)];
            crowd.extend((0..1000).filter_map(enter));
            assert_eq!((gave_way(&mut honest), all.count()), (vec![], 50));
        }
    }
}

#[test]
fn the_newest_of_a_crowd_gives_way_first() {
    let all = few(4, 3, 2, First::Newest);
    let mut crowd = vec![
        got(&all, "192.0.2.1", Stage::Idle, 3),
        got(&all, "192.0.2.1", Stage::Idle, 2),
        got(&all, "192.0.2.2", Stage::Idle, 1),
    ];
    assert!(refused(&all, "192.0.2.1") && refused(&all, "192.0.2.2"));
    // Its neighbour has fewer places than that one.
    let _neighbour = got(&all, "192.0.2.3", Stage::Idle, 0);
    assert_eq!(gave_way(&mut crowd), [1]);
    let _other = got(&all, "203.0.113.1", Stage::Idle, 0);
    assert!(gave_way(&mut crowd).is_empty());
    // Clients of one place each: the one that has done nothing longest.
    let all = few(2, 2, 2, First::Newest);
    let mut alone =
        vec![got(&all, "192.0.2.1", Stage::Idle, 3), got(&all, "203.0.113.1", Stage::Idle, 2)];
    let _new = got(&all, "198.51.100.1", Stage::Idle, 0);
    assert_eq!(gave_way(&mut alone), [0]);
}

#[test]
fn half_of_them_may_stay() {
    let all = few(4, 4, 4, First::Longest);
    let mut held: Vec<_> = (0..4).map(|n| got(&all, "127.0.0.1", Stage::Idle, 9 - n)).collect();
    assert_eq!([0, 1, 2].map(|n: usize| held[n].0.stay(2)), [true, true, false]);
    let _new = got(&all, "127.0.0.1", Stage::Idle, 0);
    assert_eq!(gave_way(&mut held), [2]);
}
