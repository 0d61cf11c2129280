//! How a request is divided between the two copies of a mirror.

use crate::device::Op;

/// The copy that is left where copy 0 or 1 has failed.
pub(super) fn one_left(failed: Option<u32>) -> Option<u32> {
    failed.map(|copy| 1 - copy)
}

/// The share of each of two copies in a request of `blocks` blocks, as (copy, blocks before, blocks):
/// of a read the first half from copy `first` and the rest from the other; all of a write, or where
/// only one copy is left.
pub(super) fn split(op: Op, blocks: u32, left: Option<u32>, first: u32) -> [(u32, u32, u32); 2] {
    match (left, op) {
        (Some(copy), _) => [(copy, 0, blocks), (1 - copy, 0, 0)],
        (None, Op::Write) => [(0, 0, blocks), (1, 0, blocks)],
        (None, Op::Read) => {
            let half = blocks.div_ceil(2);
            [(first, 0, half), (1 - first, half, blocks - half)]
        }
    }
}
