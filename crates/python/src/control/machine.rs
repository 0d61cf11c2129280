//! A class as Numba compiles it: a record for each object, and functions that return a status.

use super::{Configured, Definition, Random};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use sojourn_core::Stream;
use std::fmt::Debug;
use std::mem::MaybeUninit;
use std::sync::{Arc, OnceLock};

/// A compiled hook: takes a record and a struct of arguments, all of eight bytes each, and returns 0, or
/// something else where it raised an exception.
pub(super) type Hook = unsafe extern "C" fn(*mut u64, *mut i64) -> i64;

/// The hooks of a kind of class.
pub(super) trait HookTable: Debug + Copy + Send + Sync {
    /// Those that `find` finds by their names.
    fn of(find: &mut dyn FnMut(&str) -> PyResult<Option<Hook>>) -> PyResult<Self>;
}

/// A class that runs compiled. It is compiled when its first object is made.
#[derive(Debug)]
pub(super) struct Machine<H> {
    pub(super) class: Configured,
    code: OnceLock<Result<Arc<Code<H>>, String>>,
}

/// The functions of a class, and the record of a new object.
#[derive(Debug)]
struct Code<H> {
    record: Vec<u64>,
    hooks: H,
    /// What has the functions.
    _owner: Py<PyAny>,
}

impl<H: HookTable> Machine<H> {
    pub(super) fn new(class: Configured) -> Arc<Machine<H>> {
        Arc::new(Machine { class, code: OnceLock::new() })
    }

    fn code(&self) -> Result<Arc<Code<H>>, String> {
        let compile = || {
            Python::attach(|py| {
                self.compile(py).map(Arc::new).map_err(|error| error.value(py).to_string())
            })
        };
        self.code.get_or_init(compile).clone()
    }

    fn compile(&self, py: Python<'_>) -> PyResult<Code<H>> {
        let Configured { definition, values } = &self.class;
        let owner = definition.object.bind(py).call_method0("compiled")?;
        let template = owner.call_method1("template", (values,))?;
        let (words, rest) = template.cast::<PyBytes>()?.as_bytes().as_chunks();
        assert!(rest.is_empty(), "a record is of words");
        let addresses = owner.getattr("addresses")?;
        let mut find = |name: &str| match definition.has(name) {
            false => Ok(None),
            true => {
                let address: usize = addresses.get_item(name)?.extract()?;
                // SAFETY: the compiler made a function with these arguments there, which lives as
                // long as `owner`.
                Ok(Some(unsafe { std::mem::transmute::<usize, Hook>(address) }))
            }
        };
        Ok(Code {
            record: words.iter().map(|&word| u64::from_ne_bytes(word)).collect(),
            hooks: H::of(&mut find)?,
            _owner: owner.unbind(),
        })
    }
}

/// The record of an object.
#[derive(Debug)]
pub(super) struct Record<H> {
    pub(super) class: Arc<Machine<H>>,
    pub(super) hooks: H,
    words: Box<[u64]>,
    _code: Arc<Code<H>>,
}

/// A compiled hook raised an exception; the record as it was before.
pub(super) struct Raised(Vec<u64>);

/// So many words of a record are kept on the stack during a call.
const FEW: usize = 32;

impl<H: HookTable> Record<H> {
    /// A new object's.
    pub(super) fn new(class: &Arc<Machine<H>>) -> Result<Record<H>, String> {
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

    /// Calls a hook, which has to be one of [`hooks`](Record::hooks), with its arguments.
    #[inline]
    pub(super) fn call(&mut self, hook: Hook, arguments: &mut [i64]) -> Result<(), Raised> {
        let mut few = [const { MaybeUninit::uninit() }; FEW];
        let many;
        let before: &[u64] = match few.get_mut(..self.words.len()) {
            Some(few) => {
                for (to, &word) in few.iter_mut().zip(&self.words) {
                    to.write(word);
                }
                // SAFETY: each of them was written.
                unsafe { &*(&raw const *few as *const [u64]) }
            }
            None => {
                many = self.words.clone();
                &many
            }
        };
        // SAFETY: the record is that of the class, and the arguments are those of the hook.
        match unsafe { hook(self.words.as_mut_ptr(), arguments.as_mut_ptr()) } {
            0 => Ok(()),
            _ => Err(Raised(before.to_vec())),
        }
    }

    /// What the exception of a call was, from the same call in the interpreter; `stream` is as it was
    /// before.
    #[cold]
    pub(super) fn explained(
        &self,
        raised: &Raised,
        hook: &str,
        arguments: &[i64],
        stream: Option<Stream>,
    ) -> String {
        Python::attach(|py| {
            let before: Vec<u8> = raised.0.iter().flat_map(|word| word.to_ne_bytes()).collect();
            let arguments: Vec<u8> = arguments.iter().flat_map(|word| word.to_ne_bytes()).collect();
            let (before, arguments) = (PyBytes::new(py, &before), PyBytes::new(py, &arguments));
            let explain = || {
                let given = (hook, before, arguments, stream.map(Random::from));
                self.definition().object.bind(py).call_method1("explain", given)?.extract()
            };
            explain().unwrap_or_else(|error: PyErr| error.value(py).to_string())
        })
    }
}

/// A hook that is called only where the class has it.
#[inline]
pub(super) fn there(hook: Option<Hook>) -> Hook {
    hook.expect("a hook that the class has")
}
