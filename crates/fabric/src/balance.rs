//! Which of several shortest paths a packet takes.

use sojourn_kernel::choices;
use sojourn_kernel::stream::mix;

choices! {
    /// How a switch chooses among several next hops.
    pub enum Balance: "balance" {
        /// Packet by packet in turn, starting at random: each input of a switch keeps its own
        /// turn (pFabric section 3, packet spraying).
        Spray = "spray",
        /// By a hash of the flow: all packets of a flow that go one way take one path.
        Ecmp = "ecmp",
    }
}

impl Balance {
    /// Which of `ways` next hops of `switch`: `turn` is the input's turn, which moves on when it
    /// is used; `flow` names the flow and the way it goes.
    #[inline]
    pub(crate) fn choose(self, turn: &mut u8, flow: u64, switch: u32, ways: u32) -> u32 {
        match self {
            Balance::Spray => {
                let way = if u32::from(*turn) < ways { u32::from(*turn) } else { 0 };
                *turn = way as u8 + 1;
                way
            }
            Balance::Ecmp => {
                let hash = mix(flow ^ mix(switch.into()));
                ((u128::from(hash) * u128::from(ways)) >> 64) as u32
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spraying_takes_turns() {
        let mut turn = 2;
        let ways: Vec<_> = (0..7).map(|_| Balance::Spray.choose(&mut turn, 9, 1, 3)).collect();
        assert_eq!(ways, [2, 0, 1, 2, 0, 1, 2]);
    }

    /// 11 flows over 20 uplinks are all apart with probability 20!/(9! 20^11) = 0.0327 (Alizadeh
    /// and Edsall): 99 % interval of a binomial share over 40,000 trials.
    #[test]
    fn hashed_flows_collide_as_often_as_chance_has_it() {
        let trials = 40_000u64;
        let apart = (0..trials)
            .filter(|trial| {
                let mut used = [false; 20];
                (0..11).all(|flow| {
                    let way = Balance::Ecmp.choose(&mut 0, trial * 11 + flow, 7, 20);
                    !std::mem::replace(&mut used[way as usize], true)
                })
            })
            .count() as f64;
        let expected = (0..11).map(|i| f64::from(20 - i) / 20.0).product::<f64>();
        let deviation = (expected * (1.0 - expected) / trials as f64).sqrt();
        assert!((apart / trials as f64 - expected).abs() < 2.576 * deviation);
    }
}
