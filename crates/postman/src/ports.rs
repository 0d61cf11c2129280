//! Ports that are listened at.

use crate::reception::SetupError;
use std::net::{SocketAddr, TcpListener};

/// Listens at `address`; nothing is taken in yet.
pub(crate) fn bind(address: SocketAddr) -> Result<TcpListener, SetupError> {
    let bound = TcpListener::bind(address).and_then(|bound| {
        bound.set_nonblocking(true)?;
        Ok(bound)
    });
    bound.map_err(|error| SetupError::Bind { address, error })
}
