//! What a site needs before it can be shown: a port, and a token.

use super::access::Live;
use super::access::Names;
use super::access::Token;
use crate::error::SetupError;
use crate::smtp_in::privileges::bind;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};

/// A port, and the token that is asked for there.
pub(crate) struct Window {
    pub(super) listener: TcpListener,
    pub(super) token: Token,
    pub(super) names: Names,
    /// Where it is watched.
    pub(crate) shown: Shown,
}

/// Where a server is watched.
#[derive(Clone, Debug)]
pub struct Shown {
    /// Address and port.
    pub address: SocketAddr,
    /// The file with the token to be shown there.
    pub token: PathBuf,
}

/// One that still wants its token.
pub(crate) struct Frame {
    listener: TcpListener,
    /// The token that was set.
    set: Option<(PathBuf, Token)>,
    names: Names,
}

impl Frame {
    /// Opens the port, and reads the token where one is set: both may need rights that the server
    /// lets go of.
    pub(crate) fn open(live: &Live) -> Result<Frame, SetupError> {
        let listener = bind(live.address)?;
        let set = match &live.token {
            None => None,
            Some(path) => Some((path.into(), Token::read(Path::new(path))?)),
        };
        Ok(Frame { listener, set, names: Names::new(live) })
    }

    /// Where no token is set, the one beside `spool`; it is made where there is none.
    pub(crate) fn glaze(self, spool: &Path) -> Result<Window, SetupError> {
        let (path, token) = match self.set {
            Some(set) => set,
            None => {
                let path = Token::beside(spool);
                let token = Token::read_or_make(&path)?;
                (path, token)
            }
        };
        let address = self.listener.local_addr().map_err(SetupError::System)?;
        let shown = Shown { address, token: path };
        Ok(Window { listener: self.listener, token, names: self.names, shown })
    }
}
