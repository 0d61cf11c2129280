//! Paths by an entropy value that every packet carries, both ways, as Ultra Ethernet has them.

use super::{Choose, Input, hashed};
use crate::packet::{Kind, Packet};
use sojourn_core::parameters;
use sojourn_core::parameters::Check;

parameters! {
    /// By a hash of the flow and of the entropy value that each packet carries, answers too. With
    /// Ultra Ethernet the sender chooses a value for each packet of data, and the answer to a packet
    /// has the same value (UEC 1.0, section 3.6). With TCP and its kin answers may overtake each
    /// other.
    pub struct EntropyValue: "entropy-value" {}
}

impl Check for EntropyValue {}

impl Choose for EntropyValue {
    #[inline(always)]
    fn choose(input: Input<'_>, packet: &Packet, ways: u32) -> u32 {
        let entropy = u64::from(packet.echo) << 48;
        hashed(packet.flow, packet.kind != Kind::DATA, input.salt ^ entropy, ways)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Ecmp;
    use super::*;

    fn way<C: Choose>(packet: &Packet) -> u32 {
        C::choose(Input { turn: &mut 0, salt: 0x1234_5678_9abc_def0 }, packet, 16)
    }

    /// 16 ways, 1,000 values: each way is taken 62.5 times on average, and with a probability below one in
    /// a million (binomial) less than 27 or more than 105 times, by data and by answers.
    #[test]
    fn data_and_answers_spread_with_their_entropy_value() {
        for kind in [Kind::DATA, Kind::ACK, Kind::control(0)] {
            let packet = Packet { flow: 7, kind, echo: 0, ..Packet::LAST };
            let mut taken = [0; 16];
            for echo in 0..1_000 {
                taken[way::<EntropyValue>(&Packet { echo, ..packet }) as usize] += 1;
            }
            assert!(taken.iter().all(|count| (27..=105).contains(count)), "{taken:?}");
            assert_eq!(way::<EntropyValue>(&packet), way::<Ecmp>(&packet));
        }
    }
}
