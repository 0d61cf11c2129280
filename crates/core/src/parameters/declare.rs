//! The declarations: `parameters!`, `variants!`, `choices!`, `nested!`, and what they expand to.

use super::value::owned;
use super::{Parameters, Ranged, Refusal, Setting, Table, Value};
use std::ops::RangeInclusive;

/// Declares a struct of parameters and with it how to read, write and document them. A number may have
/// its range in brackets behind its type. A field with `[flatten]` there is a struct of parameters
/// itself: its keys stand in the table of the outer struct, in its place.
///
/// ```
/// use sojourn_core::parameters::{Check, Parameters, Table, Value};
/// use sojourn_core::{Span, parameters};
///
/// parameters! {
///     /// A kettle.
///     pub struct Kettle: "kettle" {
///         /// How long it takes to boil.
///         pub boils_in: Span = Span::from_s(90),
///         /// How many cups it holds.
///         pub cups: u32 [1..=12],
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
/// table.remove("cup");
/// table.set("cups", Value::Int(13));
/// let refusal = Kettle::read_table(&table).unwrap_err();
/// assert_eq!(refusal.expected, "a whole number from 1 to 12");
///
/// parameters! {
///     /// A kettle with a lid.
///     pub struct Covered: "covered" {
///         /// The kettle.
///         pub kettle: Kettle [flatten],
///         /// Whether the lid is on.
///         pub lid: bool = true,
///     }
/// }
/// impl Check for Covered {}
///
/// table.set("cups", Value::Int(4));
/// table.set("lid", Value::Bool(false));
/// let covered = Covered::read_table(&table).unwrap();
/// assert_eq!((covered.kettle.cups, covered.lid), (4, false));
/// let names: Vec<_> = Covered::entry().parameters.iter().map(|field| field.name).collect();
/// assert_eq!(names, ["boils_in", "cups", "lid"]);
/// assert_eq!(Covered::read_table(&covered.write_table()).unwrap(), covered);
/// ```
#[macro_export]
macro_rules! parameters {
    (
        $(#[doc = $doc:literal])+
        pub struct $type:ident: $name:literal {
            $(
                $(#[doc = $field_doc:literal])+
                pub $field:ident: $field_type:ty $([$($range:tt)+])? $(= $default:expr)?,
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
                let fields: Vec<Vec<$crate::parameters::Field>> = vec![$(
                    $crate::parameters!(
                        @fields $field, $field_type, [$($($range)+)?],
                        $crate::parameters!(@default $field_type $(, $default)?),
                        concat!($($field_doc,)+)
                    ),
                )*];
                $crate::parameters::Entry {
                    name: $name,
                    summary: concat!($($doc,)+).trim_ascii(),
                    parameters: fields.into_iter().flatten().collect(),
                }
            }

            fn keys() -> Vec<&'static str> {
                let keys: Vec<Vec<&'static str>> =
                    vec![$($crate::parameters!(@keys $field, $field_type, [$($($range)+)?]),)*];
                keys.concat()
            }

            fn read_table(
                table: &$crate::parameters::Table,
            ) -> Result<Self, $crate::parameters::Refusal> {
                let mut refusals = $crate::parameters::Refusals::of_keys::<Self>(table);
                $(let $field = refusals.note($crate::parameters!(
                    @read table, $field, $field_type, [$($($range)+)?],
                    || $crate::parameters!(@default $field_type $(, $default)?)
                ));)*
                refusals.together()?;
                let read = $type {
                    $($field: $field.expect("a setting that is not refused has a value"),)*
                };
                $crate::parameters::Check::check(&read)?;
                Ok(read)
            }

            fn write_table(&self) -> $crate::parameters::Table {
                #[allow(unused_mut)]
                let mut table = $crate::parameters::Table::default();
                $($crate::parameters!(
                    @write table, $field, &self.$field, [$($($range)+)?]
                );)*
                table
            }
        }
    };
    (@fields $field:ident, $type:ty, [flatten], $default:expr, $doc:expr) => {
        <$type as $crate::parameters::Parameters>::entry().parameters
    };
    (@fields $field:ident, $type:ty, [$($range:expr)?], $default:expr, $doc:expr) => {
        vec![$crate::parameters::Field {
            name: stringify!($field),
            expected: $crate::parameters!(@expected $type $(, $range)?),
            shape: $crate::parameters!(@shape $type $(, $range)?),
            default: $crate::parameters::default_text($default),
            summary: $doc.trim_ascii(),
        }]
    };
    (@keys $field:ident, $type:ty, [flatten]) => {
        <$type as $crate::parameters::Parameters>::keys()
    };
    (@keys $field:ident, $type:ty, [$($range:expr)?]) => { vec![stringify!($field)] };
    (@expected $type:ty) => { <$type as $crate::parameters::Setting>::expected() };
    (@expected $type:ty, $range:expr) => {
        <$type as $crate::parameters::Ranged>::expected_within(&$range)
    };
    (@shape $type:ty) => { <$type as $crate::parameters::Setting>::shape() };
    (@shape $type:ty, $range:expr) => {
        <$type as $crate::parameters::Ranged>::shape_within(&$range)
    };
    (@read $table:ident, $field:ident, $type:ty, [flatten], $default:expr) => {
        $crate::parameters::read_part::<$type>($table)
    };
    (@read $table:ident, $field:ident, $type:ty, [], $default:expr) => {
        $crate::parameters::read_field($table, stringify!($field), $default)
    };
    (@read $table:ident, $field:ident, $type:ty, [$range:expr], $default:expr) => {
        $crate::parameters::read_within($table, stringify!($field), $default, &$range)
    };
    (@write $table:ident, $field:ident, $value:expr, [flatten]) => {
        for (key, value) in $crate::parameters::Parameters::write_table($value).iter() {
            $table.set(key, value.clone());
        }
    };
    (@write $table:ident, $field:ident, $value:expr, [$($range:expr)?]) => {
        if let Some(value) = $crate::parameters::Setting::write($value) {
            $table.set(stringify!($field), value);
        }
    };
    (@default $type:ty) => { <$type as $crate::parameters::Setting>::absent() };
    (@default $type:ty, $default:expr) => {{ let default: $type = $default; Some(default) }};
}

/// Declares the variants of a part, one line each: an enum that reads itself from a name or from a
/// table with `kind = <name>`, and lists its variants. `what` is the part's name in messages. With
/// `=> name` it also declares a macro `name!(value, |params| body)`, which runs `body` on whichever
/// variant `value` is: the one place where a name becomes a type.
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
                let names = [$(<$params as $crate::parameters::Parameters>::NAME),+].join(", ");
                format!("the name of a {} ({names}), or a table with its kind", $what)
            }

            fn shape() -> $crate::parameters::Shape {
                let entries = Self::entries;
                $crate::parameters::Shape::Kind { what: $what, key: "kind", entries, other: None }
            }

            fn read(
                value: &$crate::parameters::Value,
            ) -> Result<Self, $crate::parameters::Refusal> {
                let names = [$(<$params as $crate::parameters::Parameters>::NAME),+];
                let (kind, table) = $crate::parameters::kind_of(value, $what, &names)?;
                match kind.as_str() {
                    $(<$params as $crate::parameters::Parameters>::NAME =>
                        <$params as $crate::parameters::Parameters>::read_table(&table)
                            .map($type::$variant),)+
                    _ => Err($crate::parameters::unknown_kind(value, &kind, $what, &names)),
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
            /// The name of this choice.
            pub const fn name(self) -> &'static str {
                match self { $($type::$choice => $name,)+ }
            }

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

            fn shape() -> $crate::parameters::Shape {
                $crate::parameters::Shape::Names(vec![$($name),+])
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
                Some($crate::parameters::Value::Text(self.name().to_owned()))
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
            fn shape() -> $crate::parameters::Shape {
                $crate::parameters::Shape::Table(
                    <$type as $crate::parameters::Parameters>::entry,
                )
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

/// For [`parameters!`](crate::parameters!): what is refused of a table.
pub struct Refusals(Vec<Refusal>);

impl Refusals {
    /// The keys that `P` does not have.
    pub fn of_keys<P: Parameters>(table: &Table) -> Refusals {
        let names = P::keys();
        let unknown = table.iter().filter(|(key, _)| !names.contains(key));
        Refusals(unknown.map(|(key, _)| Refusal::key(key, names.clone())).collect())
    }

    /// A setting, if it is not refused.
    pub fn note<T>(&mut self, read: Result<T, Refusal>) -> Option<T> {
        read.map_err(|refusal| self.0.push(refusal)).ok()
    }

    /// All refusals as one. A setting that is missing beside an unknown key is probably that key.
    pub fn together(mut self) -> Result<(), Refusal> {
        if self.0.iter().any(|refusal| refusal.unknown_key && refusal.path.len() == 1) {
            self.0.retain(|refusal| refusal.path.len() > 1 || !refusal.is_missing());
        }
        Refusal::all(self.0).map_or(Ok(()), Err)
    }
}

/// For [`parameters!`](crate::parameters!): reads a struct whose keys stand in the table of another.
pub fn read_part<P: Parameters>(table: &Table) -> Result<P, Refusal> {
    let mut part = Table::default();
    for key in P::keys() {
        table.get(key).into_iter().for_each(|value| part.set(key, value.clone()));
    }
    P::read_table(&part)
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

/// For [`parameters!`](crate::parameters!): reads one key, or its default, as a number that has a
/// range.
pub fn read_within<T: Ranged>(
    table: &Table,
    key: &str,
    default: impl FnOnce() -> Option<T>,
    range: &RangeInclusive<T>,
) -> Result<T, Refusal> {
    match table.get(key) {
        Some(value) => (T::read(value).ok())
            .filter(|number| range.contains(number))
            .ok_or_else(|| Refusal::value(value, T::expected_within(range)).under(key)),
        None => default().ok_or_else(|| Refusal::missing(key, T::expected_within(range))),
    }
}

/// For [`parameters!`](crate::parameters!): how a study would write a default.
pub fn default_text<T: Setting>(default: Option<T>) -> Option<Value> {
    default.and_then(|default| default.write())
}

/// For [`variants!`](crate::variants!): the kind that `value` names, and its other settings.
pub fn kind_of(
    value: &Value,
    what: &str,
    names: &[&'static str],
) -> Result<(String, Table), Refusal> {
    let missing = Refusal::missing("kind", format!("the name of a {what}"));
    match value {
        Value::Text(kind) => Ok((kind.clone(), Table::default())),
        Value::Table(table) => {
            let mut table = table.clone();
            match table.remove("kind") {
                Some(Value::Text(kind)) => Ok((kind, table)),
                given => Err(Refusal { given, names: owned(names), ..missing }),
            }
        }
        _ => {
            let expected = format!("the name of a {what}, or a table with its kind");
            Err(Refusal { names: owned(names), ..Refusal::value(value, expected) })
        }
    }
}

/// For [`variants!`](crate::variants!): `kind` is none of `names`.
pub fn unknown_kind(value: &Value, kind: &str, what: &str, names: &[&'static str]) -> Refusal {
    let refusal = Refusal::name(&Value::Text(kind.to_owned()), what, names.to_vec());
    match value {
        Value::Table(_) => refusal.under("kind"),
        _ => refusal,
    }
}
