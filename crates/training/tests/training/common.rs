//! Collectives to test.

use sojourn_core::Bytes;
use sojourn_core::parameters::{Parameters, Setting, Table, Value, defaults};
use sojourn_training::collective::*;

/// A collective of this kind with these whole numbers and sizes; a key that it does not have is left out.
pub(crate) fn collective(kind: &str, settings: &[(&str, i64)]) -> Collective {
    let entries = Collective::entries();
    let entry = entries.iter().find(|entry| entry.name == kind).expect("it is in the list");
    let mut table = Table::default();
    table.set("kind", Value::Text(kind.to_owned()));
    for &(key, value) in
        settings.iter().filter(|(key, _)| entry.parameters.iter().any(|field| field.name == *key))
    {
        let value = match key {
            "chunk" => Value::Text(Bytes(value as u64).to_string()),
            _ => Value::Int(value),
        };
        table.set(key, value);
    }
    Collective::read(&Value::Table(table)).unwrap()
}

/// The names of all algorithms.
pub(crate) fn kinds() -> Vec<&'static str> {
    Collective::entries().iter().map(|entry| entry.name).collect()
}

#[test]
fn every_algorithm_is_read_and_documented() {
    for entry in Collective::entries() {
        assert!(!entry.summary.is_empty());
        let read = Collective::read(&Value::Text(entry.name.to_owned())).unwrap();
        assert_eq!(read.name(), entry.name);
        assert_eq!(Collective::read(&read.write().unwrap()).unwrap(), read);
    }
    let ring: RingAllReduce = defaults();
    assert_eq!(ring.cuts.chunk, Bytes(2 << 20));
    assert_eq!(RingAllReduce::keys(), ["channels", "chunk", "pieces"]);
    let mut table = Table::default();
    table.set("chunk", Value::Text("0B".to_owned()));
    let refusal = RingAllReduce::read_table(&table).unwrap_err();
    assert_eq!(
        (refusal.path.join("."), refusal.expected.as_str()),
        ("chunk".to_owned(), "a size of at least 1 B")
    );
}

#[test]
fn groups_that_do_not_divide_are_refused() {
    let tree = collective("double-tree-all-reduce", &[("node", 8)]);
    assert_eq!(
        tree.check_for(12).unwrap_err(),
        "a group of 12 ranks has no whole nodes of 8 ranks"
    );
    let chain = collective("chain-broadcast", &[("root", 4)]);
    assert_eq!(chain.check_for(4).unwrap_err(), "root 4 is not one of the 4 ranks of a group");
    assert_eq!(chain.check_for(5), Ok(()));
    assert_eq!(chain.check_for(0).unwrap_err(), "a group has no ranks");
}
