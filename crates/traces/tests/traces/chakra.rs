//! Chakra: ASTRA-sim's samples, and files of an own small writer.

use proptest::prelude::*;
use sojourn_core::Span;
use sojourn_traces::chakra::{Control, Options, groups, read};
use sojourn_traces::{File, SendEnd};
use sojourn_training::collective::Operation;
use sojourn_training::program::{At, Event, Op, Program};
use std::collections::BTreeMap;

fn varint(mut number: u64, to: &mut Vec<u8>) {
    while number >= 0x80 {
        to.push(number as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}

fn number(field: u64, value: u64, to: &mut Vec<u8>) {
    varint(field << 3, to);
    varint(value, to);
}

fn bytes(field: u64, value: &[u8], to: &mut Vec<u8>) {
    varint(field << 3 | 2, to);
    varint(value.len() as u64, to);
    to.extend(value);
}

/// A node; `attributes` are whole numbers (int64).
#[derive(Clone, Default)]
struct Node<'a> {
    id: u64,
    kind: u64,
    data: &'a [u64],
    control: &'a [u64],
    duration_us: u64,
    attributes: &'a [(&'a str, u64)],
    group: Option<&'a str>,
}

impl Node<'_> {
    fn message(&self) -> Vec<u8> {
        let mut node = Vec::new();
        if self.id != 0 {
            number(1, self.id, &mut node);
        }
        bytes(2, format!("node {}", self.id).as_bytes(), &mut node);
        number(3, self.kind, &mut node);
        // Packed, and one by one: both are legal.
        let mut packed = Vec::new();
        self.data.iter().for_each(|&id| varint(id, &mut packed));
        bytes(5, &packed, &mut node);
        self.control.iter().for_each(|&id| number(4, id, &mut node));
        number(7, self.duration_us, &mut node);
        for (name, value) in self.attributes {
            let mut attribute = Vec::new();
            bytes(1, name.as_bytes(), &mut attribute);
            number(if *name == "is_cpu_op" { 27 } else { 9 }, *value, &mut attribute);
            bytes(10, &attribute, &mut node);
        }
        if let Some(group) = self.group {
            let mut attribute = Vec::new();
            bytes(1, b"pg_name", &mut attribute);
            bytes(29, group.as_bytes(), &mut attribute);
            bytes(10, &attribute, &mut node);
        }
        node
    }
}

fn file(nodes: &[Node]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut metadata = Vec::new();
    bytes(1, b"0.0.4", &mut metadata);
    varint(metadata.len() as u64, &mut file);
    file.extend(metadata);
    for node in nodes {
        let message = node.message();
        varint(message.len() as u64, &mut file);
        file.extend(message);
    }
    file
}

fn program(files: &[Vec<u8>], options: &Options) -> Result<Program, String> {
    let names: Vec<String> = (0..files.len()).map(|rank| format!("trace.{rank}.et")).collect();
    let files: Vec<File> =
        names.iter().zip(files).map(|(name, bytes)| File { name, bytes }).collect();
    read(&files, options).map_err(|error| error.to_string())
}

fn refused(files: &[Vec<u8>]) -> String {
    program(files, &Options::default()).unwrap_err()
}

fn sample(name: &str) -> Vec<Vec<u8>> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/astra-sim");
    (0..4).map(|rank| std::fs::read(format!("{folder}/{name}.{rank}.et")).unwrap()).collect()
}

/// One collective of 1 MiB on four ranks. An all-gather's size is the part of one rank.
#[test]
fn samples_of_astra_sim() {
    const MIB: u64 = 1 << 20;
    for (name, operation, bytes) in [
        ("all_reduce", Operation::AllReduce, MIB),
        ("all_gather", Operation::AllGather, 4 * MIB),
        ("reduce_scatter", Operation::ReduceScatter, MIB),
        ("all_to_all", Operation::AllToAll, MIB),
    ] {
        let program = program(&sample(name), &Options::default()).unwrap();
        let calls = program.calls();
        assert_eq!((program.ranks(), program.nodes().count(), calls.len()), (4, 4, 1));
        assert_eq!((calls[0].collective.operation(), calls[0].bytes), (operation, bytes), "{name}");
        assert_eq!(calls[0].label, format!("{name}_4npus_1MB"));
    }
}

const COMPUTE: u64 = 4;
const SEND: u64 = 5;
const RECEIVE: u64 = 6;
const COLLECTIVE: u64 = 7;

fn send<'a>(id: u64, attributes: &'a [(&'a str, u64)]) -> Node<'a> {
    Node { id, kind: SEND, attributes, ..Node::default() }
}

/// Nodes in any order, dependencies that point forwards, and id 0, which is not written.
#[test]
fn messages_and_computations() {
    let to = [("comm_dst", 1), ("comm_size", 1000), ("comm_tag", 7)];
    let from = [("comm_src", 0), ("comm_size", 1000), ("comm_tag", 7)];
    let cpu = [("is_cpu_op", 1)];
    let zero = file(&[
        send(5, &to),
        Node { id: 9, kind: COMPUTE, data: &[5], attributes: &cpu, ..Node::default() },
        Node { id: 0, kind: COMPUTE, data: &[9], duration_us: 3, ..Node::default() },
    ]);
    let one = file(&[Node { id: 2, kind: RECEIVE, attributes: &from, ..Node::default() }]);
    let files = [zero, one];
    for (send_end, event) in
        [(SendEnd::HandedOver, Event::HandedOver), (SendEnd::Acknowledged, Event::Finished)]
    {
        let program = program(&files, &Options { send_end, ..Options::default() }).unwrap();
        let op = |node| program.op(At { rank: 0, node });
        assert_eq!(op(0), Op::Compute { stream: 0, span: Span::from_us(3) });
        assert_eq!(op(1), Op::Send { to: 1, tag: 7, bytes: 1000 });
        assert_eq!(op(2), Op::Compute { stream: 1, span: Span::from_ns(1) });
        assert_eq!(program.graph(0).children(1, event).collect::<Vec<_>>(), [2]);
        assert_eq!(program.graph(0).children(2, Event::Finished).collect::<Vec<_>>(), [0]);
        assert_eq!(program.graph(0).label(2), "node 9");
    }
}

/// A call of a collective on the CPU has no type, and computes; nodes without a type join.
#[test]
fn calls_on_the_cpu() {
    let cpu = [("is_cpu_op", 1)];
    let nodes = [
        Node { id: 1, kind: COLLECTIVE, attributes: &cpu, duration_us: 2, ..Node::default() },
        Node { id: 2, kind: 0, data: &[1], ..Node::default() },
    ];
    let program = program(&[file(&nodes)], &Options::default()).unwrap();
    let op = |node| program.op(At { rank: 0, node });
    assert_eq!([op(0), op(1)], [Op::Compute { stream: 1, span: Span::from_us(2) }, Op::Join]);
}

#[test]
fn control_dependencies_may_be_ignored() {
    let nodes = [
        Node { id: 1, kind: COMPUTE, ..Node::default() },
        Node { id: 2, kind: COMPUTE, control: &[1], ..Node::default() },
        Node { id: 3, kind: COMPUTE, control: &[2], data: &[1, 2], ..Node::default() },
    ];
    let parents = |control| {
        let program = program(&[file(&nodes)], &Options { control, ..Options::default() }).unwrap();
        [0, 1, 2].map(|node| program.graph(0).parents(node))
    };
    assert_eq!(parents(Control::Waited), [0, 1, 2]);
    assert_eq!(parents(Control::Ignored), [0, 0, 2]);
}

#[test]
fn process_groups_and_operations() {
    let half = [("comm_type", 0), ("comm_size", 64)];
    let work = [("num_ops", 5_000_000)];
    let call =
        Node { id: 1, kind: COLLECTIVE, attributes: &half, group: Some("half"), ..Node::default() };
    let compute = Node { id: 2, kind: COMPUTE, attributes: &work, ..Node::default() };
    let files = [file(std::slice::from_ref(&call)), file(&[compute]), file(&[call])];
    let groups = BTreeMap::from([("half".to_owned(), vec![0, 2])]);
    let options = Options { groups, flops: Some(1e12), ..Options::default() };
    let program = program(&files, &options).unwrap();
    assert_eq!(program.groups(0).unwrap().place(2), Some((0, 1)));
    assert_eq!(
        program.op(At { rank: 1, node: 0 }),
        Op::Compute { stream: 0, span: Span::from_us(5) }
    );
    assert_eq!(
        refused(&files),
        "trace.0.et: rank 0: node 1: the process group \"half\" (pg_name) is not listed"
    );
}

#[test]
fn files_that_are_wrong_are_refused() {
    let compute = Node { id: 1, kind: COMPUTE, ..Node::default() };
    let late = Node { id: 1, kind: COMPUTE, data: &[4], ..Node::default() };
    let whole = file(std::slice::from_ref(&compute));
    assert_eq!(refused(&[]), "no file: expected a file for each rank");
    assert_eq!(
        refused(&[vec![]]),
        "trace.0.et: rank 0: byte 0: the file is empty, expected metadata and nodes"
    );
    assert_eq!(
        refused(&[whole[..whole.len() - 1].to_vec()]),
        "trace.0.et: rank 0: byte 8: the file ends in the midst of a message"
    );
    assert_eq!(
        refused(&[whole.clone(), file(&[compute.clone(), compute])]),
        "trace.1.et: rank 1: node 1: the id is used twice"
    );
    assert_eq!(
        refused(&[file(&[late])]),
        "trace.0.et: rank 0: node 1: it depends on node 4, which is not in the file"
    );
    let node = |kind, attributes| {
        refused(&[whole.clone(), file(&[Node { id: 3, kind, attributes, ..Node::default() }])])
    };
    let at = "trace.1.et: rank 1: node 3: ";
    assert_eq!(node(8, &[]), format!("{at}the type 8 is unknown, expected 0 to 7"));
    assert_eq!(node(SEND, &[]), format!("{at}comm_dst is missing"));
    assert_eq!(node(SEND, &[("comm_dst", 0)]), format!("{at}comm_size is missing"));
    assert_eq!(
        node(SEND, &[("comm_dst", u64::MAX)]),
        format!("{at}comm_dst is -1, expected 0 to 4294967295")
    );
    assert_eq!(
        node(SEND, &[("comm_dst", 0), ("comm_src", 0)]),
        format!("{at}the send is from another rank (comm_src)")
    );
    assert_eq!(
        node(SEND, &[("comm_dst", 2), ("comm_size", 1)]),
        format!(
            "{at}rank 1, node 0 (send 1 B to rank 2, tag 0): the peer is not one of the 2 ranks, numbered from 0"
        )
    );
    assert_eq!(
        node(COLLECTIVE, &[("comm_type", 9), ("comm_size", 1)]),
        format!(
            "{at}comm_type is 9, expected 0 (all-reduce), 2 (all-gather), 5 (broadcast), 6 (all-to-all), 7 or 8 (reduce-scatter)"
        )
    );
    let counted = "(nodes are counted from 0 in the order of their ids)";
    assert_eq!(
        node(RECEIVE, &[("comm_src", 0), ("comm_tag", 2)]),
        format!(
            "{at}rank 1, node 0 (receive from rank 0, tag 2) has no partner: 0 sends and 1 receives have this sender, receiver and tag {counted}"
        )
    );
    assert_eq!(
        node(COLLECTIVE, &[("comm_type", 0), ("comm_size", 1)]),
        format!(
            "{at}rank 1, node 0 has collective call 0 with tag 0, but rank 0 of the same group does not {counted}"
        )
    );
    let circle = [
        Node { id: 6, kind: COMPUTE, data: &[7], ..Node::default() },
        Node { id: 7, kind: COMPUTE, control: &[6], ..Node::default() },
    ];
    let message = refused(&[file(&circle)]);
    assert!(message.contains("nodes of rank 0 wait for each other"), "{message}");
}

proptest! {
    #![proptest_config(sojourn_properties::cases(256))]

    /// Whatever is changed or cut off, a file is read or refused.
    #[test]
    fn damaged_files_are_read_or_refused(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        end in any::<prop::sample::Index>(),
    ) {
        let mut files = sample("all_gather");
        for (place, byte) in changes {
            let length = files[1].len();
            files[1][place.index(length)] = byte;
        }
        let length = files[1].len();
        files[1].truncate(end.index(length + 1));
        let _ = program(&files, &Options::default());
    }
}

#[test]
fn groups_are_lists_of_ranks_by_name() {
    let read = |text: &str| {
        let found = groups(File { name: "groups.json", bytes: text.as_bytes() }, 4);
        found.map_err(|error| error.to_string())
    };
    let two = BTreeMap::from([("1".to_owned(), vec![0, 2]), ("tp".to_owned(), vec![3, 1])]);
    assert_eq!(read("{\"1\": [0, 2], \"tp\": [3, 1]}"), Ok(two));
    for (text, expected) in [
        (
            "{\"1\": [0, 4]}",
            "groups.json: the group \"1\" names rank 4, which is not one of 4 ranks",
        ),
        ("{\"1\": [0, 0]}", "groups.json: the group \"1\" names a rank twice"),
        ("{\"1\": []}", "groups.json: the group \"1\" names no rank"),
        ("{\n\"1\": [0, -1]}", "groups.json:2: expected a list of ranks for each name of a group"),
        ("[[0, 1]]", "groups.json:1: expected a list of ranks for each name of a group: "),
        (
            "",
            "groups.json:1: expected a list of ranks for each name of a group: expected an object",
        ),
    ] {
        let error = read(text).expect_err(text);
        assert!(error.starts_with(expected), "{error}");
        assert!(error.chars().all(|char| !char.is_control()), "{error}");
    }
}
