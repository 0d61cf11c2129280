//! Messages that wait for others, and the jobs that they make: by hand, against the graph they come from, and
//! as queries.

use crate::common::*;
use proptest::prelude::*;
use sojourn_core::parameters::{Parameters, defaults};
use sojourn_core::resource::no_tables;
use sojourn_core::{Bytes, Execution, Frequency, Rate, Span, Streams, Time};
use sojourn_fabric::engine::Progress;
use sojourn_fabric::estimate::Settings;
use sojourn_fabric::flow::Completion;
use sojourn_fabric::topology::{LeafSpine, SingleSwitch, Topology};
use sojourn_fabric::workload::{Arrivals, FanIn, Queries, SizeOf, parse_flows};
use sojourn_fabric::{Balance, Decomposition, FabricCase, PacketScheme, Scheme};
use sojourn_properties::cases;

/// Hosts around one switch, over links of 10 Gb/s and 1 us: a packet alone takes 4400 ns.
fn switch(hosts: u32) -> Lab {
    let delay = Span::from_us(1);
    let topology = Topology::SingleSwitch(SingleSwitch { hosts, delay, ..defaults() });
    let scheme = scheme(all_at_once(), drop_tail(1_000_000));
    Lab { completion: Completion::Receiver, ..Lab::new(topology, scheme) }
}

/// Two packets meet before host 1: they are there after 4400 ns and 5600 ns. Host 1 computes for 5 us and
/// sends to host 3, within 4400 ns, which acknowledges that for 32 ns and sends to host 0. Alone the two
/// packets take 4400 ns.
#[test]
fn a_message_begins_when_all_that_it_waits_for_have_come() {
    let text = "id,after,delay,job,src,dst,size_bytes,arrival\n\
                d,c,,x,3,0,1460,\n\
                c,a;b,5us,x,1,3,1460,\n\
                a,,,x,0,1,1460,0s\n\
                b,,,x,2,1,1460,0s\n";
    let run = Run::of(&switch(4).ready(listed(text)));
    let of = |column: &str| run.rows.ints(column).to_vec();
    assert_eq!(run.names("kind"), ["flow", "flow", "flow", "flow", "job"]);
    assert_eq!(of("arrived_ps"), [0, 0, 10_600_000, 15_000_000, 0]);
    assert_eq!(of("started_ps"), of("arrived_ps"));
    let mut ends = of("finished_ps");
    ends[..2].sort_unstable();
    assert_eq!(ends, [4_400_000, 5_600_000, 15_000_000, 19_432_000, 19_432_000]);
    assert_eq!(of("ideal_ps")[..4], [4_400_000; 4]);
    assert_eq!(of("ideal_ps")[4], 5_000_000 + 3 * 4_400_000);
    assert_eq!(of("of_job"), [4; 5]);
    assert_eq!((of("src"), of("dst")), (vec![0, 2, 1, 3, -1], vec![1, 1, 3, 0, -1]));
    assert_eq!((of("size_bytes")[4], of("packets")[4]), (4 * 1460, 4));
}

/// A message does not begin before its own arrival time, and what a host receives in a job crosses its link.
#[test]
fn arrivals_and_links_bound_a_job() {
    let text = "src,dst,size_bytes,arrival,after,job\n\
                0,1,1460,0s,,\n\
                1,2,1460,30us,0,late\n\
                3,2,2920,0s,,\n\
                2,0,1460,,1 2,next\n\
                1,0,1460,0s,,other\n\
                2,0,1460,0s,,other\n\
                3,0,1460,0s,,other\n";
    let run = Run::of(&switch(4).ready(listed(text)));
    let of = |column: &str| run.rows.ints(column).to_vec();
    assert_eq!(of("arrived_ps")[5..7], [30_000_000, 34_400_000]);
    // The jobs by their soonest begin: other, and late and next after 30 us.
    assert_eq!(of("arrived_ps")[7..], [0, 30_000_000, 34_400_000]);
    assert_eq!(of("of_job"), [-1, -1, 7, 7, 7, 8, 9, 7, 8, 9]);
    // Three packets through the link to host 0; one packet alone.
    assert_eq!(of("ideal_ps")[7..], [2_200_000 + 3_600_000 + 1_000_000, 4_400_000, 4_400_000]);
    assert_eq!(of("finished_ps")[7..9], [6_800_000, 34_400_000]);
}

/// What never begins stands at its soonest begin, and is counted, with its job.
#[test]
fn what_never_begins_is_unfinished() {
    let text = "src,dst,size_bytes,arrival,after,delay,job\n\
                0,1,1460,0s,,,\n1,2,1460,,0,10us,x\n2,0,1460,,1,10us,x\n";
    let lab = Lab { drain: Span::from_us(5), ..switch(3) };
    let run = Run::of(&lab.ready(listed(text)));
    // The last message may begin after 20 us: the run goes on for 5 us more.
    assert_eq!(run.rows.ints("finished_ps"), [4_400_000, 18_800_000, -1, -1]);
    assert_eq!(run.rows.ints("started_ps"), [0, 14_400_000, -1, 14_400_000]);
    assert_eq!(run.rows.ints("arrived_ps"), [0, 14_400_000, 20_000_000, 14_400_000]);
    assert_eq!(run.figure("unfinished"), 2);
}

/// Requests and answers, written as a list of flows, take as long as those of queries.
#[test]
fn queries_are_graphs_of_messages() {
    let lab = Lab { completion: Completion::Receiver, ..Lab::new(fat_tree(4), known("DCTCP")) };
    let queries = Queries {
        queries: count(40),
        fan_in: FanIn(vec![5]),
        size: Bytes(20_000),
        size_of: SizeOf::Response,
        rate: Frequency::new(20_000.0).expect("above zero"),
        ..defaults()
    };
    let asked = Run::of(&lab.ready(Arrivals::Query(queries.clone()).into()));
    let answers = |column: &str| asked.rows.ints(column)[40..].to_vec();
    let mut text = "id,after,job,src,dst,size_bytes,arrival\n".to_owned();
    for answer in 0..answers("job").len() {
        let of = |column: &str| answers(column)[answer];
        let (server, client, query) = (of("src"), of("dst"), of("query"));
        let asked = Time::from_ps(of("arrived_ps") as u64);
        text += &format!("{answer},,{query},{client},{server},100,{asked}\n");
        text += &format!(",{answer},{query},{server},{client},20000,{asked}\n");
    }
    let listed = Run::of(&lab.ready(listed(&text)));
    assert_eq!(listed.rows.ints("finished_ps")[200..400], answers("finished_ps"));
    assert_eq!(listed.rows.ints("started_ps")[200..400], answers("started_ps"));
    assert_eq!(listed.rows.ints("finished_ps")[400..], asked.rows.ints("finished_ps")[..40]);
    assert_eq!(listed.rows.ints("arrived_ps")[400..], asked.rows.ints("arrived_ps")[..40]);
    // Here the links of servers count for the requests too: an ideal is no smaller.
    let ideals = asked.rows.ints("ideal_ps")[..40].iter().zip(&listed.rows.ints("ideal_ps")[400..]);
    assert!(ideals.clone().all(|(query, job)| job >= query));
}

/// A message of a random graph: from, to, size, arrival in ns; which messages it waits for and which job it is
/// of, by chance.
type Message = (u16, u16, u64, u64, u64);

/// What a line of a file says: its size, which no other has; the sizes of those that it waits for, its
/// delay and its arrival time, in picoseconds.
struct Said {
    bytes: i64,
    parents: Vec<i64>,
    delay: i64,
    arrival: i64,
}

/// The graph as a file, and what it says.
fn written(messages: &[Message], hosts: u16) -> (String, Vec<Said>) {
    let mut text = "job,src,dst,size_bytes,arrival,after,delay\n".to_owned();
    let (mut ends, mut all): (Vec<u16>, Vec<Said>) = (Vec::new(), Vec::new());
    for (number, &(from, to, size, arrival, chance)) in messages.iter().enumerate() {
        let from = from % hosts;
        let to = (from + 1 + to % (hosts - 1)) % hosts;
        let chosen = |&parent: &usize| ends[parent] == from && chance >> (parent % 16) & 1 == 1;
        let parents: Vec<usize> = (0..number).filter(chosen).collect();
        let names: Vec<String> = parents.iter().map(usize::to_string).collect();
        let delay = if parents.is_empty() { 0 } else { chance % 50 };
        let (job, after) = ([1, 2, 3].get(chance as usize % 4), names.join(" "));
        let job = job.map(ToString::to_string).unwrap_or_default();
        let bytes = 40 * size + number as u64;
        let computes = if delay > 0 { format!("{delay}us") } else { String::new() };
        text += &format!("{job},{from},{to},{bytes},{arrival}ns,{after},{computes}\n");
        ends.push(to);
        all.push(Said {
            bytes: bytes as i64,
            parents: parents.iter().map(|&parent| all[parent].bytes).collect(),
            delay: Span::from_us(delay).ps() as i64,
            arrival: Span::from_ns(arrival).ps() as i64,
        });
    }
    (text, all)
}

fn messages() -> impl Strategy<Value = Vec<Message>> {
    let message = (any::<u16>(), any::<u16>(), 1u64..800, 0u64..90_000, any::<u64>());
    prop::collection::vec(message, 1..40)
}

proptest! {
    #![proptest_config(cases(80))]

    /// Every message begins exactly when those that it waits for allow, every job with its first message, and
    /// ends with its last; nothing is quicker than the best possible, on any number of threads.
    #[test]
    fn graphs_are_kept(
        messages in messages(),
        name in prop::sample::select(vec!["DCTCP", "MinTCP+pFabric", "NDP", "TCP+DropTail"]),
        seed in any::<u64>(),
        spread in prop::sample::select(vec![0u64, 3]),
    ) {
        let spine = LeafSpine { delay_spread: Span::from_us(spread), ..leaf_spine(3, 2, 2, 1) };
        let mut lab = Lab::new(Topology::LeafSpine(spine), known(name));
        (lab.completion, lab.streams) = (Completion::Receiver, Streams::new(seed, 0));
        let (text, graph) = written(&messages, 6);
        let ready = lab.ready(listed(&text));
        let run = Run::of(&ready);
        let on_threads = ready.run(Execution { threads: 3, ..Execution::new(&Progress::default()) }).expect("not cancelled");
        prop_assert_eq!(&on_threads.rows, &run.rows);
        let of = |column: &str| run.rows.ints(column).to_vec();
        let slowdowns = run.rows.floats("slowdown");
        prop_assert!(slowdowns.iter().all(|slowdown| *slowdown >= 1.0), "{slowdowns:?}");
        let (sizes, began, ends) = (of("size_bytes"), of("arrived_ps"), of("finished_ps"));
        let row = |bytes| sizes.iter().position(|size| *size == bytes).expect("a row");
        for Said { bytes, parents, delay, arrival } in &graph {
            let ready = parents.iter().map(|&parent| ends[row(parent)] + delay);
            prop_assert_eq!(began[row(*bytes)], ready.max().unwrap_or(0).max(*arrival));
        }
        for job in messages.len()..sizes.len() {
            let own: Vec<usize> =
                (0..messages.len()).filter(|&row| of("of_job")[row] == job as i64).collect();
            prop_assert_eq!(own.iter().map(|&row| began[row]).min(), Some(began[job]));
            prop_assert_eq!(own.iter().map(|&row| ends[row]).max(), Some(ends[job]));
            for column in ["size_bytes", "packets", "retransmits", "timeouts"] {
                prop_assert_eq!(own.iter().map(|&row| of(column)[row]).sum::<i64>(), of(column)[job]);
            }
        }
        prop_assert_eq!(run.figure("unfinished"), 0);
    }
}

/// A case with the scheme Ideal.
fn ideal(workload: Arrivals) -> FabricCase {
    FabricCase { scheme: Scheme::Ideal(defaults()), ..switch(4).case(workload.into()) }
}

#[test]
fn arrival_times_have_to_be_known_to_the_ideal_and_to_estimates() {
    let waits = "src,dst,size_bytes,arrival,after\n0,1,5,0s,\n1,2,5,,0\n";
    let jobs = "src,dst,size_bytes,arrival,job\n0,1,1460,0s,x\n1,2,1460,0s,x\n";
    let streams = Streams::new(1, 0);
    let case = ideal(listed(waits).arrivals);
    let refusal = case.count(streams, &no_tables, &|_| {}).expect_err("a flow waits");
    assert_eq!(refusal.path, ["workload", "file"]);
    assert_eq!(refusal.expected, "flows none of which waits for another, for the scheme Ideal");
    let ready = ideal(listed(jobs).arrivals).ready(streams, &no_tables).expect("a case");
    assert_eq!(Run::of(&ready).names("kind"), ["flow", "flow", "job"]);
    let training = ideal(Arrivals::Collective(defaults()));
    let refusal = FabricCase::read_table(&training.write_table()).expect_err("chunks wait");
    assert_eq!(refusal.path, ["workload", "kind"]);

    let hashed = PacketScheme { balance: Balance::Ecmp, ..known("DCTCP") };
    let lab = Lab { completion: Completion::Receiver, ..Lab::new(single_switch(4), hashed) };
    let case = lab.case(listed(waits));
    let refusal = case.check_estimable(streams, &no_tables).expect_err("a flow waits");
    assert_eq!(refusal.expected, "flows none of which waits for another, to estimate");
    let case = lab.case(listed(jobs));
    case.check_estimable(streams, &no_tables).expect("known arrivals");
    let settings: Settings = defaults();
    let whole = Decomposition::new(&case, &settings, lab.streams, &no_tables).expect("flows");
    let times: Vec<_> = whole
        .links()
        .into_iter()
        .map(|link| whole.simulate(link, &Progress::default()).expect("not cancelled"))
        .collect();
    let rows = whole.combine(&times).expect("all links").rows;
    assert_eq!(rows.ints("of_job"), [2; 3]);
    assert_eq!(rows.ints("finished_ps")[2], *rows.ints("finished_ps")[..2].iter().max().unwrap());
}

#[test]
fn a_bad_graph_says_where_and_why() {
    let head = "id,src,dst,size_bytes,arrival,after,delay,job\n";
    let numbers = "src,dst,size_bytes,arrival,after\n";
    let with = |head: &str, lines: &str| format!("{head}{lines}");
    let cases = [
        ("src,dst,size_bytes,arrival,delay\n".to_owned(), 1, "column \"delay\", expected a column"),
        ("src,dst,size_bytes,after,id,job\n".to_owned(), 1, "no flows"),
        (with(head, "a,0,1,5,0s,,,\na,0,1,5,0s,,,\n"), 3, "id \"a\", which line 2 has"),
        (with(head, "a b,0,1,5,0s,,,\n"), 2, "id \"a b\", expected no spaces"),
        (with(head, "a,0,1,5,0s,,,\nb,1,2,5,0s,c,,\n"), 3, "after \"c\", expected the id"),
        (
            with(head, "a,0,1,5,0s,,,\nb,2,1,5,0s,a,,\n"),
            3,
            "from host 0 to host 1, expected a flow to or from",
        ),
        (with(head, "a,0,1,5,0s,,,\nb,1,2,5,0s,a a,,\n"), 3, "after \"a\" twice"),
        (with(head, "a,0,1,5,0s,,,\nb,1,2,5,0s,a,-1us,\n"), 3, "delay \"-1us\", expected a time"),
        (with(head, "a,0,1,5,0s,,,\nb,1,2,5,0s,a,2h,\n"), 3, "at most 3600s"),
        (with(head, "a,0,1,5,0s,,1us,\n"), 2, "delay \"1us\", expected none"),
        (with(head, "a,0,1,5,,,,\n"), 2, "arrival \"\", expected a time"),
        (with(head, "a,0,1,5,0s,b,,\nb,1,0,5,0s,a,,\nc,0,1,5,0s,b,,\n"), 2, "in a circle: line 2"),
        (with(numbers, "0,1,5,0s,\n1,2,5,0s,2\n"), 3, "after \"2\", expected the number of a line"),
        (with(numbers, "0,1,5,0s,\n1,2,5,0s,x\n"), 3, "after \"x\", expected the number of a line"),
    ];
    for (text, line, what) in cases {
        let error = parse_flows(&text, 4, u64::MAX).expect_err(&text);
        assert_eq!(error.line, line, "{text:?}: {error}");
        assert!(error.what.contains(what), "{text:?}: {error}");
    }
    let mut chain = with(numbers, "0,1,5,10h,\n").replace("after\n", "after,delay\n");
    chain = chain.replace("10h,\n", "10h,,\n") + "1,0,5,,0,1ms\n";
    let error = parse_flows(&chain, 4, u64::MAX).expect_err("too late");
    assert!(error.line == 3 && error.what.contains("by all delays, expected at most"), "{error}");
}

/// The last line of a long chain of the largest messages over the slowest link: its job has no ideal that fits
/// into a time, and nothing overflows.
#[test]
fn the_longest_chains_have_no_ideal() {
    let mut text = "src,dst,size_bytes,after,job\n0,1,1000000000000,,x\n".to_owned();
    for line in 1..8 {
        text += &format!("{},{},1000000000000,{},x\n", line % 2, (line + 1) % 2, line - 1);
    }
    let rate = Rate::new(2_100_000).expect("a rate");
    let topology = Topology::SingleSwitch(SingleSwitch { hosts: 2, rate, ..defaults() });
    let lab = Lab { drain: Span::from_us(1), ..Lab::new(topology, known("DCTCP")) };
    let run = Run::of(&lab.ready(listed(&text)));
    assert_eq!(run.rows.ints("ideal_ps")[8], -1);
    assert!(run.rows.ints("ideal_ps")[..8].iter().all(|ideal| *ideal > 0));
    assert_eq!(run.rows.ints("finished_ps"), [-1; 9]);
}
