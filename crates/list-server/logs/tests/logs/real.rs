//! Lines that Postfix 3.7, sendmail 8.17 and Exim 4.96 wrote, of one message to recipients who
//! accept, are refused, are refused for now, or have no host.

use crate::kept::read;

fn told(log: &str) -> Vec<String> {
    let mut reader = read(log.as_bytes());
    let counts = reader.counts();
    assert_eq!(counts.malformed, 0, "{:?}", reader.problems());
    assert_eq!(counts.lines, log.lines().count() as u64);
    assert_eq!(counts.lines, counts.used + counts.passed);
    std::mem::take(&mut reader.view().0)
}

#[test]
fn postfix() {
    assert_eq!(
        told(include_str!("samples/postfix.log")),
        [
            "arrived",
            "no u@nowhere.example by none age 0.1 took 0.02 5.0.0",
            "late d@down.example by none age 0.09 took 0 4.4.1",
            "no bad@x.example by 127.0.0.9 age 0.15 took 0.05 5.1.1",
            "late grey@y.example by 127.0.0.9 age 0.15 took 0.05 4.7.1",
            "ok a@x.example by 127.0.0.9 age 0.15 took 0.05 2.0.0",
            "+ ok b@x.example by 127.0.0.9 age 0.15 took 0.05 2.0.0",
            "arrived",
            "ok s@lists.example by 127.0.0.9 age 0.06 took 0.06 2.0.0",
            "removed",
        ]
    );
}

#[test]
fn sendmail() {
    assert_eq!(
        told(include_str!("samples/sendmail.log")),
        [
            "arrived",
            "late grey@y.example by [127.0.0.9] age 0 took 0 4.2.0",
            "no bad@x.example by [127.0.0.9] age 0 took 0 5.1.1",
            "ok c@z.example by [127.0.0.9] age 0 took 0 2.0.0",
            "+ ok b@x.example by [127.0.0.9] age 0 took 0 2.0.0",
            "+ ok a@x.example by [127.0.0.9] age 0 took 0 2.0.0",
        ]
    );
}

#[test]
fn exim() {
    assert_eq!(
        told(include_str!("samples/exim.log")),
        [
            "arrived",
            "late u@nowhere.example by none age 0 took 0 -",
            "ok owner@lists.example by none age 0 took 0 -",
            "late d@down.example by none age 0 took 0 -",
            "ok a@x.example by 127.0.0.9 age 0 took 0 2.0.0",
            "+ ok b@x.example by 127.0.0.9 age 0 took 0 2.0.0",
            "no bad@x.example by 127.0.0.9 age 0 took 0 5.1.1",
            "late grey@y.example by 127.0.0.9 age 0 took 0 4.7.1",
        ]
    );
}
