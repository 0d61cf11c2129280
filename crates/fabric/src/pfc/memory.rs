//! The counters of one switch: how much came in by each port and waits, and when that is too much.

/// What a switch holds, and whether anything can happen in a window.
#[derive(Debug)]
pub(crate) struct Memory {
    rule: Rule,
    /// Bytes of the shared part that are taken, where thresholds are dynamic.
    taken: u64,
    /// Bytes that wait, and the most there ever were.
    held: u64,
    peak: u64,
    /// The most bytes that one window brings by all ports together.
    inflow: u64,
    /// Ports that a window may bring above XOFF, and those that have stopped the port before them.
    near: u32,
    stopped: u32,
}

/// When a port stops the one before it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Rule {
    /// Above what each port has as XOFF, until it is below `xon`.
    Fixed { xon: u32 },
    /// Above `alpha` times what is free of `shared` bytes, of which a port takes what is above its `reserve`;
    /// until it is `gap` bytes below.
    Dynamic { shared: u64, alpha: u64, gap: u64, reserve: u32 },
}

/// Bits behind the point of alpha.
pub(super) const ALPHA_BITS: u32 = 16;

/// What came in by one port of a switch and waits.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ingress {
    held: u32,
    /// Bytes above which packets use the headroom.
    mark: u32,
    headroom: u32,
    /// More bytes than this may rise above XOFF within a window.
    near: u32,
    /// The most of the headroom that was ever taken.
    peak: u32,
    is_stopping: bool,
}

/// What becomes of a packet that arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// It is kept.
    Kept,
    /// It is kept, and the port before has to stop.
    Stop,
    /// Not even the headroom has room for it.
    Dropped,
}

/// No threshold is so large.
const NEVER: u32 = u32::MAX >> 1;

impl Ingress {
    /// An empty counter that stops the port before above `xoff`.
    pub(super) fn fixed(xoff: u32, headroom: u32, near: u32) -> Ingress {
        Ingress { mark: xoff, headroom, near, ..Ingress::default() }
    }

    /// An empty counter whose threshold the memory knows.
    pub(super) fn dynamic(headroom: u32) -> Ingress {
        Ingress { mark: NEVER, headroom, near: NEVER, ..Ingress::default() }
    }

    /// Bytes that came in by the port and wait.
    pub(crate) fn held(&self) -> u32 {
        self.held
    }

    /// The most bytes of the headroom that were ever taken.
    pub(crate) fn peak(&self) -> u32 {
        self.peak
    }

    /// Whether it has stopped the port before it.
    pub(crate) fn is_stopping(&self) -> bool {
        self.is_stopping
    }
}

impl Memory {
    /// An empty memory. Of its ports `near` may always rise above XOFF within a window.
    pub(super) fn new(rule: Rule, inflow: u64, near: u32) -> Memory {
        Memory { rule, taken: 0, held: 0, peak: 0, inflow, near, stopped: 0 }
    }

    /// Whether no port can rise above XOFF in a window, whatever comes, and none is above it.
    #[inline]
    pub(crate) fn is_calm(&self) -> bool {
        self.near == 0
            && self.stopped == 0
            && match self.rule {
                Rule::Fixed { .. } => true,
                Rule::Dynamic { shared, alpha, .. } => {
                    let most = self.taken + self.inflow;
                    most <= shared && self.held + self.inflow <= share(alpha, shared - most)
                }
            }
    }

    /// Takes in a packet of `size` bytes that came by `ingress`.
    #[inline]
    pub(crate) fn arrive(&mut self, ingress: &mut Ingress, size: u16) -> Arrival {
        let held = ingress.held + u32::from(size);
        let crosses = !ingress.is_stopping && self.is_too_much(ingress, held);
        let mark = match self.rule {
            Rule::Dynamic { .. } if crosses => ingress.held,
            _ => ingress.mark,
        };
        if held > mark + ingress.headroom {
            return Arrival::Dropped;
        }
        if crosses {
            (ingress.is_stopping, ingress.mark) = (true, mark);
            self.stopped += 1;
        }
        self.hold(ingress, held);
        self.held += u64::from(size);
        ingress.peak = ingress.peak.max(held.saturating_sub(mark));
        if crosses { Arrival::Stop } else { Arrival::Kept }
    }

    /// Gives back a packet of `size` bytes that came by `ingress` and leaves. Returns whether the port before may
    /// now go on.
    #[inline]
    pub(crate) fn leave(&mut self, ingress: &mut Ingress, size: u16) -> bool {
        self.hold(ingress, ingress.held - u32::from(size));
        self.held -= u64::from(size);
        let goes_on = ingress.is_stopping && self.is_little(ingress);
        if goes_on {
            ingress.is_stopping = false;
            self.stopped -= 1;
            if let Rule::Dynamic { .. } = self.rule {
                ingress.mark = NEVER;
            }
        }
        goes_on
    }

    /// Notes the number of bytes that `ingress` holds.
    #[inline]
    fn hold(&mut self, ingress: &mut Ingress, held: u32) {
        let before = std::mem::replace(&mut ingress.held, held);
        self.near += u32::from(held > ingress.near);
        self.near -= u32::from(before > ingress.near);
        if let Rule::Dynamic { reserve, .. } = self.rule {
            let part = |held: u32| u64::from(held.min(ingress.mark).saturating_sub(reserve));
            self.taken = self.taken + part(held) - part(before);
        }
    }

    /// Whether `held` bytes are too much for a port.
    #[inline]
    fn is_too_much(&self, ingress: &Ingress, held: u32) -> bool {
        match self.rule {
            Rule::Fixed { .. } => held > ingress.mark,
            Rule::Dynamic { reserve, .. } => {
                u64::from(held.saturating_sub(reserve)) > self.threshold()
            }
        }
    }

    /// Whether a port that has stopped the one before it holds so little that this may go on.
    #[inline]
    fn is_little(&self, ingress: &Ingress) -> bool {
        match self.rule {
            Rule::Fixed { xon } => ingress.held < xon,
            Rule::Dynamic { gap, reserve, .. } => {
                let part = u64::from(ingress.held.saturating_sub(reserve));
                let headroom_is_empty = ingress.held <= ingress.mark;
                headroom_is_empty && (part == 0 || part + gap <= self.threshold())
            }
        }
    }

    /// What a port may take of the shared part now.
    fn threshold(&self) -> u64 {
        match self.rule {
            Rule::Fixed { .. } => u64::MAX,
            Rule::Dynamic { shared, alpha, .. } => share(alpha, shared.saturating_sub(self.taken)),
        }
    }

    /// How many of the `held` bytes of `ingress` would have to leave for the port before it to go on.
    pub(crate) fn excess(&self, ingress: &Ingress) -> u64 {
        let little = match self.rule {
            Rule::Fixed { xon } => u64::from(xon) - 1,
            Rule::Dynamic { gap, reserve, .. } => {
                let part = self.threshold().saturating_sub(gap);
                (u64::from(reserve) + part).min(ingress.mark.into())
            }
        };
        u64::from(ingress.held).saturating_sub(little)
    }

    /// Bytes that wait in the switch.
    pub(crate) fn held(&self) -> u64 {
        self.held
    }

    /// The most bytes that ever waited in the switch.
    pub(crate) fn peak(&self) -> u64 {
        self.peak
    }

    /// Notes the number of bytes that were held at once.
    #[inline]
    pub(crate) fn held_at_once(&mut self, bytes: u64) {
        self.peak = self.peak.max(bytes);
    }

    /// The most bytes that one window brings.
    #[inline]
    pub(crate) fn inflow(&self) -> u64 {
        self.inflow
    }
}

#[inline]
fn share(alpha: u64, free: u64) -> u64 {
    ((u128::from(free) * u128::from(alpha)) >> ALPHA_BITS) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixed() -> (Memory, Ingress) {
        (Memory::new(Rule::Fixed { xon: 3000 }, 1000, 0), Ingress::fixed(5000, 2000, 4000))
    }

    #[test]
    fn a_port_stops_above_xoff_and_goes_on_below_xon() {
        let (mut memory, mut ingress) = fixed();
        let mut arrive = |size| memory.arrive(&mut ingress, size);
        assert_eq!([4000, 1000, 1].map(&mut arrive), [Arrival::Kept, Arrival::Kept, Arrival::Stop]);
        assert_eq!([1999, 1].map(&mut arrive), [Arrival::Kept, Arrival::Dropped]);
        assert_eq!((ingress.held(), ingress.peak(), memory.held()), (7000, 2000, 7000));
        assert_eq!(memory.excess(&ingress), 4001);
        let left = [3000, 1000, 1].map(|size| memory.leave(&mut ingress, size));
        assert_eq!(left, [false, false, true]);
        assert_eq!(memory.arrive(&mut ingress, 2002), Arrival::Stop);
    }

    /// Calm until a window can bring a port above XOFF, and not while one is above XON after that.
    #[test]
    fn windows_are_calm_far_below_the_threshold() {
        let (mut memory, mut ingress) = fixed();
        memory.arrive(&mut ingress, 4000);
        assert!(memory.is_calm());
        memory.arrive(&mut ingress, 1);
        assert!(!memory.is_calm());
        memory.leave(&mut ingress, 1);
        assert!(memory.is_calm());
        memory.arrive(&mut ingress, 1500);
        memory.leave(&mut ingress, 2000);
        assert!(!memory.is_calm(), "it waits for XON");
        memory.leave(&mut ingress, 600);
        assert!(memory.is_calm());
    }

    /// With alpha 1/2, 100 B for itself and 900 B shared: a port stops above a third of 900 B, and one that comes
    /// second above a third of what is left.
    #[test]
    fn dynamic_thresholds_leave_something_to_others() {
        let alpha = 1 << (ALPHA_BITS - 1);
        let rule = Rule::Dynamic { shared: 900, alpha, gap: 100, reserve: 100 };
        let mut memory = Memory::new(rule, 0, 0);
        let [mut first, mut second] = [Ingress::dynamic(50); 2];
        for _ in 0..40 {
            assert_eq!(memory.arrive(&mut first, 10), Arrival::Kept);
        }
        assert_eq!(memory.arrive(&mut first, 10), Arrival::Stop);
        assert_eq!((first.held(), first.peak()), (410, 10));
        for _ in 0..30 {
            assert_eq!(memory.arrive(&mut second, 10), Arrival::Kept);
        }
        assert_eq!(memory.arrive(&mut second, 10), Arrival::Stop);
        assert_eq!(
            [40, 1].map(|size| memory.arrive(&mut first, size)),
            [Arrival::Kept, Arrival::Dropped]
        );
        // The second takes 200 B of the shared 900 B: the first goes on where 1.5 times its part is 250 B or less.
        assert!(!memory.leave(&mut first, 50));
        let before = (0..).find(|_| memory.leave(&mut first, 10)).expect("it goes on");
        assert_eq!((before, first.held()), (13, 260));
        while second.held() > 0 {
            memory.leave(&mut second, 10);
        }
        assert!(!second.is_stopping());
    }
}
