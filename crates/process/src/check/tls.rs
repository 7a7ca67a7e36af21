//! A handshake that goes on where a careful client would stop, and remembers why that would have stopped.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use jiff::Timestamp;
use parking_lot::Mutex;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    AlertDescription, CertificateError, DigitallySignedStruct, Error as TlsFailure, RootCertStore,
    SignatureScheme,
};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::client::TlsStream;

use super::certificate::Certificate;
use super::{DEADLINE, Line};
use crate::tls::{ClientTls, ClientTlsFiles, TlsError, anyone, native_roots, trusting};

/// A TLS client that verifies the server as configured, but connects also if the verification fails.
#[derive(Debug)]
pub struct TlsProbe {
    tls: ClientTls,
    recorder: Arc<Recorder>,
}

/// A handshake that came about.
#[derive(Debug)]
pub struct Handshake {
    /// The certificates that the server has shown, its own first.
    pub chain: Vec<CertificateDer<'static>>,
    /// Result of the verification.
    pub judgement: Result<(), TlsFailure>,
    /// The protocol that was agreed on, such as `h2`.
    pub alpn: Option<String>,
    /// The connection.
    pub stream: TlsStream<TcpStream>,
}

/// Names of the server, its certificate and its trust anchors in the report.
#[derive(Debug, Clone)]
pub struct Words {
    /// Such as "the hub's certificate".
    pub certificate: &'static str,
    /// The name that it was dialled by.
    pub host: String,
    /// Trust anchors, such as "clouddriver.tls.cacertFile (/etc/ca.pem)".
    pub trust: String,
    /// Remedy for an issuer that is not trusted.
    pub untrusted: String,
    /// Remedy for a name that does not match.
    pub misnamed: String,
    /// Remedy for a certificate that has expired or will soon.
    pub renew: String,
}

#[derive(Debug)]
struct Recorder {
    judge: Arc<dyn ServerCertVerifier>,
    seen: Mutex<Option<Seen>>,
}

#[derive(Debug)]
struct Seen {
    chain: Vec<CertificateDer<'static>>,
    judgement: Result<(), TlsFailure>,
}

// === impl TlsProbe ===

impl TlsProbe {
    /// Connects as a client with these files.
    pub fn open(files: ClientTlsFiles) -> Result<Self, TlsError> {
        let judge = files.verifier()?;
        Self::judged_by(judge, files)
    }

    /// Connects as a client that trusts these authorities (in DER), or the system's if none are given.
    pub fn trusting(authorities: Option<&[Vec<u8>]>, server_name: Option<String>) -> Result<Self, TlsError> {
        let roots = match authorities {
            None => native_roots()?,
            Some(authorities) => {
                let mut roots = RootCertStore::empty();
                let certificates = authorities.iter().map(|der| CertificateDer::from(der.as_slice()));
                roots.add_parsable_certificates(certificates);
                roots
            }
        };
        Self::judged_by(trusting(roots)?, ClientTlsFiles { server_name, ..ClientTlsFiles::default() })
    }

    /// Connects to anyone, and offers these protocols.
    pub fn to_anyone(alpn: Vec<Vec<u8>>) -> Result<Self, TlsError> {
        Self::judged_by(anyone(), ClientTlsFiles { alpn, ..ClientTlsFiles::default() })
    }

    fn judged_by(judge: Arc<dyn ServerCertVerifier>, files: ClientTlsFiles) -> Result<Self, TlsError> {
        let recorder = Arc::new(Recorder { judge, seen: Mutex::new(None) });
        let verifier: Arc<dyn ServerCertVerifier> = recorder.clone();
        Ok(Self { tls: ClientTls::with_verifier(files, verifier)?, recorder })
    }

    /// Dials and shakes hands; `host` is the name that is expected of the server.
    pub async fn connect(&self, host: &str, address: SocketAddr) -> io::Result<Handshake> {
        let handshake = async {
            let stream = TcpStream::connect(address).await?;
            self.tls.connect(host, stream).await
        };
        let stream = timeout(DEADLINE, handshake).await.unwrap_or(Err(io::ErrorKind::TimedOut.into()))?;
        let seen = self.recorder.seen.lock().take();
        let Seen { chain, judgement } = seen.unwrap_or(Seen { chain: Vec::new(), judgement: Ok(()) });
        let alpn = stream.get_ref().1.alpn_protocol();
        let alpn = alpn.map(|name| String::from_utf8_lossy(name).into_owned());
        Ok(Handshake { chain, judgement, alpn, stream })
    }
}

// === impl Handshake ===

impl Handshake {
    /// Reports whether the server's certificate is trusted, and for how long.
    pub fn certificate(&self, words: &Words, now: Timestamp) -> Line {
        const CHECK: &str = "certificate";
        let Words { certificate: whose, host, trust, untrusted, misnamed, renew } = words;
        let shown = self.chain.first().and_then(|der| Certificate::parse(der));
        let Some(shown) = shown else {
            return Line::wrong(CHECK, format!("{whose} cannot be read"), renew.as_str());
        };
        let Certificate { subject, issuer, names, .. } = &shown;
        let TlsFailure::InvalidCertificate(problem) = (match &self.judgement {
            Ok(()) => return shown.validity(CHECK, whose, now, renew),
            Err(failure) => failure,
        }) else {
            return Line::wrong(CHECK, format!("{whose} ({subject}) is not accepted"), untrusted.as_str());
        };
        match problem {
            CertificateError::Expired
            | CertificateError::ExpiredContext { .. }
            | CertificateError::NotValidYet
            | CertificateError::NotValidYetContext { .. } => {
                let line = shown.validity(CHECK, whose, now, renew);
                // It may be another one of the chain.
                if line.remedy.is_some() {
                    return line;
                }
                Line::wrong(
                    CHECK,
                    format!("one of those who signed {whose} ({issuer}) has expired"),
                    renew.as_str(),
                )
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                let found = format!("{whose} ({subject}) is for {}, not for {host}", names.join(", "));
                Line::wrong(CHECK, found, misnamed.as_str())
            }
            CertificateError::UnknownIssuer | CertificateError::BadSignature => {
                let found = format!("{whose} ({subject}) is signed by {issuer}, who is not in {trust}");
                Line::wrong(CHECK, found, untrusted.as_str())
            }
            other => Line::wrong(
                CHECK,
                format!("{whose} ({subject}) is not accepted: {other}"),
                untrusted.as_str(),
            ),
        }
    }

    /// The version of TLS that was agreed on.
    pub fn version(&self) -> &'static str {
        match self.stream.get_ref().1.protocol_version() {
            Some(rustls::ProtocolVersion::TLSv1_2) => "TLS 1.2",
            _ => "TLS 1.3",
        }
    }
}

// === impl Recorder ===

impl ServerCertVerifier for Recorder {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, TlsFailure> {
        let judgement =
            self.judge.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        let chain = std::iter::once(end_entity).chain(intermediates).map(|der| der.clone().into_owned());
        *self.seen.lock() = Some(Seen { chain: chain.collect(), judgement: judgement.map(drop) });
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsFailure> {
        self.judge.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsFailure> {
        self.judge.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.judge.supported_verify_schemes()
    }
}

/// The alert by which the other side ended a connection, if it did.
pub fn alert(error: &io::Error) -> Option<AlertDescription> {
    match error.get_ref()?.downcast_ref::<TlsFailure>()? {
        TlsFailure::AlertReceived(alert) => Some(*alert),
        _ => None,
    }
}

/// Whether the server supports none of the offered protocols.
pub fn is_no_common_protocol(error: &io::Error) -> bool {
    let failure = error.get_ref().and_then(|inner| inner.downcast_ref::<TlsFailure>());
    alert(error) == Some(AlertDescription::NoApplicationProtocol)
        || matches!(failure, Some(TlsFailure::NoApplicationProtocol))
}
