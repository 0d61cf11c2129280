//! Who is at home here.

use sojourn_mail::Address;

/// Addresses whose mail ends here: reports of failures that are for them need not be sent.
pub trait Home: Send + Sync + 'static {
    /// Whether `address` is one of them.
    fn has(&self, address: &Address) -> bool;

    /// Receives a report for `address`, on a thread that may wait; whether it is on stable storage.
    /// It is brought again until it is, and once more after a crash.
    fn receive(&self, address: &Address, report: &[u8]) -> bool;
}

/// Nobody is.
impl Home for () {
    fn has(&self, _: &Address) -> bool {
        false
    }

    fn receive(&self, _: &Address, _: &[u8]) -> bool {
        false
    }
}
