//! A class as Numba compiles it: a record for each object, and functions that return a status.

use super::{Configured, Definition, Random};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use sojourn_core::{CodeFailed, Stream};
use std::mem::MaybeUninit;
use std::sync::{Arc, OnceLock};

/// A compiled hook: takes a record and a struct of arguments, all of eight bytes each, and returns 0, or
/// something else where it raised an exception.
pub(super) type Hook = unsafe extern "C" fn(*mut u64, *mut i64) -> i64;

/// A class that runs compiled, with `HOOKS` hooks. It is compiled when its first object is made.
#[derive(Debug)]
pub(super) struct Machine<const HOOKS: usize> {
    pub(super) class: Configured,
    names: [&'static str; HOOKS],
    code: OnceLock<Result<Arc<Code<HOOKS>>, CodeFailed>>,
}

/// The functions of a class, and the record of a new object.
#[derive(Debug)]
struct Code<const HOOKS: usize> {
    record: Vec<u64>,
    hooks: [Option<Hook>; HOOKS],
    /// What has the functions.
    _owner: Py<PyAny>,
}

impl<const HOOKS: usize> Machine<HOOKS> {
    pub(super) fn new(class: Configured, names: [&'static str; HOOKS]) -> Arc<Self> {
        Arc::new(Machine { class, names, code: OnceLock::new() })
    }

    fn code(&self) -> Result<Arc<Code<HOOKS>>, CodeFailed> {
        let compile = || {
            Python::attach(|py| {
                self.compile(py)
                    .map(Arc::new)
                    .map_err(|error| CodeFailed(error.value(py).to_string()))
            })
        };
        self.code.get_or_init(compile).clone()
    }

    fn compile(&self, py: Python<'_>) -> PyResult<Code<HOOKS>> {
        let Configured { definition, values } = &self.class;
        let owner = definition.object.bind(py).call_method0("compiled")?;
        let template = owner.call_method1("template", (values,))?;
        let (words, rest) = template.cast::<PyBytes>()?.as_bytes().as_chunks();
        assert!(rest.is_empty(), "a record is of words");
        let addresses = owner.getattr("addresses")?;
        let mut hooks = [None; HOOKS];
        for (hook, name) in hooks.iter_mut().zip(self.names) {
            if definition.has(name) {
                let address: usize = addresses.get_item(name)?.extract()?;
                // SAFETY: the compiler made a function with these arguments there, which lives as
                // long as `owner`.
                *hook = Some(unsafe { std::mem::transmute::<usize, Hook>(address) });
            }
        }
        Ok(Code {
            record: words.iter().map(|&word| u64::from_ne_bytes(word)).collect(),
            hooks,
            _owner: owner.unbind(),
        })
    }
}

/// The record of an object.
#[derive(Debug)]
pub(super) struct Record<const HOOKS: usize> {
    class: Arc<Machine<HOOKS>>,
    hooks: [Option<Hook>; HOOKS],
    words: Box<[u64]>,
    _code: Arc<Code<HOOKS>>,
}

/// So many words of a record are kept on the stack during a call.
const FEW: usize = 32;

impl<const HOOKS: usize> Record<HOOKS> {
    /// A new object's.
    pub(super) fn new(class: &Arc<Machine<HOOKS>>) -> Result<Record<HOOKS>, CodeFailed> {
        let code = class.code()?;
        Ok(Record {
            class: class.clone(),
            hooks: code.hooks,
            words: code.record.clone().into_boxed_slice(),
            _code: code,
        })
    }

    /// The class.
    pub(super) fn definition(&self) -> &Definition {
        &self.class.class.definition
    }

    /// The record's words.
    #[inline]
    pub(super) fn words(&mut self) -> &mut [u64] {
        &mut self.words
    }

    /// Whether the class has the hook at this place of their names.
    pub(super) fn has(&self, hook: usize) -> bool {
        self.hooks[hook].is_some()
    }

    /// Calls a hook, which the class has to have, with its arguments. An exception is explained with `stream`,
    /// the port's random numbers as they were before.
    #[inline]
    pub(super) fn call(
        &mut self,
        hook: usize,
        arguments: &mut [i64],
        stream: Option<Stream>,
    ) -> Result<(), CodeFailed> {
        let function = self.hooks[hook].expect("a hook that the class has");
        let mut few = [const { MaybeUninit::<u64>::uninit() }; FEW];
        let many;
        let before: &[u64] = match few.get_mut(..self.words.len()) {
            // SAFETY: both have this length, and the words are written before they are read.
            Some(few) => unsafe {
                let words = few.as_mut_ptr().cast::<u64>();
                words.copy_from_nonoverlapping(self.words.as_ptr(), few.len());
                std::slice::from_raw_parts(words, few.len())
            },
            None => {
                many = self.words.clone();
                &many
            }
        };
        // SAFETY: the record is that of the class, and the arguments are those of the hook.
        match unsafe { function(self.words.as_mut_ptr(), arguments.as_mut_ptr()) } {
            0 => Ok(()),
            _ => Err(self.explained(hook, before, arguments, stream)),
        }
    }

    /// What the exception of a call was, from the same call in the interpreter; the record and the stream are
    /// as they were before.
    #[cold]
    fn explained(
        &self,
        hook: usize,
        before: &[u64],
        arguments: &[i64],
        stream: Option<Stream>,
    ) -> CodeFailed {
        Python::attach(|py| {
            let hook = self.class.names[hook];
            let before: Vec<u8> = before.iter().flat_map(|word| word.to_ne_bytes()).collect();
            let arguments: Vec<u8> = arguments.iter().flat_map(|word| word.to_ne_bytes()).collect();
            let (before, arguments) = (PyBytes::new(py, &before), PyBytes::new(py, &arguments));
            let explain = || {
                let given = (hook, before, arguments, stream.map(Random::from));
                self.definition().object.bind(py).call_method1("explain", given)?.extract()
            };
            CodeFailed(explain().unwrap_or_else(|error: PyErr| error.value(py).to_string()))
        })
    }
}
