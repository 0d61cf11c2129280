//! Files of flows: further columns, the formats of other simulators, and what other files look like.

use sojourn_core::Streams;
use sojourn_core::parameters::defaults;
use sojourn_core::resource::{Resource, no_tables};
use sojourn_fabric::Packets;
use sojourn_fabric::topology::{SingleSwitch, Topology};
use sojourn_fabric::workload::{Arrivals, Csv, Workload, WorkloadContext, parse_flows};
use std::cell::RefCell;

/// What the author of a study is told about a file of flows in an eight-host fabric, and how many flows it has.
fn told(text: &str) -> Result<(usize, Vec<String>), String> {
    let switch = Topology::SingleSwitch(SingleSwitch { hosts: 8, ..defaults() });
    let (graph, packets) = (switch.graph(), defaults::<Packets>());
    let said = RefCell::new(Vec::new());
    let tell = |note: String| said.borrow_mut().push(note);
    let context =
        WorkloadContext { graph: &graph, packets: &packets, tables: &no_tables, tell: &tell };
    let csv = Workload::from(Arrivals::Csv(Csv { file: Resource::text("f", text).into() }));
    let flows = csv.count(&context, Streams::new(1, 0), 0).map_err(|refusal| refusal.expected)?;
    Ok((flows, said.into_inner()))
}

#[test]
fn further_columns_are_ignored_and_named() {
    let (flows, said) =
        told("id,src,dst,size_bytes,arrival_s,pg,pg\n7,1,2,100,0.1,3,\n").expect("a flow");
    assert_eq!(
        (flows, said),
        (1, vec!["f: columns \"id\", \"pg\", \"pg\" are ignored".to_owned()])
    );
    let many: String = (0..20).map(|nth| format!(",x{nth}")).collect();
    let cells = ",".repeat(20);
    let (_, said) =
        told(&format!("src,dst,size_bytes,arrival{many}\n1,2,100,0s{cells}\n")).expect("a flow");
    assert!(said[0].ends_with("\"x7\" and 12 others are ignored"), "{said:?}");
    assert_eq!(told("src,dst,size_bytes,arrival\n1,2,100,0s\n"), Ok((1, Vec::new())));
}

#[test]
fn the_flow_files_of_hpcc_and_conweave_are_read() {
    let hpcc = "2\n2 1 3 100 200000 2.002\n3 1 3 101 150000 2\n4 1 3 100 5000000 2\n";
    let flows = parse_flows(hpcc, 8, u64::MAX).expect("flows").flows;
    let seen: Vec<_> = flows.iter().map(|f| (f.from, f.to, f.bytes, f.arrived.ps())).collect();
    assert_eq!(seen, [(3, 1, 150_000, 2_000_000_000_000), (2, 1, 200_000, 2_002_000_000_000)]);
    let (flows, said) = told(hpcc).expect("flows");
    assert_eq!((flows, said.len()), (2, 3));
    assert_eq!(said[0], "f: columns \"pg\", \"dport\" are ignored");
    assert!(said[1].contains("count the switches"), "{said:?}");
    assert_eq!(said[2], "f: only the first 2 of 3 flows are read, as in HPCC");
    let conweave = "1 \n7 0 3 5000000 2.000000001\n";
    let flows = parse_flows(conweave, 8, u64::MAX).expect("flows").flows;
    assert_eq!((flows[0].bytes, flows[0].arrived.ps()), (5_000_000, 2_000_000_001_000));
    for (text, line, what) in [
        ("0\n", 1, "no flows, expected at least one"),
        ("3\n2 1 3 100 5 2\n", 2, "the last flow, expected 3 of them as line 1 says, not 1"),
        ("2\n2 1 3 100 5 2\n2 1 3 5 2\n", 3, "5 numbers, expected src dst pg dport size_bytes"),
        ("1\n2 1 100 5\n", 2, "4 numbers, expected src dst pg dport size_bytes"),
        ("1\n2 8 3 100 5 2\n", 2, "expected a host from 0 to 7; hosts have the numbers"),
        ("1\n2 1 3 100 5.5 2\n", 2, "size_bytes \"5.5\""),
        ("1\n2 1 3 100 5 2000000000\n", 2, "arrival_s \"2000000000\", expected seconds"),
        ("99999999999999999999\n2 1 3 100 5 2\n", 1, "nothing"),
    ] {
        let error = parse_flows(text, 8, u64::MAX).expect_err(text);
        assert_eq!(error.line, line, "{text:?}: {error}");
        assert!(what == "nothing" || error.what.contains(what), "{text:?}: {error}");
    }
}

#[test]
fn connection_matrices_of_htsim_are_read() {
    let matrix = "Nodes 8\nConnections 2\n# a comment\n\n1->0 id 1 start 500 size 2000000 prio 3\n\
                  2->7 start 0.000000 size 1000\n";
    let flows = parse_flows(matrix, 8, u64::MAX).expect("flows").flows;
    let seen: Vec<_> = flows.iter().map(|f| (f.from, f.to, f.bytes, f.arrived.ps())).collect();
    assert_eq!(seen, [(2, 7, 1000, 0), (1, 0, 2_000_000, 500)]);
    let (_, said) = told(matrix).expect("flows");
    assert_eq!(
        said,
        [
            "f: the priorities of connections (prio) are ignored",
            "f: start times are read as picoseconds, as csg-htsim does"
        ]
    );
    let head = "Nodes 8\nConnections 1\n";
    for (rest, line, what) in [
        ("1->2 id 1 trigger 1 size 5\n", 3, "\"trigger\", expected no triggers"),
        ("1->2 id 1 start 0 size 5 send_done_trigger 1\n", 3, "\"send_done_trigger\", expected no"),
        ("1->2 start 0 size 5\ntrigger id 1 oneshot\n", 4, "\"trigger\", expected no triggers"),
        ("Triggers 1\n1->2 start 0 size 5\n", 3, "\"Triggers\", expected no triggers"),
        ("Failures 1\n", 3, "expected no failures of links"),
        ("failure switch_type TOR switch_id 0 link_id 0\n", 3, "expected no failures of links"),
        ("1->2 start 0 size 0\n", 3, "a connection that never ends"),
        ("1->2 start 12.5 size 5\n", 3, "multiply them by 1000000"),
        ("1->2 size 5\n", 3, "no start in"),
        ("1->2 start 0\n", 3, "no size in"),
        ("1->2 start\n", 3, "expected a number behind it"),
        ("1->2 begin 0 size 5\n", 3, "\"begin\", expected id, start, size or prio"),
        ("1->9 start 0 size 5\n", 3, "dst \"9\", expected a host from 0 to 7"),
        ("1 2 start 0 size 5\n", 3, "expected a connection such as 1->2"),
        (
            "1->2 start 0 size 5\n1->3 start 0 size 5\n",
            4,
            "2 connections, expected at least one, and 1",
        ),
        ("", 2, "0 connections, expected at least one"),
        ("Nodes 9\n1->2 start 0 size 5\n", 3, "expected at most 8 nodes, the hosts of the fabric"),
    ] {
        let text = format!("{head}{rest}");
        let error = parse_flows(&text, 8, u64::MAX).expect_err(&text);
        assert_eq!(error.line, line, "{text:?}: {error}");
        assert!(error.what.contains(what), "{text:?}: {error}");
    }
}

#[test]
fn what_a_file_looks_like_is_part_of_the_message() {
    for (text, advice) in [
        ("src;dst;size_bytes;arrival\n0;1;5;0s\n", "`tr ';' ','`"),
        ("src\tdst\tsize_bytes\tarrival\n0\t1\t5\t0s\n", "`tr '\\t' ','`"),
        ("src dst size_bytes arrival\n0 1 5 0s\n", "`tr -s ' ' ','`"),
        ("0,1,5,0.5\n1,2,5,0.6\n", "flows without names of columns"),
        ("1 0 400000 0.0\n2 0 370000 0.1\n", "`tr -s ' ' ','`"),
        ("0 0\n1000 0.5\n", "it looks like a size table"),
        ("{\"src\": 0}", "it looks like JSON"),
        ("<FlowMonitor>\n", "results of ns-3's flow monitor"),
        ("src,dst,size_bytes,arrival\r0,1,5,0s\r", "carriage returns alone"),
    ] {
        let error = parse_flows(text, 8, u64::MAX).expect_err(text);
        assert!(error.what.contains(advice), "{text:?}: {error}");
    }
}
