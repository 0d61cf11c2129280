//! What a mirror's two copies do for a request.

use crate::disk::Op;
use sojourn_kernel::Stream;

/// The copy that is left where one, 0 or 1, has failed.
pub(super) fn one_left(failed: Option<u32>) -> Option<u32> {
    failed.map(|copy| 1 - copy)
}

/// How many of `blocks` blocks each of two copies is asked for, as (copy, blocks): of a read the
/// first half from a random copy and the rest from the other; all of a write, or where only one is
/// left.
#[inline]
pub(super) fn split(
    op: Op,
    blocks: u32,
    left: Option<u32>,
    stream: &mut Stream,
) -> [(u32, u32); 2] {
    match (left, op) {
        (Some(copy), _) => [(copy, blocks), (1 - copy, 0)],
        (None, Op::Write) => [(0, blocks), (1, blocks)],
        (None, Op::Read) => {
            let copy = stream.below(2) as u32;
            [(copy, blocks.div_ceil(2)), (1 - copy, blocks / 2)]
        }
    }
}
