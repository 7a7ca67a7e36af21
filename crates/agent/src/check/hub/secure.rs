//! Check of TLS to the hub: its certificate, our certificate, and HTTP/2 by ALPN.

use std::io;

use jiff::Timestamp;
use rustls::AlertDescription;
use spindrift_process::{
    check::{
        Section,
        certificate::Certificate,
        greeting::{Greeting, get_http1, greet, greet_plain},
        tls::{Handshake, TlsProbe, Words, alert, is_no_common_protocol},
    },
    report,
    tls::{ClientTlsFiles, PemFile, ServerTls},
};

use super::{CORRECT_ADDRESS, Dialled, PASS_HTTP2, http1_only};

const AFTER: [&str; 3] = ["grpc", "protocol", "clock"];

// === impl Dialled ===

impl Dialled<'_> {
    pub(super) async fn secure(&self, files: ClientTlsFiles, section: &mut Section) {
        let probe = match TlsProbe::open(files.clone()) {
            Ok(probe) => probe,
            Err(error) => {
                let remedy = "correct the setting that is named, or what its file holds";
                section.wrong("tls", report(&error), remedy);
                section.skip(&["certificate", "identity", "http2"], "the TLS settings cannot be used");
                section.skip(&AFTER, "the TLS settings cannot be used");
                return;
            }
        };
        match probe.connect(self.host, self.address).await {
            Ok(handshake) => self.shaken(&files, handshake, section).await,
            Err(error) if is_no_common_protocol(&error) => self.no_http2(&files, section).await,
            Err(error) => self.no_tls(&files, &error, section).await,
        }
    }

    async fn shaken(&self, files: &ClientTlsFiles, mut handshake: Handshake, section: &mut Section) {
        section.ok("tls", handshake.version());
        self.certificate(files, &handshake, section);
        if handshake.alpn.as_deref() != Some("h2") {
            section.skip(&["identity"], "HTTP/2 is not spoken");
            self.over_http1(handshake, section).await;
            section.skip(&AFTER, "HTTP/2 is not spoken");
            return;
        }
        // Since TLS 1.3 a server looks at the client's certificate when the client is through with the handshake.
        match greet(&mut handshake.stream).await {
            Greeting::Http2 => {
                identity(files, None, section);
                section.ok("http2", "is offered by ALPN and spoken");
            }
            Greeting::Nothing(error) if alert(&error).is_some() => {
                identity(files, alert(&error), section);
                section.skip(&["http2"], "the hub does not let us in");
                section.skip(&AFTER, "the hub does not let us in");
                return;
            }
            greeting => {
                section.skip(&["identity"], "HTTP/2 is not spoken");
                let found = format!("ALPN promises HTTP/2, but the answer is {greeting:?}");
                section.wrong("http2", found, PASS_HTTP2);
                section.skip(&AFTER, "HTTP/2 is not spoken");
                return;
            }
        }
        let again = match TlsProbe::open(files.clone()) {
            Ok(probe) => probe.connect(self.host, self.address).await.map_err(|error| report(&error)),
            Err(error) => Err(report(&error)),
        };
        match again {
            Ok(handshake) => self.call(handshake.stream, section).await,
            Err(error) => section.wrong("grpc", error, "run the check again: the connection broke"),
        }
    }

    fn certificate(&self, files: &ClientTlsFiles, handshake: &Handshake, section: &mut Section) {
        if files.insecure_skip_verify {
            let remedy = "set clouddriver.tls.insecureSkipVerify: false and clouddriver.tls.cacertFile";
            section.warn("certificate", "every certificate of the hub is accepted", remedy);
            return;
        }
        let trust = match &files.ca {
            Some(file) => format!("clouddriver.tls.cacertFile ({})", file.path().display()),
            None => "the system's trust (clouddriver.tls.cacertFile is not set)".into(),
        };
        let words = Words {
            certificate: "the hub's certificate",
            host: files.server_name.clone().unwrap_or_else(|| self.host.to_owned()),
            trust,
            untrusted: "set clouddriver.tls.cacertFile to the CA that has signed the hub's certificate".into(),
            misnamed: "set clouddriver.tls.serverName to one of these names, or dial the hub by one of them"
                .into(),
            renew: "renew the hub's certificate (kubesvc.grpc.server.security.certificateChain), and restart the hub"
                .into(),
        };
        section.push(handshake.certificate(&words, Timestamp::now()));
    }

    /// Retries with HTTP/1 on offer, to find out what a server without h2 is.
    async fn no_http2(&self, files: &ClientTlsFiles, section: &mut Section) {
        let both = ClientTlsFiles { alpn: ServerTls::http(), ..files.clone() };
        let handshake = match TlsProbe::open(both) {
            Ok(probe) => probe.connect(self.host, self.address).await.map_err(|error| report(&error)),
            Err(error) => Err(report(&error)),
        };
        match handshake {
            Ok(handshake) => {
                section.ok("tls", handshake.version());
                self.certificate(files, &handshake, section);
                section.skip(&["identity"], "HTTP/2 is not spoken");
                self.over_http1(handshake, section).await;
            }
            Err(error) => {
                section.wrong("tls", error, CORRECT_ADDRESS);
                section.skip(&["certificate", "identity", "http2"], "there is no TLS");
            }
        }
        section.skip(&AFTER, "HTTP/2 is not spoken");
    }

    async fn over_http1(&self, handshake: Handshake, section: &mut Section) {
        let address = self.address;
        let offered = handshake.alpn.clone().unwrap_or_else(|| "nothing".into());
        if let Some(answer) = get_http1(handshake.stream, &self.config.grpc, "/health").await {
            let described = format!("ALPN offers {offered}; {}", answer.describe());
            section.push(http1_only(address, &described, &answer.body));
        } else {
            let found = format!("{address} does not offer HTTP/2: ALPN offers {offered}");
            section.wrong("http2", found, PASS_HTTP2);
        }
    }

    /// Reports a failed handshake: plaintext, another protocol, or a refusal.
    async fn no_tls(&self, files: &ClientTlsFiles, error: &io::Error, section: &mut Section) {
        let address = self.address;
        match greet_plain(address).await {
            Greeting::Http2 | Greeting::Http1 => {
                let remedy = "set clouddriver.insecure: true and remove clouddriver.tls, or \
                              kubesvc.grpc.server.security.enabled: true in the hub";
                section.wrong("tls", format!("{address} speaks plaintext, and TLS is configured"), remedy);
                section.skip(&["certificate", "identity", "http2"], "there is no TLS");
            }
            _ if alert(error).is_some() => {
                section.ok("tls", "is spoken");
                section.skip(&["certificate"], "the hub ended the handshake");
                identity(files, alert(error), section);
                section.skip(&["http2"], "the hub does not let us in");
            }
            _ => {
                let found = format!("there is no TLS at {address}: {}", report(error));
                section.wrong("tls", found, CORRECT_ADDRESS);
                section.skip(&["certificate", "identity", "http2"], "there is no TLS");
            }
        }
        section.skip(&AFTER, "there is no TLS");
    }
}

/// Reports whether the hub accepts our certificate.
fn identity(files: &ClientTlsFiles, refusal: Option<AlertDescription>, section: &mut Section) {
    const CHECK: &str = "identity";
    let own = files.certificate.as_ref().and_then(own_certificate);
    let remedy = "renew clouddriver.tls.clientCertFile and clientKeyFile";
    match (refusal, own) {
        (None, None) => section.ok(CHECK, "the hub asks for no certificate of the agent"),
        (None, Some(own)) => {
            section.push(own.validity(CHECK, "the agent's certificate", Timestamp::now(), remedy));
        }
        (Some(_), None) => section.wrong(
            CHECK,
            "the hub requires a certificate of the agent, and none is configured",
            "set clouddriver.tls.clientCertFile and clouddriver.tls.clientKeyFile, or kubesvc.grpc.server.security.clientAuth: NONE in the hub",
        ),
        (Some(alert), Some(own)) => {
            let line = own.validity(CHECK, "the agent's certificate", Timestamp::now(), remedy);
            if line.remedy.is_some() {
                section.push(line);
                return;
            }
            let Certificate { subject, issuer, .. } = own;
            let found = format!(
                "the hub does not accept the agent's certificate ({subject}, signed by {issuer}): {alert:?}"
            );
            section.wrong(
                CHECK,
                found,
                "put the CA of clouddriver.tls.clientCertFile into the hub's kubesvc.grpc.server.security.trustCertCollection",
            );
        }
    }
}

/// Returns the certificate of the agent, which was checked before.
fn own_certificate(file: &PemFile) -> Option<Certificate> {
    file.certificates().ok()?.first().and_then(|der| Certificate::parse(der))
}
