//! Whole numbers as the shortest exact text in a larger unit.

use std::fmt;

/// Writes `value` exactly in the largest of `units` (largest first) that it reaches.
pub(crate) fn write_decimal(
    f: &mut fmt::Formatter<'_>,
    value: u64,
    units: &[(u64, &str)],
) -> fmt::Result {
    let base = units[units.len() - 1];
    let (scale, unit) = *units.iter().find(|(scale, _)| value >= *scale).unwrap_or(&base);
    let (whole, rest) = (value / scale, value % scale);
    if rest == 0 {
        return write!(f, "{whole}{unit}");
    }
    let width = scale.ilog10() as usize;
    let fraction = format!("{rest:0width$}");
    write!(f, "{whole}.{}{unit}", fraction.trim_end_matches('0'))
}
