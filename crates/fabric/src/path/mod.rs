//! Which of several shortest paths a packet takes.
//!
//! A way to choose is one file here with a `Choose`; the routing of a switch is compiled once for
//! each, so a call costs nothing more than its work.

mod ecmp;
mod entropy;
mod entropy_value;
mod spray;

pub(crate) use ecmp::{hashed, salt, salt_of};
pub(crate) use spray::first_turn;

use crate::packet::Packet;
use crate::topology::Network;
use sojourn_core::Streams;
use sojourn_core::parameters::{Entry, Parameters, Refusal, Setting, Shape, Value};

/// Declares the ways to choose, one line each: what a study names, and the dispatch to their types.
macro_rules! paths {
    ($($variant:ident($module:ident::$choose:ident),)+) => {
        $(pub use $module::$choose;)+

        /// How a switch chooses among several next hops.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Balance {
            $(#[doc = concat!("See [`", stringify!($choose), "`].")] $variant,)+
        }

        const NAMES: &[&str] = &[$($choose::NAME),+];

        impl Balance {
            /// All ways to choose, documented.
            pub fn entries() -> Vec<Entry> {
                vec![$($choose::entry(),)+]
            }

            /// What a study calls it.
            fn name(self) -> &'static str {
                match self { $(Balance::$variant => $choose::NAME,)+ }
            }

            fn named(name: &str) -> Option<Balance> {
                [$(Balance::$variant),+].into_iter().find(|balance| balance.name() == name)
            }
        }

        paths! { @dispatch ($) $($variant $choose)+ }
    };
    (@dispatch ($d:tt) $($variant:ident $choose:ident)+) => {
        /// Runs `body` with the [`Choose`] of a `Balance`: the one place where a name becomes a type.
        macro_rules! with_balance {
            ($d balance:expr, |$d choose:ident| $d body:expr) => {
                match $d balance {
                    $($crate::path::Balance::$variant => {
                        type $d choose = $crate::path::$choose;
                        $d body
                    })+
                }
            };
        }
        pub(crate) use with_balance;
    };
}

paths! {
    Spray(spray::Spray),
    Ecmp(ecmp::Ecmp),
    Entropy(entropy::Entropy),
    EntropyValue(entropy_value::EntropyValue),
}

impl Setting for Balance {
    fn expected() -> String {
        let quoted: Vec<String> = NAMES.iter().map(|name| format!("\"{name}\"")).collect();
        quoted.join(" or ")
    }

    fn shape() -> Shape {
        Shape::Names(NAMES.to_vec())
    }

    fn read(value: &Value) -> Result<Balance, Refusal> {
        let known = match value {
            Value::Text(name) => Balance::named(name),
            _ => None,
        };
        known.ok_or_else(|| Refusal::name(value, "balance", NAMES.to_vec()))
    }

    fn write(&self) -> Option<Value> {
        Some(Value::Text(self.name().to_owned()))
    }
}

/// A way to choose a next hop.
pub(crate) trait Choose {
    /// Which of `ways` next hops a packet takes; 0 when there is no choice.
    fn choose(input: Input<'_>, packet: &Packet, ways: u32) -> u32;
}

/// The input of a switch by which a packet comes.
pub(crate) struct Input<'a> {
    /// The next hop whose turn it is at this input; moves on when it is used.
    pub(crate) turn: &'a mut u8,
    /// Start value of the switch's hashes, see [`salt_of`].
    pub(crate) salt: u64,
}

/// The ports that `packet` leaves by on its way from host `from`, where all switches and links work; none where
/// what else passes a switch decides.
pub(crate) fn ports_of(
    network: &Network,
    balance: Balance,
    streams: Streams,
    from: u16,
    packet: &Packet,
) -> Option<Vec<u32>> {
    if balance == Balance::Spray {
        return None;
    }
    let (mut ports, salt) = (vec![u32::from(from)], salt(streams));
    loop {
        let to = network.links[*ports.last().expect("a port") as usize].to;
        let Some(switch) = to.checked_sub(network.hosts as u32) else { return Some(ports) };
        let mut ways = network.next(switch, packet.to);
        let input = Input { turn: &mut 0, salt: salt_of(switch, salt) };
        let count = ways.len() as u32;
        let way = with_balance!(balance, |Path| Path::choose(input, packet, count));
        ports.push(ways.nth(way as usize).expect("a way"));
    }
}
