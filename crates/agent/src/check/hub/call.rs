//! Check of gRPC: a hub responds, supports our protocol version, and its clock agrees with ours.

use std::ops::RangeInclusive;

use http::HeaderValue;
use jiff::Timestamp;
use prost::Message;
use spindrift_model::Incarnation;
use spindrift_process::{
    check::{
        Section,
        clock::{clock, http_date},
        grpc::{GrpcAnswer, GrpcConnection, UNIMPLEMENTED},
    },
    report,
};
use spindrift_protocol::{SUPPORTED, v1::RegisterRequest};
use tokio::io::{AsyncRead, AsyncWrite};

use super::{CORRECT_ADDRESS, Dialled, PASS_HTTP2};
use crate::uplink::Bearer;

const HEALTH: &str = "/grpc.health.v1.Health/Check";
const REGISTER: &str = "/spindrift.v1.Hub/Register";

/// gRPC codes of a hub's response to our registration.
const PERMISSION_DENIED: u32 = 7;
const FAILED_PRECONDITION: u32 = 9;

/// A protocol version that no hub will ever support: the response to it names the hub's versions, and opens no session.
const IMPOSSIBLE_VERSION: u32 = u32::MAX;

// === impl Dialled ===

impl Dialled<'_> {
    pub(super) async fn call<IO>(&self, stream: IO, section: &mut Section)
    where
        IO: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let authorization = self.token(section).await;
        let answers = async {
            let mut connection = GrpcConnection::open(stream, &self.config.grpc).await?;
            if self.config.tls_files().is_some() {
                connection = connection.over_tls();
            }
            let mut connection = connection.with_authorization(authorization);
            let health = connection.call(HEALTH, &[]).await?;
            let registered = connection.call(REGISTER, &registration()).await?;
            Ok::<_, std::io::Error>((health, registered))
        };
        let (health, registered) = match answers.await {
            Ok(answers) => answers,
            Err(error) => {
                let found = format!("HTTP/2 is spoken, but a call gets no answer: {}", report(&error));
                section.wrong("grpc", found, PASS_HTTP2);
                section.skip(&["protocol", "clock"], "gRPC is not understood");
                return;
            }
        };
        if understood(&health, &registered, section) {
            protocol(&registered, section);
        } else {
            section.skip(&["protocol"], "there is no hub");
        }
        match health.date.as_deref().and_then(http_date) {
            Some(theirs) => section.push(clock("the hub", theirs, Timestamp::now())),
            None => section.skip(&["clock"], "the hub does not tell the time"),
        }
    }

    /// Returns the line `token`, if one is configured.
    async fn token(&self, section: &mut Section) -> Option<HeaderValue> {
        match Bearer::new(self.config.auth.clone()).header().await {
            Ok(None) => None,
            Ok(Some(header)) => {
                section.ok("token", "is shown with each call (clouddriver.auth)");
                Some(header)
            }
            Err(error) => {
                let remedy = "run clouddriver.auth.tokenCommand by hand, as the agent's user, to see why";
                section.wrong("token", report(&error), remedy);
                None
            }
        }
    }
}

/// Registration without accounts.
fn registration() -> Vec<u8> {
    let request = RegisterRequest {
        agent_id: "spindrift-check".into(),
        incarnation: Incarnation::fresh().to_string(),
        version: crate::VERSION.into(),
        protocol_min: IMPOSSIBLE_VERSION,
        protocol_max: IMPOSSIBLE_VERSION,
        ..RegisterRequest::default()
    };
    request.encode_to_vec()
}

/// Returns the line `grpc`: whether a hub responds.
fn understood(health: &GrpcAnswer, registered: &GrpcAnswer, section: &mut Section) -> bool {
    const CHECK: &str = "grpc";
    let GrpcAnswer { http, is_grpc, server, .. } = registered;
    if !is_grpc {
        let who = server.as_deref().unwrap_or("an HTTP server");
        let found = format!("{who} answers with {http}, and does not understand gRPC");
        section.wrong(CHECK, found, format!("{CORRECT_ADDRESS}; if that is a proxy: {PASS_HTTP2}"));
        return false;
    }
    if registered.code == Some(UNIMPLEMENTED) {
        if registered.message.contains("REST port") {
            section.wrong(CHECK, "this is the hub's REST port", CORRECT_ADDRESS);
        } else {
            section.wrong(CHECK, "a gRPC server answers, but it is no Spindrift hub", CORRECT_ADDRESS);
        }
        return false;
    }
    // The field of the status, and SERVING.
    match (health.code, &health.reply[..]) {
        (Some(0), [0x08, 0x01, ..]) => section.ok(CHECK, "a hub answers, and is serving"),
        (Some(0), _) => {
            section.warn(CHECK, "a hub answers, but is not serving", "see the hub's log and its /health");
        }
        _ => section.ok(CHECK, "a hub answers"),
    }
    true
}

/// Returns the line `protocol`: whether this agent would be accepted.
fn protocol(registered: &GrpcAnswer, section: &mut Section) {
    const CHECK: &str = "protocol";
    let GrpcAnswer { code, message, .. } = registered;
    match code {
        Some(FAILED_PRECONDITION) => match versions(message) {
            Some((build, versions)) if have_common(&versions) => {
                let (from, to) = (versions.start(), versions.end());
                section.ok(CHECK, format!("the hub ({build}) speaks versions {from} to {to}, as this agent can"));
            }
            Some((build, versions)) => section.wrong(
                CHECK,
                format!("the hub ({build}) speaks versions {versions:?}, this agent {SUPPORTED:?}"),
                "upgrade the older of agent and hub",
            ),
            None => section.warn(CHECK, message.as_str(), "compare the releases of agent and hub"),
        },
        Some(PERMISSION_DENIED) => section.wrong(
            CHECK,
            message.as_str(),
            "let a pattern of the hub's kubesvc.grpc.auth.x509.filters match the subject of clouddriver.tls.clientCertFile",
        ),
        _ => section.warn(CHECK, format!("the hub says: {message}"), "see the hub's log"),
    }
}

fn have_common(theirs: &RangeInclusive<u32>) -> bool {
    theirs.start() <= SUPPORTED.end() && SUPPORTED.start() <= theirs.end()
}

/// Parses `the hub (0.1.0) speaks 1 to 1`, the hub's error for a version that it does not support.
fn versions(message: &str) -> Option<(String, RangeInclusive<u32>)> {
    let (_, hub) = message.split_once("the hub (")?;
    let (build, rest) = hub.split_once(") speaks ")?;
    let (from, rest) = rest.split_once(" to ")?;
    let to: String = rest.chars().take_while(char::is_ascii_digit).collect();
    Some((build.to_owned(), from.parse().ok()?..=to.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use spindrift_protocol::negotiate;

    use super::*;

    #[test]
    fn the_hubs_own_words_tell_its_versions() {
        let impossible = IMPOSSIBLE_VERSION..=IMPOSSIBLE_VERSION;
        let refusal = negotiate(("0.1.0", impossible), ("0.9.0", 2..=12)).unwrap_err();
        let (build, versions) = versions(&refusal.to_string()).unwrap();
        assert_eq!((build.as_str(), &versions), ("0.9.0", &(2..=12)));
        assert_eq!(have_common(&versions), SUPPORTED.end() >= &2);
        assert!(have_common(&SUPPORTED));
    }
}
