//! Which slot of a table is reused: that of a domain without mail, or of a host without routes.

/// How many are looked at before one more is remembered than should be.
const LOOKS: usize = 8;

/// Goes round a list in search of what can be forgotten: what was used since it came by last is
/// spared once (the "clock" of virtual memory).
#[derive(Debug, Default)]
pub(super) struct ClockHand(usize);

impl ClockHand {
    /// The next that can go, if it is not far.
    pub(super) fn find<T>(
        &mut self,
        list: &mut [T],
        mut can_go: impl FnMut(&mut T) -> bool,
    ) -> Option<u32> {
        for _ in 0..LOOKS.min(list.len()) {
            let number = self.0 % list.len();
            self.0 = number + 1;
            if can_go(&mut list[number]) {
                return Some(number as u32);
            }
        }
        None
    }
}

/// Puts something new into a free place of a list, or at its end; where.
pub(super) fn place<T>(list: &mut Vec<T>, free: &mut Vec<u32>, new: T) -> u32 {
    match free.pop() {
        Some(number) => {
            list[number as usize] = new;
            number
        }
        None => {
            list.push(new);
            list.len() as u32 - 1
        }
    }
}
