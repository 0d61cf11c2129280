//! TLS as a server shows it.

use super::error::{SetupError, read};
use super::settings::Certificate;
use std::fmt::Display;
use std::path::Path;
use std::sync::Arc;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// Reads certificate and key; what they say is in no message.
pub(super) fn acceptor(certificate: &Certificate) -> Result<TlsAcceptor, SetupError> {
    let (chain, key) = (Path::new(&certificate.chain), Path::new(&certificate.key));
    let bad = |path: &Path, why: &dyn Display| SetupError::Key {
        path: path.to_owned(),
        why: why.to_string(),
    };
    let certificates = CertificateDer::pem_slice_iter(&read(chain)?).collect::<Result<Vec<_>, _>>();
    let certificates = certificates.map_err(|error| bad(chain, &error))?;
    if certificates.is_empty() {
        return Err(bad(chain, &"it has no certificate"));
    }
    let private = PrivateKeyDer::from_pem_slice(&read(key)?).map_err(|error| bad(key, &error))?;
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| bad(chain, &error))?
        .with_no_client_auth()
        .with_single_cert(certificates, private)
        .map_err(|error| bad(key, &error))?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}
