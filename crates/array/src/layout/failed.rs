//! Disks that have failed.

use sojourn_core::parameters::{Refusal, Setting, Shape, Value};

/// The disks of an array that have failed: none, one or two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Failed([Option<u16>; 2]);

const FAILED: &str = "a disk such as 0, two such as [0, 3], or \"none\"";

impl Failed {
    /// Whether `disk` has failed.
    #[inline]
    pub(super) fn has(self, disk: u16) -> bool {
        self.0.contains(&Some(disk))
    }

    /// Refuses failed disks with numbers that no disk has.
    pub(super) fn check(self, disks: u16) -> Result<(), Refusal> {
        match self.0.into_iter().flatten().find(|&disk| disk >= disks) {
            Some(_) => {
                let expected = format!("disks from 0 to {}", disks - 1);
                Err(Refusal::value(&self.write().expect("disks"), expected).under("failed"))
            }
            None => Ok(()),
        }
    }
}

impl From<Option<u16>> for Failed {
    fn from(disk: Option<u16>) -> Failed {
        Failed([disk, None])
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
        let one = |value: &Value| u16::read(value).ok();
        let failed = match value {
            Value::Text(text) if text == "none" => Some(Failed::default()),
            Value::List(disks) => match disks.as_slice() {
                [] => Some(Failed::default()),
                [disk] => one(disk).map(|disk| Failed::from(Some(disk))),
                [a, b] => match (one(a), one(b)) {
                    (Some(a), Some(b)) if a != b => Some(Failed([Some(a), Some(b)])),
                    _ => None,
                },
                _ => None,
            },
            disk => one(disk).map(|disk| Failed::from(Some(disk))),
        };
        failed.ok_or_else(|| Refusal::value(value, FAILED))
    }

    fn write(&self) -> Option<Value> {
        let disks: Vec<u16> = self.0.into_iter().flatten().collect();
        match disks.as_slice() {
            [] => Some(Value::Text("none".to_owned())),
            [disk] => disk.write(),
            two => two.to_vec().write(),
        }
    }
}
