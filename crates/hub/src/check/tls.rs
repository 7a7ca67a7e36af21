//! The files behind the gRPC port's TLS.

use jiff::Timestamp;
use regex::Regex;
use spindrift_process::{
    check::{Section, certificate::Certificate},
    report,
    tls::{ClientAuth, PemFile},
};

use crate::config::{Security, X509};

pub(super) fn section(security: &Security, x509: &X509) -> Section {
    let mut section = Section::new("tls");
    filters(security, x509, &mut section);
    if !security.enabled {
        section.ok("files", "none: the gRPC port speaks plaintext (kubesvc.grpc.server.security.enabled)");
        return section;
    }
    if let Err(error) = security.tls() {
        let remedy =
            "correct the setting that is named; certificateChain and privateKey must belong together, as PEM";
        section.wrong("files", report(&error), remedy);
        section.skip(&["certificate", "clients"], "the files cannot be used");
        return section;
    }
    section.ok("files", "certificate and key belong together");
    let file = |name: &str, path: &Option<String>| {
        path.as_deref().map(|path| PemFile::new(format!("kubesvc.grpc.server.security.{name}"), path))
    };
    if let Some(chain) = file("certificateChain", &security.certificate_chain) {
        certificates("certificate", "the hub's certificate", &chain, &mut section);
        order(&chain, &mut section);
    }
    match (security.client_auth, file("trustCertCollection", &security.trust_cert_collection)) {
        (ClientAuth::None, _) => section.ok("clients", "need no certificate (clientAuth: NONE)"),
        (_, Some(trust)) => certificates("clients", "the clients' authority", &trust, &mut section),
        (_, None) => section.warn(
            "clients",
            "a certificate of any authority that the system trusts will do",
            "set kubesvc.grpc.server.security.trustCertCollection to the CA of the agents",
        ),
    }
    section
}

/// Looks at every certificate of a file; one line if all are well.
fn certificates(check: &'static str, whose: &str, file: &PemFile, section: &mut Section) {
    let remedy = format!("renew it in {} ({}), and restart the hub", file.setting(), file.path().display());
    let certificates = file.certificates().unwrap_or_default();
    let lines: Vec<_> = certificates
        .iter()
        .filter_map(|der| Certificate::parse(der))
        .map(|certificate| certificate.validity(check, whose, Timestamp::now(), &remedy))
        .collect();
    let (good, bad): (Vec<_>, Vec<_>) = lines.into_iter().partition(|line| line.remedy.is_none());
    if bad.is_empty() {
        good.into_iter().take(1).for_each(|line| section.push(line));
    }
    for line in bad {
        section.push(line);
    }
}

/// Each certificate of a chain is signed by the next.
fn order(file: &PemFile, section: &mut Section) {
    let chain: Vec<_> = file.certificates().unwrap_or_default();
    let chain: Vec<_> = chain.iter().filter_map(|der| Certificate::parse(der)).collect();
    for (certificate, next) in chain.iter().zip(chain.iter().skip(1)) {
        if certificate.issuer != next.subject {
            section.warn(
                "chain",
                format!(
                    "{} is signed by {}, but {} follows",
                    certificate.subject, certificate.issuer, next.subject
                ),
                format!("put the certificates of {} in order: the hub's, then who signed it", file.setting()),
            );
            return;
        }
    }
    section.ok("chain", format!("{} in order", chain.len()));
}

fn filters(security: &Security, x509: &X509, section: &mut Section) {
    if !x509.enabled {
        return;
    }
    if let Some(error) = x509.filters.iter().find_map(|filter| Regex::new(filter).err()) {
        section.wrong(
            "filters",
            error.to_string(),
            "correct kubesvc.grpc.auth.x509.filters: each is a regular expression",
        );
    } else if !security.enabled || security.client_auth == ClientAuth::None {
        section.wrong(
            "filters",
            "subjects are filtered, but agents are not asked for a certificate: none will be let in",
            "set kubesvc.grpc.server.security.enabled: true and clientAuth: REQUIRE, or kubesvc.grpc.auth.x509.enabled: false",
        );
    } else {
        section.ok("filters", format!("{} for subjects of agents", x509.filters.len()));
    }
}
