//! What a file of answers claims, and what it does not.

use crate::delivered_log::*;
use sojourn_mail_engine::RecipientIndex;

/// A database with one message to as many recipients, and its file.
fn database(folder: &Path, recipients: u32) -> (PathBuf, Connection) {
    let path = folder.join("spool");
    let database = Connection::open(&path).unwrap();
    crate::schema::make(&database).unwrap();
    let message = "INSERT INTO message VALUES (1, NULL, 0, 0, 0, x'', NULL)";
    database.execute(message, []).unwrap();
    for number in 0..recipients {
        let recipient = "INSERT INTO recipient (message, number, address) VALUES (1, ?, 'a@b')";
        database.execute(recipient, [number]).unwrap();
    }
    (path, database)
}

fn tasks(recipients: std::ops::Range<u32>) -> impl Iterator<Item = Task> {
    recipients.map(|number| Task { message: MessageId(1), recipient: RecipientIndex(number) })
}

fn open_answers(path: &Path, database: &Connection) -> rusqlite::Result<Answers> {
    Answers::open(path, database, &Arc::new(Reserve::beside(path)))
}

/// Who is at the end.
fn ended(database: &Connection) -> Vec<u32> {
    let ended = "SELECT number FROM recipient WHERE state = 'ended' ORDER BY number";
    let mut ended = database.prepare(ended).unwrap();
    ended.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

#[test]
fn what_was_noted_is_there_after_the_process() {
    let folder = tempfile::tempdir().unwrap();
    let (path, database) = database(folder.path(), 8);
    let mut answers = open_answers(&path, &database).unwrap();
    answers.note(tasks(2..4)).unwrap();
    answers.note(tasks(6..7)).unwrap();
    answers.note([Task { message: MessageId(9), recipient: RecipientIndex(0) }]).unwrap();
    assert!(ended(&database).is_empty());
    let answers = open_answers(&path, &database).unwrap();
    assert_eq!(ended(&database), [2, 3, 6]);
    assert_eq!(std::fs::metadata(beside(&path)).unwrap().len(), 0);
    answers.remove();
    assert!(!beside(&path).exists());
}

/// Cut at every octet, and with every octet changed, it claims what was noted before that.
#[test]
fn what_is_torn_does_not_count() {
    let folder = tempfile::tempdir().unwrap();
    let (path, database) = database(folder.path(), 3);
    let mut answers = open_answers(&path, &database).unwrap();
    answers.note(tasks(0..3)).unwrap();
    let whole = std::fs::read(beside(&path)).unwrap();
    let run = answers.run;
    let found = |bytes: &[u8]| {
        std::fs::write(beside(&path), bytes).unwrap();
        read(&mut open(&beside(&path)).unwrap(), run).unwrap_or_default().len()
    };
    for at in 0..whole.len() {
        let before = at.saturating_sub(HEADER as usize) / RECORD;
        assert_eq!(found(&whole[..at]), before, "cut at {at}");
        let mut other = whole.clone();
        other[at] ^= 0x10;
        assert_eq!(found(&other), before, "changed at {at}");
    }
    assert_eq!(found(&whole), 3);
    let zeros = [&whole[..HEADER as usize], &[0; 4 * RECORD]].concat();
    assert_eq!(found(&zeros), 0);
}

/// The database is put back as it was earlier, and gives the same numbers to other messages; the
/// file of another spool lies in the way.
#[test]
fn what_belongs_to_another_opening_does_not_count() {
    let folder = tempfile::tempdir().unwrap();
    let (path, database) = database(folder.path(), 3);
    let mut answers = open_answers(&path, &database).unwrap();
    answers.note(tasks(0..3)).unwrap();
    let stale = std::fs::read(beside(&path)).unwrap();
    database.execute("INSERT INTO answers SELECT randomblob(16)", []).unwrap();
    database.execute("DELETE FROM answers WHERE rowid = 1", []).unwrap();
    let mut answers = open_answers(&path, &database).unwrap();
    assert!(ended(&database).is_empty());
    answers.note(tasks(1..2)).unwrap();
    // What a file had behind its end before it was cut is of another opening as well.
    let mut after = std::fs::read(beside(&path)).unwrap();
    after.extend_from_slice(&stale[after.len()..]);
    std::fs::write(beside(&path), after).unwrap();
    open_answers(&path, &database).unwrap();
    assert_eq!(ended(&database), [1]);
}

/// However much is noted, the file has what no batch has yet and little more.
#[test]
fn the_file_stays_small() {
    let folder = tempfile::tempdir().unwrap();
    let (path, database) = database(folder.path(), 40);
    let mut answers = open_answers(&path, &database).unwrap();
    let length = || std::fs::metadata(beside(&path)).unwrap().len();
    for turn in 0..300 {
        answers.note(tasks(40..1000)).unwrap();
        answers.batched();
        answers.note(tasks(turn % 40..turn % 40 + 1)).unwrap();
        answers.saved();
        assert!(length() < 2 * SPENT, "{} after {turn}", length());
    }
    // Nothing can be written for a while: all of it is kept.
    answers.batched();
    answers.note(tasks(0..40)).unwrap();
    for _ in 0..200 {
        answers.note(tasks(40..1000)).unwrap();
    }
    assert!(length() > 2 * SPENT);
    answers.saved();
    open_answers(&path, &database).unwrap();
    assert_eq!(ended(&database), (0..40).collect::<Vec<_>>());
}

#[test]
fn a_disk_that_is_full() {
    let folder = tempfile::tempdir().unwrap();
    let (path, database) = database(folder.path(), 3);
    let mut answers = open_answers(&path, &database).unwrap();
    answers.file = Ok(File::options().write(true).open("/dev/full").unwrap());
    let why = answers.note(tasks(0..1)).unwrap_err();
    let right = format!(
        "answers cannot be noted in {}, a crash repeats them: No space left on device (os \
         error 28)",
        beside(&path).display()
    );
    assert_eq!(why.to_string(), right);
    answers.note(tasks(0..0)).unwrap();
    // When the disk has space again, they are noted as ever.
    answers.file = open(&beside(&path)).map_err(|error| error.to_string());
    answers.note(tasks(1..2)).unwrap();
    open_answers(&path, &database).unwrap();
    assert_eq!(ended(&database), [1]);
    // A database that takes nothing may be opened where there is nothing that it has to take.
    database.pragma_update(None, "query_only", true).unwrap();
    let mut answers = open_answers(&path, &database).unwrap();
    assert!(answers.note(tasks(0..1)).unwrap_err().to_string().contains("readonly"));
}

#[test]
fn it_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let (path, database) = database(folder.path(), 1);
    open_answers(&path, &database).unwrap();
    let mode = std::fs::metadata(beside(&path)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}
