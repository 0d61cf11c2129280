//! The files that a study names: which these are, and what is in them put in place of their names.

use sojourn_core::parameters::{Entry, Field, Refusal, Shape, Table, Value};
use sojourn_core::resource::{Call, Columns, Content, NameOrFile, NoTable, Resource};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

/// What a study needs that its text does not hold.
#[derive(Clone, Debug, PartialEq)]
pub enum Need {
    /// What is in a file.
    File(FileNeed),
    /// A table that a function draws.
    Table(Call),
}

/// A file that a study names.
#[derive(Clone, Debug, PartialEq)]
pub struct FileNeed {
    /// What it is handed in as.
    pub id: String,
    /// The part of the study that names it, such as `workload`, and which kind of that it is.
    pub part: (&'static str, String),
    /// The name, as the study has it.
    pub name: String,
    /// The settings beside it that say more of it, of `sha256`, `class`, `compiled` and `drawn`.
    pub settings: Table,
}

/// The settings that say more of the file beside them: the SHA-256 that it must have, which class of it is meant,
/// whether that is compiled, and where tables were drawn before.
const SAYING_MORE: [&str; 4] = ["sha256", "class", "drawn", COMPILED];
const COMPILED: &str = "compiled";

/// What was handed in with a study, by the ids of needs.
#[derive(Clone, Debug, Default)]
pub struct Resources(pub BTreeMap<String, Result<Resource, Unread>>);

/// A file that could not be read.
#[derive(Clone, Debug)]
pub struct Unread {
    /// What messages call it.
    pub shown: String,
    /// What was expected of it, with the reason.
    pub expected: String,
}

impl Resources {
    /// The table that a call drew, by its key, from here or from `others`; or why there is none.
    pub fn table_or(&self, others: &Resources, key: &str) -> Result<Arc<Columns>, NoTable> {
        match self.0.contains_key(key) {
            true => self.table(key),
            false => others.table(key),
        }
    }

    /// The table that a call drew, by its key; or why there is none.
    pub(crate) fn table(&self, key: &str) -> Result<Arc<Columns>, NoTable> {
        match self.0.get(key) {
            Some(Ok(Resource { content: Content::Columns(columns), .. })) => Ok(columns.clone()),
            Some(Err(unread)) => Err(NoTable(unread.expected.clone())),
            _ => Err(NoTable("no table was handed in".to_owned())),
        }
    }
}

/// Reads a study with what was handed in, or notes what was not.
pub(crate) struct Files<'a> {
    pub(crate) resources: &'a Resources,
    missing: Option<RefCell<Vec<Need>>>,
    /// Lists of entries by the functions that make them, as these take long.
    entries: RefCell<BTreeMap<usize, Rc<[Entry]>>>,
}

impl<'a> Files<'a> {
    /// For a study all files of which were handed in.
    pub(crate) fn new(resources: &'a Resources) -> Files<'a> {
        Files { resources, missing: None, entries: RefCell::default() }
    }

    /// What is missing of what `read` asks for.
    pub(crate) fn missing<T>(
        resources: &'a Resources,
        read: impl FnOnce(&Files<'a>) -> T,
    ) -> Vec<Need> {
        let missing = Some(RefCell::default());
        let files = Files { missing, ..Files::new(resources) };
        read(&files);
        files.missing.map(RefCell::into_inner).unwrap_or_default()
    }

    /// Whether it only looks for what is missing.
    pub(crate) fn is_survey(&self) -> bool {
        self.missing.is_some()
    }

    /// Notes that a table is missing, unless it was handed in.
    pub(crate) fn survey(&self, call: Call) {
        if !self.resources.0.contains_key(&call.key) {
            self.note(Need::Table(call));
        }
    }

    fn note(&self, need: Need) {
        if let Some(missing) = &self.missing
            && !missing.borrow().contains(&need)
        {
            missing.borrow_mut().push(need);
        }
    }

    /// Puts what is in files in place of their names, in a table of an entry's parameters; returns why that
    /// cannot be done for each file for which it cannot, whose name stays.
    pub(crate) fn put(&self, of: fn() -> Entry, table: &mut Table) -> Option<Refusal> {
        let entries = self.listed(of as usize, || vec![of()]);
        self.put_fields(&entries[0].parameters, (entries[0].name, ""), table).err()
    }

    fn listed(&self, of: usize, entries: impl FnOnce() -> Vec<Entry>) -> Rc<[Entry]> {
        self.entries.borrow_mut().entry(of).or_insert_with(|| entries().into()).clone()
    }

    /// Puts files into a table of these parameters. All are looked at, whatever is refused of one: what is missing
    /// is noted whole.
    fn put_fields(
        &self,
        fields: &[Field],
        part: (&'static str, &str),
        table: &mut Table,
    ) -> Result<(), Refusal> {
        let mut all = Ok(());
        for field in fields {
            let put = match (&field.shape, table.get_mut(field.name)) {
                (_, None) => Ok(()),
                (shape, Some(Value::Text(name))) if is_file(shape, name) => {
                    self.put_file(field.name, part, table)
                }
                (shape, Some(value)) => {
                    let put = self.put_inside(shape, part, value);
                    put.map_err(|refusal| refusal.under(field.name))
                }
            };
            all = Refusal::both(all, put).map(drop);
        }
        all
    }

    /// Puts files into a value that is no name of a file.
    fn put_inside(
        &self,
        shape: &Shape,
        part: (&'static str, &str),
        value: &mut Value,
    ) -> Result<(), Refusal> {
        match (shape, value) {
            (Shape::Table(entry), Value::Table(table)) => {
                let entries = self.listed(*entry as usize, || vec![entry()]);
                self.put_fields(&entries[0].parameters, part, table)
            }
            (Shape::Kind { what, key, entries, other }, Value::Table(table)) => {
                let name = match table.get(key) {
                    Some(Value::Text(name)) => name.clone(),
                    _ => String::new(),
                };
                let known = self.listed(*entries as usize, entries);
                if let Some(entry) = known.iter().find(|entry| entry.name == name) {
                    return self.put_fields(&entry.parameters, (what, &name), table);
                }
                let Some(other) = other else { return Ok(()) };
                let entries = self.listed(*other as usize, || vec![other()]);
                self.put_fields(&entries[0].parameters, (what, &name), table)
            }
            (Shape::List(shape), Value::List(values)) => {
                let mut all = Ok(());
                for (place, value) in values.iter_mut().enumerate() {
                    let put = self.put_inside(shape, part, value);
                    let put = put.map_err(|refusal| refusal.among(place));
                    all = Refusal::both(all, put).map(drop);
                }
                all
            }
            (Shape::Any(shapes), value) => {
                let mut all = Ok(());
                for shape in shapes {
                    all = Refusal::both(all, self.put_inside(shape, part, value)).map(drop);
                }
                all
            }
            _ => Ok(()),
        }
    }

    /// Puts what is in the file that is named under `key` in place of its name. Refusals are seen from the table
    /// `around`.
    fn put_file(
        &self,
        key: &str,
        (part, kind): (&'static str, &str),
        around: &mut Table,
    ) -> Result<(), Refusal> {
        let Some(Value::Text(name)) = around.get(key) else { return Ok(()) };
        let mut settings = Table::default();
        for key in SAYING_MORE {
            match around.get(key) {
                None => {}
                Some(value @ Value::Text(_)) if key != COMPILED => settings.set(key, value.clone()),
                Some(value @ Value::Bool(_)) if key == COMPILED => settings.set(key, value.clone()),
                // It is refused when the table is read.
                Some(_) => return Ok(()),
            }
        }
        let id = format!("{part}.{kind} {name} {}", Value::Table(settings.clone()));
        match self.resources.0.get(&id) {
            Some(Ok(resource)) => resource.put(key, around),
            Some(Err(Unread { shown, expected })) => {
                Err(Refusal::value(&Value::Text(shown.clone()), expected.clone()).under(key))
            }
            None => {
                let refusal = Refusal::value(
                    &Value::Text(name.clone()),
                    "a file that is handed in with the study",
                );
                let (part, name) = ((part, kind.to_owned()), name.clone());
                self.note(Need::File(FileNeed { id, part, name, settings }));
                Err(refusal.under(key))
            }
        }
    }
}

/// Whether a text is the name of a file, in a setting of this shape.
fn is_file(shape: &Shape, text: &str) -> bool {
    match shape {
        Shape::File { or_name } => !or_name || NameOrFile::is_file(text),
        Shape::Any(shapes) => {
            let is_name =
                |shape: &Shape| matches!(shape, Shape::Names(names) if names.contains(&text));
            shapes.iter().any(|shape| is_file(shape, text)) && !shapes.iter().any(is_name)
        }
        _ => false,
    }
}
