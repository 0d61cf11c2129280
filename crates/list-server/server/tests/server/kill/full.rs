//! A full disk, and kills at any step.

use crate::kill::{PATIENCE, Stage, ids};
use sojourn_core::Span;
use sojourn_core::parameters::defaults;
use sojourn_testnet::{Drawn, SmallDisk};

/// Messages that a neighbour leaves space for.
const FEW: u64 = 6;

fn stage() -> Stage {
    Stage::new(Drawn {
        subscribers: 40.try_into().unwrap(),
        domains: 12.try_into().unwrap(),
        unreachable: 0.0,
        greylisted: 0.0,
        greylisting: Span::from_s(1),
        round_trip: Span::from_ms(5),
        slow_reply: Span::from_ms(20),
        ..defaults()
    })
}

/// Has a server take `most` messages over, or as many as fit, while no host takes mail. Then the disk
/// is filled, and each time that some more was delivered the server is killed, and starts on the full
/// disk: everybody gets everything, and nobody again who was told of. At last mail is taken again.
fn survive(stage: &Stage, most: u64, fill: impl Fn(), empty: impl Fn()) {
    stage.internet.set_hosts(false);
    let mut sender = stage.talkative_sender();
    let taken = (0..most).find(|&number| {
        let said = sender.send(number, &stage.recipients);
        let refused = format!("refused {number}: the disk has no space beside the ");
        assert!(said == format!("accepted {number}") || said.starts_with(&refused), "{said}");
        said != format!("accepted {number}")
    });
    let taken = taken.unwrap_or(most);
    assert!(taken >= FEW, "{taken} messages");
    fill();
    stage.internet.set_hosts(true);
    let all = taken as usize * stage.recipients.len();
    let mut delivered = Vec::new();
    for part in 1..=8 {
        stage.internet.wait_for(all * part / 10, PATIENCE);
        let said = sender.kill("delivered ");
        delivered.push((said, stage.internet.accepted_since(0).len()));
        fill();
        sender = stage.talkative_sender();
    }
    let tale = stage.wait_for_all(&ids(0..taken));
    assert_eq!(tale.lost, 0);
    empty();
    let number = taken;
    assert_eq!(sender.send(number, &stage.recipients), format!("accepted {number}"));
    assert_eq!(stage.wait_for_all(&ids([number])).lost, 0);
    let said = sender.stop_and_tell();
    assert_eq!(said.last().unwrap(), "stopped, 0 left, 0 cut");
    let heard: usize = delivered.iter().map(|(said, _)| said.len()).sum();
    assert!(heard > 0, "a server says what it delivered");
    delivered.iter().for_each(|(said, since)| stage.assert_once(said, *since));
}

#[test]
fn a_tmpfs_filled_by_the_spool() {
    let stage = stage();
    let Some(disk) = SmallDisk::tmpfs(stage.folder.path(), 16) else { return };
    survive(&stage, 1000, || {}, || disk.remount("size=64m"));
}

#[test]
fn a_tmpfs_filled_by_a_neighbour() {
    let stage = stage();
    let Some(disk) = SmallDisk::tmpfs(stage.folder.path(), 16) else { return };
    survive(&stage, FEW, || disk.fill(), || disk.empty());
}

#[test]
fn an_ext4_filled_by_the_spool_and_then_by_a_neighbour() {
    let stage = stage();
    let Some(disk) = SmallDisk::ext4(stage.folder.path(), 24) else { return };
    survive(&stage, 1000, || disk.fill(), || disk.empty());
}

#[test]
fn an_ext4_filled_by_a_neighbour() {
    let stage = stage();
    let Some(disk) = SmallDisk::ext4(stage.folder.path(), 24) else { return };
    survive(&stage, FEW, || disk.fill(), || disk.empty());
}

#[test]
fn no_inodes() {
    let stage = stage();
    let Some(disk) = SmallDisk::tmpfs(stage.folder.path(), 16) else { return };
    survive(&stage, FEW, || disk.fill_inodes(0), || disk.empty());
}
