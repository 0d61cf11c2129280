//! Programs of iterations: what they send, and how long they take.

use crate::executed::{FREE, Network, execute};
use sojourn_core::parameters::{Parameters, Setting, Table, Value};
use sojourn_core::{Rate, Span};
use sojourn_training::collective::{Operation, Port};
use sojourn_training::model::*;
use sojourn_training::program::*;

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

fn iteration(settings: &[(&str, Value)]) -> Iteration {
    let mut table = Table::default();
    settings.iter().for_each(|(key, value)| table.set(key, value.clone()));
    Iteration::read_table(&table).unwrap()
}

/// Of each call of a rank its operation, label, size of the group and bytes.
fn calls(program: &Program, rank: u32) -> Vec<(Operation, String, u32, u64)> {
    let graph = program.graph(rank);
    let called = (0..graph.len() as u32).filter_map(|node| match graph.op(node, rank) {
        Op::Collective { call, .. } => Some(call),
        _ => None,
    });
    called
        .map(|call| {
            let groups = program.groups(call).unwrap();
            let size = groups.size(groups.place(rank).unwrap().0);
            let call = &program.calls()[call as usize];
            (call.collective.operation(), call.label.clone(), size, call.bytes)
        })
        .collect()
}

/// The bytes that a rank sends in calls with this label, by the bus factors.
fn sent(program: &Program, rank: u32, labels: &[&str]) -> f64 {
    let calls = calls(program, rank).into_iter();
    calls
        .filter(|(_, label, _, _)| labels.contains(&label.as_str()))
        .map(|(operation, _, size, bytes)| operation.bus_factor(size) * bytes as f64)
        .sum()
}

/// GPT-13B on 128 accelerators, tensor parallelism 8 in a server: the numbers of the facts' sections 3.5 and 7.
#[test]
fn gpt_13b_on_128_accelerators() {
    let program = iteration(&[]).program().unwrap();
    let layers = ["attention", "feed-forward"];
    let count = calls(&program, 0).iter().filter(|call| layers.contains(&call.1.as_str())).count();
    assert_eq!(count as u32 * 16, 163_840);
    let data = sent(&program, 0, &["gradients"]);
    // 189.56 million packets with a payload of 4,096 B on 128 network cards.
    assert!((data * 128.0 / 4096.0 / 189.56e6 - 1.0).abs() < 0.001, "{data}");
    let ratio = sent(&program, 0, &layers) / data;
    assert!((ratio - 62.0).abs() < 0.5, "{ratio}");
    let buckets = calls(&program, 0).iter().filter(|call| call.1 == "gradients").count();
    assert!((38..=42).contains(&buckets), "{buckets}");
    // Tensor parallelism is on the host, and everything else in the network.
    for call in program.calls() {
        let closed = matches!(call.execution, Execution::ClosedForm(_));
        assert_eq!(closed, call.label != "gradients", "{}", call.label);
    }
    // All ranks share one graph, and it is small.
    assert!(program.graphs() == 1 && program.graph(0).len() < 30_000);
}

/// AICB's file for GPT-13B with tensor parallelism 8 (`G13B-M1-C01`): all-reduces of 20,971,520 B, and 3,248,619,520 B
/// of parameters in bf16, which it counts in another way: 1.5 % is the tolerance.
#[test]
fn bytes_are_near_aicbs() {
    let one = iteration(&[]);
    assert_eq!(one.activation(), 20_971_520);
    let vocabulary = 2 * (51_200 - 32_000) * 5_120 / 8;
    let bytes = 2 * one.rank_parameters(0) - vocabulary;
    assert!((bytes as f64 / 3_248_619_520.0 - 1.0).abs() < 0.015, "{bytes}");
}

/// 3 to 9 s of computing with a batch of 1,024, here a quarter of it. At 400 Gb/s, gradients are exposed in part if they
/// overlap with the last backward pass, and otherwise as a whole.
#[test]
fn gpt_13b_takes_seconds() {
    let port = Port { rate: Rate::gbps(400), latency: Span::from_us(4) };
    let network = Network {
        message: &|_| Span::ZERO,
        collective: &|call, shape| call.collective.time(shape, &port),
    };
    let time = |overlap, network: &Network| {
        let one = iteration(&[("overlap", Value::Bool(overlap)), ("batch", Value::Int(256))]);
        execute(&one.program().unwrap(), network).seconds()
    };
    let free = time(true, &FREE);
    let computing = iteration(&[]).flops() / 4.0 / 128.0 / (989e12 * 0.4);
    assert!((0.75..2.25).contains(&free) && free > computing, "{free} {computing}");
    let (overlapped, exposed) = (time(true, &network) - free, time(false, &network) - free);
    let wire = sent(&iteration(&[]).program().unwrap(), 0, &["gradients"]) / 50e9;
    assert!((exposed / wire - 1.0).abs() < 0.05, "{exposed} {wire}");
    assert!(overlapped < 0.9 * exposed && overlapped > 0.0, "{overlapped}");
}

fn small(layers: i64) -> Value {
    let numbers =
        [("layers", layers), ("width", 8_192), ("heads", 64), ("ffn", 32_768), ("vocabulary", 1)];
    let mut table = Table::default();
    table.set("kind", text("transformer"));
    numbers.iter().for_each(|&(key, value)| table.set(key, Value::Int(value)));
    Value::Table(table)
}

fn pipeline(stages: i64, micro_batches: i64, schedule: Schedule) -> Iteration {
    let one = [("tensor", 1), ("data", 1), ("pipeline", stages), ("batch", micro_batches)];
    let mut settings: Vec<(&str, Value)> =
        one.iter().map(|&(key, value)| (key, Value::Int(value))).collect();
    settings.push(("model", small(16)));
    settings.push(("schedule", schedule.write().unwrap()));
    iteration(&settings)
}

/// (m + p - 1)(f + b) with one chunk, and m (f + b)(1 + (p - 1)/(v m)) with v. The output layer takes 0.1 %.
#[test]
fn pipelines_have_the_published_bubbles() {
    for (p, m) in [(1, 4), (2, 2), (2, 8), (4, 4), (4, 16), (8, 8), (16, 3)] {
        let one = pipeline(p, m, Schedule::OneForwardOneBackward(OneForwardOneBackward {}));
        let busy = one.flops() / p as f64 / one.accelerator.flops();
        let found = execute(&one.program().unwrap(), &FREE).seconds();
        let expected = busy * (1.0 + (p - 1) as f64 / m as f64);
        assert!((found / expected - 1.0).abs() < 0.005, "{p} {m}: {found} {expected}");
    }
    for (p, m, v) in [(2, 2, 2), (2, 8, 4), (4, 4, 2), (4, 16, 2), (4, 8, 4), (8, 8, 2)] {
        let one = pipeline(p, m, Schedule::Interleaved(Interleaved { chunks: v as u32 }));
        let busy = one.flops() / p as f64 / one.accelerator.flops();
        let found = execute(&one.program().unwrap(), &FREE).seconds();
        let expected = busy * (1.0 + (p - 1) as f64 / (v * m) as f64);
        assert!((found / expected - 1.0).abs() < 0.005, "{p} {m} {v}: {found} {expected}");
    }
}

/// Each stage passes each micro-batch forward and backward once for each of its chunks.
#[test]
fn every_micro_batch_passes_every_chunk_twice() {
    for schedule in [
        Schedule::OneForwardOneBackward(OneForwardOneBackward {}),
        Schedule::Interleaved(Interleaved { chunks: 3 }),
    ] {
        for (stages, micro_batches) in [(2, 2), (2, 6), (4, 4), (4, 12), (5, 20)] {
            for stage in 0..stages {
                let passes = schedule.passes(stage, stages, micro_batches);
                assert_eq!(passes.len() as u32, 2 * micro_batches * schedule.chunks());
                for chunk in 0..schedule.chunks() {
                    for micro_batch in 0..micro_batches {
                        let place = |direction| {
                            let pass = Pass { direction, micro_batch, chunk };
                            passes.iter().position(|&one| one == pass).expect("it is there")
                        };
                        assert!(place(Direction::Forward) < place(Direction::Backward));
                    }
                }
            }
        }
    }
}

/// ZeRO 1 and 2 send the bytes of an all-reduce in bf16 and 1.5 times as many in fp32; ZeRO 3 gathers parameters once
/// more, so with one micro-batch it sends 1.5 times the bytes.
#[test]
fn zero_sends_what_its_authors_count() {
    let bytes = |zero: i64, gradients: &str, overlap: bool| {
        let one = iteration(&[
            ("zero", Value::Int(zero)),
            ("gradients", text(gradients)),
            ("batch", Value::Int(16)),
            ("overlap", Value::Bool(overlap)),
        ]);
        sent(&one.program().unwrap(), 0, &["gradients", "parameters"])
    };
    for overlap in [true, false] {
        let plain = bytes(0, "bf16", overlap);
        let near = |found: f64, expected: f64| {
            assert!((found / plain / expected - 1.0).abs() < 0.03, "{found} {plain}");
        };
        near(bytes(0, "fp32", overlap), 2.0);
        near(bytes(1, "bf16", overlap), 1.0);
        near(bytes(2, "fp32", overlap), 1.5);
        near(bytes(3, "bf16", overlap), 1.5);
        // Layers twice, the vocabulary for the embedding and twice for the output; positions once, the last norm twice.
        let one = iteration(&[]);
        let (layers, all) = (40 * one.dense(one.transformer().layer()), one.rank_parameters(0));
        let (norm, vocabulary) = (2 * 5_120, 51_200 * 5_120 / 8);
        let gathered = 2 * layers + (all - layers - norm) + 2 * (vocabulary + norm);
        let share = Operation::AllGather.bus_factor(16);
        let expected = 2.0 * share * (all + gathered) as f64;
        assert!((bytes(3, "bf16", overlap) / expected - 1.0).abs() < 1e-9);
    }
}

/// Four all-to-alls for each layer and micro-batch, each of 2 x 8 KiB a token. Experts are reduced among replicas that
/// have the same.
#[test]
fn mixtral_exchanges_tokens() {
    let one = iteration(&[
        ("model", text("mixtral-8x7b")),
        ("tensor", Value::Int(1)),
        ("data", Value::Int(64)),
        ("expert", Value::Int(8)),
        ("batch", Value::Int(128)),
    ]);
    let program = one.program().unwrap();
    let calls = calls(&program, 5);
    let exchanges: Vec<_> = calls.iter().filter(|call| call.0 == Operation::AllToAll).collect();
    assert_eq!(exchanges.len(), 4 * 32 * 2);
    assert!(exchanges.iter().all(|call| (call.2, call.3) == (8, 2048 * 2 * 8192)));
    let experts: u64 =
        calls.iter().filter(|call| call.1 == "gradients" && call.2 == 8).map(|call| call.3).sum();
    assert_eq!(experts, 2 * 32 * 3 * 4096 * 14_336);
    let dense: u64 =
        calls.iter().filter(|call| call.1 == "gradients" && call.2 == 64).map(|call| call.3).sum();
    let all = one.transformer().parameters(2048);
    assert_eq!(dense + 8 * experts, 2 * all);
    // Eight replicas fill a server: tokens stay on it.
    let exchange = program.calls().iter().find(|call| call.label == "dispatch").unwrap();
    assert!(matches!(exchange.execution, Execution::ClosedForm(_)));
    let spread = iteration(&[
        ("model", text("mixtral-8x7b")),
        ("tensor", Value::Int(2)),
        ("expert", Value::Int(8)),
        ("batch", Value::Int(16)),
    ]);
    let program = spread.program().unwrap();
    let exchange = program.calls().iter().find(|call| call.label == "dispatch").unwrap();
    assert_eq!(exchange.execution, Execution::Messages);
}

/// Every combination makes a program that ends, and the gradients of all ranks are all parameters, once for each
/// replica.
#[test]
fn combinations_of_parallelism() {
    for schedule in ["1f1b", "interleaved"] {
        for zero in 0..4 {
            for recompute in ["none", "full"] {
                for sequence_parallel in [false, true] {
                    let one = iteration(&[
                        ("model", text("mixtral-8x7b")),
                        ("tensor", Value::Int(2)),
                        ("pipeline", Value::Int(4)),
                        ("data", Value::Int(4)),
                        ("expert", Value::Int(2)),
                        ("batch", Value::Int(16)),
                        ("zero", Value::Int(zero)),
                        ("schedule", text(schedule)),
                        ("recompute", text(recompute)),
                        ("sequence_parallel", Value::Bool(sequence_parallel)),
                        ("overlap", Value::Bool(sequence_parallel)),
                    ]);
                    let program = one.program().unwrap();
                    assert_eq!(program.graphs(), 4);
                    assert!(execute(&program, &FREE) > Span::ZERO);
                    for stage in 0..4 {
                        let rank = stage * 8;
                        let reduced: u64 = calls(&program, rank)
                            .iter()
                            .filter(|call| call.1 == "gradients")
                            .map(|call| call.3)
                            .sum();
                        assert_eq!(reduced, 2 * one.rank_parameters(stage));
                    }
                }
            }
        }
    }
}

/// The first and the last stage of a GPT reduce the gradient of the vocabulary that they share.
#[test]
fn stages_share_a_vocabulary() {
    let one = iteration(&[("pipeline", Value::Int(4)), ("batch", Value::Int(64))]);
    let program = one.program().unwrap();
    let shared = |rank| calls(&program, rank).iter().filter(|call| call.1 == "vocabulary").count();
    let last = one.ranks() - 1;
    assert_eq!([shared(0), shared(128), shared(256), shared(last)], [1, 0, 0, 1]);
    let bytes: u64 = (0..4).map(|stage| one.rank_parameters(stage)).sum();
    let whole = iteration(&[]).rank_parameters(0);
    assert_eq!(bytes, whole + 51_200 * 5_120 / 8);
}
