//! The target of a plan: a bound of the mean or of a percentile of sojourn times.

use sojourn_core::Span;
use sojourn_core::parameters::{Refusal, Setting, Shape, Value};

/// A bound of the mean or a percentile of sojourn times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Target {
    /// The percentile, in per cent; none for the mean.
    pub percentile: Option<f64>,
    /// The sojourn time that it has to be below.
    pub limit: Span,
    /// Whether the limit itself meets the target: `<=` instead of `<`.
    pub inclusive: bool,
}

const TARGET: &str = "a target such as \"p99 < 40ms\" or \"mean <= 10ms\"";

impl Setting for Target {
    fn expected() -> String {
        TARGET.to_owned()
    }

    fn shape() -> Shape {
        Shape::text("\\s*(mean|p[0-9.]+)\\s*<.+")
    }

    fn read(value: &Value) -> Result<Target, Refusal> {
        let target = |text: &str| {
            let (of, limit) = text.split_once('<')?;
            let percentile = match of.trim() {
                "mean" => None,
                of => Some(of.strip_prefix('p')?.parse().ok()?),
            };
            let inclusive = limit.starts_with('=');
            let limit = limit.strip_prefix('=').unwrap_or(limit);
            // A limit may have a space before its unit.
            let limit: Span = limit.split_whitespace().collect::<String>().parse().ok()?;
            let inside = percentile.is_none_or(|p: f64| 0.0 < p && p < 100.0);
            (inside && limit > Span::ZERO).then_some(Target { percentile, limit, inclusive })
        };
        match value {
            Value::Text(text) => target(text),
            _ => None,
        }
        .ok_or_else(|| Refusal::value(value, TARGET))
    }

    fn write(&self) -> Option<Value> {
        let of = self.percentile.map_or("mean".to_owned(), |percentile| format!("p{percentile}"));
        let bound = if self.inclusive { "<=" } else { "<" };
        Some(Value::Text(format!("{of} {bound} {}", self.limit)))
    }
}
