//! By when flows should be done: laws that deadlines are drawn by, one file each.

mod constant;
mod exponential;
mod uniform;

pub use constant::Constant;
pub use exponential::Exponential;
pub use uniform::Uniform;

use crate::packet::LATEST_ARRIVAL;
use sojourn_core::parameters::{Parameters, Refusal, Setting, Shape, Table, Value};
use sojourn_core::{Span, Stream, variants};

variants! {
    /// How long a flow may take, counted from its arrival.
    pub enum Law: "deadline" => with_law {
        Constant(Constant),
        Exponential(Exponential),
        Uniform(Uniform),
    }
}

/// Draws deadlines.
trait Draw {
    /// How long the next flow may take. The number of uniforms taken is the same each time.
    fn draw(&self, stream: &mut Stream) -> Span;
}

const A_TIME: &str = "a time such as \"10ms\"";

/// A [`Law`]; a bare time in a study is a constant.
#[derive(Clone, Debug, PartialEq)]
pub struct Deadline(pub Law);

impl Deadline {
    /// How long the next flow may take: above zero.
    pub(super) fn draw(&self, stream: &mut Stream) -> Span {
        let span = with_law!(&self.0, |law| law.draw(stream));
        span.max(Span::from_ps(1))
    }
}

impl Setting for Deadline {
    fn expected() -> String {
        format!("{A_TIME}, or {}", Law::expected())
    }

    fn shape() -> Shape {
        Shape::Any(vec![Span::shape(), Law::shape()])
    }

    fn read(value: &Value) -> Result<Deadline, Refusal> {
        let bare = matches!(value, Value::Text(text) if text.parse::<Span>().is_ok());
        if bare {
            let mut table = Table::default();
            table.set("after", value.clone());
            return Constant::read_table(&table).map(|constant| Deadline(Law::Constant(constant)));
        }
        Law::read(value).map(Deadline).map_err(|refusal| match refusal.path.is_empty() {
            true => Refusal { expected: format!("{A_TIME}, or {}", refusal.expected), ..refusal },
            false => refusal,
        })
    }

    fn write(&self) -> Option<Value> {
        self.0.write()
    }
}

/// Refuses a time by which nothing can be done, or which lies beyond every run.
fn check_time(key: &str, span: Span) -> Result<(), Refusal> {
    if span == Span::ZERO || span > LATEST_ARRIVAL {
        let expected = format!("a time above zero, at most {LATEST_ARRIVAL}");
        return Err(Refusal::of(&span, expected).under(key));
    }
    Ok(())
}
