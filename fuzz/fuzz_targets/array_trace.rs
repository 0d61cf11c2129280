//! Traces of requests: the first byte says in which format.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sojourn_array::workload::{Workload, WorkloadContext};
use sojourn_core::Streams;
use sojourn_core::parameters::{Setting, Table, Value};
use sojourn_core::resource::Resource;
use std::sync::Arc;

const BLOCKS: u64 = 5000;

fuzz_target!(|text: &str| {
    let kinds = [
        "fio",
        "blkparse",
        "msr",
        "spc",
        "alibaba",
        "tencent",
        "systor17",
        "cloudphysics",
        "mqsim",
        "disksim",
    ];
    let ways = ["refuse", "wrap", "drop"];
    let first = text.bytes().next().unwrap_or(0);
    let Some(trace) = text.get(1..) else { return };
    let mut table = Table::default();
    for (key, value) in [
        ("kind", kinds[usize::from(first) % kinds.len()]),
        ("beyond", ways[usize::from(first) / kinds.len() % 3]),
    ] {
        table.set(key, Value::Text(value.to_owned()));
    }
    table.set("file", Value::File(Arc::new(Resource::text("trace", trace))));
    let workload = Workload::read(&Value::Table(table)).expect("it is one");
    if let Ok(ready) = workload.ready(&WorkloadContext { block: 4096, blocks: Some(BLOCKS) }) {
        let again = ready.requests(Streams::new(1, 0));
        let mut again = again.expect("it could be read before");
        let requests: Vec<_> = (&mut again).collect();
        again.finish().expect("it has not changed");
        assert_eq!(requests.len(), ready.numbers.requests as usize);
        assert!(requests.is_sorted_by_key(|request| request.arrived));
        for request in requests {
            let at = request.at.expect("it has an address");
            assert!(request.blocks > 0 && at + u64::from(request.blocks) <= BLOCKS);
        }
    }
});
