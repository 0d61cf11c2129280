//! A name that stands in tables and legends.

use super::{Refusal, Setting, Shape, Value};

/// A name that a study gives a part, without the space around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name(String);

impl Name {
    /// The most characters of a name: more do not fit into tables.
    pub const LONGEST: usize = 40;

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Setting for Name {
    fn expected() -> String {
        format!("a text of 1 to {} printable characters", Name::LONGEST)
    }

    fn shape() -> Shape {
        Shape::text(".*\\S.*")
    }

    fn read(value: &Value) -> Result<Name, Refusal> {
        match value {
            Value::Text(text)
                if (1..=Name::LONGEST).contains(&text.trim().chars().count())
                    && is_printable(text) =>
            {
                Ok(Name(text.trim().to_owned()))
            }
            _ => Err(Refusal::value(value, Name::expected())),
        }
    }

    fn write(&self) -> Option<Value> {
        self.0.write()
    }
}

/// Whether each character can be shown as it is: the others are those that `Debug` escapes, quotes
/// apart.
fn is_printable(text: &str) -> bool {
    let unquoted = text.replace(['"', '\'', '\\'], "_");
    unquoted.escape_debug().eq(unquoted.chars())
}
