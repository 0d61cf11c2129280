//! Settings as they were given, and why one is refused.

use super::Setting;
use crate::resource::Resource;
use std::fmt::{self, Display, Write};
use std::sync::Arc;

/// A setting as it was given.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A number with a fraction.
    Float(f64),
    /// A text: a quantity with its unit, a name.
    Text(String),
    /// A file, in place of its name.
    File(Arc<Resource>),
    /// A list.
    List(Vec<Value>),
    /// Named settings.
    Table(Table),
}

/// Named settings, in the order in which they were given.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    entries: Vec<(String, Value)>,
}

impl Table {
    /// The setting called `key`.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.entries.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// The setting called `key`, for change.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        self.entries.iter_mut().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// Sets `key`, in its old place if it is there already.
    pub fn set(&mut self, key: &str, value: Value) {
        match self.get_mut(key) {
            Some(old) => *old = value,
            None => self.entries.push((key.to_owned(), value)),
        }
    }

    /// Takes `key` out.
    pub fn remove(&mut self, key: &str) -> Option<Value> {
        let place = self.entries.iter().position(|(name, _)| name == key)?;
        Some(self.entries.remove(place).1)
    }

    /// All settings, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.entries.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// Whether nothing is set.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

impl Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Bool(value) => write!(f, "{value}"),
            Value::Int(value) => write!(f, "{value}"),
            Value::Float(value) => write!(f, "{value:?}"),
            Value::Text(value) => write!(f, "{value:?}"),
            Value::File(file) => write!(f, "{:?}", file.name),
            Value::List(values) => {
                f.write_char('[')?;
                for (i, value) in values.iter().enumerate() {
                    write!(f, "{}{value}", if i > 0 { ", " } else { "" })?;
                }
                f.write_char(']')
            }
            Value::Table(table) => {
                f.write_str("{ ")?;
                for (i, (key, value)) in table.iter().enumerate() {
                    write!(f, "{}{key} = {value}", if i > 0 { ", " } else { "" })?;
                }
                f.write_str(" }")
            }
        }
    }
}

/// Why a setting was refused, and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// The keys that lead to the setting, outermost first.
    pub path: Vec<String>,
    /// The value that was given; none when the setting is missing.
    pub given: Option<Value>,
    /// The value that was expected in words, to be read after the word "expected".
    pub expected: String,
    /// The names that were possible, when a name was expected.
    pub names: Vec<String>,
    /// Whether the key itself, not its value, is what is wrong.
    pub unknown_key: bool,
    /// The refusal of another setting.
    pub other: Option<Box<Refusal>>,
}

impl Refusal {
    /// `given` is not what was `expected`.
    pub fn value(given: &Value, expected: impl Into<String>) -> Refusal {
        Refusal {
            path: Vec::new(),
            given: Some(given.clone()),
            expected: expected.into(),
            names: Vec::new(),
            unknown_key: false,
            other: None,
        }
    }

    /// Like [`value`](Refusal::value), for a setting as it is written. Panics when the setting is
    /// absent.
    pub fn of(given: &impl Setting, expected: impl Into<String>) -> Refusal {
        Refusal::value(&given.write().expect("a refused setting is not absent"), expected)
    }

    /// Nothing was given where something is needed.
    pub fn missing(key: &str, expected: impl Into<String>) -> Refusal {
        Refusal {
            path: vec![key.to_owned()],
            given: None,
            expected: expected.into(),
            names: Vec::new(),
            unknown_key: false,
            other: None,
        }
    }

    /// `given` names none of `names`.
    pub fn name(given: &Value, what: &str, names: Vec<&str>) -> Refusal {
        let names = owned(&names);
        Refusal { names, ..Refusal::value(given, format!("the name of a {what}")) }
    }

    /// `key` is none of the keys `names`.
    pub fn key(key: &str, names: Vec<&str>) -> Refusal {
        Refusal {
            path: vec![key.to_owned()],
            given: None,
            expected: String::new(),
            names: owned(&names),
            unknown_key: true,
            other: None,
        }
    }

    /// Whether nothing was given where something is needed.
    pub fn is_missing(&self) -> bool {
        self.given.is_none() && !self.unknown_key
    }

    /// Several refusals as one, each with the next; none where there are none.
    ///
    /// ```
    /// use sojourn_core::parameters::Refusal;
    ///
    /// let missing = |key| Refusal::missing(key, "a number");
    /// let pair = Refusal::both::<(), ()>(Err(missing("a")), Err(missing("b"))).unwrap_err();
    /// let three = Refusal::all([pair.under("x"), missing("c")]).unwrap();
    /// let paths: Vec<_> = three.each().into_iter().map(|refusal| refusal.path.join(".")).collect();
    /// assert_eq!(paths, ["x.a", "x.b", "c"]);
    /// ```
    pub fn all(refusals: impl IntoIterator<Item = Refusal>) -> Option<Refusal> {
        let each: Vec<Refusal> = refusals.into_iter().flat_map(Refusal::each).collect();
        each.into_iter().rfold(None, |other: Option<Refusal>, refusal| {
            Some(Refusal { other: other.map(Box::new), ..refusal })
        })
    }

    /// What two settings are, or the refusals of both.
    pub fn both<A, B>(a: Result<A, Refusal>, b: Result<B, Refusal>) -> Result<(A, B), Refusal> {
        match (a, b) {
            (Ok(a), Ok(b)) => Ok((a, b)),
            (a, b) => {
                let refusals = a.err().into_iter().chain(b.err());
                Err(Refusal::all(refusals).expect("one of two is refused"))
            }
        }
    }

    /// This refusal and all that are chained to it, one by one.
    pub fn each(mut self) -> Vec<Refusal> {
        let mut each = Vec::new();
        while let Some(other) = self.other.take() {
            each.push(self);
            self = *other;
        }
        each.push(self);
        each
    }

    /// This refusal and all that are chained to it, after `change`.
    pub fn map(self, change: &impl Fn(Refusal) -> Refusal) -> Refusal {
        Refusal::all(self.each().into_iter().map(change)).expect("a refusal is one at least")
    }

    /// This refusal, seen from the table around: `key` comes first in its path.
    pub fn under(self, key: &str) -> Refusal {
        self.map(&|mut refusal| {
            refusal.path.insert(0, key.to_owned());
            refusal
        })
    }

    /// This refusal, seen from the list in which its table is at `place`, from 0 on.
    pub fn among(self, place: usize) -> Refusal {
        self.under(&element(place))
    }
}

pub(super) fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

/// The key that stands for the element at `place` of a list in a path.
pub fn element(place: usize) -> String {
    format!("[{place}]")
}
