//! The forms that the rows of a size table have, and what their last columns are.
//!
//! - `SIZE SHARE`: with shares from 0 to 1, or in percent (HPCC, ConWeave).
//! - `SIZE INDEX SHARE`: ns-2 reads such lines and ignores the second number.
//! - A line with the mean alone, then `SIZE SHARE` (Homa's simulator).

/// What the shares of a table count in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shares {
    /// The last one is 1.
    Fractions,
    /// The last one is 100.
    Percent,
}

/// The rows of a table.
pub(super) struct Columns {
    /// Sizes in the unit of the table, and P(X <= size).
    pub(super) rows: Vec<(f64, f64)>,
    /// The line of the first row among the lines.
    pub(super) first: usize,
    /// The mean in the first line, in the unit of the table.
    pub(super) mean: Option<f64>,
    /// Whether there is a column between size and share.
    pub(super) have_index: bool,
}

impl Shares {
    /// Their names, for messages.
    pub(super) const NAMES: &str = "\"fractions\" or \"percent\"";

    /// The one of that name.
    pub(super) fn named(name: &str) -> Option<Shares> {
        match name {
            "fractions" => Some(Shares::Fractions),
            "percent" => Some(Shares::Percent),
            _ => None,
        }
    }

    /// A share as a probability: in percent the nearest to a hundredth of the decimal number.
    fn read(self, text: &str) -> Option<f64> {
        let number: f64 = text.parse().ok()?;
        match self {
            Shares::Fractions => Some(number),
            Shares::Percent => Some(format!("{text}e-2").parse().unwrap_or(number / 100.0)),
        }
    }
}

impl Columns {
    /// Reads `lines`, at least one, each with its number. `shares` is what the table says of itself.
    ///
    /// Refuses a line by its place, with what was expected there.
    pub(super) fn read(
        lines: &[(usize, &str)],
        shares: Option<Shares>,
    ) -> Result<Columns, (usize, String)> {
        let width = |place: usize| lines[place].1.split_whitespace().count();
        let has_mean = width(0) == 1 && lines.len() > 1 && width(1) > 1;
        let mean = match has_mean {
            true => Some(lines[0].1.parse().map_err(|_| (0, ROW.to_owned()))?),
            false => None,
        };
        let first = usize::from(has_mean);
        let have_index = width(first) == 3;
        let cells = |place: usize| cells(lines[place].1, have_index).ok_or((place, ROW.to_owned()));
        let all = (first..lines.len()).map(cells).collect::<Result<Vec<_>, _>>()?;
        let shares = match shares {
            Some(shares) => shares,
            None => {
                let numbers: Vec<f64> = all.iter().map(|(_, share)| number(share)).collect();
                shares_of(&numbers).map_err(|expected| (lines.len() - 1, expected))?
            }
        };
        let row = |(size, share): &(f64, &str)| (*size, shares.read(share).unwrap_or(f64::NAN));
        Ok(Columns { rows: all.iter().map(row).collect(), first, mean, have_index })
    }
}

const ROW: &str = "two numbers, size and P(X <= size)";

/// The size in a line, and the share; `None` unless it has these two, or three with an index.
fn cells(line: &str, have_index: bool) -> Option<(f64, &str)> {
    let mut cells = line.split_whitespace();
    let size = cells.next()?.parse().ok()?;
    if have_index {
        cells.next()?.parse::<f64>().ok()?;
    }
    let share = cells.next()?;
    share.parse::<f64>().ok()?;
    cells.next().is_none().then_some((size, share))
}

fn number(text: &str) -> f64 {
    text.parse().unwrap_or(f64::NAN)
}

/// What shares count in, by the last of them.
fn shares_of(shares: &[f64]) -> Result<Shares, String> {
    let (last, others) = shares.split_last().expect("at least one row");
    if *last != 100.0 {
        return Ok(Shares::Fractions);
    }
    let below: Vec<f64> = others.iter().copied().filter(|share| *share < 100.0).collect();
    match below.iter().any(|share| *share > 0.0) && below.iter().all(|share| *share <= 1.0) {
        false => Ok(Shares::Percent),
        true => Err("1 where the other shares are fractions; if they are in percent, say so in a \
                     line \"# shares: percent\" before them"
            .to_owned()),
    }
}
