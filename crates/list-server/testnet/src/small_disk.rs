//! A small file system, for tests that fill it.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A file system that is mounted on a folder until this is dropped.
#[derive(Debug)]
pub struct SmallDisk {
    folder: PathBuf,
    /// The file that an ext4 is in.
    image: Option<PathBuf>,
}

impl SmallDisk {
    /// A tmpfs of `megabytes` on `folder`; nothing, and a line that says so, where this user may not
    /// mount.
    pub fn tmpfs(folder: &Path, megabytes: u32) -> Option<SmallDisk> {
        let options = format!("size={megabytes}m,nr_inodes=1000");
        SmallDisk::mount(folder, &["-t", "tmpfs", "-o", &options, "tmpfs"], None)
    }

    /// An ext4 of `megabytes` on `folder`, in a file beside it; nothing, and a line that says so, where
    /// this user may not mount.
    pub fn ext4(folder: &Path, megabytes: u32) -> Option<SmallDisk> {
        let image = folder.with_extension("image");
        let made = File::create(&image).and_then(|it| it.set_len(u64::from(megabytes) << 20));
        made.expect("an image can be written");
        let name = image.to_str().expect("a test's folder has a plain name");
        let options = ["-q", "-F", "-m", "0", "-N", "1000", name];
        let formatted = Command::new("mkfs.ext4").args(options).status();
        if !formatted.is_ok_and(|status| status.success()) {
            return SmallDisk::skip();
        }
        SmallDisk::mount(folder, &["-o", "loop", name], Some(image.clone()))
    }

    fn mount(folder: &Path, arguments: &[&str], image: Option<PathBuf>) -> Option<SmallDisk> {
        let mounted = Command::new("mount").args(arguments).arg(folder).output();
        if !mounted.is_ok_and(|output| output.status.success()) {
            return SmallDisk::skip();
        }
        Some(SmallDisk { folder: folder.to_owned(), image })
    }

    fn skip() -> Option<SmallDisk> {
        // Not `eprintln!`: a test that passes does not show what it prints by that.
        let said = b"skipped: only root can mount a small file system\n";
        io::stderr().write_all(said).expect("standard error");
        None
    }

    /// Mounts it again with other options: `ro`, `size=64m`.
    pub fn remount(&self, options: &str) {
        let options = format!("remount,{options}");
        let done = Command::new("mount").args(["-o", &options]).arg(&self.folder).status();
        assert!(done.is_ok_and(|status| status.success()), "the disk can be mounted again");
    }

    fn neighbour(&self) -> PathBuf {
        self.folder.join("neighbour")
    }

    /// A neighbour writes until nothing fits any more.
    pub fn fill(&self) {
        let mut file = OpenOptions::new().create(true).append(true).open(self.neighbour());
        let file = file.as_mut().expect("a neighbour has a file");
        for size in [1 << 20, 1 << 16, 1 << 10] {
            while file.write_all(&vec![0; size]).is_ok() && file.sync_all().is_ok() {}
        }
    }

    /// A neighbour has a file for each inode that there is, but for `left`.
    pub fn fill_inodes(&self, left: usize) {
        std::fs::create_dir_all(self.folder.join("files")).expect("a folder can be made");
        let name = |number: usize| self.folder.join("files").join(number.to_string());
        let last = (0..).find(|&number| File::create(name(number)).is_err());
        let last = last.expect("a disk has a limited number of inodes");
        for number in last.saturating_sub(left)..last {
            std::fs::remove_file(name(number)).expect("a file can be removed");
        }
    }

    /// The neighbour's files are removed.
    pub fn empty(&self) {
        drop(std::fs::remove_file(self.neighbour()));
        drop(std::fs::remove_dir_all(self.folder.join("files")));
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        drop(Command::new("umount").arg("-l").arg(&self.folder).status());
        if let Some(image) = &self.image {
            drop(std::fs::remove_file(image));
        }
    }
}
