//! Parameters and operations against published counts.

use sojourn_core::parameters::{Parameters, Setting, Table, Value};
use sojourn_training::model::*;

fn model(name: &str) -> Transformer {
    Model::read(&Value::Text(name.to_owned())).unwrap().transformer()
}

fn near(found: f64, published: f64, tolerance: f64) {
    let off = (found / published - 1.0).abs();
    assert!(off <= tolerance, "{found} is {off} away from {published}");
}

/// The table of the facts' section 3.1, to the digits that are printed there.
#[test]
fn parameters_of_named_models() {
    let models = [
        ("gpt-13b", 2048, 12.853, 0.0005),
        ("gpt-175b", 2048, 174.60, 0.005),
        ("llama-3-70b", 8192, 70.554, 0.0005),
        ("llama-3-405b", 8192, 405.853, 0.0005),
        ("mixtral-8x7b", 8192, 46.703, 0.0005),
    ];
    for (name, sequence, billions, digits) in models {
        let found = model(name).parameters(sequence) as f64 / 1e9;
        assert!((found - billions).abs() <= digits, "{name}: {found}");
    }
    let active = model("mixtral-8x7b").active_parameters(8192) as f64 / 1e9;
    assert!((active - 12.880).abs() <= 0.0005, "{active}");
    // A token does not use the experts that it does not go to, and a dense model has none.
    assert_eq!(model("gpt-13b").active_parameters(2048), model("gpt-13b").parameters(2048));
}

/// Narayanan et al. 2021, table 1: width, layers, thousand millions of parameters.
const MEGATRON: [(u32, u32, u32, f64); 10] = [
    (2304, 24, 24, 1.7),
    (3072, 32, 30, 3.6),
    (4096, 32, 36, 7.5),
    (6144, 48, 40, 18.4),
    (8192, 64, 48, 39.1),
    (10240, 80, 60, 76.1),
    (12288, 96, 80, 145.6),
    (16384, 128, 96, 310.1),
    (20480, 128, 105, 529.6),
    (25600, 160, 128, 1008.0),
];

fn megatron(width: u32, heads: u32, layers: u32) -> Transformer {
    let ffn = 4 * width;
    let family = Family::Gpt;
    let (kv_heads, vocabulary) = (None, 51_200);
    Transformer { layers, width, heads, kv_heads, ffn, vocabulary, family, experts: 1, top_k: 1 }
}

#[test]
fn parameters_of_megatrons_table() {
    for (width, heads, layers, billions) in MEGATRON {
        let found = megatron(width, heads, layers).parameters(2048) as f64 / 1e9;
        assert!((found - billions).abs() <= 0.0501, "{width}: {found}");
    }
}

fn iteration(settings: &[(&str, Value)]) -> Iteration {
    let mut table = Table::default();
    settings.iter().for_each(|(key, value)| table.set(key, value.clone()));
    Iteration::read_table(&table).unwrap()
}

/// The formula of Narayanan et al. 2021, section 5.1, with and without recomputation: equal up to rounding.
#[test]
fn operations_of_an_iteration() {
    for (width, heads, layers, _) in MEGATRON {
        let shape = megatron(width, heads, layers);
        let (h, l) = (f64::from(width), f64::from(layers));
        for (recompute, factor, share) in [("full", 96.0, 16.0), ("none", 72.0, 12.0)] {
            let one = iteration(&[
                ("model", Model::Transformer(shape.clone()).write().unwrap()),
                ("batch", Value::Int(16)),
                ("recompute", Value::Text(recompute.to_owned())),
            ]);
            let formula = factor
                * 16.0
                * 2048.0
                * l
                * h
                * h
                * (1.0 + 2048.0 / (6.0 * h) + 51_200.0 / (share * l * h));
            near(one.flops(), formula, 1e-12);
        }
    }
    // 145.6 thousand million parameters: 2.4486e15 operations a sequence, and 24.8 s for 2,304 of them on 1,536
    // A100 at 148 TFLOP/s.
    let shape = megatron(12_288, 96, 80);
    let one = iteration(&[
        ("model", Model::Transformer(shape).write().unwrap()),
        ("batch", Value::Int(2_304)),
        ("recompute", Value::Text("full".to_owned())),
    ]);
    near(one.flops() / 2_304.0, 2.4486e15, 1e-4);
    near(one.flops() / 1_536.0 / 148e12, 24.8, 2e-3);
}

/// A token takes about six operations for each active parameter, forward and backward.
#[test]
fn six_operations_for_each_active_parameter() {
    for (name, tolerance) in [
        ("gpt-13b", 0.08),
        ("gpt-175b", 0.04),
        ("llama-3-70b", 0.06),
        ("llama-3-405b", 0.03),
        ("mixtral-8x7b", 0.08),
    ] {
        let one = iteration(&[("model", Value::Text(name.to_owned()))]);
        let tokens = 1_024.0 * 2_048.0;
        near(one.flops() / tokens, 6.0 * model(name).active_parameters(2048) as f64, tolerance);
    }
}

#[test]
fn numbers_that_do_not_go_together_are_refused() {
    let shape = |changes: &[(&str, Value)]| {
        let mut table = Table::default();
        let numbers =
            [("layers", 4), ("width", 64), ("heads", 4), ("ffn", 256), ("vocabulary", 100)];
        numbers.iter().for_each(|&(key, value)| table.set(key, Value::Int(value)));
        changes.iter().for_each(|(key, value)| table.set(key, value.clone()));
        let refusal = Transformer::read_table(&table).unwrap_err();
        format!("{}: {}", refusal.path.join("."), refusal.expected)
    };
    assert_eq!(shape(&[("heads", Value::Int(3))]), "heads: a divisor of the width 64");
    assert_eq!(shape(&[("kv_heads", Value::Int(3))]), "kv_heads: a divisor of the 4 heads");
    assert_eq!(shape(&[("top_k", Value::Int(2))]), "top_k: at most the 1 experts of a layer");
    assert_eq!(
        shape(&[("experts", Value::Int(2))]),
        "family: \"llama\": experts are known for this family only"
    );
    let refused = |settings: &[(&str, Value)]| {
        let mut table = Table::default();
        settings.iter().for_each(|(key, value)| table.set(key, value.clone()));
        let refusal = Iteration::read_table(&table).unwrap_err();
        format!("{}: {}", refusal.path.join("."), refusal.expected)
    };
    let interleaved = Value::Text("interleaved".to_owned());
    assert_eq!(
        refused(&[("tensor", Value::Int(3))]),
        "tensor: a divisor of the 40 attention heads of the model"
    );
    assert_eq!(
        refused(&[("data", Value::Int(3))]),
        "data: a divisor of the 1024 sequences of the batch"
    );
    assert_eq!(
        refused(&[("expert", Value::Int(2))]),
        "expert: a divisor of the 1 experts of the model"
    );
    assert_eq!(
        refused(&[("micro_batch", Value::Int(3))]),
        "micro_batch: a divisor of the 64 sequences of a replica"
    );
    assert_eq!(
        refused(&[("pipeline", Value::Int(3))]),
        "pipeline: a number that, with 1 chunks a stage, divides the 40 layers of the model"
    );
    assert_eq!(
        refused(&[("schedule", interleaved)]),
        "pipeline: with an interleaved schedule, a divisor of the 64 micro-batches that is at least 2"
    );
    assert_eq!(
        refused(&[("all_reduce", Value::Text("all-to-all".to_owned()))]),
        "all_reduce: an algorithm for it (ring-all-reduce, double-tree-all-reduce, halving-doubling-all-reduce)"
    );
    assert_eq!(
        refused(&[("batch", Value::Int(100_000_000)), ("data", Value::Int(1))]),
        "batch: a batch that makes at most 1000000 passes of layers on a rank, not 8000000000"
    );
}

#[test]
fn every_setting_is_written_and_read_again() {
    let one =
        iteration(&[("model", Value::Text("mixtral-8x7b".to_owned())), ("expert", Value::Int(8))]);
    assert_eq!(Iteration::read_table(&one.write_table()).unwrap(), one);
    for field in Iteration::entry().parameters {
        assert!(!field.summary.is_empty() && field.default.is_some(), "{}", field.name);
    }
}
