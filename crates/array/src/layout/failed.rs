//! Disks that have failed.

use sojourn_core::parameters::{Refusal, Setting, Shape, Value};

/// The disks of an array that have failed, each once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Failed(Vec<u16>);

const FAILED: &str = "a disk such as 0, several such as [0, 3], or \"none\"";

impl Failed {
    /// The disks that have failed.
    pub(super) fn disks(&self) -> &[u16] {
        &self.0
    }

    /// Refuses more failed disks than a layout can bear, and those with numbers that no disk has.
    pub(super) fn check(&self, disks: u16, bearable: u16) -> Result<(), Refusal> {
        let refuse =
            |expected| Err(Refusal::value(&self.write().expect("disks"), expected).under("failed"));
        if self.0.len() > bearable.into() {
            return refuse(format!("at most {bearable} disks, the number that the data survives"));
        }
        match self.0.iter().all(|&disk| disk < disks) {
            true => Ok(()),
            false => refuse(format!("disks from 0 to {}", disks - 1)),
        }
    }
}

/// The disk of an array that has failed, if one has: of a layout that is simulated with one at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FailedDisk(Option<u16>);

/// The message for a list of disks where a layout has one failed disk at most.
const ONE_FAILED: &str = "one disk such as 0, or \"none\": RAID 5 and RAID 1 survive one failed disk; \
                          only raid6 and erasure simulate several";

impl FailedDisk {
    /// The disk that has failed.
    pub(super) fn disk(self) -> Option<u16> {
        self.0
    }

    /// The disk that has failed, as a list.
    pub(super) fn disks(&self) -> &[u16] {
        self.0.as_slice()
    }

    /// Refuses a failed disk with a number that no disk has.
    pub(super) fn check(self, disks: u16) -> Result<(), Refusal> {
        match self.0 {
            Some(failed) if failed >= disks => {
                Err(Refusal::of(&failed, format!("a disk from 0 to {}", disks - 1)).under("failed"))
            }
            _ => Ok(()),
        }
    }
}

impl Setting for FailedDisk {
    fn expected() -> String {
        Option::<u16>::expected()
    }

    fn shape() -> Shape {
        Option::<u16>::shape()
    }

    fn read(value: &Value) -> Result<FailedDisk, Refusal> {
        match value {
            Value::List(_) => Err(Refusal::value(value, ONE_FAILED)),
            disk => Option::read(disk).map(FailedDisk),
        }
    }

    fn write(&self) -> Option<Value> {
        self.0.write()
    }

    fn absent() -> Option<FailedDisk> {
        Some(FailedDisk(None))
    }
}

impl Setting for Failed {
    fn expected() -> String {
        FAILED.to_owned()
    }

    fn shape() -> Shape {
        let disk = u16::shape();
        Shape::Any(vec![Shape::Names(vec!["none"]), disk.clone(), Shape::List(Box::new(disk))])
    }

    fn read(value: &Value) -> Result<Failed, Refusal> {
        let disks = match value {
            Value::Text(text) if text == "none" => Some(Vec::new()),
            Value::List(disks) => disks.iter().map(|disk| u16::read(disk).ok()).collect(),
            disk => u16::read(disk).ok().map(|disk| vec![disk]),
        };
        let once = |disks: &Vec<u16>| (1..disks.len()).all(|i| !disks[..i].contains(&disks[i]));
        disks.filter(once).map(Failed).ok_or_else(|| Refusal::value(value, FAILED))
    }

    fn write(&self) -> Option<Value> {
        match self.0.as_slice() {
            [] => Some(Value::Text("none".to_owned())),
            [disk] => disk.write(),
            several => several.to_vec().write(),
        }
    }
}
