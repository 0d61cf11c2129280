//! SimAI: AICB's samples, groups of ranks, and what is refused.

use proptest::prelude::*;
use sojourn_core::Span;
use sojourn_traces::File;
use sojourn_traces::simai::{Group, Workload, parse};
use sojourn_training::collective::Operation;
use sojourn_training::program::{Event, Op, Program};

fn read(text: &str) -> Result<Workload, String> {
    parse(File { name: "a.txt", bytes: text.as_bytes() }).map_err(|error| error.to_string())
}

fn program(text: &str, ranks: Option<u32>) -> Result<Program, String> {
    read(text)?.program(ranks).map_err(|error| error.to_string())
}

const GPT: &str = include_str!("../data/aicb/G13B-M1-C01_GPT13B_megatron_tp8_pp1_mbs1_A100.txt");

/// GPT-13B with tensor parallelism 8: two collectives for each layer and direction, and gradients of 6.5 GB among the
/// replicas.
#[test]
fn gpt_13b_of_aicb() {
    let workload = read(GPT).unwrap();
    assert_eq!((workload.tensor, workload.ranks, workload.layers.len()), (8, None, 92));
    let sum = |wanted: (Operation, Group), phase: usize| {
        let collectives = workload.layers.iter().filter_map(|layer| layer.phases[phase].collective);
        collectives.filter(|one| (one.0, one.1) == wanted).map(|one| one.2).collect::<Vec<u64>>()
    };
    let layers = sum((Operation::AllReduce, Group::Tensor), 0);
    assert_eq!(layers.iter().filter(|&&bytes| bytes == 20_971_520).count(), 81);
    assert_eq!(sum((Operation::AllGather, Group::Tensor), 0), [3_248_619_520]);
    assert_eq!(sum((Operation::ReduceScatter, Group::Data), 2), [6_497_239_040]);
    assert_eq!(workload.layers[4].phases[0].compute, Span::from_us(752));
    let program = workload.program(Some(128)).unwrap();
    assert_eq!((program.ranks(), program.graphs()), (128, 1));
    let sizes: Vec<u32> = (0..program.calls().len() as u32)
        .map(|call| program.groups(call).unwrap().size(0))
        .collect();
    assert!(sizes.contains(&8) && sizes.contains(&16));
    assert_eq!(
        read(GPT).unwrap().program(None).unwrap_err().to_string(),
        "a.txt:1: all_gpus is missing: give the number of ranks"
    );
    assert_eq!(
        program_error(GPT, 12),
        "a.txt:1: groups of 8 ranks with a distance of 1 do not divide 12 ranks"
    );
}

fn program_error(text: &str, ranks: u32) -> String {
    program(text, Some(ranks)).unwrap_err()
}

/// One all-reduce after another among all ranks, from 4 KiB to 1 GiB: no line waits for the collective of another, but
/// the collectives of a group go in order.
#[test]
fn micro_test_of_aicb() {
    let program = program(include_str!("../data/aicb/all_reduce.txt"), Some(4)).unwrap();
    let graph = program.graph(0);
    let collectives: Vec<u32> = (0..graph.len() as u32)
        .filter(|&node| matches!(graph.op(node, 0), Op::Collective { .. }))
        .collect();
    assert_eq!(collectives.len(), 19);
    for pair in collectives.windows(2) {
        assert!(graph.children(pair[0], Event::Finished).any(|child| child == pair[1]));
    }
    let sizes: Vec<u64> = program.calls().iter().map(|call| call.bytes).collect();
    assert_eq!((sizes.iter().min(), sizes.iter().max()), (Some(&4096), Some(&(1 << 30))));
    assert_eq!(program.groups(0).unwrap().size(0), 4);
}

const HEAD: &str = "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 2 pp: 2 vpp: 4 ga: 1 \
                    all_gpus: 16 checkpoints: 0 checkpoint_initiates: 0 pp_comm: 100";

#[test]
fn groups_and_order() {
    let lines = "a -1 10 ALLTOALL_EP 100 20 NONE 0 30 ALLREDUCE_DP_EP 50 5\n\
                 b -1 11 NONE 0 21 ALLREDUCE 60 31 ALLREDUCE 70 0\n";
    let program = program(&format!("{HEAD}\n2\n{lines}"), None).unwrap();
    let graph = program.graph(0);
    let shown: Vec<String> = (0..graph.len() as u32)
        .map(|node| match graph.op(node, 0) {
            Op::Compute { stream, span } => format!("{stream} {span}"),
            Op::Collective { call, .. } => {
                let one = &program.calls()[call as usize];
                let groups = program.groups(call).unwrap();
                let members: Vec<u32> =
                    (0..groups.size(0)).map(|index| groups.member(0, index)).collect();
                format!("{} {members:?}", one.bytes)
            }
            op => op.to_string(),
        })
        .collect();
    // Sixteen ranks: two stages of four replicas of two.
    assert_eq!(
        shown,
        [
            "0 10ns",
            "4096 [0, 2]",
            "0 11ns",
            "0 21ns",
            "60 [0, 1]",
            "0 31ns",
            "70 [0, 2, 4, 6]",
            "0 20ns",
            "0 30ns",
            "50 [0, 4]",
            "1 5ns",
            "join"
        ]
    );
    let parents: Vec<u32> = (0..graph.len() as u32).map(|node| graph.parents(node)).collect();
    assert_eq!(parents, [0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2]);
    assert_eq!(graph.label(1), "a forward");
}

#[test]
fn files_that_are_wrong_are_refused() {
    let refused = |text: &str| read(text).unwrap_err();
    let line = |line: &str| refused(&format!("MICRO\n1\n{line}\n"));
    assert_eq!(
        refused(""),
        "a.txt:1: \"\" is no known parallelism, expected HYBRID_TRANSFORMER_FWD_IN_BCKWD, HYBRID_TRANSFORMER, MICRO"
    );
    assert_eq!(refused("MICRO ep: 0"), "a.txt:1: ep: is 0, expected at least 1");
    assert_eq!(refused("MICRO ep:"), "a.txt:1: ep: has no number");
    assert_eq!(refused("MICRO tp: 8"), "a.txt:1: \"tp:\" is no known key of the first line");
    assert_eq!(
        refused("MICRO checkpoints: 1 5"),
        "a.txt:1: checkpoints: 1: recomputation is not supported, expected 0"
    );
    assert_eq!(refused("MICRO\nx"), "a.txt:2: expected the number of lines that follow");
    assert_eq!(
        refused("MICRO\n99999999999\n"),
        "a.txt: the file ends after 0 of 99999999999 lines"
    );
    let good = "a -1 1 NONE 0 1 NONE 0 1 NONE 0 1";
    assert_eq!(
        refused(&format!("MICRO\n1\n{good}\n{good}\n")),
        "a.txt:4: the file has more than the 1 lines of line 2"
    );
    assert_eq!(line("a -1 1"), "a.txt:3: the line has 3 columns, expected 12");
    assert_eq!(
        line("a -1 1 NONE 0 1 NONE 0 1 SUM 5 1"),
        "a.txt:3: \"SUM\" is no known collective, expected NONE, ALLREDUCE, ALLGATHER, REDUCESCATTER, ALLTOALL or BROADCAST, \
         with the suffix _EP, _DP_EP or none"
    );
    assert_eq!(
        line("a -1 x NONE 0 1 NONE 0 1 NONE 0 1"),
        "a.txt:3: \"x\" is no time, expected nanoseconds, at most 2400h"
    );
    assert_eq!(
        line("a -1 1 NONE -4 1 NONE 0 1 NONE 0 1"),
        format!("a.txt:3: \"-4\" is no size, expected bytes, at most {}", 1_u64 << 50)
    );
    let empty = "HYBRID_TRANSFORMER model_parallel_NPU_group: 2 pp: 3 all_gpus: 16\n0\n";
    assert_eq!(
        program(empty, None).unwrap_err(),
        "a.txt:1: tensor parallelism 2 times 3 pipeline stages do not divide 16 ranks"
    );
    assert_eq!(
        program(empty, Some(8)).unwrap_err(),
        "a.txt:1: all_gpus is 16, but 8 ranks were asked for"
    );
    assert_eq!(
        program("MICRO ep: 3 all_gpus: 16\n0\n", None).unwrap_err(),
        "a.txt:1: expert parallelism 3 does not divide 16 replicas"
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
        let mut text = GPT.as_bytes().to_vec();
        for (place, byte) in changes {
            let length = text.len();
            text[place.index(length)] = byte;
        }
        text.truncate(end.index(text.len() + 1));
        if let Ok(workload) = parse(File { name: "a.txt", bytes: &text }) {
            let _ = workload.program(Some(8));
        }
    }
}
