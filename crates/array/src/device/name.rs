//! The name of a device in tables, legends and plans.

use sojourn_core::parameters::{Refusal, Setting, Shape, Value};

/// A name that a study gives a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name(String);

/// The most characters of a name: more do not fit into tables.
const MOST: usize = 40;

impl Setting for Name {
    fn expected() -> String {
        format!("a name of 1 to {MOST} characters")
    }

    fn shape() -> Shape {
        String::shape()
    }

    fn read(value: &Value) -> Result<Name, Refusal> {
        match value {
            Value::Text(text) if is_name(text) => Ok(Name(text.trim().to_owned())),
            _ => Err(Refusal::value(value, Name::expected())),
        }
    }

    fn write(&self) -> Option<Value> {
        self.0.write()
    }
}

fn is_name(text: &str) -> bool {
    let name = text.trim();
    (1..=MOST).contains(&name.chars().count()) && !name.chars().any(char::is_control)
}
