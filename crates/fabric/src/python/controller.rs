//! Classes in Python files that control congestion.

use super::interpreter;
use crate::transport::{Acked, Window};
use sojourn_core::parameters::{Refusal, Setting, Shape, Table, Value};
use sojourn_core::{Rate, Span, Time};
use std::fmt::Debug;
use std::sync::Arc;

/// A class as a study names it.
#[derive(Clone, Copy, Debug)]
pub struct Named<'a> {
    /// Its file.
    pub file: &'a str,
    /// What messages call the file.
    pub shown: &'a str,
    /// Its name; none for the only class of the file.
    pub class: Option<&'a str>,
    /// Whether it is compiled.
    pub compiled: bool,
    /// The parameters that are set.
    pub set: &'a Table,
}

/// A class that controls congestion, with its parameters.
pub trait ControllerClass: Debug + Send + Sync {
    /// Its name.
    fn name(&self) -> &str;

    /// The SHA-256 of its file, in hexadecimal digits.
    fn sha256(&self) -> &str;

    /// All its parameters as a study writes them.
    fn parameters(&self) -> &Table;

    /// The hooks that it has.
    fn hooks(&self) -> Hooks;

    /// Creates the controller of a flow, and starts it. Fails with the reason, for people.
    fn start(&self, flow: &Begin, window: &mut Window) -> Result<Box<dyn Controller>, String>;

    /// Calls `simulate`, which runs a simulation on up to so many threads, in the way in which the
    /// class is fastest.
    fn surround(&self, threads: usize, simulate: &mut dyn FnMut());
}

/// Which hooks a class has; the others are those of NewReno.
#[expect(clippy::struct_excessive_bools, reason = "a class may have any of them")]
#[derive(Clone, Copy, Debug, Default)]
pub struct Hooks {
    /// Reacts to an ACK.
    pub acked: bool,
    /// Reacts to a loss inferred from duplicate ACKs.
    pub lost: bool,
    /// Reacts to a time-out.
    pub timed_out: bool,
    /// Notes that a packet leaves.
    pub sent: bool,
    /// Says how far apart packets leave.
    pub gap: bool,
    /// Whether any of them looks at the round trip of the packet that caused an ACK.
    pub reads_delay: bool,
}

/// What the controller of a flow knows when the flow starts.
#[derive(Clone, Copy, Debug)]
pub struct Begin {
    /// Switches on its path.
    pub hops: u32,
    /// Its size.
    pub bytes: u64,
    /// The rate of its host's link.
    pub rate: Rate,
    /// The limit of appropriate byte counting (RFC 3465), 0 for none.
    pub abc_limit: u32,
}

/// The controller of one flow. Each hook fails with the reason, for people.
pub trait Controller: Debug + Send {
    /// Reacts to an ACK, outside of a recovery; `delay` is the round trip of the packet that caused it,
    /// where that is known.
    fn acked(
        &mut self,
        window: &mut Window,
        acked: &Acked,
        delay: Option<Span>,
    ) -> Result<(), String>;

    /// Reacts to a loss inferred from duplicate ACKs while `flight` packets were unacknowledged.
    fn lost(&mut self, window: &mut Window, flight: u32, now: Time) -> Result<(), String>;

    /// Reacts to a time-out while `flight` packets were unacknowledged.
    fn timed_out(&mut self, window: &mut Window, flight: u32, now: Time) -> Result<(), String>;

    /// Notes that packet `sequence` leaves.
    fn sent(&mut self, window: &mut Window, sequence: u32, now: Time) -> Result<(), String>;

    /// The time from a packet to the next one of a paced flow.
    fn gap(&mut self, window: &mut Window, wire: Span) -> Result<Span, String>;
}

/// The parameters of a class: those that are set, and once it is loaded all of them.
#[derive(Clone, Debug, Default)]
pub struct ClassParameters {
    set: Table,
    class: Option<Arc<dyn ControllerClass>>,
}

impl PartialEq for ClassParameters {
    /// By what is set: the same class may be loaded twice.
    fn eq(&self, other: &ClassParameters) -> bool {
        self.set == other.set
    }
}

impl ClassParameters {
    /// Loads the class, and takes over its defaults.
    pub(crate) fn load(
        &mut self,
        file: &str,
        shown: &str,
        class: Option<&str>,
        compiled: bool,
    ) -> Result<&dyn ControllerClass, Refusal> {
        let interpreter = interpreter().map_err(|why| {
            let given = Value::Text(file.to_owned());
            Refusal::value(&given, format!("a file to read: {why}")).under("file")
        })?;
        let class =
            interpreter.controller(&Named { file, shown, class, compiled, set: &self.set })?;
        self.set = class.parameters().clone();
        Ok(&**self.class.insert(class))
    }

    /// The class. Panics before it is loaded.
    pub(crate) fn class(&self) -> &Arc<dyn ControllerClass> {
        self.class.as_ref().expect("the class is loaded when the study is read")
    }
}

impl Setting for ClassParameters {
    fn expected() -> String {
        "a table of the class's parameters".to_owned()
    }

    fn shape() -> Shape {
        Table::shape()
    }

    fn read(value: &Value) -> Result<ClassParameters, Refusal> {
        match Table::read(value) {
            Ok(set) => Ok(ClassParameters { set, class: None }),
            Err(_) => Err(Refusal::value(value, Self::expected())),
        }
    }

    fn write(&self) -> Option<Value> {
        self.set.write()
    }

    fn absent() -> Option<ClassParameters> {
        Some(ClassParameters::default())
    }
}
