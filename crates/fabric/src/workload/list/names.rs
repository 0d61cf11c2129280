//! The names of columns, and other names: which of them are mistakes, and which may mean a column.

/// The columns that are no times.
pub(super) const PLAIN: [&str; 7] = ["src", "dst", "size_bytes", "class", "id", "after", "job"];
/// The columns of times, whose names may end in a unit.
pub(super) const TIMES: [&str; 3] = ["arrival", "deadline", "delay"];

/// The column of flows that a name differs from by its case, by what is between its words, or by one letter. Files
/// of other programs have columns such as `ID`, which are no slips.
pub(super) fn nearest(name: &str) -> Option<&'static str> {
    let words = |name: &str| -> String {
        name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
    };
    let given = words(name);
    let is_near = |known: &str| {
        let known = words(known);
        known == given || (known.len() >= SHORTEST && is_a_letter_away(&known, &given))
    };
    let known = PLAIN.iter().chain(&TIMES).filter(|known| **known != "id");
    known.copied().find(|known| is_near(known))
}

/// Advice on which of the `further` columns may be the missing one called `missing`; empty where none is.
pub(super) fn renamed(missing: &str, further: &[&str]) -> String {
    let (column, unit, others): (_, _, &[&str]) = match missing {
        "src" => ("src", "has host numbers from 0", &["source", "from", "sender", "src_host"]),
        "dst" => (
            "dst",
            "has host numbers from 0",
            &["dest", "destination", "to", "receiver", "dst_host"],
        ),
        "size_bytes" => {
            ("size_bytes", "is in bytes", &["size", "bytes", "flow_size", "length", "flowsize"])
        }
        _ => (
            "arrival_s",
            "is in seconds, or arrival_ms, arrival_us, arrival_ns",
            &["start", "time", "start_time", "arrival_time", "timestamp", "t", "starttime"],
        ),
    };
    let is_alike = |name: &&&str| others.iter().any(|other| name.eq_ignore_ascii_case(other));
    match further.iter().find(is_alike) {
        Some(name) => format!("; rename {:?} to {column} if it {unit}", cut(name)),
        None => String::new(),
    }
}

/// The beginning of a name, as messages show it.
pub(super) fn cut(name: &str) -> String {
    const SHOWN: usize = 40;
    match name.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &name[..end]),
        None => name.to_owned(),
    }
}

/// The shortest names in which one letter more or less is a slip: `dist` is not `dst`.
const SHORTEST: usize = 5;

/// Whether one letter more, one less, or another one makes `other` of `one`.
fn is_a_letter_away(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let same = one.iter().zip(other).take_while(|(a, b)| a == b).count();
    let (short, long) = if one.len() < other.len() { (one, other) } else { (other, one) };
    match long.len() - short.len() {
        0 => short.get(same + 1..) == long.get(same + 1..),
        1 => short[same..] == long[same + 1..],
        _ => false,
    }
}
