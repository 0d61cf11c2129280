//! Columns of a table.

/// Values of one column, one a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Column {
    /// Whole numbers; -1 where there is none, of which no column here has one.
    Int(Vec<i64>),
    /// UTF-8 texts, one behind the other: row `i` is from offset `i` to offset `i + 1`.
    Text(Vec<i64>, Vec<u8>),
}

/// A table's columns by name, all of one length.
pub type Columns = Vec<(&'static str, Column)>;

impl Column {
    /// How many values it has.
    pub fn len(&self) -> usize {
        match self {
            Column::Int(values) => values.len(),
            Column::Text(offsets, _) => offsets.len() - 1,
        }
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn text() -> Column {
        Column::Text(vec![0], Vec::new())
    }

    pub(crate) fn int(values: impl IntoIterator<Item = i64>) -> Column {
        Column::Int(values.into_iter().collect())
    }

    pub(crate) fn texts<'a>(values: impl IntoIterator<Item = &'a [u8]>) -> Column {
        let mut column = Column::text();
        values.into_iter().for_each(|value| column.push_text(value));
        column
    }

    /// Adds a text; what is not UTF-8 in it becomes U+FFFD.
    pub(crate) fn push_text(&mut self, value: &[u8]) {
        let Column::Text(offsets, bytes) = self else { unreachable!("a column of texts") };
        match str::from_utf8(value) {
            Ok(_) => bytes.extend_from_slice(value),
            Err(_) => bytes.extend_from_slice(String::from_utf8_lossy(value).as_bytes()),
        }
        offsets.push(bytes.len() as i64);
    }

    pub(crate) fn push_int(&mut self, value: Option<i64>) {
        let Column::Int(values) = self else { unreachable!("a column of numbers") };
        values.push(value.unwrap_or(-1));
    }
}
