//! The text format of size tables, and that no text makes its parser panic.

use proptest::prelude::*;
use sojourn_core::{Reading, SizeTable, Unit, Workload};
use sojourn_properties::cases;

#[test]
fn a_table_says_its_unit_and_reading() {
    let rows = "\n  1 0\n\n2\t0.5 \n# a remark\n4 1.0\r\n";
    let sizes = |header: &str, reading| {
        let table = SizeTable::parse(&format!("{header}{rows}"), reading).expect(header);
        (table.unit(), table.mean())
    };
    assert_eq!(sizes("", None), (Unit::Byte, 2.75));
    assert_eq!(sizes("# sizes of mine", Some(Reading::Step)), (Unit::Byte, 3.0));
    assert_eq!(sizes("# mine | unit: bytes | reading: step", None), (Unit::Byte, 3.0));
    assert_eq!(sizes("#reading:step", Some(Reading::Linear)), (Unit::Byte, 2.75));
    let packets = Unit::Packet(1000);
    assert_eq!(sizes("# unit: packets of 1000 B payload", None), (packets, 2750.0));
    assert_eq!(sizes("# unit: packets of 1000B\n# reading: step", None), (packets, 3000.0));
}

#[test]
fn a_bad_table_is_refused_with_its_line() {
    let refused = |text: &str| SizeTable::parse(text, None).expect_err(text).to_string();
    let columns = "expected two numbers, size and P(X <= size)";
    let spaces = "; columns have spaces between them: `tr ',' ' '` makes them so";
    let percent = "; shares in percent are numbers without the sign, and the last one is 100";
    let units = "; sizes and shares are numbers without units";
    for (row, advice) in
        [("1", ""), ("1 0 0", ""), ("one 0", units), ("1,0", spaces), ("1 0%", percent)]
    {
        assert_eq!(
            refused(&format!("# mine\n0 0\n{row}\n2 1\n")),
            format!("line 3: {row:?}, {columns}{advice}")
        );
    }
    assert_eq!(refused(""), "line 1: \"\", expected at least one row");
    assert_eq!(refused("# mine\n\n"), "line 2: \"\", expected at least one row");
    assert_eq!(
        refused("# mine\n0 0\n\n1 0.5\n2 0.9\n"),
        "line 5: \"2 0.9\", expected a last row whose probability is 1"
    );
    assert_eq!(
        refused("# mine\n1 0\n# and\n3 0.5\n2 1\n"),
        "line 5: \"2 1\", expected a value not below that of the row before"
    );
    assert_eq!(
        refused("1 0.5\n2 0.4\n3 1"),
        "line 2: \"2 0.4\", expected a probability not below that of the row before"
    );
    assert_eq!(refused("-1 0\n2 1"), "line 1: \"-1 0\", expected a value of zero or more");
    assert_eq!(refused("NaN 0\n2 1"), "line 1: \"NaN 0\", expected a value of zero or more");
    assert_eq!(refused("inf 0\n2 1"), "line 1: \"inf 0\", expected a value of zero or more");
    assert_eq!(refused("1 0\n2 NaN"), "line 2: \"2 NaN\", expected a probability from 0 to 1");
    assert_eq!(refused("1 0\n2 50"), "line 2: \"2 50\", expected a probability from 0 to 1");
    assert_eq!(
        refused("0 0.5\n2 1"),
        "line 1: \"0 0.5\", expected a size above zero where the probability is"
    );
    assert_eq!(
        refused("# mine | unit: furlongs\n1 1"),
        "line 1: \"furlongs\", expected \"bytes\" or \"packets of <N> B\""
    );
    for field in [
        "Unit: bytes",
        "units: packets of 1460 B",
        "unit : bytes",
        "Reading: step",
        "share: percent",
    ] {
        let expected =
            format!("line 2: {field:?}, expected \"unit:\", \"reading:\" or \"shares:\"");
        assert_eq!(refused(&format!("# mine\n#{field}\n1 1")), expected);
        assert_eq!(refused(&format!("\n# mine | {field} | ours\n1 1")), expected);
    }
    assert!(SizeTable::parse("# unit sizes | read by us | source: x\n1 1", None).is_ok());
    for unit in ["packets", "packets of 0 B", "packets of -1 B", "packets of 1.5 B", "Bytes", ""] {
        assert!(refused(&format!("# unit: {unit}\n1 1")).starts_with(&format!("line 1: {unit:?}")));
    }
    assert_eq!(
        refused("# reading: cubic\n1 1"),
        "line 1: \"cubic\", expected \"linear\" or \"step\""
    );
    let long = "x".repeat(1000);
    assert_eq!(refused(&long), format!("line 1: \"{}...\", {columns}{units}", "x".repeat(60)));
}

/// AliStorage2019.txt of HPCC, as it is: shares in percent.
const PERCENT: &str = "0 0\n4000 22.93\n8000 69.21\n16000 80.61\n32000 90.47\n64000 93.53\n\
                       128000 96.77\n256000 97.53\n2000000 100\n";

/// DCTCP_MsgSizeDist_Original.txt of Homa's simulator, as it is: the mean of the step reading first, in packets.
const HOMA: &str = "1622.94\n6  0.15\n13  0.2\n19  0.3\n33  0.4\n53  0.53\n133  0.6\n\
                    667  0.7\n1333  0.8\n3333  0.9\n6667  0.97\n20000  1\n";

/// CDF_dctcp.tcl as its authors' ns-2 scripts read it, in packets, and as others' do, in bytes.
const NS2_PACKETS: &str = "6 1 0\n6 1 0.15\n13 1 0.2\n19 1 0.3\n33 1 0.4\n53 1 0.53\n133 1 0.6\n\
                           667 1 0.7\n1333 1 0.8\n3333 1 0.9\n6667 1 0.97\n20000 1 1\n";
const NS2_BYTES: &str = "0 1 0\n10000 1 0.15\n20000 1 0.2\n30000000 1 1\n";

fn notes(text: &str) -> (SizeTable, Vec<String>) {
    SizeTable::parse_with_notes(text, None).expect(text)
}

fn refused(text: &str) -> String {
    SizeTable::parse(text, None).expect_err(text).to_string()
}

#[test]
fn percent_are_read_as_the_same_table() {
    let (read, said) = notes(PERCENT);
    let ours = Workload::find("alibaba-storage").expect("a table").sizes(None);
    assert!(said.is_empty(), "{said:?}");
    assert_eq!((read.mean(), read.unit()), (ours.mean(), Unit::Byte));
    for p in [0.0001, 0.2293, 0.5, 0.9677, 1.0] {
        assert_eq!(read.quantile(p), ours.quantile(p), "{p}");
    }
    assert_eq!(notes("5 100").0.max(), 5);
    assert_eq!(notes("0 0\n4095 0.001\n4096 30.0\n65536 100.00").0.max(), 65_536);
}

#[test]
fn what_may_be_percent_or_fractions_is_refused_until_the_table_says_it() {
    let text = "0 0\n1000 0.5\n5000 1\n10000 100\n";
    assert_eq!(
        refused(text),
        "line 4: \"10000 100\", expected 1 where the other shares are fractions; if they are in \
         percent, say so in a line \"# shares: percent\" before them"
    );
    let half = SizeTable::parse(&format!("# shares: percent\n{text}"), None).expect("percent");
    assert!(half.quantile(0.02) > 5000 && half.quantile(0.01) == 5000);
    let fractions = SizeTable::parse("# mine | shares: fractions\n1 1", None).expect("fractions");
    assert_eq!(fractions.max(), 1);
    assert!(refused("# shares: percent\n1 1").contains("a last row whose probability is 1"));
    let name = "line 1: \"half\", expected \"fractions\" or \"percent\"";
    assert_eq!(refused("# shares: half\n1 1"), name);
}

#[test]
fn a_mean_in_the_first_line_decides_the_reading() {
    let step = "2.5\n1 0.25\n2 0.5\n3 0.75\n4 1\n";
    let (table, said) = notes(step);
    assert_eq!(table.curve().quantile(0.3), 2.0);
    let note = "the mean in its first line is that of the reading \"step\", and sizes count bytes";
    assert_eq!(said, [note]);
    let (table, said) = notes("2.0\n0 0\n4 1\n");
    assert_eq!(table.curve().quantile(0.5), 2.0);
    assert!(said[0].contains("\"linear\""), "{said:?}");
    // What is said elsewhere goes before it.
    assert_eq!(SizeTable::parse(step, Some(Reading::Linear)).expect("a table").mean(), 2.5);
    assert!(notes(&format!("# reading: linear\n{step}")).1.is_empty());
    assert_eq!(
        refused("7\n1 0.5\n3 1\n"),
        "line 1: \"7\", expected the mean of the rows below, 2.000000 with the reading \"step\" or \
         1.500000 with \"linear\"; or two numbers, size and P(X <= size)"
    );
    assert!(
        refused("185\n1 0.2\n15 0.47\n").starts_with("line 3: \"15 0.47\", expected a last row")
    );
}

#[test]
fn published_tables_in_packets_are_known_by_their_rows() {
    for text in [HOMA, NS2_PACKETS] {
        let (table, said) = notes(text);
        assert_eq!(table.unit(), Unit::Packet(1460));
        assert!(said.iter().any(|note| note.contains("those of \"websearch\"")), "{said:?}");
    }
    let ours = Workload::find("websearch").expect("a table").sizes(None);
    assert_eq!(notes(NS2_PACKETS).0.mean(), ours.mean());
    assert_eq!(notes(HOMA).0.mean(), 1622.94 * 1460.0);
    let bytes = SizeTable::parse(&format!("# unit: bytes\n{NS2_PACKETS}"), None).expect("bytes");
    assert_eq!(bytes.max(), 20_000);
}

#[test]
fn three_columns_need_a_unit() {
    let message = refused(NS2_BYTES);
    assert!(message.starts_with("line 1: \"0 1 0\", expected a unit: tables of ns-2"), "{message}");
    for (unit, max) in [("bytes", 30_000_000), ("packets of 1460 B", 30_000_000 * 1460)] {
        let (table, said) = notes(&format!("# unit: {unit}\n{NS2_BYTES}"));
        assert_eq!(table.max(), max);
        assert_eq!(said, ["the second of its three columns is ignored, as in ns-2"]);
    }
}

#[test]
fn what_a_text_looks_like_is_part_of_the_message() {
    for (text, advice) in [
        ("size cdf\n0 0\n5 1", "a line of names is a comment"),
        ("size,cdf\n0,0\n5,1", "tr ',' ' '"),
        ("0;0\n5;1", "tr ';' ' '"),
        ("0 0%\n5 100%", "without the sign"),
        ("// sizes\n5 1", "comments begin with #"),
        ("0 0\n10KB 1", "without units"),
        ("10\n20\n30", "a list of sizes"),
        ("0 1 1000 0.5\n1 2 1000 0.6", "a list of flows"),
        ("src,dst,size_bytes,arrival\n0,1,5,0s", "a list of flows"),
        ("0 0\n0.5 1000\n1 5000", "the columns look swapped"),
        ("0 0\n15 1000\n100 5000", "the columns look swapped"),
        ("1000 0.2\n2000 0.5\n3000 0.3", "those of single sizes"),
        ("1000 20\n2000 50\n3000 30", "those of single sizes"),
        ("1000 0.9\n2000 0.5\n3000 0", "P(X > size)"),
        ("1000 50\n2000 99.9", "in percent the last share is 100"),
        ("1000 50\n2000 700\n3000 900", "counts"),
        ("[[0, 0], [5, 1]]", "JSON"),
        ("<?xml version=\"1.0\"?>\n<a/>", "XML"),
        ("0 0\r5 1\r", "carriage returns alone"),
    ] {
        let message = refused(text);
        assert!(message.contains(advice), "{text:?}: {message}");
    }
    assert_eq!(notes("\u{feff}# unit: packets of 10 B\r\n0 0\r\n5 1\r\n").0.max(), 50);
}

proptest! {
    #![proptest_config(cases(2000))]

    /// Texts that are nearly tables, and any others: read or refused, and what is read can be
    /// drawn from at both ends.
    #[test]
    fn no_text_makes_the_parser_panic(
        text in prop_oneof![
            "(#( unit: (bytes|packets of [0-9]{1,10} B)?| reading: (step)?|\\|){0,3}\n)?\
             ([0-9.e+-]{1,6}[ \t,]{1,2}[0-9.]{1,4}\n){0,6}([0-9]{1,20} 1)?",
            "([0-9]{1,3}\n)?(0 0\n)?([0-9]{1,3} ([0-9] )?[0-9]{1,2}(\\.[0-9])?\n){0,4}\
             [0-9]{4,18} (1 )?100(\\.0)?",
            "([0-9]{1,3} 0\\.[0-4]\n){0,2}[0-9]{3,18}(e[0-9]{1,3})? 1(\\.0)?",
            "\\PC{0,100}",
            "[\\s\\S]{0,100}",
        ]
    ) {
        match SizeTable::parse(&text, None) {
            Ok(table) => {
                prop_assert!(table.quantile(f64::MIN_POSITIVE) >= 1);
                prop_assert!(table.quantile(1.0) <= 1 << 53);
                prop_assert!(table.mean() >= 1.0 && table.mean() <= table.max() as f64);
            }
            Err(error) => {
                prop_assert!(error.line >= 1 && error.line <= text.lines().count().max(1));
            }
        }
    }
}
