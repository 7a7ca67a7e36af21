//! Bearer token that the agent sends to the hub, or to a proxy in front of it: configured, or printed by a program.

use std::{io, process::Stdio, time::Duration};

use http::HeaderValue;
use parking_lot::Mutex;
use serde::Deserialize;
use spindrift_process::program::program;
use tokio::time::{Instant, timeout};
use tonic::{
    Request, Status,
    metadata::{Ascii, MetadataValue},
    service::Interceptor,
};

use crate::config::{Auth, TokenCommand, TokenFormat};

/// Deadline of the token program: one that requests a token from a cloud needs seconds; one that prompts would never end.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(30);

/// Characters of the program's standard error that are repeated in the error: they fit into a line of the log.
const STDERR_CHARS: usize = 300;

/// Source of bearer tokens.
#[derive(Debug, Default)]
pub struct Bearer {
    auth: Auth,
    /// Last token that the program printed, with its time.
    printed: Mutex<Option<(Instant, Authorization)>>,
}

/// Interceptor that adds the token, if there is one, to every call of a connection.
#[derive(Debug, Clone)]
pub(super) struct Authorization(Option<MetadataValue<Ascii>>);

/// Error for a token that is not available.
#[derive(Debug, thiserror::Error)]
pub enum BearerError {
    /// The program does not exist, or cannot be run.
    #[error("clouddriver.auth.tokenCommand: run {command:?}")]
    Run {
        /// The program.
        command: String,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The program did not end.
    #[error(
        "clouddriver.auth.tokenCommand: {command:?} did not end within {COMMAND_TIMEOUT:?}; it must not prompt"
    )]
    Slow {
        /// The program.
        command: String,
    },
    /// The program failed.
    #[error("clouddriver.auth.tokenCommand: {command:?} ended with {status}: {stderr}")]
    Failed {
        /// The program.
        command: String,
        /// Exit status.
        status: std::process::ExitStatus,
        /// Beginning of its standard error.
        stderr: String,
    },
    /// The output of the program is no token. It is not shown: it might be one after all.
    #[error("clouddriver.auth.tokenCommand: {command:?} did not print {expected}")]
    Printed {
        /// The program.
        command: String,
        /// Expected output.
        expected: &'static str,
    },
    /// The token has characters that are not valid in a header.
    #[error("{setting}: the token has characters that are not valid in an HTTP header")]
    InvalidHeader {
        /// Setting that the token came from.
        setting: &'static str,
    },
}

// === impl Bearer ===

impl Bearer {
    /// Returns the source of the configured tokens.
    pub fn new(auth: Auth) -> Self {
        Self { auth, printed: Mutex::new(None) }
    }

    /// Returns the `authorization` header, for requests that do not go through the gRPC client.
    pub async fn header(&self) -> Result<Option<HeaderValue>, BearerError> {
        let Authorization(value) = self.authorization().await?;
        let invalid = |_| BearerError::InvalidHeader { setting: "clouddriver.auth" };
        value.map(|value| HeaderValue::from_bytes(value.as_bytes()).map_err(invalid)).transpose()
    }

    /// Drops a token that was not accepted, however young it is: the program may print another one.
    pub(super) fn refused(&self) {
        *self.printed.lock() = None;
    }

    /// Returns the authorization of the next connection.
    pub(super) async fn authorization(&self) -> Result<Authorization, BearerError> {
        let Auth { token, token_command } = &self.auth;
        if let Some(command) = token_command.command.as_deref().filter(|command| !command.is_empty()) {
            let kept = self.printed.lock().clone();
            if let Some((printed, authorization)) = kept
                && printed.elapsed() < token_command.refresh_interval()
            {
                return Ok(authorization);
            }
            let token = print(command, token_command).await?;
            let authorization = Authorization::new(&token, "clouddriver.auth.tokenCommand")?;
            *self.printed.lock() = Some((Instant::now(), authorization.clone()));
            return Ok(authorization);
        }
        match token.as_deref().map(str::trim).filter(|token| !token.is_empty()) {
            Some(token) => Authorization::new(token, "clouddriver.auth.token"),
            None => Ok(Authorization(None)),
        }
    }
}

async fn print(command: &str, options: &TokenCommand) -> Result<String, BearerError> {
    let run = program(command).args(&options.args).stdin(Stdio::null()).kill_on_drop(true).output();
    let command = command.to_owned();
    let output = match timeout(COMMAND_TIMEOUT, run).await {
        Ok(Ok(output)) => output,
        Ok(Err(source)) => return Err(BearerError::Run { command, source }),
        Err(_) => return Err(BearerError::Slow { command }),
    };
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        let stderr: String = stderr.trim().chars().take(STDERR_CHARS).collect();
        return Err(BearerError::Failed { command, status: output.status, stderr });
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let (token, expected) = match options.format {
        TokenFormat::Raw => (Some(text.trim().to_owned()), "a token"),
        TokenFormat::Json => (token_of(&text), "a JSON object with the field `token`"),
    };
    token.filter(|token| !token.is_empty()).ok_or(BearerError::Printed { command, expected })
}

fn token_of(text: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Printed {
        token: String,
    }
    serde_json::from_str::<Printed>(text).ok().map(|printed| printed.token)
}

// === impl Authorization ===

impl Authorization {
    fn new(token: &str, setting: &'static str) -> Result<Self, BearerError> {
        let mut value: MetadataValue<Ascii> =
            format!("Bearer {token}").parse().map_err(|_| BearerError::InvalidHeader { setting })?;
        // Neither printed with a request nor kept in HPACK's table.
        value.set_sensitive(true);
        Ok(Self(Some(value)))
    }
}

impl Interceptor for Authorization {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(value) = &self.0 {
            request.metadata_mut().insert("authorization", value.clone());
        }
        Ok(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, format: TokenFormat, refresh_interval_seconds: u64) -> Bearer {
        let args = vec!["-c".to_owned(), script.to_owned()];
        let command = TokenCommand { command: Some("sh".into()), args, format, refresh_interval_seconds };
        Bearer::new(Auth { token: Some("unused".into()), token_command: command })
    }

    async fn shown(bearer: &Bearer) -> String {
        let value = bearer.authorization().await.unwrap().0.unwrap();
        value.to_str().unwrap().to_owned()
    }

    #[tokio::test]
    async fn a_token_is_configured_or_printed_by_a_program() {
        let written = Bearer::new(Auth { token: Some(" abc\n".into()), ..Auth::default() });
        assert_eq!(shown(&written).await, "Bearer abc");
        assert_eq!(shown(&shell("echo abc", TokenFormat::Raw, 0)).await, "Bearer abc");
        assert_eq!(
            shown(&shell(r#"echo '{"token":"abc","x":1}'"#, TokenFormat::Json, 0)).await,
            "Bearer abc"
        );
        assert!(Bearer::default().authorization().await.unwrap().0.is_none());
    }

    #[tokio::test]
    async fn a_program_is_run_again_only_when_its_token_is_old() {
        let directory = tempfile::tempdir().unwrap();
        let script = format!("echo x >> {0}/runs; wc -l < {0}/runs", directory.path().display());
        let each_time = shell(&script, TokenFormat::Raw, 0);
        assert_eq!(
            (shown(&each_time).await, shown(&each_time).await),
            ("Bearer 1".into(), "Bearer 2".into())
        );
        let kept = shell(&script, TokenFormat::Raw, 3600);
        assert_eq!((shown(&kept).await, shown(&kept).await), ("Bearer 3".into(), "Bearer 3".into()));
        kept.refused();
        assert_eq!((shown(&kept).await, shown(&kept).await), ("Bearer 4".into(), "Bearer 4".into()));
    }

    #[tokio::test]
    async fn the_error_of_a_program_has_its_stderr_and_never_its_output() {
        for (script, format, expected) in [
            (
                "echo hunter2; echo 'log in first' >&2; exit 3",
                TokenFormat::Raw,
                "ended with exit status: 3: log in first",
            ),
            ("echo hunter2", TokenFormat::Json, "did not print a JSON object with the field `token`"),
            ("true", TokenFormat::Raw, "did not print a token"),
            (
                "printf 'hun\\001ter2'",
                TokenFormat::Raw,
                "the token has characters that are not valid in an HTTP header",
            ),
        ] {
            let error = shell(script, format, 0).authorization().await.unwrap_err().to_string();
            assert!(error.contains(expected) && !error.contains("hunter2"), "{script}: {error}");
        }
        let command = TokenCommand { command: Some("/none/token".into()), ..TokenCommand::default() };
        let error =
            Bearer::new(Auth { token: None, token_command: command }).authorization().await.unwrap_err();
        assert_eq!(error.to_string(), "clouddriver.auth.tokenCommand: run \"/none/token\"");
    }
}
