//! The types that a single setting can have.

use super::{Refusal, Shape, Table, Value};
use crate::Span;
use crate::units::{Bytes, Frequency, Rate, advice_on_size, advice_on_speed, advice_on_time};
use std::ops::RangeInclusive;
use std::str::FromStr;

/// A type that a single setting can have.
pub trait Setting: Sized {
    /// A value of it in words, for messages and the reference pages.
    fn expected() -> String;

    /// Which values it takes, for schemas.
    fn shape() -> Shape;

    /// Reads a value.
    fn read(value: &Value) -> Result<Self, Refusal>;

    /// Writes the value as it may stand in a study; nothing when it is absent.
    fn write(&self) -> Option<Value>;

    /// The value when the setting is missing, if a missing one means something.
    fn absent() -> Option<Self> {
        None
    }
}

/// A number that may have a range.
pub trait Ranged: Setting + PartialOrd {
    /// Which values those of this range are.
    fn shape_within(range: &RangeInclusive<Self>) -> Shape;

    /// A number of this range in words, for messages and the reference pages.
    fn expected_within(range: &RangeInclusive<Self>) -> String;
}

macro_rules! ranged {
    ($($type:ty: $what:literal $shape:ident;)*) => {$(
        impl Ranged for $type {
            fn shape_within(range: &RangeInclusive<$type>) -> Shape {
                Shape::$shape { least: (*range.start()).into(), most: (*range.end()).into() }
            }
            fn expected_within(range: &RangeInclusive<$type>) -> String {
                format!("{} from {} to {}", $what, range.start(), range.end())
            }
        }
    )*};
}

ranged! {
    u8: "a whole number" Whole;
    u16: "a whole number" Whole;
    u32: "a whole number" Whole;
    f64: "a number" Number;
}

/// A refusal of a value; `advice` knows how some texts have to be written.
fn advised(value: &Value, expected: &str, advice: fn(&str) -> String) -> Refusal {
    let advice = match value {
        Value::Text(text) => advice(text),
        _ => String::new(),
    };
    Refusal::value(value, format!("{expected}{advice}"))
}

fn no_advice(_: &str) -> String {
    String::new()
}

macro_rules! text_setting {
    ($($type:ty, $shape:expr, $expected:literal, $advice:expr;)*) => {$(
        impl Setting for $type {
            fn expected() -> String {
                $expected.to_owned()
            }
            fn shape() -> Shape {
                $shape
            }
            fn read(value: &Value) -> Result<Self, Refusal> {
                match value {
                    Value::Text(text) => <$type>::from_str(text).ok(),
                    _ => None,
                }
                .ok_or_else(|| advised(value, $expected, $advice))
            }
            fn write(&self) -> Option<Value> {
                Some(Value::Text(self.to_string()))
            }
        }
    )*};
}

const TIME: &str = "a time with its unit, such as \"12us\" (ps, ns, us, ms, s, min, h; whole \
                    picoseconds; at most 2400h)";

impl Setting for Span {
    fn expected() -> String {
        TIME.to_owned()
    }
    fn shape() -> Shape {
        Shape::text(&Span::pattern())
    }
    fn read(value: &Value) -> Result<Span, Refusal> {
        let span = match value {
            Value::Text(text) => text.parse().ok(),
            _ => None,
        };
        span.filter(|span| *span <= Span::LONGEST_SETTING)
            .ok_or_else(|| advised(value, TIME, advice_on_time))
    }
    fn write(&self) -> Option<Value> {
        Some(Value::Text(self.to_string()))
    }
}

text_setting! {
    Bytes, Shape::text(&Bytes::pattern()), "a size with its unit, such as \"22.5KB\" (B, KB, MB, GB, TB, KiB, MiB, GiB, TiB; whole bytes)", advice_on_size;
    Rate, Shape::text(&Rate::pattern()), "a speed with its unit, such as \"10Gbps\" (bps, Kbps, Mbps, Gbps, Tbps; above 0)", advice_on_speed;
    Frequency, Shape::text(&Frequency::pattern()), "a frequency with its unit, such as \"0.01/ms\" (above 0)", no_advice;
    String, Shape::Text(None), "a text", no_advice;
    std::net::IpAddr, Shape::Text(None), "an IP address, such as \"192.0.2.1\" or \"2001:db8::1\"", no_advice;
    std::net::SocketAddr, Shape::Text(None), "an IP address with a port, such as \"127.0.0.1:53\" or \"[::1]:53\"", no_advice;
}

macro_rules! whole_setting {
    ($($type:ty: $expected:literal;)*) => {$(
        impl Setting for $type {
            fn expected() -> String {
                $expected.to_owned()
            }
            fn shape() -> Shape {
                Shape::Whole { least: 0, most: i64::try_from(<$type>::MAX).unwrap_or(i64::MAX) }
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
    u64: "a whole number from 0 to 9223372036854775807";
}

macro_rules! counting_setting {
    ($($type:ty, $of:ty;)*) => {$(
        impl Setting for $type {
            fn expected() -> String {
                format!("a whole number from 1 to {}", <$of>::MAX)
            }
            fn shape() -> Shape {
                Shape::Whole { least: 1, most: <$of>::MAX.into() }
            }
            fn read(value: &Value) -> Result<Self, Refusal> {
                match value {
                    Value::Int(number) => <$of>::try_from(*number).ok().and_then(Self::new),
                    _ => None,
                }
                .ok_or_else(|| Refusal::value(value, Self::expected()))
            }
            fn write(&self) -> Option<Value> {
                Some(Value::Int(self.get().into()))
            }
        }
    )*};
}

counting_setting! {
    std::num::NonZeroU8, u8;
    std::num::NonZeroU32, u32;
}

impl Setting for bool {
    fn expected() -> String {
        "true or false".to_owned()
    }
    fn shape() -> Shape {
        Shape::Truth
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
    fn shape() -> Shape {
        Shape::Number { least: f64::NEG_INFINITY, most: f64::INFINITY }
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

/// Settings that only those who read them know.
impl Setting for Table {
    fn expected() -> String {
        "a table of settings".to_owned()
    }
    fn shape() -> Shape {
        Shape::Settings
    }
    fn read(value: &Value) -> Result<Self, Refusal> {
        match value {
            Value::Table(table) => Ok(table.clone()),
            _ => Err(Refusal::value(value, Self::expected())),
        }
    }
    fn write(&self) -> Option<Value> {
        Some(Value::Table(self.clone()))
    }
}

/// A list, each value of which is read alone.
impl<T: Setting> Setting for Vec<T> {
    fn expected() -> String {
        format!("a list, each {}", T::expected())
    }
    fn shape() -> Shape {
        Shape::List(Box::new(T::shape()))
    }
    fn read(value: &Value) -> Result<Self, Refusal> {
        match value {
            Value::List(values) => {
                let read = |(place, value)| {
                    let read = T::read(value);
                    match value {
                        Value::Table(_) => read.map_err(|refusal| refusal.among(place)),
                        _ => read,
                    }
                };
                let (read, refused): (Vec<_>, Vec<_>) =
                    values.iter().enumerate().map(read).partition(Result::is_ok);
                let refused = refused.into_iter().filter_map(Result::err);
                Refusal::all(refused).map_or(Ok(read.into_iter().flatten().collect()), Err)
            }
            _ => Err(Refusal::value(value, Self::expected())),
        }
    }
    fn write(&self) -> Option<Value> {
        Some(Value::List(self.iter().filter_map(T::write).collect()))
    }
}

/// A setting that may be left out; the text `"none"` says so where a default has to be undone.
impl<T: Setting> Setting for Option<T> {
    fn expected() -> String {
        format!("{}, or \"none\"", T::expected())
    }
    fn shape() -> Shape {
        Shape::Any(vec![T::shape(), Shape::Names(vec!["none"])])
    }
    fn read(value: &Value) -> Result<Self, Refusal> {
        match value {
            Value::Text(text) if text == "none" => Ok(None),
            _ => T::read(value).map(Some).map_err(|refusal| {
                if refusal.path.is_empty() && refusal.names.is_empty() {
                    let advice = refusal.expected.strip_prefix(&T::expected()).unwrap_or("");
                    Refusal { expected: format!("{}{advice}", Self::expected()), ..refusal }
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
