//! Equal-cost multipath: a hash of the flow chooses the next hop (RFC 2992).

use super::{Choose, Input};
use crate::packet::{Kind, Packet};
use sojourn_core::parameters::Check;
use sojourn_core::random::mix;
use sojourn_core::{Streams, parameters};

parameters! {
    /// By a hash of the flow, another one in each replication: all packets of a flow that go one
    /// way take one path.
    pub struct Ecmp: "ecmp" {}
}

impl Check for Ecmp {}

impl Choose for Ecmp {
    #[inline(always)]
    fn choose(input: Input<'_>, packet: &Packet, ways: u32) -> u32 {
        hashed(packet.flow, packet.kind != Kind::DATA, input.salt, ways)
    }
}

/// The next hop, of so many `ways`, of the data of `flow` from the switch with that `salt`; of what comes
/// `back`, if it does.
#[inline]
pub(crate) fn hashed(flow: u32, back: bool, salt: u64, ways: u32) -> u32 {
    let hash = mix((u64::from(flow) << 1 | u64::from(back)) ^ salt);
    ((u128::from(hash) * u128::from(ways)) >> 64) as u32
}

/// Start value of the hashes at `switch`.
pub(crate) fn salt_of(switch: u32, salt: u64) -> u64 {
    mix(salt ^ u64::from(switch))
}

/// The part of that value which all switches have in common: another number in each replication.
pub(crate) fn salt(streams: Streams) -> u64 {
    streams.stream("ecmp", 0).bits()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet_of(flow: u32) -> Packet {
        Packet { flow, kind: Kind::DATA, ..Packet::LAST }
    }

    /// 11 flows over 20 uplinks are all apart with probability 20!/(9! 20^11) = 0.0327 (Alizadeh
    /// and Edsall): 99 % interval of a binomial share over 40,000 trials, with other flows each time
    /// or with the same flows in other replications.
    #[test]
    fn hashed_flows_collide_as_often_as_chance_has_it() {
        let trials = 40_000u32;
        let expected = (0..11).map(|i| f64::from(20 - i) / 20.0).product::<f64>();
        let deviation = (expected * (1.0 - expected) / f64::from(trials)).sqrt();
        for (of_flows, of_replications) in [(11, 0), (0, 1)] {
            let apart = (0..trials)
                .filter(|trial| {
                    let mut used = [false; 20];
                    (0..11).all(|flow| {
                        let packet = packet_of(trial * of_flows + flow);
                        let salt = u64::from(trial * of_replications);
                        let input = Input { turn: &mut 0, salt: salt_of(7, salt) };
                        let way = Ecmp::choose(input, &packet, 20);
                        !std::mem::replace(&mut used[way as usize], true)
                    })
                })
                .count() as f64;
            assert!((apart / f64::from(trials) - expected).abs() < 2.576 * deviation);
        }
    }
}
