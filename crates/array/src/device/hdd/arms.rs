//! The arms of a disk, each with an equal part of its heads and of its addresses.

use super::Zoned;
use crate::layout::Access;

/// How the addresses of a disk are divided among its arms: the first part to the first arm.
#[derive(Clone, Copy, Debug)]
pub struct Arms {
    count: usize,
    /// The blocks of each.
    blocks: u64,
}

/// One arm that reaches all.
impl Default for Arms {
    fn default() -> Arms {
        Arms { count: 1, blocks: u64::MAX }
    }
}

impl Zoned {
    /// What one of its arms does, as if it were a disk.
    pub(super) fn of_arm(&self) -> Zoned {
        Zoned { heads: self.heads / self.actuators, actuators: 1, ..self.clone() }
    }
}

impl Arms {
    /// The arms of a disk, each of which has `blocks` blocks.
    pub(super) fn new(count: u8, blocks: u64) -> Arms {
        Arms { count: count.into(), blocks }
    }

    /// How many there are.
    #[inline(always)]
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// The arm that an access needs: the one that reaches its first block.
    #[inline]
    pub(super) fn of(&self, access: &Access) -> usize {
        ((access.at / self.blocks) as usize).min(self.count - 1)
    }

    /// The first block of an access, counted from the first block of its arm. An access that goes on into the next part is
    /// moved back, so that one arm does all of it.
    #[inline]
    pub(super) fn within(&self, access: &Access) -> u64 {
        if self.count == 1 {
            return access.at;
        }
        let first = access.at - self.of(access) as u64 * self.blocks;
        first.min(self.blocks.saturating_sub(access.blocks.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Op;

    #[test]
    fn each_arm_has_an_equal_part_of_the_addresses() {
        let arms = Arms::new(2, 1000);
        let place = |at, blocks| {
            let access = Access { at, ..Access::new(0, Op::Read, blocks) };
            (arms.of(&access), arms.within(&access))
        };
        assert_eq!(place(0, 1), (0, 0));
        assert_eq!(place(999, 1), (0, 999));
        assert_eq!(place(1000, 1), (1, 0));
        assert_eq!(place(1999, 1), (1, 999));
        // One that goes on into the other part.
        assert_eq!(place(998, 8), (0, 992));
    }
}
