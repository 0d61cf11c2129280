//! Several writers, one file.

use sojourn_list_server::Lines;
use std::io::{Result, Write};
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
