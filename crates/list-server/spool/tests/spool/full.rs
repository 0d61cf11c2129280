//! A spool on a disk that is full, and on one that cannot be written.

use sojourn_core::Span;
use sojourn_mail_engine::{
    Deferral, MessageId, Moment, Obstacle, Operation, Progress, Reason, RecipientIndex, Record,
    Selection, Submission, Task,
};
use sojourn_mail_spool::{Epoch, Spool, check, look, octets, operate, waiting};
use sojourn_smtp::Enhanced;
use sojourn_testnet::SmallDisk;
use std::path::{Path, PathBuf};

const EPOCH: Epoch = Epoch { unix_ms: 1_700_000_000_000 };
/// Octets of a text, and of the largest one.
const SIZE: usize = 100_000;
const LARGEST: u64 = 1_000_000;
/// Recipients of a message.
const MANY: u32 = 50;

fn disks(folder: &Path, megabytes: u32) -> Option<[(SmallDisk, PathBuf); 2]> {
    let mounts = ["tmpfs", "ext4"].map(|name| folder.join(name));
    mounts.iter().for_each(|it| std::fs::create_dir(it).unwrap());
    let [tmpfs, ext4] = &mounts;
    let disks = [SmallDisk::tmpfs(tmpfs, megabytes)?, SmallDisk::ext4(ext4, megabytes)?];
    let [a, b] = disks;
    Some([(a, tmpfs.join("spool")), (b, ext4.join("spool"))])
}

fn tasks(message: MessageId) -> impl Iterator<Item = Task> {
    (0..MANY).map(move |number| Task { message, recipient: RecipientIndex(number) })
}

/// Takes a message over as a server does; or says why not.
fn take(spool: &mut Spool, waiting: u64) -> Result<MessageId, String> {
    let recipients: Vec<_> =
        (0..MANY).map(|i| format!("somebody{i}@{i}.example").parse().unwrap()).collect();
    spool.reserve().want(LARGEST, waiting + u64::from(MANY));
    spool.reserve().admit(octets(SIZE, recipients.len())).map_err(|full| full.to_string())?;
    let id = spool.next_id();
    let submission = Submission {
        id,
        sender: None,
        size: SIZE as u64,
        eight_bit: false,
        utf8: false,
        recipients,
        subscribers: Vec::new(),
        day: 0,
    };
    spool.offer(Moment::ZERO, submission, vec![b'x'; SIZE].into());
    spool.write(&[Record::Accepted(id)]).map_err(|error| error.to_string())?;
    Ok(id)
}

/// Takes messages over until none fits.
fn fill(spool: &mut Spool) -> Vec<MessageId> {
    let mut taken = Vec::new();
    loop {
        match take(spool, taken.len() as u64 * u64::from(MANY)) {
            Ok(id) => taken.push(id),
            Err(why) => {
                assert!(why.starts_with("the disk has no space beside the "), "{why}");
                return taken;
            }
        }
    }
}

/// A host refuses for now, with the longest reply that is kept.
fn deferred(task: Task, times: u32) -> Record {
    let at = |s| Moment::ZERO + Span::from_s(s);
    let deferral = Deferral { times, first: at(1), due: at(300) };
    let reason = Reason { status: Enhanced(4, 2, 2), text: "x".repeat(500).into() };
    let host = Some("mx.some.where.example".into());
    Record::Deferred(task, deferral, Box::new(Obstacle { at: at(2), host, reason }))
}

/// The spool itself fills the disk up to the reserve, a neighbour fills the rest: what becomes of each
/// recipient can be noted all the same, a crash later too, and deletion lets mail in again.
#[test]
fn what_waits_can_be_noted_on_a_full_disk() {
    let folder = tempfile::tempdir().unwrap();
    let Some(disks) = disks(folder.path(), 24) else { return };
    for (disk, path) in &disks {
        let mut spool = Spool::open(path, EPOCH).unwrap();
        let taken = fill(&mut spool);
        assert!(taken.len() > 20, "{path:?}: {} messages", taken.len());
        disk.fill();
        let waiting = taken.len() as u64 * u64::from(MANY);
        assert!(take(&mut spool, waiting).is_err());
        // Every other recipient is deferred first.
        for &id in &taken {
            let even = tasks(id).filter(|it| it.recipient.0.is_multiple_of(2));
            spool.write(&even.map(|task| deferred(task, 1)).collect::<Vec<_>>()).unwrap();
        }
        disk.fill();
        let (first, rest) = taken.split_first().unwrap();
        for &id in &rest[..rest.len() / 2] {
            spool.write(&tasks(id).map(Record::Delivered).collect::<Vec<_>>()).unwrap();
            spool.finish(id);
        }
        spool.write(&[]).unwrap();
        // A crash leaves the files as they are.
        let before = spool.load().unwrap();
        std::mem::forget(spool);
        let mut spool = reopen(path);
        assert_eq!(spool.load().unwrap(), before);
        assert_eq!(before.len(), taken.len() - rest.len() / 2);
        // What was removed is space for mail; the neighbour has the reserve.
        disk.empty();
        let waiting = before.len() as u64 * u64::from(MANY);
        spool.reserve().want(LARGEST, waiting);
        spool.shrink().unwrap();
        take(&mut spool, waiting).unwrap();
        drop(spool);
        assert_eq!(check(path).unwrap(), []);
        let selection = Selection { messages: [*first].into(), ..Selection::default() };
        let counts = operate(path, Operation::Delete, &selection).unwrap();
        assert_eq!((counts.messages, counts.recipients), (1, MANY.into()));
        assert!(look(path).unwrap().iter().all(|it| it.message != first.0));
    }
}

/// Opens the spool of a process that is gone: here its lock is given back, which a process's end does.
fn reopen(path: &Path) -> Spool {
    std::fs::remove_file(format!("{}-lock", path.display())).unwrap();
    Spool::open(path, EPOCH).unwrap()
}

/// There was never a reserve, or it is used up: a message is deleted all the same, and its space is
/// used by others.
#[test]
fn deletion_needs_no_space() {
    let folder = tempfile::tempdir().unwrap();
    let Some(disks) = disks(folder.path(), 36) else { return };
    for (disk, path) in &disks {
        let mut spool = Spool::open(path, EPOCH).unwrap();
        let taken = fill(&mut spool);
        drop(spool);
        std::fs::remove_file(format!("{}-reserve", path.display())).unwrap();
        // A log that is there, as a server's is that was killed.
        let mut spool = Spool::open(path, EPOCH).unwrap();
        spool.write(&[deferred(tasks(taken[0]).next().unwrap(), 1)]).unwrap();
        disk.fill();
        let all = |id: MessageId| {
            let recipients = (0..MANY).map(RecipientIndex).collect();
            Record::Operated(Operation::Delete, id, recipients)
        };
        for &id in &taken[1..] {
            spool.write(&[all(id)]).unwrap();
        }
        let left = spool.load().unwrap();
        assert_eq!(left.iter().map(|it| it.submission.id).collect::<Vec<_>>(), taken[..1]);
        assert!(matches!(left[0].progress[0], Progress::Deferred(_)));
        // A single message is left: the file becomes small.
        let size = path.metadata().unwrap().len();
        disk.empty();
        spool.shrink().unwrap();
        assert!(path.metadata().unwrap().len() < size / 4);
        assert!(take(&mut spool, 0).is_ok());
    }
}

/// A spool on a disk that cannot be written is looked into and checked as any other: after a server
/// stopped, and after a crash.
#[test]
fn a_read_only_spool_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let Some(disks) = disks(folder.path(), 24) else { return };
    for (disk, path) in &disks {
        let mut spool = Spool::open(path, EPOCH).unwrap();
        let id = take(&mut spool, 0).unwrap();
        spool.write(&[deferred(tasks(id).nth(3).unwrap(), 1)]).unwrap();
        drop(spool);
        let seen = || (look(path).unwrap(), waiting(path).unwrap(), check(path).unwrap());
        let before = seen();
        assert_eq!((before.0[0].deferred, before.1.len()), (1, MANY as usize));
        disk.remount("ro");
        assert_eq!(seen(), before);
        let error = Spool::open(path, EPOCH).unwrap_err().to_string();
        assert!(error.contains("Read-only file system"), "{error}");
        disk.remount("rw");
        // A crash leaves a log: here the files are copied while a process has them.
        let mut spool = Spool::open(path, EPOCH).unwrap();
        spool.write(&[Record::Delivered(tasks(id).nth(4).unwrap())]).unwrap();
        let image = path.with_file_name("image");
        for suffix in ["", "-wal", "-shm"] {
            let name = |path: &Path| format!("{}{suffix}", path.display());
            std::fs::copy(name(path), name(&image)).unwrap();
        }
        drop(spool);
        disk.remount("ro");
        assert_eq!(look(&image).unwrap()[0].ended, 1);
        assert_eq!(check(&image).unwrap(), []);
        disk.remount("rw");
    }
}
