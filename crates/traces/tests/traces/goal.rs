//! GOAL: LogGOPSim's sample, text against binary files of an own writer, and what is refused.

use proptest::prelude::*;
use sojourn_core::Span;
use sojourn_traces::goal::{Options, binary, text};
use sojourn_traces::{File, SendEnd};
use sojourn_training::program::{At, Event, Op, Program};

fn read_text(text: &str) -> Result<Program, String> {
    let file = File { name: "a.goal", bytes: text.as_bytes() };
    text::read(file, &Options::default()).map_err(|error| error.to_string())
}

fn read_binary(bytes: &[u8]) -> Result<Program, String> {
    let file = File { name: "a.bin", bytes };
    binary::read(file, &Options::default()).map_err(|error| error.to_string())
}

/// A binomial tree of broadcasts: every rank but 0 receives one message, and 31 are sent.
#[test]
fn sample_of_loggopsim() {
    let tree = include_str!("../data/loggopsim/binary_tree_32.goal");
    let program = read_text(tree).unwrap();
    assert_eq!(program.ranks(), 32);
    let count =
        |wanted: fn(&Op) -> bool| program.nodes().map(|at| program.op(at)).filter(wanted).count();
    assert_eq!(count(|op| matches!(op, Op::Receive { .. })), 31);
    assert_eq!(count(|op| matches!(op, Op::Send { bytes: 1, tag: 0, .. })), 31);
    for rank in 1..32 {
        assert!(matches!(program.op(At { rank, node: 0 }), Op::Receive { .. }));
        let sends = program.graph(rank).len() - 1;
        assert_eq!(program.graph(rank).children(0, Event::Finished).count(), sends);
    }
}

const PING_PONG: &str = "// two ranks
num_ranks 2
rank 0 { /* asks
  first */
a: send 100b to 1 tag 5 cpu 1 nic 2
b: recv 8b from 1
c: calc 2500 cpu 3
calc 7
b requires a
c irequires b
c requires a
}
rank 1 {
r:recv 100b from 0 tag 5
s: send 8b to 0
s requires r
}
rank 2 is not read
";

#[test]
fn text_is_read() {
    let program = read_text(PING_PONG).unwrap();
    let op = |node| program.op(At { rank: 0, node });
    assert_eq!(op(0), Op::Send { to: 1, tag: 5, bytes: 100 });
    assert_eq!(op(1), Op::Receive { from: 1, tag: 0 });
    assert_eq!(op(2), Op::Compute { stream: 3, span: Span::from_ns(2500) });
    assert_eq!(op(3), Op::Compute { stream: 0, span: Span::from_ns(7) });
    let children = |node, event| program.graph(0).children(node, event).collect::<Vec<_>>();
    assert_eq!(children(0, Event::HandedOver), [1, 2]);
    assert_eq!(children(1, Event::Started), [2]);
    let file = File { name: "a.goal", bytes: PING_PONG.as_bytes() };
    let options = Options { send_end: SendEnd::Acknowledged, unit: Span::from_us(1) };
    let program = text::read(file, &options).unwrap();
    assert_eq!(
        program.op(At { rank: 0, node: 3 }),
        Op::Compute { stream: 0, span: Span::from_us(7) }
    );
    assert_eq!(program.graph(0).children(0, Event::Finished).count(), 2);
}

#[test]
fn texts_that_are_wrong_are_refused() {
    let refused = |text: &str| read_text(text).unwrap_err();
    let rank =
        |lines: &str| refused(&format!("num_ranks 2\nrank 0 {{\n{lines}\n}}\nrank 1 {{\n}}\n"));
    assert_eq!(refused(""), "a.goal: the file ends before num_ranks");
    assert_eq!(refused("num_ranks 0"), "a.goal:1: expected num_ranks and a number from 1");
    assert_eq!(
        refused("num_ranks 4000000000\n"),
        "a.goal: the file ends before rank 0 of 4000000000"
    );
    assert_eq!(refused("num_ranks 1\nrank 1 {\n}"), "a.goal:2: rank 0: expected \"rank 0 {\"");
    assert_eq!(
        refused("num_ranks 1\nrank 0 {\ncalc 1\n"),
        "a.goal: rank 0: the file ends before the rank's closing brace"
    );
    assert_eq!(rank("a requires b"), "a.goal:3: rank 0: the label \"a\" is not defined above");
    assert_eq!(rank("a: calc 1\na: calc 2"), "a.goal:4: rank 0: the label \"a\" is used twice");
    assert_eq!(
        rank("1a: calc 1"),
        "a.goal:3: rank 0: \"1a\" is no label, expected letters, digits and _"
    );
    assert_eq!(rank("calc -1"), "a.goal:3: rank 0: \"-1\" is no size of a calc");
    assert_eq!(rank("calc 9000000000000000"), "a.goal:3: rank 0: the calc takes longer than 2400h");
    assert_eq!(rank("calc 1 cpu 256"), "a.goal:3: rank 0: cpu is 256, expected 0 to 255");
    assert_eq!(
        rank("send 8 to 1"),
        "a.goal:3: rank 0: \"8\" is no size, expected a number and b, such as 8b"
    );
    assert_eq!(
        rank("send 8b to 1 cpu 1 tag 2"),
        "a.goal:3: rank 0: \"tag\" is not expected here; known, in this order: tag, cpu, nic"
    );
    assert_eq!(
        rank("recv 8b from -1"),
        "a.goal:3: rank 0: any rank (-1) is not supported: name one"
    );
    assert_eq!(
        rank("recv 8b from 1 tag -1"),
        "a.goal:3: rank 0: any tag (-1) is not supported: name one"
    );
    assert_eq!(
        rank("send 8b to 2"),
        "a.goal:3: rank 0: rank 0, node 0 (send 8 B to rank 2, tag 0): the peer is not one of the 2 ranks, numbered from 0"
    );
    assert!(rank("jump 3").starts_with("a.goal:3: rank 0: expected `[label:] send SIZEb to RANK`"));
    assert_eq!(
        rank("calc 1\n\nsend 8b to 1 tag 4"),
        "a.goal:5: rank 0: rank 0, node 1 (send 8 B to rank 1, tag 4) has no partner: 1 sends and 0 receives have this sender, receiver and tag"
    );
    let circle = rank("a: calc 1\nb: calc 1\na requires b\nb requires a");
    assert!(circle.contains(": rank 0: nodes of rank 0 wait for each other: "), "{circle}");
    let deadlock = "num_ranks 2\nrank 0 {\na: recv 1b from 1\nb: send 1b to 1\nb requires a\n}\nrank 1 {\na: recv 1b from 0\nb: send 1b to 0\nb requires a\n}\n";
    assert!(
        refused(deadlock)
            .starts_with("a.goal:3: rank 0: the ranks wait for each other: rank 0, node 0")
    );
}

/// The binary form of a program without labels: the layout of LogGOPSim's `Parser.hpp`.
fn binary_of(program: &Program) -> Vec<u8> {
    let mut blocks = Vec::new();
    for rank in 0..program.ranks() {
        let graph = program.graph(rank);
        let count = graph.len() as u32;
        let roots: Vec<u32> = (0..count).filter(|&node| graph.parents(node) == 0).collect();
        let mut block = Vec::new();
        block.extend(count.to_le_bytes());
        block.extend((roots.len() as u32).to_le_bytes());
        roots.iter().for_each(|root| block.extend(root.to_le_bytes()));
        let mut appendix: Vec<u32> = Vec::new();
        for node in 0..count {
            let (kind, peer, size, tag, cpu) = match graph.op(node, rank) {
                Op::Send { to, tag, bytes } => (1_u8, to, bytes, tag, 0),
                Op::Receive { from, tag } => (2, from, 1, tag, 0),
                Op::Compute { stream, span } => (3, 0, span.ps() / 1000, 0, stream),
                other => unreachable!("{other}"),
            };
            block.extend(graph.parents(node).to_le_bytes());
            block.push(kind);
            block.extend(peer.to_le_bytes());
            block.extend(size.to_le_bytes());
            block.extend(tag.to_le_bytes());
            block.extend([cpu, 0]);
            let ended: Vec<u32> = [Event::HandedOver, Event::Finished]
                .into_iter()
                .flat_map(|event| graph.children(node, event))
                .collect();
            for children in [ended, graph.children(node, Event::Started).collect()] {
                block.extend((children.len() as u32).to_le_bytes());
                block.extend((appendix.len() as u32).to_le_bytes());
                appendix.extend(children);
            }
        }
        appendix.iter().for_each(|node| block.extend(node.to_le_bytes()));
        blocks.push(block);
    }
    let mut file = 4223_u64.to_le_bytes().to_vec();
    file.extend(program.ranks().to_le_bytes());
    file.extend([0, 0]);
    let mut start = 4 + 2 + 16 * blocks.len() as u64;
    for block in &blocks {
        let end = start + block.len() as u64;
        file.extend(start.to_le_bytes());
        file.extend(end.to_le_bytes());
        start = end;
    }
    blocks.iter().for_each(|block| file.extend(block));
    file
}

#[test]
fn both_forms_are_the_same_program() {
    for text in [PING_PONG, include_str!("../data/loggopsim/binary_tree_32.goal")] {
        let program = read_text(text).unwrap();
        assert_eq!(read_binary(&binary_of(&program)).unwrap(), program);
    }
}

#[test]
fn binaries_that_are_wrong_are_refused() {
    let whole = binary_of(&read_text(PING_PONG).unwrap());
    let refused = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut file = whole.clone();
        change(&mut file);
        read_binary(&file).unwrap_err()
    };
    assert_eq!(
        refused(&|file| file.clear()),
        "a.bin: byte 0: expected the magic number 4223 of a GOAL file"
    );
    assert_eq!(
        refused(&|file| file[..2].copy_from_slice(&2342_u16.to_le_bytes())),
        "a.bin: byte 0: LogGOPSim has changed the file during a run: make it again by txt2bin"
    );
    assert_eq!(
        refused(&|file| file[8..12].fill(0xff)),
        "a.bin: byte 8: expected from 1 rank to as many as the file has room for"
    );
    assert_eq!(
        refused(&|file| file.truncate(60)),
        "a.bin: rank 0: byte 14: its block is not in the file, which may be cut short, or overlaps another"
    );
    // The block of rank 0 starts at byte 46: two numbers, a root each for a and calc 7, then nodes.
    let block = 14 + 2 * 16;
    assert_eq!(
        refused(&|file| file[block..block + 4].fill(0xff)),
        "a.bin: rank 0: byte 46: the block ends before its nodes"
    );
    let node = block + 8 + 2 * 4;
    assert_eq!(
        refused(&|file| file[node + 4] = 9),
        "a.bin: rank 0: node 0: its type is 9, expected 1 (send), 2 (recv) or 3 (calc)"
    );
    assert_eq!(
        refused(&|file| file[node] = 1),
        "a.bin: rank 0: node 0: it waits for 1 nodes, but 0 name it"
    );
    assert_eq!(
        refused(&|file| file[node + 23 + 3] = 1),
        "a.bin: rank 0: node 0: its list of nodes that wait is cut short"
    );
    assert_eq!(
        refused(&|file| file[node + 39 + 5..node + 39 + 9].fill(0xff)),
        "a.bin: rank 0: node 1: any rank (-1) is not supported: name one"
    );
}

proptest! {
    #![proptest_config(sojourn_properties::cases(256))]

    /// Whatever is changed or cut off, a file is read or refused.
    #[test]
    fn damaged_files_are_read_or_refused(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        end in any::<prop::sample::Index>(),
    ) {
        let mut file = binary_of(&read_text(PING_PONG).unwrap());
        let mut text = PING_PONG.as_bytes().to_vec();
        for (place, byte) in changes {
            let (places, length) = (place.index(text.len()), file.len());
            file[place.index(length)] = byte;
            text[places] = byte;
        }
        file.truncate(end.index(file.len() + 1));
        text.truncate(end.index(text.len() + 1));
        let _ = read_binary(&file);
        let _ = text::read(File { name: "a.goal", bytes: &text }, &Options::default());
    }
}
