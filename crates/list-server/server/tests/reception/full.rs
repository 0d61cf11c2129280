//! What a server says that has no room.

use crate::{Place, connect, table, text};
use sojourn_core::parameters::Value;
use std::path::Path;
use std::process::Command;

const FROM: &str = "editor@lists.example";

fn trusting(mail: &[(&str, Value)]) -> Place {
    let mut all = vec![("hello", text("lists.example"))];
    all.extend(mail.iter().cloned());
    Place::new(&[
        ("reception", table(&[("trusted", Value::List(vec![text("127.0.0.0/8")]))])),
        ("mail", table(&all)),
    ])
}

/// Nobody is delivered to here: what was taken over waits.
#[test]
fn so_many_recipients_wait_and_no_more() {
    let limits = table(&[("waiting", Value::Int(3))]);
    let place = trusting(&[("limits", limits)]);
    let server = place.start();
    let mut client = connect(&server);
    client.hear();
    client.say("EHLO client.example");
    let (two, message) = (["a@[127.0.0.9]", "b@[127.0.0.9]"], "Subject: x\r\n\r\nx");
    assert!(client.mail(FROM, &two, message).starts_with("250 2.0.0 taken as"));
    let full = "452 4.3.1 too much mail is waiting, try again later";
    assert_eq!(client.mail(FROM, &two, message), full);
    assert!(client.mail(FROM, &two[..1], message).starts_with("250"));
    assert_eq!(client.mail(FROM, &two[..1], message), full);
    assert_eq!(client.say("QUIT"), "221 2.0.0 bye");
    server.stop();
    let heard = place.ear.0.lock().unwrap();
    assert!(heard.iter().any(|it| it.contains("2 recipients are waiting already")), "{heard:?}");
    assert_eq!(place.stored().len(), 2);
}

/// Mounts or remounts a small file system; says so where it cannot.
fn mount(folder: &Path, options: &str) -> bool {
    let mut mount = Command::new("mount");
    let mounted = mount.args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(folder).output();
    let mounted = mounted.is_ok_and(|output| output.status.success());
    if !mounted {
        // Not `eprintln!`: what a test that passes prints by that is not shown.
        let said = b"skipped: only root can mount a small file system\n";
        std::io::Write::write_all(&mut std::io::stderr(), said).expect("standard error");
    }
    mounted
}

/// Unmounts it when the test ends.
struct Mounted<'a>(&'a Path);

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        drop(Command::new("umount").arg("-l").arg(self.0).status());
    }
}

/// The client keeps what there is no room for, and gets rid of it when there is; what was promised is
/// in the spool.
#[test]
fn a_full_disk() {
    let place = trusting(&[]);
    if !mount(place.folder.path(), "size=1m") {
        return;
    }
    let mounted = Mounted(place.folder.path());
    let server = place.start();
    let mut client = connect(&server);
    client.hear();
    client.say("EHLO client.example");
    let mail = |client: &mut crate::Client<_>, n: usize| {
        let text = ["x".repeat(70), "\r\n".into()].concat().repeat(300);
        let message = format!("Message-ID: <{n}@x>\r\n\r\n{text}");
        client.mail(FROM, &["a@[127.0.0.9]"], &message)
    };
    let mut taken = 0;
    let refused = loop {
        match mail(&mut client, taken) {
            reply if reply.starts_with("250") => taken += 1,
            reply => break reply,
        }
        assert!(taken < 100, "1 MB holds no 100 messages of 21 KB");
    };
    assert_eq!(refused, "452 4.3.1 it cannot be stored now, try again later");
    assert!(taken > 5);
    assert!(mount(place.folder.path(), "remount,size=64m"));
    assert!(mail(&mut client, taken).starts_with("250"));
    server.stop();
    let stored = place.stored();
    assert_eq!(stored.len(), taken + 1);
    for (n, (_, text)) in stored.iter().enumerate() {
        assert!(text.contains(&format!("Message-ID: <{n}@x>")));
    }
    drop(mounted);
}
