//! Authentication: the subject of the client certificate, and the token of a channel.

use regex::Regex;
use spindrift_model::SessionId;
use spindrift_process::serve::PeerInfo;
use spindrift_protocol::{Channel, ChannelToken, SESSION_METADATA, TOKEN_METADATA};
use tonic::{Request, Status};
use tracing::warn;
use x509_parser::prelude::{FromDer, X509Certificate};

use super::Context;
use crate::store::{SessionInfo, TokenRefused};

/// Accepted client certificates (`kubesvc.grpc.auth.x509`): those whose subject matches any pattern.
#[derive(Debug, Clone, Default)]
pub struct SubjectFilter {
    patterns: Option<Vec<Regex>>,
}

// === impl SubjectFilter ===

impl SubjectFilter {
    /// Accepts only subjects that match one of the patterns; an empty list accepts none.
    pub fn any_of(patterns: Vec<Regex>) -> Self {
        Self { patterns: Some(patterns) }
    }

    /// Refuses a peer whose certificate matches no pattern.
    pub(super) fn check<T>(&self, request: &Request<T>) -> Result<(), Status> {
        let Some(patterns) = &self.patterns else { return Ok(()) };
        let peer = request.extensions().get::<PeerInfo>();
        let subject = peer
            .and_then(|peer| peer.certificates.as_ref()?.first().cloned())
            .and_then(|der| X509Certificate::from_der(&der).ok().map(|(_, cert)| cert.subject().to_string()));
        match subject {
            Some(subject) if patterns.iter().any(|pattern| pattern.is_match(&subject)) => Ok(()),
            Some(subject) => {
                warn!(subject, "client certificate matches no pattern of kubesvc.grpc.auth.x509.filters");
                Err(Status::permission_denied(format!(
                    "certificate subject {subject:?} is not allowed by kubesvc.grpc.auth.x509.filters"
                )))
            }
            None => Err(Status::unauthenticated(
                "kubesvc.grpc.auth.x509 is enabled, and no client certificate was shown",
            )),
        }
    }
}

// === impl Context ===

impl Context {
    /// Takes the token that opens a channel; it will not open another.
    pub(super) async fn open<T>(
        &self,
        channel: Channel,
        request: &Request<T>,
    ) -> Result<(SessionId, SessionInfo), Status> {
        self.config.subjects.check(request)?;
        let opened = self.take_token(channel, request).await;
        if let Err(status) = &opened {
            self.metrics.refusals.inc();
            warn!(%channel, reason = status.message(), "a channel was refused");
        }
        opened
    }

    async fn take_token<T>(
        &self,
        channel: Channel,
        request: &Request<T>,
    ) -> Result<(SessionId, SessionInfo), Status> {
        let text = |name| {
            request
                .metadata()
                .get(name)
                .and_then(|value| value.to_str().ok())
                .ok_or_else(|| Status::unauthenticated(format!("metadata {name} is missing")))
        };
        let session: SessionId =
            text(SESSION_METADATA)?.parse().map_err(|error| Status::unauthenticated(format!("{error}")))?;
        let token = ChannelToken::from_metadata(text(TOKEN_METADATA)?)
            .map_err(|error| Status::unauthenticated(error.to_string()))?;
        match self.store.take_token(&session, channel, token.as_bytes(), &self.config.hub).await {
            Ok(Ok(info)) => Ok((session, info)),
            Ok(Err(refused)) => Err(Status::unauthenticated(match refused {
                TokenRefused::UnknownSession => format!("session {session} is not known: register again"),
                TokenRefused::Closed => format!("session {session} is over: register again"),
                TokenRefused::Wrong => format!("this is not the {channel} token of session {session}"),
                TokenRefused::Used => {
                    format!("the {channel} token of session {session} was used before: register again")
                }
                TokenRefused::Expired => {
                    format!("the {channel} token of session {session} has expired: register again")
                }
            })),
            Err(error) => Err(unavailable(&error)),
        }
    }
}

/// The store is away: the agent may try again.
pub(super) fn unavailable(error: &crate::store::StoreError) -> Status {
    warn!(%error, "the store did not answer a session");
    Status::unavailable("the hub's store did not answer; try again")
}
