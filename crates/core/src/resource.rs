//! The files that a study names. Nothing here opens one: who reads a study hands in what is in its files,
//! each as a [`Resource`], which stands in the tree of settings as a [`Value::File`].

use crate::file_kind;
use crate::parameters::{Refusal, Setting, Shape, Table, Value};
use crate::random::Reading;
use crate::size_table::{SizeTable, WORKLOADS, Workload};
use std::any::Any;
use std::fmt::{self, Debug};
use std::io::{BufRead, Cursor, Read};
use std::sync::Arc;

/// What is in a file that a study names.
#[derive(Clone, Debug)]
pub struct Resource {
    /// Its name in a resolved study: an absolute path, or the place that it has in a run directory.
    pub name: String,
    /// What messages call it.
    pub shown: String,
    /// Settings of the table that names it which follow from what is in it, such as its SHA-256.
    pub beside: Table,
    /// What is in it.
    pub content: Content,
}

/// What is in a file.
#[derive(Clone, Debug)]
pub enum Content {
    /// Octets: a text or a trace, which may be packed.
    Octets(Arc<dyn Octets>),
    /// A table.
    Columns(Arc<Columns>),
    /// Functions that draw tables, or where these were drawn before: the folder.
    Functions(Option<String>),
    /// A class without values of its parameters.
    Class(Arc<dyn Class>),
    /// An object of a type that its model knows: a class with values of its parameters.
    Object(Arc<dyn Any + Send + Sync>),
}

/// Octets that can be read more than once, from several threads.
pub trait Octets: Debug + Send + Sync {
    /// Reads them from their beginning.
    fn reader(&self) -> Box<dyn BufRead>;
}

/// A class of code that comes with a study.
pub trait Class: Debug + Send + Sync {
    /// The class with the values of its parameters that `around` sets, the table that names it; those that it
    /// leaves out are set there.
    fn configured(
        self: Arc<Self>,
        around: &mut Table,
    ) -> Result<Arc<dyn Any + Send + Sync>, Refusal>;
}

/// A table, column by column, all of equal length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Columns {
    /// The names of the columns.
    pub names: Vec<String>,
    /// The values of each.
    pub columns: Vec<Cells>,
    /// How many rows there are.
    pub rows: usize,
}

/// The values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Cells {
    /// Whole numbers, and where they are missing, if any are.
    Whole(Vec<i64>, Option<Vec<bool>>),
    /// Numbers; one that is missing is not a number.
    Number(Vec<f64>),
    /// Texts behind each other, and where each begins, with the end of the last. A missing one is empty.
    Text(String, Vec<usize>),
}

/// The call of a function that draws a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The name of its table: it differs where anything does that the function gets.
    pub key: String,
    /// The file that has the function.
    pub file: String,
    /// A folder of tables that were drawn before, which is looked up instead.
    pub folder: Option<String>,
    /// The function.
    pub function: String,
    /// Arguments by name.
    pub set: Table,
    /// The speed of each host's link, in bits a second.
    pub rates: Vec<u64>,
    /// The seed of its random numbers.
    pub seed: [u64; 4],
}

/// Finds a table that was drawn, by the key of its [`Call`]; or says why there is none.
pub type Tables<'a> = &'a dyn Fn(&str) -> Result<Arc<Columns>, NoTable>;

/// Why a table is not there, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoTable(pub String);

impl fmt::Display for NoTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Finds no table.
pub fn no_tables(_: &str) -> Result<Arc<Columns>, NoTable> {
    Err(NoTable("no table was drawn".to_owned()))
}

impl Resource {
    /// A text as the file of this name.
    pub fn text(name: &str, text: &str) -> Resource {
        let content = Content::Octets(Arc::new(Arc::<[u8]>::from(text.as_bytes())));
        Resource {
            name: name.to_owned(),
            shown: name.to_owned(),
            beside: Table::default(),
            content,
        }
    }

    /// Takes the place of its name, which is under `key` in the table `around`.
    pub fn put(&self, key: &str, around: &mut Table) -> Result<(), Refusal> {
        let content = match &self.content {
            Content::Class(class) => Content::Object(class.clone().configured(around)?),
            other => other.clone(),
        };
        for (key, value) in self.beside.iter() {
            around.set(key, value.clone());
        }
        around.set(key, Value::File(Arc::new(Resource { content, ..self.clone() })));
        Ok(())
    }
}

/// By what is kept of it in a study: two files of one name there hold the same.
impl PartialEq for Resource {
    fn eq(&self, other: &Resource) -> bool {
        self.name == other.name
    }
}

impl Octets for Arc<[u8]> {
    fn reader(&self) -> Box<dyn BufRead> {
        Box::new(Cursor::new(self.clone()))
    }
}

/// The name of a file, with what is in it where that was handed in.
#[derive(Clone, Debug, PartialEq)]
pub struct FileName(State);

#[derive(Clone, Debug, PartialEq)]
enum State {
    Named(String),
    There(Arc<Resource>),
}

/// The largest text: more than the flows of the largest case take.
const MOST_BYTES: u64 = 1 << 32;

impl FileName {
    /// The name in a resolved study.
    pub fn name(&self) -> &str {
        match &self.0 {
            State::Named(name) => name,
            State::There(resource) => &resource.name,
        }
    }

    /// Whether what is in it was handed in.
    pub fn is_there(&self) -> bool {
        matches!(self.0, State::There(_))
    }

    /// A refusal of what is in the file: what was expected of it.
    pub fn refused(&self, expected: impl Into<String>) -> Refusal {
        let shown = match &self.0 {
            State::Named(name) => name,
            State::There(resource) => &resource.shown,
        };
        Refusal::value(&Value::Text(shown.clone()), expected)
    }

    /// What is in it. Refuses a file that was not handed in.
    pub fn content(&self) -> Result<&Content, Refusal> {
        match &self.0 {
            State::Named(_) => Err(self.refused("a file that was handed in with the study")),
            State::There(resource) => Ok(&resource.content),
        }
    }

    /// Its octets from the beginning.
    pub fn open(&self) -> Result<Box<dyn BufRead>, Refusal> {
        match self.content()? {
            Content::Octets(octets) => Ok(octets.reader()),
            _ => Err(self.refused("a file of octets")),
        }
    }

    /// Its text. Refuses one that cannot be read, has more than 4 GiB, or is not text in UTF-8, and then says what
    /// it looks like.
    pub fn text(&self) -> Result<String, Refusal> {
        text(self.open()?).map_err(|why| self.refused(format!("a file to read: {why}")))
    }

    /// The table in it.
    pub fn columns(&self) -> Result<&Columns, Refusal> {
        match self.content()? {
            Content::Columns(columns) => Ok(columns),
            _ => Err(self.refused("a table")),
        }
    }

    /// The object of this type in it.
    pub fn object<T: Any>(&self) -> Result<&T, Refusal> {
        match self.content()? {
            Content::Object(object) => object.downcast_ref(),
            _ => None,
        }
        .ok_or_else(|| self.refused("a file with code of this kind"))
    }
}

fn text(file: Box<dyn BufRead>) -> Result<String, String> {
    let mut file = file.take(MOST_BYTES + 1);
    let start = file.fill_buf().map_err(|error| error.to_string())?;
    if let Some(kind) = file_kind::of_bytes(start) {
        return Err(format!("it looks like {kind}"));
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err("it has more than 4 GiB".to_owned());
    }
    String::from_utf8(bytes)
        .map_err(|_| "it is not UTF-8 text: convert it with `iconv -t UTF-8`".to_owned())
}

impl From<&str> for FileName {
    fn from(name: &str) -> FileName {
        FileName(State::Named(name.to_owned()))
    }
}

impl From<Resource> for FileName {
    fn from(resource: Resource) -> FileName {
        FileName(State::There(Arc::new(resource)))
    }
}

impl Setting for FileName {
    fn expected() -> String {
        String::expected()
    }

    fn shape() -> Shape {
        Shape::File { or_name: false }
    }

    fn read(value: &Value) -> Result<FileName, Refusal> {
        match value {
            Value::File(resource) => Ok(FileName(State::There(resource.clone()))),
            other => String::read(other).map(|name| FileName(State::Named(name))),
        }
    }

    fn write(&self) -> Option<Value> {
        Some(Value::Text(self.name().to_owned()))
    }
}

/// A name of something known, or of a file, which has a dot or a slash in it.
#[derive(Clone, Debug, PartialEq)]
pub struct NameOrFile(pub FileName);

impl NameOrFile {
    /// Whether a name is the name of a file.
    pub fn is_file(name: &str) -> bool {
        name.contains(['/', '.'])
    }

    /// The size table of this name, one that comes with sojourn or a file; and notes for who wrote the study.
    pub fn size_table(
        &self,
        reading: Option<Reading>,
    ) -> Result<(SizeTable, Vec<String>), Refusal> {
        let name = self.0.name();
        if let Some(workload) = Workload::find(name) {
            return Ok((workload.sizes(reading), Vec::new()));
        }
        if !NameOrFile::is_file(name) {
            let names = WORKLOADS.iter().map(|workload| workload.name).collect();
            let mut refusal = Refusal::name(&Value::Text(name.to_owned()), "size table", names);
            refusal.expected.push_str(", or a file with one (a path with a dot or slash)");
            return Err(refusal);
        }
        let (table, notes) = SizeTable::parse_with_notes(&self.0.text()?, reading)
            .map_err(|error| self.0.refused(format!("a size table, but in it {error}")))?;
        Ok((table, notes.into_iter().map(|note| format!("{name}: {note}")).collect()))
    }
}

impl Setting for NameOrFile {
    fn expected() -> String {
        String::expected()
    }

    fn shape() -> Shape {
        Shape::File { or_name: true }
    }

    fn read(value: &Value) -> Result<NameOrFile, Refusal> {
        FileName::read(value).map(NameOrFile)
    }

    fn write(&self) -> Option<Value> {
        self.0.write()
    }
}
