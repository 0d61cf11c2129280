//! Plans of requests, each laid once where there are few.

use crate::device::Op;
use crate::layout::{Layout, Plan};
use crate::workload::Request;
use sojourn_core::{Ahead, Streams};

/// Plans are kept for requests of at most so many blocks,
const BLOCKS: u32 = 64;
/// of layouts where a request can lie in at most so many ways.
const WAYS: u64 = 64;

/// The plans of one run's requests.
pub(crate) struct Plans<'a> {
    /// The array as it is, and as it is where it is rebuilt.
    layouts: [&'a Layout; 2],
    /// Blocks in a stripe unit.
    unit: u32,
    /// Where requests without addresses start.
    starts: Ahead,
    /// In how many ways a read lies, and a write.
    ways: [u64; 2],
    /// Plans that come again, behind one that does not.
    laid: Vec<Plan>,
    /// Which of them is that of a number of blocks, an array, an operation and a way; 0 is none.
    index: Vec<u32>,
}

impl<'a> Plans<'a> {
    /// The plans of requests to an array, and where it is rebuilt those of requests to `mended`.
    pub(crate) fn new(
        layout: &'a Layout,
        mended: &'a Layout,
        unit: u32,
        streams: Streams,
    ) -> Plans<'a> {
        let starts = Ahead::new(streams.stream("starts", 0));
        let laid = vec![Plan::new(layout.disks())];
        let index = vec![0; 4 * BLOCKS as usize * WAYS as usize];
        let ways = [Op::Read, Op::Write].map(|op| layout.ways(op));
        Plans { layouts: [layout, mended], unit, starts, ways, laid, index }
    }

    /// The number of a request's plan: from its address on where it has one, else from a random
    /// place on; on the mended array, or on that which is. It is that plan until another comes.
    #[inline(always)]
    pub(crate) fn of(&mut self, request: &Request, mended: bool) -> usize {
        let Request { op, blocks, at, .. } = *request;
        let ways = self.ways[op as usize];
        if at.is_some() || ways > WAYS || blocks > BLOCKS {
            self.lay_once(request, mended);
            return 0;
        }
        let way = self.starts.below(ways);
        let kind = 2 * u64::from(mended) + op as u64;
        let entry = (4 * u64::from(blocks - 1) + kind) * WAYS + way;
        match self.index[entry as usize] {
            0 => self.lay_for_good(request, mended, way, entry as usize),
            plan => plan as usize,
        }
    }

    /// A plan by its number.
    #[inline]
    pub(crate) fn plan(&self, number: usize) -> &Plan {
        &self.laid[number]
    }

    fn lay_once(&mut self, request: &Request, mended: bool) {
        let Request { op, blocks, at, .. } = *request;
        let layout = self.layouts[usize::from(mended)];
        let plan = &mut self.laid[0];
        match at {
            Some(first) => {
                layout.lay_at(op, first, blocks, self.unit, &mut self.starts, plan);
            }
            None => layout.lay(op, blocks, self.starts.below(self.ways[op as usize]), plan),
        }
    }

    #[cold]
    fn lay_for_good(&mut self, request: &Request, mended: bool, way: u64, entry: usize) -> usize {
        let layout = self.layouts[usize::from(mended)];
        let mut plan = Plan::new(layout.disks());
        layout.lay(request.op, request.blocks, way, &mut plan);
        self.index[entry] = self.laid.len() as u32;
        self.laid.push(plan);
        self.laid.len() - 1
    }
}
