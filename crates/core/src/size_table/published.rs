//! The published size tables that come with the crate, by the short names people type.
//!
//! The tables are the files in `workloads/`. What a table is, its unit, its reading, and the
//! repository and commit it comes from stand in the first line of its file.

use super::header::{field, parse_unit};
use crate::{Reading, SizeTable, Unit, files};

/// A size table that comes with the crate.
#[derive(Clone, Copy, Debug)]
pub struct Workload {
    /// The name people type, such as `websearch`.
    pub name: &'static str,
    text: &'static str,
}

macro_rules! workloads {
    ($($name:literal $file:literal)*) => {
        &[$(Workload { name: $name, text: include_str!(concat!("../../workloads/", $file)) }),*]
    };
}

/// All of them, related ones side by side.
pub const WORKLOADS: &[Workload] = workloads! {
    "websearch" "websearch_dctcp_pkts.txt"
    "websearch-bytes" "websearch_bytes.txt"
    "websearch-abm" "websearch_abm_bytes.txt"
    "datamining" "datamining_vl2_pkts.txt"
    "datamining-bytes" "datamining_bytes.txt"
    "datamining-abm" "datamining_abm_bytes.txt"
    "imc10" "imc10_phost_pkts.txt"
    "fb-hadoop" "hpcc_fb_hadoop_bytes.txt"
    "hadoop-abm" "hadoop_abm_bytes.txt"
    "fb-etc" "fb_etc_bytes.txt"
    "fb-webserver" "fb_webserver_bytes.txt"
    "fb-cachefollower" "fb_cachefollower_bytes.txt"
    "google-rpc" "google_rpc2008_bytes.txt"
    "alibaba-storage" "alibaba_storage2019_bytes.txt"
    "homa-w1" "homa_w1_fb_keyvalue_bytes.txt"
    "homa-w2" "homa_w2_google_search_bytes.txt"
    "homa-w3" "homa_w3_google_all_bytes.txt"
    "homa-w4" "homa_w4_fb_hadoop_bytes.txt"
    "homa-w5" "homa_w5_websearch_pkts.txt"
};

impl Workload {
    /// The workload called `name`.
    pub fn find(name: &str) -> Option<Workload> {
        WORKLOADS.iter().copied().find(|workload| workload.name == name)
    }

    /// A description of the table, in one line.
    pub fn summary(&self) -> &'static str {
        self.header().split('|').next().unwrap_or_default().trim()
    }

    /// The repository, path and commit that the table was taken from.
    pub fn source(&self) -> &'static str {
        field(self.header(), "source:").unwrap_or_default()
    }

    /// The sizes; under the table's own reading unless another is given.
    pub fn sizes(&self, reading: Option<Reading>) -> SizeTable {
        SizeTable::parse(self.text, reading).expect("the tables of this crate are well formed")
    }

    /// The unit that its first line names.
    fn unit(&self) -> Option<Unit> {
        parse_unit(field(self.header(), "unit:")?)
    }

    /// Its rows, as its file has them.
    fn rows(&self) -> Vec<(f64, f64)> {
        let row = |(_, line): (usize, &str)| -> Option<(f64, f64)> {
            let (size, share) = line.split_once(' ')?;
            Some((size.parse().ok()?, share.parse().ok()?))
        };
        files::lines(self.text).filter_map(row).collect()
    }

    fn header(&self) -> &'static str {
        self.text.lines().next().unwrap_or_default().trim_start_matches('#')
    }
}

/// The published table that has these rows, and its unit, which the files of its publishers do not name. A first
/// row with the share 0 makes no difference.
pub(super) fn of_rows(rows: &[(f64, f64)]) -> Option<(Workload, Unit)> {
    let told = |rows: &[(f64, f64)]| -> Vec<(f64, f64)> {
        rows.iter().copied().filter(|row| row.1 > 0.0).collect()
    };
    let given = told(rows);
    WORKLOADS.iter().find_map(|workload| {
        (told(&workload.rows()) == given).then_some((*workload, workload.unit()?))
    })
}
