//! The hub's ports: free, or held by a hub that runs.

use std::io;
use std::net::SocketAddr;

use prost::Message;
use rustls::AlertDescription;
use serde::Deserialize;
use spindrift_process::{
    check::{
        Line, Section,
        greeting::{Greeting, get_plain, greet, greet_plain, speaks_tls},
        grpc::{GrpcAnswer, GrpcConnection, UNIMPLEMENTED},
        port::{Binding, Port},
        tls::{TlsProbe, alert},
    },
    tls::ClientAuth,
};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tonic_health::pb::HealthCheckRequest;

use crate::config::{HubConfig, Security};

/// Part of `/openapi.json` that distinguishes a hub from other servers.
#[derive(Deserialize)]
struct Description {
    info: Info,
}

#[derive(Deserialize)]
struct Info {
    title: String,
}

#[derive(Deserialize)]
struct HubHealth {
    status: String,
    #[serde(default)]
    awaited: Vec<String>,
}

pub(super) async fn section(config: &HubConfig) -> Section {
    let mut section = Section::new("ports");
    let (server, grpc) = (&config.server, &config.kubesvc.grpc.server);
    let rest =
        Port { check: "rest", name: "REST", setting: "server.port", host: &server.host, port: server.port };
    if let Binding::Taken(address) = rest.bind(&mut section).await {
        section.push(running_rest(&rest, address).await);
    }
    let port = Port {
        check: "grpc",
        name: "gRPC",
        setting: "kubesvc.grpc.server.port",
        host: &grpc.address,
        port: grpc.port,
    };
    if let Binding::Taken(address) = port.bind(&mut section).await {
        section.push(running_grpc(&port, &grpc.security, address).await);
    }
    section
}

async fn running_rest(port: &Port<'_>, address: SocketAddr) -> Line {
    let Some(answer) = get_plain(address, "/openapi.json").await else {
        return port.taken("another process");
    };
    if answer.json::<Description>().is_none_or(|description| description.info.title != "Spindrift hub") {
        return port.taken(&format!("another server: {}", answer.describe()));
    }
    let number = port.port;
    match get_plain(address, "/health").await.and_then(|answer| answer.json::<HubHealth>()) {
        Some(HubHealth { status, .. }) if status == "UP" => {
            Line::ok("rest", format!("a hub runs on port {number}, and is UP"))
        }
        Some(HubHealth { status, awaited }) => Line::warn(
            "rest",
            format!("a hub runs on port {number}, but is {status}: it waits for {}", awaited.join(", ")),
            "see its log, and the database above",
        ),
        None => Line::warn(
            "rest",
            format!("a hub runs on port {number}, but does not say how it is"),
            "see its log",
        ),
    }
}

/// Checks that a hub runs there, with the TLS of this configuration.
async fn running_grpc(port: &Port<'_>, security: &Security, address: SocketAddr) -> Line {
    let number = port.port;
    let restart = "restart the hub that runs, so that it takes up this configuration";
    let is_plaintext = matches!(greet_plain(address).await, Greeting::Http2);
    match (is_plaintext, security.enabled) {
        (true, false) => match TcpStream::connect(address).await {
            Ok(stream) => served(port, stream).await,
            Err(_) => port.taken("another process"),
        },
        (true, true) => {
            let found = format!("what runs on port {number} speaks plaintext, and TLS is configured");
            Line::warn("grpc", found, restart)
        }
        (false, false) if speaks_tls("localhost", address).await => {
            let found = format!("what runs on port {number} speaks TLS, and plaintext is configured");
            Line::warn("grpc", found, restart)
        }
        (false, false) => port.taken("another process"),
        (false, true) => running_tls(port, security, address).await,
    }
}

async fn running_tls(port: &Port<'_>, security: &Security, address: SocketAddr) -> Line {
    let number = port.port;
    let connect = async || match TlsProbe::to_anyone(vec![b"h2".to_vec()]) {
        Ok(probe) => probe.connect("localhost", address).await,
        Err(error) => Err(io::Error::other(error)),
    };
    let greeting = match connect().await {
        Ok(mut handshake) => greet(&mut handshake.stream).await,
        Err(error) => Greeting::Nothing(error),
    };
    match greeting {
        Greeting::Http2 => match connect().await {
            Ok(handshake) => served(port, handshake.stream).await,
            Err(_) => port.taken("another process"),
        },
        Greeting::Nothing(error) if is_asked_for_certificate(&error) => {
            let found = format!("what runs on port {number} requires certificates of clients");
            if security.client_auth == ClientAuth::Require {
                Line::ok("grpc", format!("{found}, as configured"))
            } else {
                Line::warn("grpc", found, "restart the hub that runs, so that it takes up this configuration")
            }
        }
        _ => port.taken("another process"),
    }
}

/// Requests the health of the hub that runs there.
async fn served<IO>(port: &Port<'_>, stream: IO) -> Line
where
    IO: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let request = HealthCheckRequest { service: "spindrift.v1.Hub".into() }.encode_to_vec();
    let answer = async {
        let mut connection = GrpcConnection::open(stream, "localhost").await?;
        connection.call("/grpc.health.v1.Health/Check", &request).await
    };
    let number = port.port;
    match answer.await {
        Ok(GrpcAnswer { code: Some(0), .. }) => {
            Line::ok("grpc", format!("a hub runs on port {number}, and is serving"))
        }
        // The service of health can be switched off.
        Ok(GrpcAnswer { is_grpc: true, code: Some(UNIMPLEMENTED), .. }) => {
            Line::ok("grpc", format!("something runs on port {number} that speaks gRPC"))
        }
        _ => port.taken("another server of HTTP/2"),
    }
}

fn is_asked_for_certificate(error: &io::Error) -> bool {
    // The second is that of TLS 1.2.
    matches!(alert(error), Some(AlertDescription::CertificateRequired | AlertDescription::HandshakeFailure))
}
