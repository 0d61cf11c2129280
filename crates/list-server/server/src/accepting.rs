//! What a listener does when the system has no file for a connection.

use std::io::{Error, Result};
use std::time::Duration;

/// How long it then waits.
pub(crate) const PAUSE: Duration = Duration::from_millis(100);

/// Tells the first of several errors in a row from the others, so that an operator reads of it once.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    refused: bool,
}

impl Refusals {
    /// The connection that was accepted; else the error, if the one before was none.
    pub(crate) fn take<C>(&mut self, accepted: Result<C>) -> std::result::Result<C, Option<Error>> {
        let refused = std::mem::replace(&mut self.refused, accepted.is_err());
        accepted.map_err(|error| (!refused).then_some(error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_in_a_row_are_told_once() {
        let mut refusals = Refusals::default();
        let mut told = |error: bool| {
            let accepted = if error { Err(Error::other("no file")) } else { Ok(()) };
            matches!(refusals.take(accepted), Err(Some(_)))
        };
        assert_eq!(
            [true, true, false, true, true].map(&mut told),
            [true, false, false, true, false]
        );
    }
}
