//! The text format of size tables, and that no text makes its parser panic.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use sojourn_core::{Reading, SizeTable, Unit};

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
    for row in ["1", "1 0 0", "one 0", "1,0", "1 0%"] {
        assert_eq!(
            refused(&format!("# mine\n0 0\n{row}\n2 1\n")),
            format!("line 3: {row:?}, {columns}")
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
    for field in ["Unit: bytes", "units: packets of 1460 B", "unit : bytes", "Reading: step"] {
        let expected = format!("line 2: {field:?}, expected \"unit:\" or \"reading:\"");
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
    assert_eq!(refused(&long), format!("line 1: \"{}...\", {columns}", "x".repeat(60)));
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2000,
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Texts that are nearly tables, and any others: read or refused, and what is read can be
    /// drawn from at both ends.
    #[test]
    fn no_text_makes_the_parser_panic(
        text in prop_oneof![
            "(#( unit: (bytes|packets of [0-9]{1,10} B)?| reading: (step)?|\\|){0,3}\n)?\
             ([0-9.e+-]{1,6}[ \t,]{1,2}[0-9.]{1,4}\n){0,6}([0-9]{1,20} 1)?",
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
