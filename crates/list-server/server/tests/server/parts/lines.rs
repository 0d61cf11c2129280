//! Several writers, one file.

use sojourn_list_server::{Lines, Log, Observer, ServerEvent};
use std::io::{Error, ErrorKind, Result, Write};
use std::sync::{Arc, Mutex};

#[derive(Clone, Default)]
struct File(Arc<Mutex<Vec<u8>>>);

impl Write for File {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

#[test]
fn lines_stay_whole() {
    let (first, second) = (File::default(), File::default());
    let mut one = Lines::new(first.clone());
    let mut two = one.clone();
    one.write_all(b"one").unwrap();
    two.write_all(b"two\nthr").unwrap();
    one.write_all(b" line\n").unwrap();
    two.write_all(b"ee\n").unwrap();
    assert_eq!(*first.0.lock().unwrap(), b"two\none line\nthree\n");
    two.write_all(b"fo").unwrap();
    one.redirect(second.clone());
    two.write_all(b"ur\n").unwrap();
    assert_eq!(*second.0.lock().unwrap(), b"four\n");
}

/// A file on a disk that has some space left, and then more.
#[derive(Clone, Default)]
struct Disk(Arc<Mutex<(Vec<u8>, usize)>>);

impl Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        let (file, space) = &mut *self.0.lock().unwrap();
        let fits = bytes.len().min(*space - file.len());
        match fits {
            0 => Err(Error::from(ErrorKind::StorageFull)),
            _ => file.write(&bytes[..fits]),
        }
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

/// No line is cut, repeated or out of order when the disk has space again, and one says since when some
/// may be missing.
#[test]
fn a_log_goes_on_when_the_disk_has_space_again() {
    const BEFORE: usize = 40;
    let disk = Disk::default();
    let lines = Lines::new(disk.clone());
    let mut logs = [Log::new(lines.clone(), 25), Log::new(lines, 25)];
    let space = |octets| disk.0.lock().unwrap().1 = octets;
    let numbers = || -> Vec<String> {
        let text = String::from_utf8(disk.0.lock().unwrap().0.clone()).unwrap();
        text.lines().map(|line| line.rsplit(": ").next().unwrap().to_owned()).collect()
    };
    let mut write = |range: std::ops::Range<usize>| {
        for number in range {
            let log = &mut logs[number % 2];
            log.notice(0, &ServerEvent::Trouble(&number.to_string()));
            log.pause();
        }
    };
    space(1234);
    write(0..BEFORE);
    assert!(numbers().len() < BEFORE);
    space(1 << 20);
    write(BEFORE..BEFORE + 10);
    let (notes, kept): (Vec<_>, Vec<_>) =
        numbers().into_iter().partition(|it| it.contains("could not"));
    assert_eq!(kept, (0..BEFORE + 10).map(|number| number.to_string()).collect::<Vec<_>>());
    assert_eq!(notes.len(), 2, "one of each log: {notes:?}");
    // More than is kept is lost, line by line.
    let full = disk.0.lock().unwrap().0.len();
    space(full);
    write(50..10_000);
    space(1 << 20);
    write(10_000..10_002);
    let all = numbers();
    let kept: Vec<usize> = all.iter().filter_map(|it| it.parse().ok()).collect();
    assert!(kept.is_sorted() && kept.len() < 5_000, "{}", kept.len());
    assert_eq!(kept[kept.len() - 2..], [10_000, 10_001]);
}
