//! How deep a queue is: in bytes, or in the time that its port takes to send it.

use sojourn_core::parameters::{Refusal, Setting, Shape, Value};
use sojourn_core::{Bytes, Rate, Span};

/// A number of bytes, the same at every port, or a time, which makes more of them at faster ports.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Depth {
    /// So many bytes.
    Bytes(Bytes),
    /// What the port sends in this time.
    Time(Span),
}

impl Depth {
    /// How many bytes that are at a port of `rate`.
    pub fn at(self, rate: Rate) -> u64 {
        match self {
            Depth::Bytes(bytes) => bytes.0,
            Depth::Time(span) => rate.bytes_in(span),
        }
    }
}

impl Setting for Depth {
    fn expected() -> String {
        "a size such as \"50MB\", or the time in which the port sends as much, such as \"40ms\""
            .to_owned()
    }

    fn shape() -> Shape {
        Shape::Any(vec![Bytes::shape(), Span::shape()])
    }

    fn read(value: &Value) -> Result<Depth, Refusal> {
        let bytes = Bytes::read(value).map(Depth::Bytes);
        bytes
            .or_else(|_| Span::read(value).map(Depth::Time))
            .map_err(|_| Refusal::value(value, Self::expected()))
    }

    fn write(&self) -> Option<Value> {
        match self {
            Depth::Bytes(bytes) => bytes.write(),
            Depth::Time(span) => span.write(),
        }
    }
}
