//! How a study names a class, and what is common to all kinds of them.

use sojourn_core::parameters::{Check, Refusal};
use sojourn_core::resource::FileName;
use sojourn_core::{Execution, nested, parameters};
use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

/// A class of any kind, with values of its parameters.
pub trait PythonClass: Debug + Send + Sync {
    /// Its name.
    fn name(&self) -> &str;

    /// Calls `simulate`, which runs a simulation as `execution` says, in the way in which the class is
    /// fastest.
    fn surround(&self, _execution: Execution<'_>, simulate: &mut dyn FnMut()) {
        simulate();
    }
}

/// Calls `simulate` surrounded by each of some classes; see [`PythonClass::surround`].
pub(crate) fn surround<R>(
    classes: &[&dyn PythonClass],
    execution: Execution<'_>,
    simulate: impl FnOnce() -> R,
) -> R {
    fn by_each(classes: &[&dyn PythonClass], execution: Execution<'_>, simulate: &mut dyn FnMut()) {
        match classes.split_first() {
            None => simulate(),
            Some((first, others)) => {
                first.surround(execution, &mut || by_each(others, execution, simulate));
            }
        }
    }
    let (mut simulate, mut result) = (Some(simulate), None);
    by_each(classes, execution, &mut || result = simulate.take().map(|simulate| simulate()));
    result.expect("each class calls it once")
}

parameters! {
    /// A class in a Python file.
    pub struct CodeFile: "code-file" {
        /// The file, relative to the study. A run keeps it in its directory, under `code`.
        pub file: FileName,
        /// Required SHA-256 of the file.
        pub sha256: Option<String> = None,
        /// Name of the class. It may be left out if the file has only one that fits.
        pub class: Option<String> = None,
        /// Whether Numba compiles the class. The rows are the same.
        pub compiled: bool = false,
    }
}
nested!(CodeFile);

impl Check for CodeFile {}

impl CodeFile {
    /// Refuses a file in which no class of the kind `C` was handed in. One that was not handed in yet is none.
    pub(crate) fn check_kind<C: ?Sized>(&self) -> Result<(), Refusal>
    where
        Arc<C>: Any,
    {
        match self.file.is_there() {
            true => self.file.object::<Arc<C>>().map(drop).map_err(|refusal| refusal.under("file")),
            false => Ok(()),
        }
    }

    /// The class, of the kind `C`. Panics where none was handed in: no case is made of such a study.
    pub(crate) fn class<C: ?Sized>(&self) -> &Arc<C>
    where
        Arc<C>: Any,
    {
        self.file.object().expect("a class is handed in with the study")
    }
}
