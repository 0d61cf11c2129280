//! Classes in Python files: how a study names one, and what is common to all kinds of them.

use super::{HASH_SHOWN, Interpreter, KeptFile, interpreter};
use sojourn_core::parameters::{Check, Refusal, Setting, Shape, Table, Value};
use sojourn_core::{nested, parameters};
use std::fmt::{self, Debug, Formatter};
use std::path::Path;
use std::sync::Arc;

/// The folder of code in a run directory.
const FOLDER: &str = "code";

/// A class as a study names it.
#[derive(Clone, Copy, Debug)]
pub struct Named<'a> {
    /// Its file.
    pub file: &'a str,
    /// What messages call the file.
    pub shown: &'a str,
    /// Its name; none for the only class of its kind in the file.
    pub class: Option<&'a str>,
    /// Whether it is compiled.
    pub compiled: bool,
    /// The parameters that are set.
    pub set: &'a Table,
}

/// What a study says of a class once it is loaded.
#[derive(Clone, Debug)]
pub struct About {
    /// Its name.
    pub name: String,
    /// The SHA-256 of its file, in hexadecimal digits.
    pub sha256: String,
    /// All its parameters as a study writes them.
    pub parameters: Table,
}

/// A class of any kind, with its parameters.
pub trait PythonClass: Debug + Send + Sync {
    /// What a study says of it.
    fn about(&self) -> &About;

    /// Calls `simulate`, which runs a simulation on up to so many threads, in the way in which the
    /// class is fastest.
    fn surround(&self, _threads: usize, simulate: &mut dyn FnMut()) {
        simulate();
    }
}

/// A kind of class.
pub trait Loaded: PythonClass {
    /// Loads a class of this kind. Refusals are seen from the table of `named`.
    fn load(interpreter: &dyn Interpreter, named: &Named<'_>) -> Result<Arc<Self>, Refusal>;
}

/// Calls `simulate` surrounded by each of some classes; see [`PythonClass::surround`].
pub(crate) fn surround<R>(
    classes: &[&dyn PythonClass],
    threads: usize,
    simulate: impl FnOnce() -> R,
) -> R {
    fn by_each(classes: &[&dyn PythonClass], threads: usize, simulate: &mut dyn FnMut()) {
        match classes.split_first() {
            None => simulate(),
            Some((first, others)) => {
                first.surround(threads, &mut || by_each(others, threads, simulate));
            }
        }
    }
    let (mut simulate, mut result) = (Some(simulate), None);
    by_each(classes, threads, &mut || result = simulate.take().map(|simulate| simulate()));
    result.expect("each class calls it once")
}

parameters! {
    /// A class in a Python file.
    pub struct CodeFile: "code-file" {
        /// The file, seen from the study's own place. A run keeps it in its directory, under `code`.
        pub file: KeptFile,
        /// The SHA-256 that the file has to have.
        pub sha256: Option<String> = None,
        /// The class; without it the only one of the file that can be used here.
        pub class: Option<String> = None,
        /// Whether the class is compiled by Numba; the rows are the same.
        pub compiled: bool = false,
    }
}
nested!(CodeFile);

impl Check for CodeFile {}

impl CodeFile {
    /// Loads the class, whose name and parameters are known from then on.
    pub(crate) fn load<C: Loaded + ?Sized>(
        &mut self,
        set: &mut ClassParameters<C>,
    ) -> Result<(), Refusal> {
        let CodeFile { file, sha256, class, compiled } = self;
        let stem = Path::new(&file.path).file_stem().unwrap_or_default().to_string_lossy();
        let kept =
            |sha256: &str| format!("-{}", sha256.chars().take(HASH_SHOWN).collect::<String>());
        // The copy that a run keeps is called as the file that it was made from.
        let own = sha256.as_deref().and_then(|sha256| stem.strip_suffix(&kept(sha256)));
        let shown = own.map_or_else(|| seen_from_here(&file.path), |stem| format!("{stem}.py"));
        let refused =
            |expected: String| Refusal::value(&Value::Text(shown.clone()), expected).under("file");
        let interpreter = interpreter().map_err(|why| refused(format!("a file to read: {why}")))?;
        let (class_name, compiled) = (class.as_deref(), *compiled);
        let named =
            Named { file: &file.path, shown: &shown, class: class_name, compiled, set: &set.set };
        let loaded = C::load(interpreter, &named)?;
        let About { name, sha256: found, parameters } = loaded.about();
        if let Some(other) = sha256.as_ref().filter(|sha256| *sha256 != found) {
            let now = format!("the file as it was, its SHA-256 is {found} and not {other}");
            // It is this very file that has changed, not the one that it was made from.
            let given = Value::Text(seen_from_here(&file.path));
            return Err(Refusal::value(&given, now).under("file"));
        }
        file.kept = Some(format!("{FOLDER}/{}{}.py", own.unwrap_or(&stem), kept(found)));
        *class = Some(name.clone());
        *sha256 = Some(found.clone());
        set.set = parameters.clone();
        set.class = Some(loaded);
        Ok(())
    }

    /// Sees to it that the file is in a run directory.
    pub(crate) fn keep(&self, run: &str) -> Result<bool, Refusal> {
        self.file.keep(self.sha256.as_deref(), run).map_err(|why| {
            let given = Value::Text(self.file.path.clone());
            Refusal::value(&given, format!("a file to keep: {why}")).under("file")
        })
    }
}

/// A path as a user would write it: without the directory of this process, where it lies below that.
fn seen_from_here(path: &str) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    let below = Path::new(path).strip_prefix(here).ok().and_then(Path::to_str);
    below.unwrap_or(path).to_owned()
}

/// The parameters of a class: those that are set, and once it is loaded all of them.
pub struct ClassParameters<C: ?Sized> {
    set: Table,
    class: Option<Arc<C>>,
}

impl<C: ?Sized> ClassParameters<C> {
    /// The class. Panics before it is loaded.
    pub(crate) fn class(&self) -> &Arc<C> {
        self.class.as_ref().expect("the class is loaded when the study is read")
    }
}

impl<C: ?Sized> Clone for ClassParameters<C> {
    fn clone(&self) -> Self {
        ClassParameters { set: self.set.clone(), class: self.class.clone() }
    }
}

impl<C: ?Sized> Default for ClassParameters<C> {
    fn default() -> Self {
        ClassParameters { set: Table::default(), class: None }
    }
}

impl<C: ?Sized> Debug for ClassParameters<C> {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        out.debug_struct("ClassParameters").field("set", &self.set).finish_non_exhaustive()
    }
}

impl<C: ?Sized> PartialEq for ClassParameters<C> {
    /// By what is set: the same class may be loaded twice.
    fn eq(&self, other: &Self) -> bool {
        self.set == other.set
    }
}

impl<C: ?Sized> Setting for ClassParameters<C> {
    fn expected() -> String {
        "a table of the class's parameters".to_owned()
    }

    fn shape() -> Shape {
        Table::shape()
    }

    fn read(value: &Value) -> Result<Self, Refusal> {
        match Table::read(value) {
            Ok(set) => Ok(ClassParameters { set, class: None }),
            Err(_) => Err(Refusal::value(value, Self::expected())),
        }
    }

    fn write(&self) -> Option<Value> {
        self.set.write()
    }

    fn absent() -> Option<Self> {
        Some(ClassParameters::default())
    }
}
