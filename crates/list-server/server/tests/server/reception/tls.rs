//! TLS as clients speak it with a server whose certificate they know.

use crate::reception::{table, text};
use sojourn_core::parameters::Value;
use std::net::TcpStream;
use std::sync::Arc;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::{self, ClientConfig, ClientConnection, StreamOwned};

/// A certificate in files, and what trusts it.
pub(crate) struct Certificate {
    folder: tempfile::TempDir,
    config: Arc<ClientConfig>,
}

impl Certificate {
    pub(crate) fn make() -> Certificate {
        let folder = tempfile::tempdir().unwrap();
        let made = rcgen::generate_simple_self_signed(["lists.example".to_owned()]).unwrap();
        let chain = folder.path().join("chain.pem");
        std::fs::write(&chain, made.cert.pem()).unwrap();
        std::fs::write(folder.path().join("key.pem"), made.signing_key.serialize_pem()).unwrap();
        let mut roots = rustls::RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(&chain).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        Certificate { folder, config: Arc::new(config) }
    }

    pub(crate) fn setting(&self) -> Value {
        let path = |file| text(self.folder.path().join(file).to_str().unwrap());
        table(&[("chain", path("chain.pem")), ("key", path("key.pem"))])
    }

    pub(crate) fn secure(&self, wire: TcpStream) -> StreamOwned<ClientConnection, TcpStream> {
        let name = "lists.example".try_into().unwrap();
        StreamOwned::new(ClientConnection::new(Arc::clone(&self.config), name).unwrap(), wire)
    }
}
