//! Out of a file whose pages are damaged, what can be read.

use super::{answers, open};
use rusqlite::{Connection, params_from_iter, types::Value};
use std::path::{Path, PathBuf};

/// Puts all rows that can be read into a new file, which takes the place of the old one. Tables are
/// read from both ends, up to what is damaged.
pub(super) fn rebuild(path: &Path) -> rusqlite::Result<()> {
    let beside = |suffix: &str| PathBuf::from(format!("{}{suffix}", path.display()));
    let new = beside("-rebuilt");
    // What a repair left that was cut short.
    for old in [&new, &beside("-rebuilt-wal"), &beside("-rebuilt-shm")] {
        drop(std::fs::remove_file(old));
    }
    {
        let to = Connection::open(&new)?;
        open::make(&to)?;
        let from = Connection::open(path)?;
        to.execute_batch("BEGIN")?;
        copy(&from, &to, "message", "id");
        copy(&from, &to, "recipient", "message");
        answers::carry(&from, &to)?;
        to.execute_batch("COMMIT; PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE;")?;
    }
    for suffix in ["-wal", "-shm"] {
        drop(std::fs::remove_file(beside(suffix)));
    }
    std::fs::rename(&new, path)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))
}

/// Copies rows from the beginning until one cannot be read, and from the end; of an older version,
/// the columns that it has.
fn copy(from: &Connection, to: &Connection, table: &str, by: &str) {
    for order in ["ASC", "DESC"] {
        let Ok(mut select) = from.prepare(&format!("SELECT * FROM {table} ORDER BY {by} {order}"))
        else {
            continue;
        };
        let names = select.column_names().join(", ");
        let columns = select.column_count();
        let places = vec!["?"; columns].join(", ");
        let insert = format!("INSERT OR IGNORE INTO {table} ({names}) VALUES ({places})");
        let Ok(mut rows) = select.query([]) else { continue };
        while let Ok(Some(row)) = rows.next() {
            let values: Result<Vec<Value>, _> = (0..columns).map(|i| row.get(i)).collect();
            let Ok(values) = values else { break };
            // A row that does not fit the tables was damaged itself.
            drop(to.execute(&insert, params_from_iter(values)));
        }
    }
}
