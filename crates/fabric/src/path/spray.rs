//! Packet spraying: the next hops of a switch take turns.

use super::{Choose, Input};
use crate::packet::Packet;
use sojourn_core::parameters::Check;
use sojourn_core::{Streams, parameters};
use std::hint::select_unpredictable;

parameters! {
    /// Packet by packet in turn, starting at random: each input of a switch keeps its own
    /// turn (pFabric section 3, packet spraying).
    pub struct Spray: "spray" {}
}

impl Check for Spray {}

impl Choose for Spray {
    #[inline(always)]
    fn choose(input: Input<'_>, _: &Packet, ways: u32) -> u32 {
        let turn = input.turn;
        let way = select_unpredictable(u32::from(*turn) < ways, u32::from(*turn), 0);
        *turn = select_unpredictable(ways > 1, way as u8 + 1, *turn);
        way
    }
}

/// The first next hop, of up to so many `ways`, for packets from `port`: chosen at random.
pub(crate) fn first_turn(streams: Streams, port: u32, ways: u32) -> u8 {
    streams.stream("spray", port.into()).below(ways.into()) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ways of 3, 1 and 0: a turn moves on only where there is a choice.
    #[test]
    fn spraying_takes_turns_where_there_is_a_choice() {
        let mut turn = 2;
        let mut choose = |ways| {
            let input = Input { turn: &mut turn, salt: 0 };
            Spray::choose(input, &Packet::LAST, ways)
        };
        assert_eq!([3, 3, 1, 3, 0, 3, 3].map(&mut choose), [2, 0, 0, 1, 0, 2, 0]);
    }
}
