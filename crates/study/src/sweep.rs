//! The sweep: a list at any path of a study, and the cross product of all of them.

use crate::document::{Document, OWN_KEYS, Path, put};
use crate::error::SpecError;
use sojourn_kernel::parameters::{Table, Value};

/// One swept parameter.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    /// Its short name: the column in results.
    pub(crate) name: String,
    path: Path,
    values: Vec<Value>,
}

/// What a case has on its axes: the column and its value.
pub(crate) type Coordinates = Vec<(String, Value)>;

/// More cases than this are a mistake.
const MAX_CASES: usize = 100_000;

/// Takes the `[sweep]` table out of a study. What an override sets whole is not swept.
pub(crate) fn take(document: &mut Document) -> Result<Vec<Axis>, SpecError> {
    let mut axes = Vec::new();
    match document.root.remove("sweep") {
        None => {}
        Some(Value::Table(table)) => {
            collect(&table, &mut Vec::new(), &mut axes).map_err(|path| {
                let place = document.place(&inside(&path)).to_owned();
                let what =
                    format!("sweep.{} has to be a list with something in it", path.join("."));
                SpecError::at(place, what)
            })?;
        }
        Some(_) => {
            let place = document.place(&["sweep".to_owned()]);
            return Err(SpecError::at(place, "sweep has to be a table of lists"));
        }
    }
    axes.retain(|axis| !document.overrides.iter().any(|over| axis.path.starts_with(&over.path)));
    if let Some(axis) = axes.iter().find(|axis| OWN_KEYS.contains(&axis.path[0].as_str())) {
        let what = format!("{} cannot be swept", axis.path.join("."));
        return Err(SpecError::at(axis.place(document), what));
    }
    let cases = axes.iter().try_fold(1usize, |cases, axis| cases.checked_mul(axis.values.len()));
    if cases.is_none_or(|cases| cases > MAX_CASES) {
        let place = document.place(&["sweep".to_owned()]);
        return Err(SpecError::at(place, format!("over {MAX_CASES} cases, expected fewer")));
    }
    let shorts: Vec<String> = axes.iter().map(|axis| short(&axis.path)).collect();
    for (i, axis) in axes.iter_mut().enumerate() {
        let unique = shorts.iter().filter(|short| **short == shorts[i]).count() == 1;
        axis.name = if unique { shorts[i].clone() } else { axis.path.join(".") };
    }
    Ok(axes)
}

/// Where an axis stands in the document.
pub(crate) fn inside(path: &[String]) -> Path {
    std::iter::once("sweep".to_owned()).chain(path.iter().cloned()).collect()
}

fn collect(table: &Table, path: &mut Path, axes: &mut Vec<Axis>) -> Result<(), Path> {
    for (key, value) in table.iter() {
        path.push(key.to_owned());
        match value {
            Value::Table(inner) => collect(inner, path, axes)?,
            Value::List(values) if !values.is_empty() => {
                axes.push(Axis { name: String::new(), path: path.clone(), values: values.clone() })
            }
            _ => return Err(path.clone()),
        }
        path.pop();
    }
    Ok(())
}

/// The last key that says something: `load` of `workload.load`, `scheme` of `scheme.name`.
fn short(path: &[String]) -> String {
    let mut keys = path.iter().rev().filter(|key| *key != "name" && *key != "kind");
    keys.next().or(path.last()).cloned().unwrap_or_default()
}

impl Axis {
    /// How far this axis leads to `path`; nothing when it does not.
    pub(crate) fn covers(&self, path: &[String]) -> Option<usize> {
        path.starts_with(&self.path).then_some(self.path.len())
    }

    /// Where it is set in the document.
    pub(crate) fn place<'a>(&self, document: &'a Document) -> &'a str {
        document.place(&inside(&self.path))
    }

    /// How many values it has.
    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    /// Lists it in `sweep`, each value as `resolved` gives it for its place.
    pub(crate) fn write(&self, sweep: &mut Table, resolved: impl Fn(usize) -> Table) {
        let value = |place: usize| {
            let root = Value::Table(resolved(place));
            let found = self.path.iter().try_fold(&root, |value, key| match value {
                Value::Table(table) => table.get(key),
                _ => None,
            });
            found.unwrap_or(&self.values[place]).clone()
        };
        put(sweep, &self.path, Value::List((0..self.values.len()).map(value).collect()));
    }
}

/// The trees of all cases, last axis fastest, with their coordinates.
pub(crate) fn cross(document: &Document, axes: &[Axis]) -> Vec<(Coordinates, Table)> {
    let count = axes.iter().map(|axis| axis.values.len()).product();
    // A whole part is set before anything inside it.
    let mut order: Vec<usize> = (0..axes.len()).collect();
    order.sort_by_key(|&axis| axes[axis].path.len());
    let case = |index: usize| {
        let mut rest: usize = index;
        let mut chosen = vec![0; axes.len()];
        for (axis, place) in axes.iter().zip(&mut chosen).rev() {
            *place = rest % axis.values.len();
            rest /= axis.values.len();
        }
        let mut root = document.root.clone();
        for &axis in &order {
            put(&mut root, &axes[axis].path, axes[axis].values[chosen[axis]].clone());
        }
        for over in &document.overrides {
            put(&mut root, &over.path, over.value.clone());
        }
        let coordinates = axes
            .iter()
            .zip(&chosen)
            .map(|(axis, &place)| (axis.name.clone(), label(&axis.values[place])))
            .collect();
        (coordinates, root)
    };
    (0..count).map(case).collect()
}

/// What a value is called in a column: a table by its name or kind.
fn label(value: &Value) -> Value {
    match value {
        Value::Table(table) => match table.get("name").or_else(|| table.get("kind")) {
            Some(name) => name.clone(),
            None => Value::Text(value.to_string()),
        },
        Value::List(_) => Value::Text(value.to_string()),
        plain => plain.clone(),
    }
}
