//! Who is who: a certificate known by its fingerprint, or a token that both
//! sides know.
//!
//! The receiver has a certificate of its own making. A sender trusts it because
//! it was told its SHA-256 fingerprint, or because the receiver proves that it
//! knows the token: each side sends a MAC, keyed by the token, over a secret that
//! TLS gives to the two ends of this one connection alone ([RFC8446] §7.5). A man
//! in the middle has two connections, and can use neither's proof on the other.
//! He can guess at tokens, though, once he has a proof: use long ones.

use std::fmt;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use noq_proto::crypto::Session;
use noq_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use ring::rand::SecureRandom;
use ring::{digest, hmac};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, SignatureScheme};

use super::CallError;

/// What this protocol calls itself in TLS.
const PROTOCOL: &[u8] = b"tightloop/1";
/// The name in every certificate: nobody looks at it.
pub(super) const NAME: &str = "tightloop";
/// What the secret is for, in TLS's words.
const LABEL: &[u8] = b"EXPORTER tightloop call";

/// A certificate's SHA-256 fingerprint.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    fn of(certificate: &CertificateDer<'_>) -> Self {
        let mut own = [0; 32];
        own.copy_from_slice(digest::digest(&digest::SHA256, certificate).as_ref());
        Self(own)
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({self})")
    }
}

impl FromStr for Fingerprint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let plain: String = text.chars().filter(|it| *it != ':').collect();
        let bytes = unhex(&plain).and_then(|bytes| bytes.try_into().ok());
        bytes.map(Self).ok_or_else(|| {
            format!(
                "{text:?} is no fingerprint: 64 hexadecimal digits, as the receiver prints them"
            )
        })
    }
}

/// Bytes as hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Bytes from hexadecimal digits.
pub(super) fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    let pairs = digits.chunks(2).map(|pair| {
        let pair = std::str::from_utf8(pair).ok().filter(|it| it.len() == 2)?;
        u8::from_str_radix(pair, 16).ok()
    });
    pairs.collect()
}

/// Bytes that nobody can guess.
pub(super) fn random<const N: usize>() -> Result<[u8; N], CallError> {
    let mut bytes = [0; N];
    let filled = ring::rand::SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| CallError::Crypto("the system gives no random numbers".into()))?;
    Ok(bytes)
}

/// A receiver's certificate and its key.
#[derive(Debug)]
pub struct Identity {
    certificate: CertificateDer<'static>,
    key: Vec<u8>,
}

impl Identity {
    /// A new one.
    ///
    /// # Errors
    ///
    /// A system without random numbers.
    pub fn generate() -> Result<Self, CallError> {
        let made = rcgen::generate_simple_self_signed([NAME.to_owned()]);
        let made = made.map_err(|error| CallError::Crypto(error.to_string()))?;
        Ok(Self {
            certificate: made.cert.der().clone(),
            key: made.signing_key.serialize_der(),
        })
    }

    /// The one in a file, or a new one that is written there, for its owner alone
    /// to read.
    ///
    /// # Errors
    ///
    /// A file that cannot be read or written, or holds something else.
    pub fn at(path: &Path) -> Result<Self, CallError> {
        let fail = |error| CallError::File {
            path: path.to_owned(),
            error,
        };
        match std::fs::read_to_string(path) {
            Ok(text) => {
                let mut lines = text.lines().map(unhex);
                let (Some(Some(certificate)), Some(Some(key))) = (lines.next(), lines.next())
                else {
                    let what = "it holds no identity that this program wrote: name another file";
                    return Err(fail(io::Error::other(what)));
                };
                let certificate = certificate.into();
                Ok(Self { certificate, key })
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let made = Self::generate()?;
                let mut options = OpenOptions::new();
                options.write(true).create_new(true).mode(0o600);
                let text = format!("{}\n{}\n", hex(&made.certificate), hex(&made.key));
                let written = options.open(path);
                let written = written.and_then(|mut file| file.write_all(text.as_bytes()));
                written.map_err(fail)?;
                Ok(made)
            }
            Err(error) => Err(fail(error)),
        }
    }

    /// What senders pin.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(&self.certificate)
    }

    pub(super) fn server(&self) -> Result<QuicServerConfig, CallError> {
        let key = PrivatePkcs8KeyDer::from(self.key.clone());
        let config = rustls::ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(crypto)?
            .with_no_client_auth()
            .with_single_cert(vec![self.certificate.clone()], key.into());
        let mut config = config.map_err(crypto)?;
        config.alpn_protocols = vec![PROTOCOL.to_vec()];
        QuicServerConfig::try_from(config).map_err(crypto)
    }
}

/// How the ends of a call know each other: at least one of the two.
#[derive(Clone, Default)]
pub struct Trust {
    /// The receiver's certificate.
    pub pin: Option<Fingerprint>,
    /// A secret that both know.
    pub token: Option<String>,
}

impl fmt::Debug for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let token = self.token.as_ref().map(|_| "…");
        let mut shown = f.debug_struct("Trust");
        shown
            .field("pin", &self.pin)
            .field("token", &token)
            .finish()
    }
}

impl Trust {
    pub(super) fn client(&self) -> Result<QuicClientConfig, CallError> {
        if self.pin.is_none() && self.token.is_none() {
            return Err(CallError::Trustless);
        }
        let verifier = Arc::new(Pinned {
            pin: self.pin,
            provider: provider(),
        });
        let mut config = rustls::ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(crypto)?
            .dangerous()
            .with_custom_certificate_verifier(verifier)
            .with_no_client_auth();
        config.alpn_protocols = vec![PROTOCOL.to_vec()];
        // A receiver is seldom met twice, and its token is asked for each time.
        config.resumption = rustls::client::Resumption::disabled();
        QuicClientConfig::try_from(config).map_err(crypto)
    }

    /// What a side says to prove that it knows the token, if there is one.
    pub(super) fn proof(&self, session: &dyn Session, side: &str) -> Option<Vec<u8>> {
        Some(
            hmac::sign(&self.key(session)?, side.as_bytes())
                .as_ref()
                .to_vec(),
        )
    }

    /// Whether a side's proof is good. Without a token there is nothing to prove.
    pub(super) fn holds(&self, session: &dyn Session, side: &str, proof: Option<&[u8]>) -> bool {
        if self.token.is_none() {
            return true;
        }
        let (Some(key), Some(proof)) = (self.key(session), proof) else {
            return false;
        };
        hmac::verify(&key, side.as_bytes(), proof).is_ok()
    }

    /// The token's key for one connection.
    fn key(&self, session: &dyn Session) -> Option<hmac::Key> {
        let token = hmac::Key::new(hmac::HMAC_SHA256, self.token.as_ref()?.as_bytes());
        let mut secret = [0; 32];
        session
            .export_keying_material(&mut secret, LABEL, b"")
            .ok()?;
        let key = hmac::sign(&token, &secret);
        Some(hmac::Key::new(hmac::HMAC_SHA256, key.as_ref()))
    }
}

fn crypto(error: impl fmt::Display) -> CallError {
    CallError::Crypto(error.to_string())
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// Trusts one certificate, or any: then the token tells.
#[derive(Debug)]
struct Pinned {
    pin: Option<Fingerprint>,
    provider: Arc<CryptoProvider>,
}

/// How a wrong certificate is told from other failures.
pub(super) const WRONG_PIN: &str = "another fingerprint";

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let found = Fingerprint::of(certificate);
        match self.pin {
            Some(pin) if pin != found => Err(rustls::Error::General(format!(
                "the receiver's certificate has {WRONG_PIN}: {found}"
            ))),
            _ => Ok(ServerCertVerified::assertion()),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_is_read_as_it_is_printed() {
        let identity = Identity::generate().expect("an identity");
        let print = identity.fingerprint();
        assert_eq!(print.to_string().parse(), Ok(print));
        let spaced = print
            .to_string()
            .as_bytes()
            .chunks(2)
            .fold(String::new(), |text, pair| {
                format!("{text}:{}", String::from_utf8_lossy(pair))
            });
        assert_eq!(spaced[1..].parse(), Ok(print));
        for wrong in ["", "12", &format!("{print}0"), &"g".repeat(64)] {
            let error = wrong.parse::<Fingerprint>().expect_err("refused");
            assert!(error.contains("64 hexadecimal digits"), "{error}");
        }
    }

    #[test]
    fn an_identity_is_kept_for_its_owner() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("identity");
        let first = Identity::at(&path).expect("made").fingerprint();
        let about = std::fs::metadata(&path).expect("written");
        assert_eq!(about.permissions().mode() & 0o777, 0o600);
        assert_eq!(Identity::at(&path).expect("read").fingerprint(), first);
        assert_ne!(Identity::generate().expect("other").fingerprint(), first);
        std::fs::write(&path, "poem").expect("written");
        let error = Identity::at(&path).expect_err("refused").to_string();
        assert!(error.contains("identity"), "{error}");
    }

    #[test]
    fn whoever_trusts_nothing_gets_no_call() {
        let error = Trust::default().client().err().expect("refused");
        assert!(error.to_string().contains("--pin"), "{error}");
        let token = Trust {
            token: Some("secret".into()),
            ..Trust::default()
        };
        assert!(token.client().is_ok());
        assert!(!format!("{token:?}").contains("secret"));
    }
}
