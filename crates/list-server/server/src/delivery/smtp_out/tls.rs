//! TLS, whose certificates are verified where it is required (RFC 7435 section 3: where it is
//! opportunistic, a certificate that no authority vouches for is better than none).

use sojourn_mail_engine::Relay;
use sojourn_smtp::client::Tls;
use std::sync::Arc;
use std::{fmt, io};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
};
use tokio_rustls::rustls::crypto::{
    CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature,
};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{
    ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};

/// How lines turn to TLS.
pub(crate) struct Security(Option<TlsConnector>);

impl fmt::Debug for Security {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Security")
    }
}

/// Why TLS cannot be used as it is set.
#[derive(Debug)]
pub enum TlsError {
    /// The file of trusted certificates cannot be read, or has none.
    Roots(String, String),
    /// The system has no trusted certificates.
    NoRoots,
}

impl fmt::Display for TlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TlsError::Roots(file, why) => {
                write!(f, "network.roots = {file:?}, expected a file of certificates (PEM): {why}")
            }
            TlsError::NoRoots => f.write_str(
                "mail.tls = \"required\", and the system has no trusted certificates: name a file \
                 of them with network.roots",
            ),
        }
    }
}

impl std::error::Error for TlsError {}

impl Security {
    /// As `tls` has it, trusting the certificates of the file `roots` or those of the system.
    pub(crate) fn new(tls: Tls, roots: Option<&str>) -> Result<Security, TlsError> {
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .expect("ring has them");
        let config = match tls {
            Tls::Never => return Ok(Security(None)),
            Tls::Opportunistic => builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(Anybody(provider)))
                .with_no_client_auth(),
            Tls::Required => builder.with_root_certificates(trusted(roots)?).with_no_client_auth(),
        };
        Ok(Security(Some(TlsConnector::from(Arc::new(config)))))
    }

    /// The handshake. The host has to have the name that its MX record gave it; an address literal
    /// names its address.
    pub(super) async fn secure(
        &self,
        plain: TcpStream,
        host: &Relay,
    ) -> io::Result<TlsStream<TcpStream>> {
        let connector = self.0.as_ref().ok_or(io::ErrorKind::Unsupported)?;
        let name = ServerName::try_from(host.name.to_string());
        let name = name.unwrap_or_else(|_| host.address.into());
        connector.connect(name, plain).await
    }
}

fn trusted(roots: Option<&str>) -> Result<RootCertStore, TlsError> {
    let mut store = RootCertStore::empty();
    let Some(file) = roots else {
        store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        return if store.is_empty() { Err(TlsError::NoRoots) } else { Ok(store) };
    };
    let refused = |why: &dyn fmt::Display| TlsError::Roots(file.to_owned(), why.to_string());
    for certificate in CertificateDer::pem_file_iter(file).map_err(|why| refused(&why))? {
        let certificate = certificate.map_err(|why| refused(&why))?;
        store.add(certificate).map_err(|why| refused(&why))?;
    }
    if store.is_empty() { Err(refused(&"it has none")) } else { Ok(store) }
}

/// Takes any certificate, but not a handshake that its key did not sign.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
