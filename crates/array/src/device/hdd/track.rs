//! Quantities as data sheets give them: how fast a disk turns, how dense a track is.

use sojourn_core::Span;
use sojourn_core::parameters::{Refusal, Setting, Shape, Value};

/// The time of a full rotation: `"8.33ms"`, or `"7200rpm"`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rotation(pub Span);

const ROTATION: &str = "a time or a speed, such as \"8.33ms\" or \"7200rpm\" (1us to 1s)";

impl Setting for Rotation {
    fn expected() -> String {
        ROTATION.to_owned()
    }

    fn shape() -> Shape {
        Shape::Any(vec![Span::shape(), Shape::text("[^a-z]+rpm")])
    }

    fn read(value: &Value) -> Result<Rotation, Refusal> {
        let read = |text: &String| match text.strip_suffix("rpm") {
            Some(speed) => {
                let speed: f64 = speed.trim_end().parse().ok()?;
                (speed > 0.0).then(|| Span::from_seconds(60.0 / speed))
            }
            None => text.parse().ok(),
        };
        let span = match value {
            Value::Text(text) => read(text),
            _ => None,
        };
        span.filter(|span| (Span::from_us(1)..=Span::from_s(1)).contains(span))
            .map(Rotation)
            .ok_or_else(|| Refusal::value(value, ROTATION))
    }

    fn write(&self) -> Option<Value> {
        self.0.write()
    }
}

/// How dense a track is: the time of one sector, `"5976ns"`, or how many sectors there are, `1394`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Track {
    /// The time that one sector takes to pass.
    Time(Span),
    /// The number of sectors.
    Sectors(u32),
}

const TRACK: &str = "the time of a sector, such as \"5976ns\", or the number of sectors of the \
                     track, such as 1394 (at least 2 sectors a rotation)";

impl Setting for Track {
    fn expected() -> String {
        TRACK.to_owned()
    }

    fn shape() -> Shape {
        Shape::Any(vec![Span::shape(), u32::shape()])
    }

    fn read(value: &Value) -> Result<Track, Refusal> {
        let track = match value {
            Value::Text(text) => text.parse().ok().map(Track::Time),
            Value::Int(sectors) => u32::try_from(*sectors).ok().map(Track::Sectors),
            _ => None,
        };
        track.ok_or_else(|| Refusal::value(value, TRACK))
    }

    fn write(&self) -> Option<Value> {
        match self {
            Track::Time(span) => span.write(),
            Track::Sectors(sectors) => sectors.write(),
        }
    }
}

impl Track {
    /// The time that one sector takes to pass, in picoseconds.
    pub(super) fn sector_ps(self, rotation: Span) -> f64 {
        match self {
            Track::Time(span) => span.ps() as f64,
            Track::Sectors(sectors) => rotation.ps() as f64 / f64::from(sectors),
        }
    }

    /// Refuses a track with less than two sectors, or with sectors shorter than a picosecond.
    pub(super) fn check(self, rotation: Span) -> Result<(), Refusal> {
        let sector = self.sector_ps(rotation);
        match sector >= 1.0 && sector * 2.0 <= rotation.ps() as f64 {
            true => Ok(()),
            false => Err(Refusal::value(&self.write().expect("a value"), TRACK)),
        }
    }
}
