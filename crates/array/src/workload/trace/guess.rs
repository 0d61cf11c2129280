//! What a text looks like that is no trace of the format that was asked for, and how to convert it.

use super::{formats_of, whole, words};
use sojourn_core::file_kind;

/// What a trace of another format looks like, by one of its lines, and what to do with it.
pub(super) fn looks_like(line: &str) -> String {
    let formats = formats_of(line);
    if !formats.is_empty() {
        let kinds: Vec<String> = formats.iter().map(|name| format!("kind = {name:?}")).collect();
        return format!("it looks like {}", kinds.join(" or "));
    }
    if let Some(kind) = file_kind::of_text(line) {
        return format!("it looks like {kind}");
    }
    match FOREIGN.iter().find(|foreign| (foreign.fits)(line)) {
        Some(Foreign { name, awk, .. }) => format!(
            "it looks like {name}; for kind = \"fio\" convert it: awk 'BEGIN {{print \"{HEADER}\"}} {awk}'"
        ),
        None => format!(
            "for kind = \"fio\" convert it to a line \"{HEADER}\" and then lines of microseconds, \
             device, read or write, offset and length in bytes"
        ),
    }
}

/// The first line of a log of fio, which is what other formats are converted to.
const HEADER: &str = "fio version 3 iolog";

/// A format that is not read: its name, whether a line is one of it, and the awk that converts a line.
struct Foreign {
    name: &'static str,
    fits: fn(&str) -> bool,
    awk: &'static str,
}

const FOREIGN: &[Foreign] = &[
    // SNIA IOTTA 391: ns, pid, process, address and size in sectors, R or W, major, minor, MD5.
    Foreign {
        name: "an FIU trace",
        fits: |line| {
            let [ns, pid, _, first, count, op, major, minor] = words(line);
            let numbers = [ns, pid, first, count, major, minor];
            matches!(op, "R" | "W") && numbers.iter().all(|number| whole(number).is_some())
        },
        awk: "{printf \"%.0f %s,%s %s %.0f %.0f\\n\", $1/1000, $7, $8, $6==\"R\" ? \"read\" : \
              \"write\", $4*512, $5*512}",
    },
    // bcc's biosnoop: TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms).
    Foreign {
        name: "the output of biosnoop",
        fits: |line| line.starts_with("TIME(s)") && line.contains("SECTOR"),
        awk: "NR>1 {printf \"%.0f %s %s %.0f %.0f\\n\", $1*1e6, $4, $5==\"R\" ? \"read\" : \
              \"write\", $6*512, $7}",
    },
];
