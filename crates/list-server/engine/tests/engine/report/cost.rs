//! What a message costs to read: instructions, counted by valgrind in a process of its own.

use sojourn_mail_engine::bounce::returned;
use sojourn_mail_engine::list::return_path::Reading;
use std::process::Command;

/// Names the file that the process of its own reads.
const FILE: &str = "SOJOURN_REPORT";
const CHILD: &str = "report::cost::read_a_file";

#[test]
#[ignore = "started by the test beside it, under valgrind"]
fn read_a_file() {
    let Ok(path) = std::env::var(FILE) else { return };
    let text = std::fs::read(path).expect("the file can be read");
    std::hint::black_box(returned(&Reading::Plain, false, &text));
}

/// Instructions of the process that reads `text`.
fn instructions(text: &[u8]) -> u64 {
    let folder = std::env::temp_dir().join(format!("sojourn-report-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    let path = folder.join("message");
    std::fs::write(&path, text).expect("it can be written");
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(std::env::current_exe().expect("this program has a path"))
        .args([CHILD, "--exact", "--ignored", "--test-threads=1"])
        .env(FILE, &path)
        .output()
        .expect("valgrind can be started");
    let _ = std::fs::remove_dir_all(&folder);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    let count = told.lines().find_map(|line| line.split_once("Collected : "));
    count.and_then(|(_, number)| number.trim().parse().ok()).expect("callgrind tells a number")
}

/// Instructions per octet that no message may exceed, in the profile of tests.
const PER_OCTET_MAX: u64 = 250;

#[test]
fn twice_the_size_costs_twice() {
    if Command::new("valgrind").arg("--version").output().is_err() {
        // Not `eprintln!`: what a test that passes prints by that is not shown.
        let said = b"skipped: valgrind counts the instructions, and is not installed\n";
        std::io::Write::write_all(&mut std::io::stderr(), said).expect("standard error");
        return;
    }
    let report = "Content-Type: multipart/report; boundary=b\n\n--b\n";
    let status = format!("{report}Content-Type: message/delivery-status\n");
    let open: String = (0..19)
        .map(|it| {
            format!("Content-Type: multipart/mixed; boundary={}{it}\n\n--{0}{it}\n", "-".repeat(60))
        })
        .collect();
    let nested = format!("{open}{report}\n");
    let quoted = format!("{status}Content-Transfer-Encoding: quoted-printable\n\n");
    let base64 = format!("{status}Content-Transfer-Encoding: base64\n\n");
    let group = "Final-Recipient: rfc822; u@d\nAction: failed\nDiagnostic-Code: x; y\n\n";
    let strange = "Final-Recipient: rfc822; u@d\nAction: none\n\n";
    let near = format!("--{}99\n", "-".repeat(60));
    let status = status + "\n";
    // What begins a message, and what is repeated in it.
    let kinds = [
        ("parameters", "Content-Type: multipart/report", "; p*1=x"),
        ("names of parameters", "Content-Type: multipart/report; ", "a*0=b;"),
        ("comments", "Content-Type: ", "("),
        ("messages in messages", "", "Content-Type: message/rfc822\n\n"),
        ("multiparts", "", "Content-Type: multipart/mixed; boundary=b\n\n--b\n"),
        ("header lines", "", "X: y\n"),
        ("header lines of parts", report, "X: y\n"),
        ("delimiters", report, "--b--\n--b\n"),
        ("no delimiters", nested.as_str(), "--\n"),
        ("near delimiters", nested.as_str(), near.as_str()),
        ("empty lines", nested.as_str(), "\n"),
        ("escapes", quoted.as_str(), "=41"),
        ("no escapes", quoted.as_str(), "="),
        ("digits of base64", base64.as_str(), "QUJD"),
        ("groups", status.as_str(), group),
        ("groups of no recipient", status.as_str(), strange),
        ("fields", status.as_str(), "Status: x\n"),
        ("folded lines", status.as_str(), " x\n"),
        ("colons", status.as_str(), ":\n"),
    ];
    let nothing = instructions(b"");
    for (kind, start, unit) in kinds {
        let text =
            |octets: usize| [start, &unit.repeat((octets - start.len()) / unit.len())].concat();
        let cost = |octets: usize| instructions(text(octets).as_bytes()).saturating_sub(nothing);
        let (half, whole) = (cost(480_000), cost(960_000));
        println!("{kind}: {half} instructions for 480 kB, {whole} for 960 kB");
        // Reading the file costs something too.
        assert!(whole * 2 <= half * 5 || whole < 960_000, "{kind}: {half}, {whole}");
        assert!(whole <= 960_000 * PER_OCTET_MAX, "{kind}: {whole}");
    }
}
