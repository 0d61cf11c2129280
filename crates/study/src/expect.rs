//! Thresholds: what a study expects of its results, such as `p99 = "< 5 ms"` in its table `expect`.

use crate::model::ModelEntry;
use serde_json::{Map, Value as Json, json};
use sojourn_core::parameters::{Refusal, Table, Value};
use sojourn_core::{JobKind, Metric, Rate, Span};

/// The name of the table.
pub(crate) const KEY: &str = "expect";
/// The column of the time that a job takes: thresholds without a metric are about it.
const TIME: &str = "sojourn_ps";
/// The most digits after the point of a percentile.
const DIGITS: usize = 6;
/// What messages offer of the numbers of a metric.
const NUMBERS: [&str; 4] = ["mean", "p50", "p95", "p99"];

/// A bound for a number of the results.
#[derive(Clone, Debug, PartialEq)]
pub struct Threshold {
    /// Its keys in the table, with dots between: `query.p99`.
    pub key: String,
    /// The comparison as the study has it: `< 5 ms`.
    pub text: String,
    /// The kinds of jobs that it is about.
    pub kinds: Vec<&'static str>,
    /// The column of the rows that it is about.
    pub column: &'static str,
    /// The percentile, in per cent; none for the mean.
    pub percentile: Option<f64>,
    /// The direction of the bound.
    pub relation: Relation,
    /// The bound, in the column's unit.
    pub bound: f64,
}

/// The direction of a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// The number is smaller.
    Below,
    /// The number is not larger.
    AtMost,
    /// The number is larger.
    Above,
    /// The number is not smaller.
    AtLeast,
}

impl Relation {
    /// The sign that stands for it.
    pub fn sign(self) -> &'static str {
        match self {
            Relation::Below => "<",
            Relation::AtMost => "<=",
            Relation::Above => ">",
            Relation::AtLeast => ">=",
        }
    }

    /// The relation at the start of a text, and the rest.
    fn of(text: &str) -> Option<(Relation, &str)> {
        // A sign stands before the one that it begins with.
        let all = [Relation::AtMost, Relation::Below, Relation::AtLeast, Relation::Above];
        let text = text.trim();
        all.into_iter().find_map(|own| Some((own, text.strip_prefix(own.sign())?.trim())))
    }
}

/// The thresholds in a table of a model; `has` says whether the study has jobs of a kind.
pub(crate) fn read(
    table: &Table,
    model: ModelEntry,
    has: impl Fn(&str) -> bool,
) -> Result<Vec<Threshold>, Refusal> {
    let there = (model.vocabulary)().kinds.iter().filter(|kind| has(kind.name));
    let mut reader = Reader { found: Vec::new(), refused: Vec::new() };
    reader.table(table, &mut vec![KEY.to_owned()], &Scope { kinds: there.collect(), ..Scope::ALL });
    Refusal::all(reader.refused).map_or(Ok(reader.found), Err)
}

/// The jobs and the metric that the keys around a threshold name.
#[derive(Clone)]
struct Scope {
    kinds: Vec<&'static JobKind>,
    of_one_kind: bool,
    column: Option<&'static str>,
}

impl Scope {
    const ALL: Scope = Scope { kinds: Vec::new(), of_one_kind: false, column: None };

    /// The kinds that a threshold is about which names none: jobs that are parts of others are not.
    fn whole(&self) -> impl Iterator<Item = &'static JobKind> {
        let of_one_kind = self.of_one_kind;
        self.kinds.iter().copied().filter(move |kind| of_one_kind || kind.part_of.is_none())
    }

    fn metrics(&self) -> Vec<&'static Metric> {
        let mut metrics: Vec<&Metric> = Vec::new();
        for metric in self.kinds.iter().flat_map(|kind| kind.metrics) {
            if !metrics.iter().any(|other| key_of(other) == key_of(metric)) {
                metrics.push(metric);
            }
        }
        metrics
    }

    /// The kinds of a threshold of `column` in this scope.
    fn kinds_with(&self, column: &str) -> Vec<&'static str> {
        let has = |kind: &&JobKind| kind.metrics.iter().any(|metric| metric.column == column);
        self.whole().filter(has).map(|kind| kind.name).collect()
    }

    /// The scope inside a key; none where the key names neither a kind nor a metric.
    fn inside(&self, key: &str) -> Option<Scope> {
        if self.column.is_some() {
            return None;
        }
        if let Some(metric) = self.metrics().into_iter().find(|metric| key_of(metric) == key) {
            return Some(Scope { column: Some(metric.column), ..self.clone() });
        }
        let kind = self.kinds.iter().find(|kind| kind.name == key && !self.of_one_kind)?;
        Some(Scope { kinds: vec![kind], of_one_kind: true, column: None })
    }

    /// All keys that may stand here.
    fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        if !self.kinds_with(self.column.unwrap_or(TIME)).is_empty() {
            names.extend(NUMBERS.map(str::to_owned));
        }
        if self.column.is_none() {
            names.extend(self.metrics().into_iter().map(key_of));
            if !self.of_one_kind {
                names.extend(self.kinds.iter().map(|kind| kind.name.to_owned()));
            }
        }
        names
    }
}

struct Reader {
    found: Vec<Threshold>,
    refused: Vec<Refusal>,
}

impl Reader {
    fn table(&mut self, table: &Table, path: &mut Vec<String>, scope: &Scope) {
        for (key, value) in table.iter() {
            path.push(key.to_owned());
            if let Err(refusal) = self.entry(key, value, path, scope) {
                self.refused.push(Refusal { path: path.clone(), ..refusal });
            }
            path.pop();
        }
    }

    /// Reads what stands under a key. The path of a refusal is that of the key.
    fn entry(
        &mut self,
        key: &str,
        value: &Value,
        path: &mut Vec<String>,
        scope: &Scope,
    ) -> Result<(), Refusal> {
        let column = scope.column.unwrap_or(TIME);
        let kinds = scope.kinds_with(column);
        if let Some(percentile) = number(key).filter(|_| !kinds.is_empty()) {
            let (text, relation, bound) = comparison(value, column)?;
            let key = path[1..].join(".");
            self.found.push(Threshold { key, text, kinds, column, percentile, relation, bound });
            return Ok(());
        }
        let inside = scope
            .inside(key)
            .ok_or_else(|| Refusal { names: scope.names(), ..Refusal::key(key, Vec::new()) })?;
        let Value::Table(table) = value else {
            let Dimension { example, .. } = of_dimension(inside.column.unwrap_or(TIME));
            let expected = format!("a table of thresholds, such as {{ p99 = {example} }}");
            return Err(Refusal::value(value, expected));
        };
        self.table(table, path, &inside);
        Ok(())
    }
}

/// The key of a metric: its name with underscores.
fn key_of(metric: &Metric) -> String {
    metric.name.replace(' ', "_")
}

/// Which number of a metric a key names: none for the mean, or a percentile.
fn number(key: &str) -> Option<Option<f64>> {
    if key == "mean" {
        return Some(None);
    }
    let digits = key.strip_prefix('p')?;
    let short = digits.split_once('.').is_none_or(|(_, fraction)| fraction.len() <= DIGITS);
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let percentile: f64 = digits.parse().ok().filter(|_| plain && short)?;
    (0.0 < percentile && percentile < 100.0).then_some(Some(percentile))
}

/// How bounds of a column are written.
struct Dimension {
    what: &'static str,
    example: &'static str,
    read: fn(&str) -> Option<f64>,
}

fn of_dimension(column: &str) -> Dimension {
    if column.ends_with("_ps") {
        let read = |text: &str| text.parse().ok().map(|span: Span| span.ps() as f64);
        Dimension { what: "a time", example: "\"< 5ms\"", read }
    } else if column.ends_with("_bps") {
        let read = |text: &str| text.parse().ok().map(|rate: Rate| rate.bits_per_second() as f64);
        Dimension { what: "a speed", example: "\"> 500Mbps\"", read }
    } else {
        let read = |text: &str| text.parse().ok().filter(|number: &f64| number.is_finite());
        Dimension { what: "a number", example: "\"< 1.5\"", read }
    }
}

/// The text of a comparison, its relation and its bound.
fn comparison(value: &Value, column: &str) -> Result<(String, Relation, f64), Refusal> {
    let Dimension { what, example, read } = of_dimension(column);
    let compared = |text: &str| {
        let (relation, bound) = Relation::of(text)?;
        Some((text.trim().to_owned(), relation, read(bound)?))
    };
    match value {
        Value::Text(text) => compared(text),
        _ => None,
    }
    .ok_or_else(|| {
        let dotted = match value {
            Value::Table(_) => "; a percentile with a point is in quotes: \"p99.9\"",
            _ => "",
        };
        let expected =
            format!("a comparison with {what}, such as {example} (<, <=, >, >=){dotted}");
        Refusal::value(value, expected)
    })
}

/// The JSON Schema of the table of a model.
pub(crate) fn schema(model: &ModelEntry) -> Json {
    let all = (model.vocabulary)().kinds.iter();
    described(&Scope { kinds: all.collect(), ..Scope::ALL })
}

fn described(scope: &Scope) -> Json {
    let comparison = json!({ "type": "string", "pattern": "^\\s*[<>]=?\\s*[0-9].*$" });
    let mut properties = Map::new();
    for key in scope.names() {
        let value = scope.inside(&key).map_or_else(|| comparison.clone(), |it| described(&it));
        properties.insert(key, value);
    }
    json!({
        "type": "object",
        "properties": properties,
        "patternProperties": { "^p[0-9]+([.][0-9]+)?$": comparison },
        "additionalProperties": false,
    })
}
