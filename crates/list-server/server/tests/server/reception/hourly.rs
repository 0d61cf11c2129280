//! What one network's clients make the server send or store in an hour, and what that leaves to
//! others. Each network has a tenth of a bound of 20: two.

use crate::reception::watched::{get, token};
use crate::reception::{Client, Place, connect, connect_from, table, text};
use sojourn_core::parameters::Value;
use sojourn_list_server::{Address, KeyFile, ListServer};
use sojourn_mail_engine::list::return_path::with_token;
use sojourn_mail_engine::list::token::{Claim, Purpose, TokenKeys};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::{SystemTime, UNIX_EPOCH};

const LIST: &str = "news-bounces@lists.example";
const LEAVE: &str = "news-leave@lists.example";
const PEOPLE: usize = 50;
const TAKEN: &str = "250 2.0.0 taken";
const NEAR: Ipv4Addr = Ipv4Addr::new(127, 0, 5, 1);
/// Of the same network, and of another one.
const NEIGHBOUR: Ipv4Addr = Ipv4Addr::new(127, 0, 5, 2);
const FAR: Ipv4Addr = Ipv4Addr::new(127, 0, 6, 1);

/// A list with subscribers, to which all but one address of this machine are not authenticated.
struct Stage {
    place: Place,
    server: ListServer,
    keys: TokenKeys,
}

fn unix_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

impl Stage {
    fn start() -> Stage {
        let mut place =
            Place::trusting(&[("leave", text(LEAVE)), ("reader", text("ann@[127.0.0.77]"))]);
        let bounds = ["postmaster", "reader", "questions", "requests", "bounces", "probes"];
        let bounds = bounds.map(|key| (key, Value::Int(20)));
        let trusted = Value::List(vec![text("127.0.0.1/32")]);
        let reception = [("trusted", trusted), ("hourly", table(&bounds))];
        place.settings.set("reception", table(&reception));
        let address = ("address", text("127.0.0.1:0"));
        let page = [("url", text("https://lists.example/leave")), address.clone()];
        let page = [&page[..], &[("tls", Value::Bool(false))]].concat();
        place.settings.set("unsubscribe", table(&page));
        place.settings.set("live", table(&[address]));
        let server = place.start();
        let people: Vec<String> = (0..PEOPLE).map(person).collect();
        let people: Vec<&str> = people.iter().map(|it| &**it).collect();
        let reply = greeted(connect(&server)).mail(LIST, &people, "Subject: x\r\n\r\nx");
        assert!(reply.starts_with("250 "), "{reply}");
        let keys = KeyFile::beside(&place.folder.path().join("spool"));
        let keys = KeyFile::read(&keys).unwrap().token_keys();
        Stage { place, server, keys }
    }

    fn from(&self, client: Ipv4Addr) -> Client<TcpStream> {
        greeted(connect_from(&self.server, client))
    }

    /// The address of a subscriber's copy for this purpose; numbers begin with 1.
    fn path(&self, purpose: Purpose, subscriber: u32) -> String {
        let claim = Claim { subscriber, mailing: 0, day: (unix_s() / 86_400) as u16 };
        let base: Address = LIST.parse().unwrap();
        match purpose {
            Purpose::Unsubscribe => {
                let token = self.keys.sign(purpose, &base, claim);
                LEAVE.replace('@', &format!("+{token}@"))
            }
            _ => with_token(&self.keys, purpose, &base, claim).unwrap().to_string(),
        }
    }

    /// How much of a bound the metrics count as `taken` or `refused`.
    fn counted(&self, what: &str, bound: &str) -> u64 {
        let (_, _, page) =
            get(&self.server, &format!("/metrics?token={}", token(&self.server)), "");
        let name = format!("sojourn_mail_hourly_{what}_total{{bound=\"{bound}\"}} ");
        let line = page.lines().find_map(|line| line.strip_prefix(&name));
        line.unwrap_or_else(|| panic!("{name}: {page}")).parse().unwrap()
    }
}

/// Does it on a new stage, again if another hour starts meanwhile: then there is twice as much.
fn within_an_hour(scenario: impl Fn(&Stage)) {
    loop {
        let hour = unix_s() / 3600;
        let stage = Stage::start();
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| scenario(&stage)));
        stage.server.stop();
        if unix_s() / 3600 == hour {
            return result.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
    }
}

fn person(number: usize) -> String {
    format!("s{number}@[127.0.0.77]")
}

fn greeted(mut client: Client<TcpStream>) -> Client<TcpStream> {
    client.hear();
    client.say("EHLO client.example");
    client
}

fn request(client: &mut Client<TcpStream>, from: &str, to: &str) -> String {
    client.mail("x@y.example", &[to], &format!("From: {from}\r\nTo: <{to}>\r\n\r\nunsubscribe"))
}

fn full(what: &str) -> String {
    format!("452 4.3.1 {what}: your network's share of this hour is used up, try again later")
}

/// The findings' case: forged requests of all subscribers from one address send two questions, and
/// a subscriber elsewhere still gets one. Whether an author is a subscriber makes no difference.
#[test]
fn forged_requests_ask_few() {
    within_an_hour(|stage| {
        let (mut near, mut far) = (stage.from(NEAR), stage.from(FAR));
        let refused = full("requests to leave without a token");
        for number in 0..40 {
            let expected = if number < 2 { TAKEN } else { &refused };
            assert_eq!(request(&mut near, &person(number), LEAVE), expected, "{number}");
        }
        assert_eq!(request(&mut stage.from(NEIGHBOUR), &person(41), LEAVE), refused);
        assert_eq!(request(&mut near, "other@x.example", LEAVE), refused);
        assert_eq!(request(&mut far, "other@x.example", LEAVE), TAKEN);
        assert_eq!(request(&mut far, &person(49), LEAVE), TAKEN);
        let ear = stage.place.ear.0.lock().unwrap().join("\n");
        assert_eq!(ear.matches("asked to confirm leaving").count(), 3, "{ear}");
        assert!(
            ear.contains(&format!("asked to confirm leaving: list=<{LIST}>, to=<{}>", person(49)))
        );
        assert_eq!(stage.counted("taken", "questions"), 4);
        assert_eq!(stage.counted("refused", "questions"), 40);
    });
}

/// Ten networks use up what all have together, and a trusted client's requests count as well.
#[test]
fn all_networks_together_have_a_bound() {
    within_an_hour(|stage| {
        for network in 10..20 {
            let mut client = stage.from(Ipv4Addr::new(127, 0, network, 1));
            for number in 0..2 {
                assert_eq!(request(&mut client, &person(number), LEAVE), TAKEN);
            }
        }
        let reached = "452 4.3.1 requests to leave without a token: the bound of this hour is \
                       reached, try again later";
        assert_eq!(request(&mut stage.from(FAR), &person(0), LEAVE), reached);
        assert_eq!(request(&mut greeted(connect(&stage.server)), &person(0), LEAVE), reached);
    });
}

/// One address uses up what its network may have a reader read, and no more.
#[test]
fn a_reader_reads_two_messages_of_one_network() {
    within_an_hour(|stage| {
        let words = "Subject: I am moving\r\n\r\nSo stop.\r\n";
        let mut near = stage.from(NEAR);
        let said: Vec<_> = (0..3).map(|_| near.mail("a@b.example", &[LIST], words)).collect();
        assert_eq!(said[..2], [TAKEN; 2]);
        assert_eq!(said[2], full("mail for the list's reader"));
        assert_eq!(stage.from(FAR).mail("a@b.example", &[LIST], words), TAKEN);
        assert_eq!(stage.counted("refused", "reader"), 1);
    });
}

/// The same for the postmaster and abuse.
#[test]
fn the_postmaster_reads_two_messages_of_one_network() {
    within_an_hour(|stage| {
        let to = ["postmaster@lists.example", "abuse@lists.example"];
        let send = |client: Ipv4Addr, to| {
            stage.from(client).mail("a@b.example", &[to], "Subject: x\r\n\r\nx")
        };
        assert!(to.iter().all(|to| send(NEAR, *to).starts_with(TAKEN)));
        assert_eq!(send(NEIGHBOUR, to[0]), full("mail for the postmaster"));
        assert!(send(FAR, to[1]).starts_with(TAKEN));
    });
}

/// Mail that comes back is bounded, and what is not verified uses up nothing of what is.
#[test]
fn returned_mail_is_bounded() {
    within_an_hour(|stage| {
        let report = "Content-Type: multipart/report; report-type=delivery-status; boundary=b\
            \r\n\r\n--b\r\nContent-Type: message/delivery-status\r\n\r\n\
            Reporting-MTA: dns; mx.example\r\n\r\nFinal-Recipient: rfc822; x@y.example\r\n\
            Action: failed\r\nStatus: 5.1.1\r\n\r\n--b--\r\n";
        let mut near = stage.from(NEAR);
        let mut back = |to: &str| near.mail("", &[to], report);
        let forged = LIST.replace('@', &format!("+{}@", "k7".repeat(16)));
        assert_eq!([&*forged, LIST].map(&mut back), [TAKEN; 2]);
        assert_eq!(back(LIST), full("returned mail that is not verified"));
        assert_eq!(back(&forged), full("returned mail that is not verified"));
        let paths = [1, 2, 3].map(|number| stage.path(Purpose::Bounce, number));
        let said = paths.each_ref().map(|path| back(path));
        assert_eq!(said, [TAKEN, TAKEN, &full("returned mail")]);
        assert_eq!(stage.place.book().members().unwrap().len(), 2);
        // What was refused comes again, here from another host of its provider.
        assert_eq!(stage.from(FAR).mail("", &[&paths[2]], report), TAKEN);
        assert_eq!(stage.place.book().members().unwrap().len(), 3);
        assert_eq!(stage.counted("taken", "bounces"), 3);
        assert_eq!(stage.counted("refused", "unverified"), 2);
    });
}

/// Requests with a token are bounded, by mail and by HTTP together; those with none of ours are
/// not counted, as nothing follows from them.
#[test]
fn requests_with_a_token_are_bounded() {
    within_an_hour(|stage| {
        let paths = [1, 2, 3].map(|number| stage.path(Purpose::Unsubscribe, number));
        let mut near = stage.from(NEAR);
        let forged = LEAVE.replace('@', &format!("+{}@", "k7".repeat(16)));
        (0..3).for_each(|_| assert_eq!(request(&mut near, "x@y.example", &forged), TAKEN));
        let said = paths.each_ref().map(|path| request(&mut near, "x@y.example", path));
        assert_eq!(said, [TAKEN, TAKEN, &full("requests to leave")]);
        assert_eq!(stage.place.book().left().unwrap().len(), 2);
        // Behind a proxy all clients have its address: only the bound of all applies.
        let path = stage.path(Purpose::Unsubscribe, 3);
        let (_, token) = path.split_once('+').unwrap();
        let (token, _) = token.split_once('@').unwrap();
        let ask = |token: &str| {
            let mut stream = TcpStream::connect(stage.server.unsubscribe.unwrap()).unwrap();
            let head = format!("POST /leave/{LIST}/{token} HTTP/1.1\r\nHost: lists.example\r\n");
            write!(stream, "{head}Connection: close\r\nContent-Length: 0\r\n\r\n").unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            answer.to_lowercase()
        };
        (0..30).for_each(|_| assert!(ask("aaaa").starts_with("http/1.1 404 ")));
        (0..18).for_each(|_| assert!(ask(token).starts_with("http/1.1 200 ")));
        let answer = ask(token);
        assert!(answer.starts_with("http/1.1 429 "), "{answer}");
        assert!(answer.contains("\r\nretry-after: 3600\r\n"), "{answer}");
        assert_eq!(stage.place.book().left().unwrap().len(), 3);
        assert_eq!(stage.counted("taken", "requests"), 20);
        assert_eq!(stage.counted("refused", "requests"), 2);
    });
}
