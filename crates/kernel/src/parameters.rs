//! Parameters that document themselves.
//!
//! A variant of anything (a transport, a queue, a topology, ...) declares its parameters once, with
//! [`parameters!`](crate::parameters!): names, types, defaults and documentation. Reading a study,
//! writing it back as resolved, `sojourn list` and the reference pages all follow from that one
//! declaration. [`variants!`](crate::variants!) lists the variants of a part, one line each.
//!
//! The tree of [`Value`]s knows no file format; the `study` crate turns TOML into it and a
//! [`Refusal`] into a message with file and line.

use crate::Span;
use crate::units::{Bytes, Frequency, Rate};
use std::fmt::{self, Display, Write};
use std::str::FromStr;

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
    /// What was given there; nothing when the setting is missing.
    pub given: Option<Value>,
    /// What was expected, to be read after the word "expected".
    pub expected: String,
    /// The names that were possible, when a name was expected.
    pub names: Vec<&'static str>,
    /// Whether the key itself, not its value, is what is wrong.
    pub unknown_key: bool,
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
        }
    }

    /// Nothing was given where something is needed.
    pub fn missing(key: &str, expected: impl Into<String>) -> Refusal {
        Refusal {
            path: vec![key.to_owned()],
            given: None,
            expected: expected.into(),
            names: Vec::new(),
            unknown_key: false,
        }
    }

    /// `given` names none of `names`.
    pub fn name(given: &Value, what: &str, names: Vec<&'static str>) -> Refusal {
        Refusal { names, ..Refusal::value(given, format!("the name of a {what}")) }
    }

    /// `key` is none of the keys `names`.
    pub fn key(key: &str, names: Vec<&'static str>) -> Refusal {
        Refusal {
            path: vec![key.to_owned()],
            given: None,
            expected: String::new(),
            names,
            unknown_key: true,
        }
    }

    /// The same, seen from one table further out.
    pub fn under(mut self, key: &str) -> Refusal {
        self.path.insert(0, key.to_owned());
        self
    }
}

/// A type that a single setting can have.
pub trait Setting: Sized {
    /// What a value of it looks like, for messages and the reference pages.
    fn expected() -> String;

    /// Reads a value.
    fn read(value: &Value) -> Result<Self, Refusal>;

    /// Writes the value as it may stand in a study; nothing when it is absent.
    fn write(&self) -> Option<Value>;

    /// The value when the setting is missing, if a missing one means something.
    fn absent() -> Option<Self> {
        None
    }
}

macro_rules! text_setting {
    ($($type:ty: $expected:literal;)*) => {$(
        impl Setting for $type {
            fn expected() -> String {
                $expected.to_owned()
            }
            fn read(value: &Value) -> Result<Self, Refusal> {
                match value {
                    Value::Text(text) => <$type>::from_str(text).ok(),
                    _ => None,
                }
                .ok_or_else(|| Refusal::value(value, $expected))
            }
            fn write(&self) -> Option<Value> {
                Some(Value::Text(self.to_string()))
            }
        }
    )*};
}

text_setting! {
    Span: "a time with its unit, such as \"12us\" (ps, ns, us, ms, s, min, h; not below 1ps)";
    Bytes: "a size with its unit, such as \"22.5KB\" (B, KB, MB, GB, KiB, MiB, GiB; whole bytes)";
    Rate: "a speed with its unit, such as \"10Gbps\" (bps, Kbps, Mbps, Gbps, Tbps; above 0)";
    Frequency: "a frequency with its unit, such as \"0.01/ms\" (above 0)";
    String: "a text";
}

macro_rules! whole_setting {
    ($($type:ty: $expected:literal;)*) => {$(
        impl Setting for $type {
            fn expected() -> String {
                $expected.to_owned()
            }
            fn read(value: &Value) -> Result<Self, Refusal> {
                match value {
                    Value::Int(number) => <$type>::try_from(*number).ok(),
                    _ => None,
                }
                .ok_or_else(|| Refusal::value(value, $expected))
            }
            fn write(&self) -> Option<Value> {
                Some(Value::Int(i64::try_from(*self).unwrap_or(i64::MAX)))
            }
        }
    )*};
}

whole_setting! {
    u8: "a whole number from 0 to 255";
    u16: "a whole number from 0 to 65535";
    u32: "a whole number from 0 to 4294967295";
    u64: "a whole number from 0 on";
}

impl Setting for std::num::NonZeroU32 {
    fn expected() -> String {
        "a whole number from 1 to 4294967295".to_owned()
    }
    fn read(value: &Value) -> Result<Self, Refusal> {
        match value {
            Value::Int(number) => u32::try_from(*number).ok().and_then(Self::new),
            _ => None,
        }
        .ok_or_else(|| Refusal::value(value, Self::expected()))
    }
    fn write(&self) -> Option<Value> {
        Some(Value::Int(self.get().into()))
    }
}

impl Setting for bool {
    fn expected() -> String {
        "true or false".to_owned()
    }
    fn read(value: &Value) -> Result<Self, Refusal> {
        match value {
            Value::Bool(truth) => Ok(*truth),
            _ => Err(Refusal::value(value, Self::expected())),
        }
    }
    fn write(&self) -> Option<Value> {
        Some(Value::Bool(*self))
    }
}

impl Setting for f64 {
    fn expected() -> String {
        "a finite number".to_owned()
    }
    fn read(value: &Value) -> Result<Self, Refusal> {
        match value {
            Value::Int(number) => Ok(*number as f64),
            Value::Float(number) if number.is_finite() => Ok(*number),
            _ => Err(Refusal::value(value, Self::expected())),
        }
    }
    fn write(&self) -> Option<Value> {
        Some(Value::Float(*self))
    }
}

/// A setting that may be left out; the text `"none"` says so where a default has to be undone.
impl<T: Setting> Setting for Option<T> {
    fn expected() -> String {
        format!("{}, or \"none\"", T::expected())
    }
    fn read(value: &Value) -> Result<Self, Refusal> {
        match value {
            Value::Text(text) if text == "none" => Ok(None),
            _ => T::read(value).map(Some).map_err(|refusal| {
                if refusal.path.is_empty() && refusal.names.is_empty() {
                    Refusal { expected: Self::expected(), ..refusal }
                } else {
                    refusal
                }
            }),
        }
    }
    fn write(&self) -> Option<Value> {
        match self {
            Some(setting) => setting.write(),
            None => Some(Value::Text("none".to_owned())),
        }
    }
    fn absent() -> Option<Self> {
        Some(None)
    }
}

/// What is known about one parameter.
#[derive(Clone, Debug)]
pub struct Field {
    /// Its key.
    pub name: &'static str,
    /// What its value looks like.
    pub expected: String,
    /// Its default as a study would write it; nothing when it has to be given.
    pub default: Option<Value>,
    /// What it does.
    pub summary: &'static str,
}

/// What is known about one variant of a part.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The name that selects it.
    pub name: &'static str,
    /// What it is and where it comes from.
    pub summary: &'static str,
    /// Its parameters.
    pub parameters: Vec<Field>,
}

/// A struct of parameters, declared by [`parameters!`](crate::parameters!).
pub trait Parameters: Check + Sized {
    /// The name that selects it.
    const NAME: &'static str;

    /// What is known about it.
    fn entry() -> Entry;

    /// Reads it from a table whose every key has to be one of its own.
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

/// What the types of the parameters alone cannot promise.
pub trait Check {
    /// Refuses parameters that do not go together.
    fn check(&self) -> Result<(), Refusal> {
        Ok(())
    }
}

/// Declares a struct of parameters and with it how to read, write and document them.
///
/// ```
/// use sojourn_kernel::parameters::{Check, Parameters, Table, Value};
/// use sojourn_kernel::{Span, parameters};
///
/// parameters! {
///     /// A kettle.
///     pub struct Kettle: "kettle" {
///         /// How long it takes to boil.
///         pub boils_in: Span = Span::from_s(90),
///         /// How many cups it holds.
///         pub cups: u32,
///     }
/// }
/// impl Check for Kettle {}
///
/// let mut table = Table::default();
/// table.set("cups", Value::Int(4));
/// let kettle = Kettle::read_table(&table).unwrap();
/// assert_eq!((kettle.cups, kettle.boils_in), (4, Span::from_s(90)));
/// table.set("cup", Value::Int(4));
/// assert!(Kettle::read_table(&table).unwrap_err().unknown_key);
/// ```
#[macro_export]
macro_rules! parameters {
    (
        $(#[doc = $doc:literal])+
        pub struct $type:ident: $name:literal {
            $(
                $(#[doc = $field_doc:literal])+
                pub $field:ident: $field_type:ty $(= $default:expr)?,
            )*
        }
    ) => {
        $(#[doc = $doc])+
        #[derive(Clone, Debug, PartialEq)]
        pub struct $type {
            $($(#[doc = $field_doc])+ pub $field: $field_type,)*
        }

        impl $crate::parameters::Parameters for $type {
            const NAME: &'static str = $name;

            fn entry() -> $crate::parameters::Entry {
                $crate::parameters::Entry {
                    name: $name,
                    summary: concat!($($doc,)+).trim_ascii(),
                    parameters: vec![$($crate::parameters::Field {
                        name: stringify!($field),
                        expected: <$field_type as $crate::parameters::Setting>::expected(),
                        default: $crate::parameters::default_text(
                            $crate::parameters!(@default $field_type $(, $default)?)
                        ),
                        summary: concat!($($field_doc,)+).trim_ascii(),
                    },)*],
                }
            }

            fn read_table(
                table: &$crate::parameters::Table,
            ) -> Result<Self, $crate::parameters::Refusal> {
                $crate::parameters::known_keys(table, &[$(stringify!($field)),*])?;
                let read = $type {
                    $($field: $crate::parameters::read_field(
                        table,
                        stringify!($field),
                        || $crate::parameters!(@default $field_type $(, $default)?),
                    )?,)*
                };
                $crate::parameters::Check::check(&read)?;
                Ok(read)
            }

            fn write_table(&self) -> $crate::parameters::Table {
                #[allow(unused_mut)]
                let mut table = $crate::parameters::Table::default();
                $(if let Some(value) = $crate::parameters::Setting::write(&self.$field) {
                    table.set(stringify!($field), value);
                })*
                table
            }
        }
    };
    (@default $type:ty) => { <$type as $crate::parameters::Setting>::absent() };
    (@default $type:ty, $default:expr) => {{ let default: $type = $default; Some(default) }};
}

/// Declares the variants of a part, one line each: an enum that reads itself from a name or from a
/// table with `kind = <name>`, and lists its variants. `what` is the part's name in messages. With
/// `=> name` it also declares a macro `name!(value, |params| body)`, which runs the same body on
/// whichever variant `value` is: the one place where a name becomes a type.
#[macro_export]
macro_rules! variants {
    (
        $(#[doc = $doc:literal])+
        pub enum $type:ident: $what:literal => $dispatch:ident {
            $($variant:ident($params:ty),)+
        }
    ) => {
        $crate::variants! {
            $(#[doc = $doc])+
            pub enum $type: $what { $($variant($params),)+ }
        }
        $crate::variants! { @dispatch ($) $dispatch $type $($variant)+ }
    };
    (@dispatch ($d:tt) $dispatch:ident $type:ident $($variant:ident)+) => {
        macro_rules! $dispatch {
            ($d value:expr, |$d params:ident| $d body:expr) => {
                match $d value { $($type::$variant($d params) => $d body,)+ }
            };
        }
        #[allow(unused_imports)]
        pub(crate) use $dispatch;
    };
    (
        $(#[doc = $doc:literal])+
        pub enum $type:ident: $what:literal { $($variant:ident($params:ty),)+ }
    ) => {
        $(#[doc = $doc])+
        #[derive(Clone, Debug, PartialEq)]
        pub enum $type {
            $(#[doc = concat!("See [`", stringify!($params), "`].")] $variant($params),)+
        }

        impl $type {
            /// The name of the variant.
            pub fn name(&self) -> &'static str {
                match self {
                    $($type::$variant(_) => <$params as $crate::parameters::Parameters>::NAME,)+
                }
            }

            /// All variants, documented.
            pub fn entries() -> Vec<$crate::parameters::Entry> {
                vec![$(<$params as $crate::parameters::Parameters>::entry(),)+]
            }
        }

        impl $crate::parameters::Setting for $type {
            fn expected() -> String {
                format!("the name of a {}, or a table with its kind", $what)
            }

            fn read(
                value: &$crate::parameters::Value,
            ) -> Result<Self, $crate::parameters::Refusal> {
                let (kind, table) = $crate::parameters::kind_of(value, $what)?;
                match kind.as_str() {
                    $(<$params as $crate::parameters::Parameters>::NAME =>
                        <$params as $crate::parameters::Parameters>::read_table(&table)
                            .map($type::$variant),)+
                    _ => Err($crate::parameters::unknown_kind(value, &kind, $what, vec![
                        $(<$params as $crate::parameters::Parameters>::NAME,)+
                    ])),
                }
            }

            fn write(&self) -> Option<$crate::parameters::Value> {
                let own = match self {
                    $($type::$variant(params) =>
                        $crate::parameters::Parameters::write_table(params),)+
                };
                let mut table = $crate::parameters::Table::default();
                table.set("kind", $crate::parameters::Value::Text(self.name().to_owned()));
                for (key, value) in own.iter() {
                    table.set(key, value.clone());
                }
                Some($crate::parameters::Value::Table(table))
            }
        }
    };
}

/// Declares a setting that is one of a few names.
#[macro_export]
macro_rules! choices {
    (
        $(#[doc = $doc:literal])+
        pub enum $type:ident: $what:literal {
            $($(#[doc = $choice_doc:literal])+ $choice:ident = $name:literal,)+
        }
    ) => {
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $type {
            $($(#[doc = $choice_doc])+ $choice,)+
        }

        impl $type {
            /// All choices, documented.
            pub fn entries() -> Vec<$crate::parameters::Entry> {
                vec![$($crate::parameters::Entry {
                    name: $name,
                    summary: concat!($($choice_doc,)+).trim_ascii(),
                    parameters: Vec::new(),
                },)+]
            }
        }

        impl $crate::parameters::Setting for $type {
            fn expected() -> String {
                [$(concat!("\"", $name, "\"")),+].join(" or ")
            }

            fn read(
                value: &$crate::parameters::Value,
            ) -> Result<Self, $crate::parameters::Refusal> {
                match value {
                    $($crate::parameters::Value::Text(text) if text == $name =>
                        Ok($type::$choice),)+
                    _ => Err($crate::parameters::Refusal::name(value, $what, vec![$($name),+])),
                }
            }

            fn write(&self) -> Option<$crate::parameters::Value> {
                let name = match self { $($type::$choice => $name,)+ };
                Some($crate::parameters::Value::Text(name.to_owned()))
            }
        }
    };
}

/// A nested struct of parameters as a setting: a table.
#[macro_export]
macro_rules! nested {
    ($($type:ty),+) => {$(
        impl $crate::parameters::Setting for $type {
            fn expected() -> String {
                "a table".to_owned()
            }
            fn read(
                value: &$crate::parameters::Value,
            ) -> Result<Self, $crate::parameters::Refusal> {
                match value {
                    $crate::parameters::Value::Table(table) =>
                        $crate::parameters::Parameters::read_table(table),
                    _ => Err($crate::parameters::Refusal::value(value, "a table")),
                }
            }
            fn write(&self) -> Option<$crate::parameters::Value> {
                Some($crate::parameters::Value::Table(
                    $crate::parameters::Parameters::write_table(self),
                ))
            }
        }
    )+};
}

/// For [`parameters!`](crate::parameters!): refuses keys that are not in `names`.
pub fn known_keys(table: &Table, names: &[&'static str]) -> Result<(), Refusal> {
    match table.iter().find(|(key, _)| !names.contains(key)) {
        Some((key, _)) => Err(Refusal::key(key, names.to_vec())),
        None => Ok(()),
    }
}

/// For [`parameters!`](crate::parameters!): reads one key, or its default.
pub fn read_field<T: Setting>(
    table: &Table,
    key: &str,
    default: impl FnOnce() -> Option<T>,
) -> Result<T, Refusal> {
    match table.get(key) {
        Some(value) => T::read(value).map_err(|refusal| refusal.under(key)),
        None => default().ok_or_else(|| Refusal::missing(key, T::expected())),
    }
}

/// For [`parameters!`](crate::parameters!): how a study would write a default.
pub fn default_text<T: Setting>(default: Option<T>) -> Option<Value> {
    default.and_then(|default| default.write())
}

/// For [`variants!`](crate::variants!): the kind that `value` names, and its other settings.
pub fn kind_of(value: &Value, what: &str) -> Result<(String, Table), Refusal> {
    let expected = || format!("the name of a {what}");
    match value {
        Value::Text(kind) => Ok((kind.clone(), Table::default())),
        Value::Table(table) => {
            let mut table = table.clone();
            match table.remove("kind") {
                Some(Value::Text(kind)) => Ok((kind, table)),
                Some(other) => Err(Refusal::value(&other, expected()).under("kind")),
                None => Err(Refusal::missing("kind", expected())),
            }
        }
        _ => Err(Refusal::value(value, format!("{}, or a table with its kind", expected()))),
    }
}

/// For [`variants!`](crate::variants!): `kind` is none of `names`.
pub fn unknown_kind(value: &Value, kind: &str, what: &str, names: Vec<&'static str>) -> Refusal {
    let refusal = Refusal::name(&Value::Text(kind.to_owned()), what, names);
    match value {
        Value::Table(_) => refusal.under("kind"),
        _ => refusal,
    }
}
