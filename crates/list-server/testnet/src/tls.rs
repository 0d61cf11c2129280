//! TLS: an authority of this internet's own, and a certificate for each domain.

use rcgen::{
    BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose,
    PKCS_ECDSA_P256_SHA256,
};
use rustls::pki_types::PrivatePkcs8KeyDer;
use sojourn_core::choices;
use std::sync::Arc;
use tokio_rustls::TlsAcceptor;

choices! {
    /// Whether a host offers TLS (RFC 3207).
    pub enum Tls: "use of TLS" {
        /// It does not.
        Never = "none",
        /// It does, with a certificate for its name.
        Good = "good",
        /// It does, and takes no mail without.
        Required = "required",
        /// It does, and answers 454 to STARTTLS.
        Refused = "refused",
        /// It does, and breaks the handshake.
        Broken = "broken",
        /// It does, with a certificate for another name.
        WrongName = "wrong-name",
    }
}

impl Tls {
    /// Whether EHLO says that TLS can be had.
    pub(crate) fn is_offered(self) -> bool {
        self != Tls::Never
    }
}

/// An authority that certifies hosts.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    /// Its certificate, in PEM: what a client has to trust.
    pub(crate) pem: String,
}

impl Authority {
    pub(crate) fn new() -> Result<Authority, rcgen::Error> {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        params.distinguished_name.push(DnType::CommonName, "A small internet's authority");
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
        let pem = params.self_signed(&key)?.pem();
        Ok(Authority { issuer: Issuer::new(params, key), pem })
    }

    /// What a host of this name needs; nothing where it does not offer TLS, or breaks it.
    pub(crate) fn acceptor(
        &self,
        tls: Tls,
        host: &str,
    ) -> Result<Option<TlsAcceptor>, rcgen::Error> {
        let name = match tls {
            Tls::Good | Tls::Required => host,
            Tls::WrongName => "elsewhere.example",
            Tls::Never | Tls::Refused | Tls::Broken => return Ok(None),
        };
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
        let params = CertificateParams::new(vec![name.to_owned()])?;
        let chain = vec![params.signed_by(&key, &self.issuer)?.der().clone()];
        let private = PrivatePkcs8KeyDer::from(key.serialize_der()).into();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("ring has them")
            .with_no_client_auth()
            .with_single_cert(chain, private)
            .expect("they belong together");
        Ok(Some(TlsAcceptor::from(Arc::new(config))))
    }
}
