//! Paths by an entropy that senders choose: a sender whose packets are lost can try another path.

use super::{Choose, Input, hashed};
use crate::packet::{Kind, Packet};
use sojourn_core::parameters;
use sojourn_core::parameters::Check;

parameters! {
    /// By a hash of the flow and of an entropy that its sender writes into its data, as into the IPv6
    /// flow label (RFC 6438): TCP and its kin take another path after each time-out, as in Linux,
    /// and NDP one for each packet, as its sender chooses there. What comes back goes by the flow
    /// alone.
    pub struct Entropy: "entropy" {}
}

impl Check for Entropy {}

impl Choose for Entropy {
    #[inline(always)]
    fn choose(input: Input<'_>, packet: &Packet, ways: u32) -> u32 {
        let back = packet.kind != Kind::DATA;
        let entropy = if back { 0 } else { u64::from(packet.echo) << 48 };
        hashed(packet.flow, back, input.salt ^ entropy, ways)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Ecmp;
    use super::*;

    fn way<C: Choose>(packet: &Packet) -> u32 {
        C::choose(Input { turn: &mut 0, salt: 0x1234_5678_9abc_def0 }, packet, 16)
    }

    /// 16 ways, 1,000 packets: each way is taken 62.5 times on average, and with a probability below one in a
    /// million (binomial) less than 27 or more than 105 times. Without entropy, and backwards, it is ECMP.
    #[test]
    fn packets_of_a_flow_spread_with_their_entropy() {
        let packet = Packet { flow: 7, kind: Kind::DATA, echo: 0, ..Packet::LAST };
        let mut taken = [0; 16];
        for echo in 0..1_000 {
            taken[way::<Entropy>(&Packet { echo, ..packet }) as usize] += 1;
        }
        assert!(taken.iter().all(|count| (27..=105).contains(count)), "{taken:?}");
        assert_eq!(way::<Entropy>(&packet), way::<Ecmp>(&packet));
        let ack = Packet { kind: Kind::ACK, echo: 5, ..packet };
        assert_eq!(way::<Entropy>(&ack), way::<Ecmp>(&ack));
    }
}
