//! Programs of ranks from traces of other tools. Each rank is a host: the first rank the first host, and so on.

use super::ranks::{collectives, drawn};
use super::{Draw, Drawn, WorkloadContext};
use crate::ranks::Server;
use sojourn_core::parameters::{Check, Refusal};
use sojourn_core::resource::FileName;
use sojourn_core::{Rate, Span, Streams, choices, nested, parameters};
use sojourn_traces::{File, SendEnd, TraceError, chakra, goal, simai};
use sojourn_training::collective::Port;
use sojourn_training::program::Program;
use std::io::Read;
use std::num::NonZeroU32;

choices! {
    /// When a send ends, for what waits for it at its rank.
    pub enum Sends: "end of sends" {
        /// When it is handed to the network: an eager message, or a completed request of NCCL.
        HandedOver = "handed-over",
        /// When the receiving host has acknowledged its last byte: near to a rendezvous.
        Acknowledged = "acknowledged",
    }
}

impl From<Sends> for SendEnd {
    fn from(sends: Sends) -> SendEnd {
        match sends {
            Sends::HandedOver => SendEnd::HandedOver,
            Sends::Acknowledged => SendEnd::Acknowledged,
        }
    }
}

parameters! {
    /// A schedule of LogGOPSim or ATLAHS (GOAL), as text or binary: what each rank computes, sends and receives. Rows:
    /// `iteration`.
    pub struct Goal: "goal" {
        /// The file, seen from the study's own place.
        pub file: FileName,
        /// When a send ends.
        pub sends: Sends = Sends::HandedOver,
        /// The unit of a computation (`calc`). A unit that is too long hides the network behind computing.
        pub unit: Span = Span::from_ns(1),
    }
}

parameters! {
    /// A workload file of SimAI and AICB: layer by layer what is computed and which collective follows. All
    /// collectives go over the network. Rows: `iteration`, and `collective`, one for each.
    pub struct Simai: "simai" {
        /// The file, seen from the study's own place.
        pub file: FileName,
        /// How many ranks there are, where the file does not say it.
        pub ranks: Option<NonZeroU32> = None,
    }
}

parameters! {
    /// Execution traces of MLCommons Chakra, as ASTRA-sim reads them: a file for each rank. Rows: `iteration`, and
    /// `collective`, one for each.
    pub struct Chakra: "chakra" {
        /// The files: that of rank 0 first.
        pub rank: Vec<RankFile>,
        /// The ranks of each process group that traces name (`pg_name`): the JSON file that ASTRA-sim reads beside
        /// them, such as `{"1": [0, 1, 2, 3]}`. Without it all calls are of all ranks, and traces with other groups are
        /// refused.
        pub groups: Option<FileName> = None,
        /// When a send ends.
        pub sends: Sends = Sends::HandedOver,
        /// Whether nodes also wait for their control dependencies, or for their data dependencies alone, as
        /// ASTRA-sim did until August 2025.
        pub control: bool = true,
        /// How many TFLOP a rank computes in a second, for nodes that have no duration. Too many, and computing hides
        /// less of the traffic than it should.
        pub peak: Option<f64> = None,
    }
}

parameters! {
    /// The trace of a rank.
    pub struct RankFile: "trace of a rank" {
        /// The file, seen from the study's own place.
        pub file: FileName,
    }
}
nested!(RankFile);

impl Check for RankFile {}

impl Check for Goal {
    fn check(&self) -> Result<(), Refusal> {
        match self.unit {
            Span::ZERO => Err(Refusal::of(&self.unit, "a time above zero").under("unit")),
            _ => Ok(()),
        }
    }
}

impl Check for Simai {}

impl Check for Chakra {
    fn check(&self) -> Result<(), Refusal> {
        if self.rank.is_empty() {
            return Err(Refusal::of(&self.rank, "a file for each rank").under("rank"));
        }
        match self.peak.filter(|peak| !(peak.is_finite() && *peak > 0.0)) {
            Some(peak) => Err(Refusal::of(&peak, "a number above zero").under("peak")),
            None => Ok(()),
        }
    }
}

/// The octets of a file.
fn octets(file: &FileName) -> Result<Vec<u8>, Refusal> {
    let mut bytes = Vec::new();
    let read = file.open()?.read_to_end(&mut bytes);
    read.map_err(|why| file.refused(format!("a file to read: {why}")))?;
    Ok(bytes)
}

/// A program in files.
trait Trace {
    /// The program; refusals are under the key of what is refused.
    fn program(&self) -> Result<Program, Refusal>;

    /// Refuses what is wrong with all ranks together.
    fn refused(&self, expected: String) -> Refusal;
}

/// A refusal of a file whose trace is wrong.
fn wrong(file: &FileName, why: &TraceError) -> Refusal {
    file.refused(format!("a trace, but {why}")).under("file")
}

impl Trace for Goal {
    fn program(&self) -> Result<Program, Refusal> {
        let bytes = octets(&self.file).map_err(|refusal| refusal.under("file"))?;
        let file = File { name: self.file.name(), bytes: &bytes };
        let options = goal::Options { send_end: self.sends.into(), unit: self.unit };
        // Its first eight bytes are a number; a text begins with words.
        let is_text = bytes.iter().take(8).all(|byte| byte.is_ascii() && *byte != 0);
        let program = match is_text {
            true => goal::text::read(file, &options),
            false => goal::binary::read(file, &options),
        };
        program.map_err(|why| wrong(&self.file, &why))
    }

    fn refused(&self, expected: String) -> Refusal {
        self.file.refused(expected).under("file")
    }
}

impl Trace for Simai {
    fn program(&self) -> Result<Program, Refusal> {
        let bytes = octets(&self.file).map_err(|refusal| refusal.under("file"))?;
        let workload = simai::parse(File { name: self.file.name(), bytes: &bytes });
        let program = workload.and_then(|own| own.program(self.ranks.map(NonZeroU32::get)));
        program.map_err(|why| wrong(&self.file, &why))
    }

    fn refused(&self, expected: String) -> Refusal {
        self.file.refused(expected).under("file")
    }
}

impl Trace for Chakra {
    fn program(&self) -> Result<Program, Refusal> {
        let under = |place| move |why: Refusal| why.under("file").among(place).under("rank");
        let all = self.rank.iter().enumerate();
        let bytes: Vec<Vec<u8>> = all
            .map(|(place, rank)| octets(&rank.file).map_err(under(place)))
            .collect::<Result<_, _>>()?;
        let files: Vec<File<'_>> = self
            .rank
            .iter()
            .zip(&bytes)
            .map(|(rank, bytes)| File { name: rank.file.name(), bytes })
            .collect();
        let groups = self.groups.as_ref().map(|file| {
            let bytes = octets(file)?;
            let read = File { name: file.name(), bytes: &bytes };
            let groups = chakra::groups(read, files.len() as u32);
            groups.map_err(|why| file.refused(format!("a file of groups, but {why}")))
        });
        let groups = groups.transpose().map_err(|why| why.under("groups"))?;
        let options = chakra::Options {
            groups: groups.unwrap_or_default(),
            control: match self.control {
                true => chakra::Control::Waited,
                false => chakra::Control::Ignored,
            },
            send_end: self.sends.into(),
            flops: self.peak.map(|tera| tera * 1e12),
        };
        chakra::read(&files, &options).map_err(|why| {
            let place = files.iter().position(|file| file.name == why.file).unwrap_or(0);
            wrong(&self.rank[place].file, &why).among(place).under("rank")
        })
    }

    fn refused(&self, expected: String) -> Refusal {
        Refusal::of(&self.rank, expected).under("rank")
    }
}

/// The program of a trace, with a host for each rank.
fn hosted(trace: &impl Trace, context: &WorkloadContext<'_>) -> Result<Program, Refusal> {
    let program = trace.program()?;
    let (ranks, hosts) = (program.ranks(), context.graph.hosts());
    if ranks as usize > hosts {
        let expected = format!(
            "a trace of at most {hosts} ranks, one for each host of the topology, not {ranks}"
        );
        return Err(trace.refused(expected));
    }
    Ok(program)
}

macro_rules! draw_traces {
    ($($type:ty = $key:literal,)+) => {$(
        impl Draw for $type {
            fn number(&self) -> &'static str {
                $key
            }

            fn count(&self, context: &WorkloadContext<'_>, _: Streams) -> Result<usize, Refusal> {
                Ok(1 + collectives(&hosted(self, context)?))
            }

            fn is_of_flows(&self) -> bool {
                false
            }

            fn has_ranks(&self) -> bool {
                true
            }

            fn draw(&self, context: &WorkloadContext<'_>, _: Streams) -> Result<Drawn, Refusal> {
                let program = hosted(self, context)?;
                // Each rank is alone on its server, whose links are not used.
                let port = Port { rate: Rate::gbps(1), latency: Span::ZERO };
                let hosts = (0..program.ranks()).map(|rank| rank as u16).collect();
                let drawn = drawn(program, hosts, Server { ranks: 1, port }, context);
                drawn.map_err(|why| self.refused(why.to_string()))
            }
        }
    )+};
}

draw_traces! {
    Goal = "file",
    Simai = "file",
    Chakra = "rank",
}
