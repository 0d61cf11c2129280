//! The sweep: lists at any paths of a study, and the cross product of all of them.

use crate::document::{Document, Path, flat, get, keys, put};
use crate::error::{SpecError, cut, path as key};
use sojourn_core::parameters::{Refusal, Table, Value};
use std::collections::BTreeSet;

/// One swept parameter.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    /// Its short name: the column in results.
    pub(crate) name: String,
    /// The path that it sets.
    pub(crate) path: Path,
    /// Its values as given.
    given: Vec<Value>,
    /// Its values with every default; known once the cases are.
    resolved: Vec<Value>,
    /// The labels of its values in results.
    labels: Vec<Value>,
    place: String,
    /// What messages call it: `sweep.workload.load`.
    shown: String,
}

/// The most cases of a study: more are a mistake.
pub(crate) const MAX_CASES: usize = 100_000;

/// Takes the sweep out of a study, whose parts are `parts`. What an override sets whole is not
/// swept; what it sets inside of something swept, it sets in every value of that.
pub(crate) fn take(
    document: &mut Document,
    parts: &[&'static str],
) -> Result<Vec<Axis>, SpecError> {
    let mut axes = Vec::new();
    if let Some(sweep) = document.root.remove("sweep") {
        collect(&sweep, &mut Vec::new(), &mut axes).map_err(|refusal| document.refused(refusal))?;
    }
    for axis in &mut axes {
        let path = in_sweep(&axis.path);
        axis.place = document.place(&path);
        axis.shown = key(&document.origin(&path));
        axis.path = keys(&axis.path.join(".")).map_err(|what| SpecError::at(&axis.place, what))?;
    }
    for over in &document.overrides {
        let refuse = |refusal| SpecError::refused(&over.place, &refusal);
        if over.path[0] == "sweep" {
            let rest = &over.path[1..];
            axes.retain(|axis| !axis.path.starts_with(rest));
            let mut others = Vec::new();
            collect(&over.value, &mut rest.to_vec(), &mut others).map_err(refuse)?;
            for other in &mut others {
                other.place = over.place.clone();
                other.shown = key(&in_sweep(&other.path));
            }
            axes.append(&mut others);
        } else {
            axes.retain(|axis| !axis.path.starts_with(&over.path));
            for axis in axes.iter_mut().filter(|axis| over.path.starts_with(&axis.path)) {
                for value in &mut axis.given {
                    *value =
                        overlaid(&axis.path, value, &over.path, &over.value).map_err(refuse)?;
                }
            }
        }
    }
    for (i, axis) in axes.iter().enumerate() {
        if !parts.contains(&axis.path[0].as_str()) {
            let refusal = Refusal::key(&axis.path[0], parts.to_vec()).under("sweep");
            return Err(SpecError::refused(&axis.place, &refusal));
        }
        if axes[..i].iter().any(|other| other.path == axis.path) {
            let what = format!("sweep.{} is there twice, expected one list", axis.path.join("."));
            return Err(SpecError::at(&axis.place, what));
        }
    }
    let cases = axes.iter().map(|axis| axis.len() as u128).fold(1, u128::saturating_mul);
    if cases > MAX_CASES as u128 {
        let place = document.place(&["sweep".to_owned()]);
        let what = format!("the sweep makes {cases} cases, expected at most {MAX_CASES}");
        return Err(SpecError::at(place, what));
    }
    name(&mut axes);
    document.swept = axes.iter().map(|axis| (axis.path.clone(), axis.place.clone())).collect();
    Ok(axes)
}

/// Where an axis stands in the document.
fn in_sweep(path: &[String]) -> Path {
    std::iter::once("sweep".to_owned()).chain(path.iter().cloned()).collect()
}

/// Adds an axis for each list in `value`, which stands at `path` of the sweep.
fn collect(value: &Value, path: &mut Path, axes: &mut Vec<Axis>) -> Result<(), Refusal> {
    let expected = match value {
        Value::Table(inner) => {
            for (key, value) in inner.iter() {
                path.push(key.to_owned());
                collect(value, path, axes)?;
                path.pop();
            }
            return Ok(());
        }
        _ if path.is_empty() => "a table of lists, such as workload.load = [0.2, 0.5]",
        Value::List(values) if !values.is_empty() => {
            axes.push(Axis {
                name: String::new(),
                path: path.clone(),
                given: values.clone(),
                resolved: Vec::new(),
                labels: Vec::new(),
                place: String::new(),
                shown: String::new(),
            });
            return Ok(());
        }
        _ => "a list with at least one value",
    };
    Err(Refusal { path: in_sweep(path), ..Refusal::value(value, expected) })
}

/// `value` at `path` after `other` was set further inside.
fn overlaid(
    path: &[String],
    value: &Value,
    inside: &[String],
    other: &Value,
) -> Result<Value, Refusal> {
    let mut root = Table::default();
    put(&mut root, path, value.clone())?;
    put(&mut root, inside, other.clone())?;
    Ok(get(&root, path).expect("a value that was put is found").clone())
}

/// Names the axes by the last key that says something, `load` of `workload.load`, `scheme` of
/// `scheme.name`; by the whole path where two names would be equal.
fn name(axes: &mut [Axis]) {
    let short = |axis: &Axis| {
        let mut keys = axis.path.iter().rev().filter(|key| !selects(key));
        keys.next().unwrap_or(&axis.path[0]).clone()
    };
    let shorts: Vec<String> = axes.iter().map(short).collect();
    for (axis, short) in axes.iter_mut().zip(&shorts) {
        let unique = shorts.iter().filter(|other| *other == short).count() == 1;
        axis.name = if unique { short.clone() } else { axis.path.join(".") };
    }
}

/// Whether a key says which variant its table is.
fn selects(key: &str) -> bool {
    key == "name" || key == "kind"
}

/// The points of the cross product, last axis fastest: for each axis, which of its values.
pub(crate) fn cross(axes: &[Axis]) -> Vec<Vec<usize>> {
    let count = axes.iter().map(Axis::len).product();
    let point = |index: usize| {
        let mut rest = index;
        let mut point = vec![0; axes.len()];
        for (axis, place) in axes.iter().zip(&mut point).rev() {
            *place = rest % axis.len();
            rest /= axis.len();
        }
        point
    };
    (0..count).map(point).collect()
}

/// The tree of one point. A whole part is set before anything inside it.
pub(crate) fn tree(root: &Table, axes: &[Axis], point: &[usize]) -> Result<Table, Refusal> {
    let mut chosen: Vec<(&Axis, usize)> = axes.iter().zip(point.iter().copied()).collect();
    chosen.sort_by_key(|(axis, _)| axis.path.len());
    let mut root = root.clone();
    for (axis, place) in chosen {
        put(&mut root, &axis.path, axis.given[place].clone())?;
    }
    Ok(root)
}

/// Sets the resolved values of the axes and their labels, from the resolved cases, those that are
/// possible.
pub(crate) fn settle(
    axes: &mut [Axis],
    resolved: impl Fn(usize) -> Option<Table>,
) -> Result<(), SpecError> {
    let cases: usize = axes.iter().map(Axis::len).product();
    let mut stride = cases;
    for axis in axes {
        stride /= axis.len();
        let value = |place: usize| {
            let of_place = (0..cases).filter(|case| case / stride % axis.len() == place);
            let table = of_place.filter_map(&resolved).next()?;
            Some(get(&table, &axis.path).cloned().expect("what is swept is a parameter"))
        };
        let values: Vec<Option<Value>> = (0..axis.len()).map(value).collect();
        let possible: Vec<&Table> = values.iter().flatten().filter_map(as_table).collect();
        let given = axis.given.iter().zip(&values);
        axis.resolved = given
            .map(|(given, value)| value.clone().unwrap_or_else(|| completed(given, &possible)))
            .collect();
        axis.labels = labels(&axis.resolved);
        let mut seen = BTreeSet::new();
        let twice = axis.labels.iter().position(|label| !seen.insert(label.to_string()));
        if let Some(twice) = twice {
            let (shown, given) = (&axis.shown, cut(&axis.given[twice]));
            let what = format!("{shown} has {given} twice, expected values that differ");
            return Err(SpecError::at(&axis.place, what));
        }
    }
    Ok(())
}

fn as_table(value: &Value) -> Option<&Table> {
    match value {
        Value::Table(table) => Some(table),
        _ => None,
    }
}

/// A value that no case can have, completed with the settings of a possible value of its kind.
fn completed(given: &Value, possible: &[&Table]) -> Value {
    let Value::Table(given) = given else { return given.clone() };
    let alike = |other: &&&Table| other.get("kind") == given.get("kind");
    let mut table = possible.iter().find(alike).map_or_else(Table::default, |&it| it.clone());
    for (key, value) in given.iter() {
        table.set(key, value.clone());
    }
    Value::Table(table)
}

/// The labels of values in a column: of a table its name or kind, and where several tables have one
/// name, the settings in which they differ too.
fn labels(values: &[Value]) -> Vec<Value> {
    let label = |value: &Value| match value {
        Value::Table(table) => label(table, values),
        plain => plain.clone(),
    };
    values.iter().map(label).collect()
}

/// The label of one of `values` that is a table.
fn label(table: &Table, values: &[Value]) -> Value {
    let none = Value::Text("none".to_owned());
    let given = |table: &Table, key: &str| table.get(key).filter(|it| **it != none).cloned();
    let name = |table: &Table| given(table, "name").or_else(|| given(table, "kind"));
    let alike = |value: &Value| match value {
        Value::Table(other) if name(other) == name(table) => Some(flat(other)),
        _ => None,
    };
    let alike: Vec<_> = values.iter().filter_map(alike).collect();
    let mut words: Vec<String> = name(table).iter().map(bare).collect();
    if alike.len() > 1 || words.is_empty() {
        for setting in flat(table).into_iter().filter(|(key, _)| key != "name") {
            if alike.len() == 1 || alike.iter().any(|other| !other.contains(&setting)) {
                words.push(format!("{}={}", setting.0, bare(&setting.1)));
            }
        }
    }
    Value::Text(words.join(" "))
}

/// A value as a word in a label.
fn bare(value: &Value) -> String {
    match value {
        Value::Text(text) => text.clone(),
        other => other.to_string(),
    }
}

impl Axis {
    /// The number of its values.
    pub(crate) fn len(&self) -> usize {
        self.given.len()
    }

    /// The label of the value at `place`.
    pub(crate) fn label(&self, place: usize) -> &Value {
        &self.labels[place]
    }

    /// The table whose file it sets, which says what may be in that table.
    pub(crate) fn of_file(&self) -> Option<&[String]> {
        self.path.split_last().filter(|(key, _)| *key == "file").map(|(_, table)| table)
    }

    /// Whether it changes one plain parameter, and not which parameters there are.
    fn is_plain(&self) -> bool {
        let selects = self.path.last().is_some_and(|key| selects(key));
        !selects
            && self.of_file().is_none()
            && !self.resolved.iter().any(|value| matches!(value, Value::Table(_)))
    }

    /// Its values for a resolved study: in full, or as they were given.
    pub(crate) fn write(&self, in_full: bool) -> Value {
        let pairs = self.given.iter().zip(&self.resolved);
        let value = |(given, resolved): (&Value, &Value)| match in_full {
            true => resolved.clone(),
            false => normal(given, resolved),
        };
        Value::List(pairs.map(value).collect())
    }
}

/// Whether `part` of a resolved study can have every default: not when one of several axes in it
/// decides which defaults these are.
pub(crate) fn in_full(axes: &[Axis], part: &str) -> bool {
    let axes: Vec<&Axis> = axes.iter().filter(|axis| axis.path[0] == part).collect();
    axes.iter().all(|axis| axis.is_plain()) || matches!(axes[..], [only] if only.path.len() == 1)
}

/// Keys that say which file was found: they are written whether they were given or not, unless the file
/// beside them is swept.
const FOUND: [&str; 2] = ["sha256", "drawn"];

/// Takes away what says which file was found in the table at `path`, where each case has a file of its own.
pub(crate) fn forget_file(root: &mut Table, path: &[String]) {
    match path.split_first() {
        None => FOUND.iter().for_each(|key| drop(root.remove(key))),
        Some((key, rest)) => {
            if let Some(Value::Table(inner)) = root.get_mut(key) {
                forget_file(inner, rest);
            }
        }
    }
}

/// `given` as `resolved` writes it, with no more set than was given and found.
pub(crate) fn normal(given: &Value, resolved: &Value) -> Value {
    match (given, resolved) {
        (Value::Table(given), Value::Table(resolved)) => {
            let mut table = Table::default();
            for (key, value) in given.iter() {
                let known = resolved.get(key);
                table.set(key, known.map_or(value.clone(), |known| normal(value, known)));
            }
            if given.get("kind") == resolved.get("kind") {
                let found = FOUND.iter().filter_map(|key| Some((key, resolved.get(key)?)));
                found.for_each(|(key, value)| table.set(key, value.clone()));
            }
            Value::Table(table)
        }
        (name, Value::Table(_)) => name.clone(),
        (_, plain) => plain.clone(),
    }
}
