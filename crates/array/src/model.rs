//! The disk array as a model of studies.

use crate::case::{ArrayCase, Controller, Rebuild};
use crate::device::Device;
use crate::device::hdd::Positioning;
use crate::device::hdd::scheduling::Scheduling;
use crate::exact::Distribution;
use crate::layout::Layout;
use crate::run::VOCABULARY;
use crate::workload::{Arrivals, BatchLaw, Places, SizeLaw, Workload};
use sojourn_core::model::{ExactFormulas, Model, OfferedLoad, Sizes, Tell, Topic};
use sojourn_core::parameters::{Parameters, Refusal, Table, Value};
use sojourn_core::resource::Tables;
use sojourn_core::{Cancelled, Column, Execution, Report, Rows, Streams, Vocabulary};

impl Model for ArrayCase {
    fn vocabulary() -> &'static Vocabulary {
        &VOCABULARY
    }

    fn topics() -> Vec<Topic> {
        vec![
            Topic::of("tables", vec![Controller::entry(), Rebuild::entry()]),
            Topic::of("disks", Device::entries()),
            Topic::of("layouts", Layout::entries()),
            Topic::of("positionings", Positioning::entries()),
            Topic::of("schedulings", Scheduling::entries()),
            Topic::of("requests", Workload::entries()),
            Topic::of("request-arrivals", Arrivals::entries()),
            Topic::of("request-sizes", SizeLaw::entries()),
            Topic::of("request-places", Places::entries()),
            Topic::of("batches", BatchLaw::entries()),
        ]
    }

    fn without_effect(&self) -> Vec<Refusal> {
        self.without_effect()
    }

    fn settle(&mut self) -> Result<(), Refusal> {
        self.settle_block()
    }

    fn count(&self, _: Streams, _: Tables<'_>, _: Tell<'_>) -> Result<usize, Refusal> {
        self.count()
    }

    fn run(
        &self,
        streams: Streams,
        _: Tables<'_>,
        execution: Execution<'_>,
    ) -> Result<Result<Report, Cancelled>, Refusal> {
        self.run(streams, execution)
    }

    fn exact_formulas(&self) -> Option<&dyn ExactFormulas> {
        Some(self)
    }

    fn offered_load(&self) -> Option<&dyn OfferedLoad> {
        Some(self)
    }

    fn table(&self) -> Table {
        self.write_table()
    }
}

impl ExactFormulas for ArrayCase {
    fn known(&self, percentiles: &[f64]) -> Result<Vec<(String, Value)>, Refusal> {
        let known = self.known()?;
        let least = |percentile: &f64| {
            let least = known.quantile_alone(percentile / 100.0)?;
            Some((format!("least_p{percentile}_sojourn_ps"), Value::Float(least)))
        };
        let counts = [
            ("disks", self.layout.disks() as i64),
            ("data_disks", self.layout.data_disks() as i64),
        ];
        let counts = counts.map(|(name, count)| (name.to_owned(), Value::Int(count)));
        let least = percentiles.iter().filter_map(least);
        Ok(counts.into_iter().chain(known.totals()).chain(least).collect())
    }

    fn distribution(&self) -> Result<Option<(Rows, &'static str)>, Refusal> {
        let found = self.distribution()?;
        Ok(found.map(|Distribution { times_ps, least, most, words }| {
            let columns = [("sojourn_ps", times_ps), ("least", least), ("most", most)];
            let columns = columns.map(|(name, values)| (name, Column::Float(values)));
            (Rows { columns: columns.into() }, words)
        }))
    }
}

impl OfferedLoad for ArrayCase {
    fn offered(&self, streams: Streams) -> Result<Rows, Refusal> {
        self.offered(streams)
    }

    fn sizes(&self, streams: Streams) -> Result<Sizes, Refusal> {
        self.access_sizes(streams)
    }
}
