//! The columns that only collectives and iterations have.

use sojourn_core::{Column, Rows, Span, Time};
use std::borrow::Cow;

/// What is said of a collective or an iteration alone.
pub(super) struct OfRanks {
    /// The operation and the algorithm of a collective, and what it is for; of a step of a critical path, what it
    /// spends its time on.
    pub(super) operation: Option<&'static str>,
    pub(super) algorithm: Option<&'static str>,
    pub(super) label: Option<String>,
    /// Which of the groups that do the same, and how many ranks took part.
    pub(super) group: Option<u32>,
    pub(super) ranks: u32,
    /// The rank that joined a collective last, or that a step of a critical path is spent at.
    pub(super) rank: Option<u32>,
    /// When the last rank joined.
    pub(super) joined: Time,
    /// Bus bandwidth in bits a second.
    pub(super) bus: f64,
    /// Of an iteration, what its rank that computes longest computes, and takes part in on its server.
    pub(super) computed: Option<Span>,
    pub(super) on_server: Option<Span>,
    /// What the iteration takes longer than that.
    pub(super) exposed: Option<Span>,
    /// Of an iteration, what its critical path spends.
    pub(super) path: Option<PathTimes>,
}

impl OfRanks {
    /// A row of `ranks` ranks, without any other value.
    pub(super) fn new(ranks: u32) -> OfRanks {
        OfRanks {
            operation: None,
            algorithm: None,
            label: None,
            group: None,
            ranks,
            rank: None,
            joined: Time::NEVER,
            bus: f64::NAN,
            computed: None,
            on_server: None,
            exposed: None,
            path: None,
        }
    }
}

/// Time of a critical path: computing, communication inside a server, and communication over the network.
#[derive(Clone, Copy, Default)]
pub(super) struct PathTimes {
    pub(super) computing: Span,
    pub(super) on_server: Span,
    pub(super) network: Span,
}

/// The columns of collectives and iterations.
pub(super) fn columns<'a>(
    table: impl Iterator<Item = Option<&'a OfRanks>> + Clone,
    rows: &mut Rows,
) {
    let ints = |value: &dyn Fn(&OfRanks) -> i64| -> Vec<i64> {
        table.clone().map(|own| own.map_or(-1, value)).collect()
    };
    let time = |at: Time| if at == Time::NEVER { -1 } else { at.ps() as i64 };
    let span = |span: Option<Span>| span.map_or(-1, |span| span.ps() as i64);
    let names = |value: &dyn Fn(&OfRanks) -> Option<Cow<'static, str>>| {
        names(table.clone().map(|own| own.and_then(value)))
    };
    rows.push("operation", names(&|own| own.operation.map(Cow::from)));
    rows.push("algorithm", names(&|own| own.algorithm.map(Cow::from)));
    rows.push("label", names(&|own| own.label.clone().map(Cow::from)));
    rows.push("group", Column::Int(ints(&|own| own.group.map_or(-1, i64::from))));
    rows.push("ranks", Column::Int(ints(&|own| own.ranks.into())));
    rows.push("rank", Column::Int(ints(&|own| own.rank.map_or(-1, i64::from))));
    rows.push("joined_ps", Column::Ps(ints(&|own| time(own.joined))));
    let bus = table.clone().map(|own| own.map_or(f64::NAN, |own| own.bus)).collect();
    rows.push("bus_bps", Column::Float(bus));
    rows.push("computed_ps", Column::Ps(ints(&|own| span(own.computed))));
    rows.push("on_server_ps", Column::Ps(ints(&|own| span(own.on_server))));
    rows.push("exposed_ps", Column::Ps(ints(&|own| span(own.exposed))));
    let path =
        |value: fn(&PathTimes) -> Span| Column::Ps(ints(&|own| span(own.path.as_ref().map(value))));
    rows.push("path_computing_ps", path(|own| own.computing));
    rows.push("path_on_server_ps", path(|own| own.on_server));
    rows.push("path_network_ps", path(|own| own.network));
}

/// What names share for which a byte has no code.
const OTHERS: &str = "(others)";

/// A column of names; those for which a byte has no code share one.
fn names(values: impl Iterator<Item = Option<Cow<'static, str>>>) -> Column {
    let mut known: Vec<Cow<'static, str>> = Vec::new();
    let mut code = |name: Cow<'static, str>| match known.iter().position(|own| *own == name) {
        Some(place) => place as u8,
        None if known.len() < usize::from(u8::MAX) - 1 => {
            known.push(name);
            known.len() as u8 - 1
        }
        None => {
            if known.len() < u8::MAX.into() {
                known.push(OTHERS.into());
            }
            u8::MAX - 1
        }
    };
    let codes = values.map(|name| code(name.unwrap_or("-".into()))).collect();
    Column::Name(codes, known)
}
