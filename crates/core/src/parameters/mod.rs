//! Parameters that document themselves.
//!
//! A variant of anything (a transport, a queue, a topology, ...) declares its parameters once, with
//! [`parameters!`](crate::parameters!): names, types, defaults and documentation. Reading a study,
//! writing it back as resolved, `sojourn list` and the reference pages all follow from that one
//! declaration. [`variants!`](crate::variants!) lists the variants of a part, one line each.
//!
//! The tree of [`Value`]s knows no file format; the `study` crate turns TOML into it and a
//! [`Refusal`] into a message with file and line.

mod declare;
mod name;
mod setting;
mod shape;
mod value;

pub use declare::{
    Refusals, default_text, kind_of, read_field, read_part, read_within, unknown_kind,
};
pub use name::Name;
pub use setting::{Ranged, Setting};
pub use shape::Shape;
pub use value::{Refusal, Table, Value, element};

/// The documentation of one parameter.
#[derive(Clone, Debug)]
pub struct Field {
    /// Its key.
    pub name: &'static str,
    /// Its value in words, for messages and the reference pages.
    pub expected: String,
    /// Which values it takes.
    pub shape: Shape,
    /// Its default as a study would write it; nothing when it has to be given.
    pub default: Option<Value>,
    /// What the parameter does.
    pub summary: &'static str,
}

/// The documentation of one variant of a part.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The name that selects it.
    pub name: &'static str,
    /// What the variant is, and where it was published.
    pub summary: &'static str,
    /// Its parameters.
    pub parameters: Vec<Field>,
}

/// A struct of parameters, declared by [`parameters!`](crate::parameters!).
pub trait Parameters: Check + Sized {
    /// The name that selects it.
    const NAME: &'static str;

    /// Its documentation.
    fn entry() -> Entry;

    /// The keys of its parameters, in the order of their declaration.
    fn keys() -> Vec<&'static str> {
        Self::entry().parameters.iter().map(|field| field.name).collect()
    }

    /// Reads it from a table whose every key has to be one of [`Parameters::keys`].
    fn read_table(table: &Table) -> Result<Self, Refusal>;

    /// Writes it with every parameter, defaults too.
    fn write_table(&self) -> Table;
}

/// The parameters when nothing is set. Panics when one of them has to be given.
pub fn defaults<P: Parameters>() -> P {
    match P::read_table(&Table::default()) {
        Ok(parameters) => parameters,
        Err(refusal) => panic!("{} has no default: {refusal:?}", P::NAME),
    }
}

/// Checks that the types of the parameters cannot express.
pub trait Check {
    /// Refuses parameters that do not go together.
    fn check(&self) -> Result<(), Refusal> {
        Ok(())
    }
}
