//! Files good and bad, and who trusts whom.

use std::error::Error;

use tokio_rustls::TlsAcceptor;

use super::*;
use crate::testing::Pki;

fn server(pki: &Pki, client_auth: ClientAuth) -> ServerTls {
    ServerTls::open(pki.server_files(client_auth)).unwrap()
}

/// Performs a handshake over a pipe; returns the number of client certificates, or the error.
async fn handshake(server: &ServerTls, client: ClientTlsFiles) -> Result<usize, String> {
    handshake_of(server, ClientTls::open(client).unwrap()).await
}

async fn handshake_of(server: &ServerTls, client: ClientTls) -> Result<usize, String> {
    let (near, far) = tokio::io::duplex(64 * 1024);
    let acceptor = TlsAcceptor::from(server.config());
    let (accepted, connected) = tokio::join!(acceptor.accept(far), client.connect("localhost", near));
    connected.map_err(|error| error.to_string())?;
    let accepted = accepted.map_err(|error| error.to_string())?;
    Ok(accepted.get_ref().1.peer_certificates().map_or(0, <[_]>::len))
}

#[tokio::test]
async fn client_auth_decides_who_may_come_in() {
    let pki = Pki::new();
    let anonymous = || ClientTlsFiles { ca: Some(pki.ca()), ..ClientTlsFiles::default() };
    let known = || ClientTlsFiles { ca: Some(pki.ca()), ..pki.client_files() };
    let stranger = Pki::new();
    let strange = || ClientTlsFiles { ca: Some(pki.ca()), ..stranger.client_files() };

    for (auth, nobody, friend, foe) in [
        (ClientAuth::None, Some(0), Some(0), Some(0)),
        (ClientAuth::Optional, Some(0), Some(1), None),
        (ClientAuth::Require, None, Some(1), None),
    ] {
        let server = server(&pki, auth);
        assert_eq!(handshake(&server, anonymous()).await.ok(), nobody, "{auth:?}");
        assert_eq!(handshake(&server, known()).await.ok(), friend, "{auth:?}");
        assert_eq!(handshake(&server, strange()).await.ok(), foe, "{auth:?}");
    }
}

#[tokio::test]
async fn clients_trust_whom_they_are_told_to() {
    let pki = Pki::new();
    let server = server(&pki, ClientAuth::None);
    let stranger = Pki::new();
    let other = ClientTlsFiles { ca: Some(stranger.ca()), ..ClientTlsFiles::default() };
    assert!(handshake(&server, other.clone()).await.unwrap_err().contains("invalid peer certificate"));
    handshake(&server, ClientTlsFiles { insecure_skip_verify: true, ..other }).await.unwrap();

    let named = |name: &str| ClientTlsFiles {
        ca: Some(pki.ca()),
        server_name: Some(name.into()),
        ..ClientTlsFiles::default()
    };
    handshake(&server, named("hub.example")).await.unwrap();
    assert!(handshake(&server, named("else.example")).await.unwrap_err().contains("not valid for name"));
}

#[test]
fn errors_name_setting_and_file() {
    let pki = Pki::new();
    let write = |name: &str, text: &str| std::fs::write(pki.path(name), text).unwrap();
    write("empty.pem", "");
    write("broken.pem", "-----BEGIN CERTIFICATE-----\nMII");
    write(
        "encrypted.pem",
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIIB\n-----END ENCRYPTED PRIVATE KEY-----\n",
    );
    write(
        "old.pem",
        "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\nMIIB\n-----END RSA PRIVATE KEY-----\n",
    );
    let cases = [
        ("none.pem", "server.key", "cert: read"),
        ("empty.pem", "server.key", "holds no certificate"),
        ("broken.pem", "server.key", "is not PEM"),
        ("server.pem", "empty.pem", "key: "),
        ("server.pem", "empty.pem", "holds no private key"),
        ("server.pem", "encrypted.pem", "is encrypted, and no password is set"),
        ("server.pem", "old.pem", "is encrypted, and no password is set"),
        ("server.pem", "client.key", "cannot be used"),
    ];
    for (certificate, key, message) in cases {
        let files = ServerTlsFiles {
            certificate_chain: pki.pem("cert", certificate),
            private_key: pki.pem("key", key),
            ..pki.server_files(ClientAuth::None)
        };
        let error = ServerTls::open(files).unwrap_err().to_string();
        assert!(error.contains(message), "{certificate} {key}: {error}");
    }
}

#[test]
fn certificate_and_key_come_together() {
    let pki = Pki::new();
    let files = ClientTlsFiles { ca: Some(pki.ca()), key: None, ..pki.client_files() };
    let error = ClientTls::open(files).unwrap_err();
    assert_eq!(error.to_string(), "client certificate is set but the private key that belongs to it is not");
    assert!(error.source().is_none());
}

#[test]
fn all_words_for_client_auth_are_known() {
    for (word, auth) in [
        ("NONE", ClientAuth::None),
        ("none", ClientAuth::None),
        ("OPTIONAL", ClientAuth::Optional),
        ("want", ClientAuth::Optional),
        ("Require", ClientAuth::Require),
        ("need", ClientAuth::Require),
    ] {
        assert_eq!(serde_json::from_value::<ClientAuth>(word.into()).unwrap(), auth, "{word}");
    }
    assert!("sometimes".parse::<ClientAuth>().is_err());
    assert_eq!(serde_json::to_value(ClientAuth::Require).unwrap(), "REQUIRE");
}

#[test]
fn provider_may_be_installed_twice() {
    install_provider();
    install_provider();
}

#[tokio::test]
async fn files_of_a_client_that_are_replaced_hold_from_the_next_connection_on() {
    let (pki, others) = (Pki::new(), Pki::new());
    let (before, after) = (server(&pki, ClientAuth::Require), server(&others, ClientAuth::Require));
    let client = RotatingClientTls::open(pki.client_files()).unwrap();
    handshake_of(&before, client.current()).await.unwrap();
    handshake_of(&after, client.current()).await.unwrap_err();

    // Half of a change cannot be used, so the files read before stay in use.
    std::fs::write(pki.path("client.key"), "").unwrap();
    handshake_of(&before, client.current()).await.unwrap();
    for name in ["ca.pem", "client.pem", "client.key"] {
        std::fs::copy(others.path(name), pki.path(name)).unwrap();
    }
    handshake_of(&after, client.current()).await.unwrap();
    handshake_of(&before, client.current()).await.unwrap_err();
}

#[tokio::test]
async fn a_bundle_is_trusted_for_the_authorities_in_it_that_can_be_used() {
    let pki = Pki::new();
    let server = server(&pki, ClientAuth::None);
    let odd = "-----BEGIN CERTIFICATE-----\nMAMCAQE=\n-----END CERTIFICATE-----\n";
    let bundle = format!("{odd}{}", std::fs::read_to_string(pki.path("ca.pem")).unwrap());
    std::fs::write(pki.path("bundle.pem"), bundle).unwrap();
    std::fs::write(pki.path("odd.pem"), odd).unwrap();
    let trusting =
        |name: &str| ClientTlsFiles { ca: Some(pki.pem("trust", name)), ..ClientTlsFiles::default() };
    handshake(&server, trusting("bundle.pem")).await.unwrap();
    let error = ClientTls::open(trusting("odd.pem")).unwrap_err();
    assert!(matches!(error, TlsError::Refused { .. }), "{error:?}");

    let authorities = |name: &str| {
        let certificates = pki.pem("trust", name).certificates().unwrap();
        Trust::Authorities(certificates.iter().map(|certificate| certificate.to_vec()).collect())
    };
    let of = |name: &str| {
        ClientTls::build(ClientTlsParts { trust: authorities(name), ..ClientTlsParts::default() })
    };
    handshake_of(&server, of("bundle.pem").unwrap()).await.unwrap();
    assert!(of("odd.pem").is_err());
}

#[tokio::test]
async fn files_of_a_server_that_are_replaced_hold_for_later_connections() {
    let (pki, renewed) = (Pki::new(), Pki::new());
    let server = server(&pki, ClientAuth::None);
    let client = ClientTlsFiles { ca: Some(renewed.ca()), ..ClientTlsFiles::default() };
    pki.replace_server_with(&renewed);
    handshake(&server, client.clone()).await.unwrap_err();
    server.look_now();
    handshake(&server, client.clone()).await.unwrap();

    // Broken files change nothing.
    std::fs::write(pki.path("server.pem"), "").unwrap();
    server.look_now();
    handshake(&server, client).await.unwrap();
}
