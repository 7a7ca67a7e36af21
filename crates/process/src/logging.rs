//! Logs: sentences for the operator on standard output, in a file, or both.
//!
//! ```text
//! event ─▶ level (can be changed while the process runs) ─▶ line (text or JSON) ─▶ output (stdout, file with rotation)
//! ```

use std::io::{self, IsTerminal};
use std::path::PathBuf;

use tracing_subscriber::fmt;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};

mod config;
mod fields;
mod level;
mod line;
mod output;
mod rotation;

pub use self::config::{LogFormat, LoggingConfig, RemoteLogging};
pub use self::level::Logging;

use self::line::LineFormatter;
use self::output::Output;
use crate::config::Env;

/// Logging that cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum LoggingError {
    /// The level is unknown.
    #[error("{setting}: unknown log level `{level}`; use error, warn, info, debug or trace")]
    Level {
        /// `LOG_LEVEL` or `logging.level`.
        setting: &'static str,
        /// Configured value.
        level: String,
    },
    /// The file cannot be written.
    #[error("logging.file: open {}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// Logging was set up before.
    #[error("logging is already set up")]
    Twice(#[from] TryInitError),
}

/// Sets up logging for the process; call it once, as soon as the configuration is known.
///
/// `constants` are fields that every line carries, beside those that the configuration asks for.
pub fn init(
    config: &LoggingConfig,
    env: &Env,
    constants: &[(&str, String)],
) -> Result<Logging, LoggingError> {
    let (logging, level) = Logging::new(config, env)?;
    let output = Output::open(config)?;
    let registry = tracing_subscriber::registry().with(level);
    if config.format == LogFormat::Text && config.file.is_none() && io::stdout().is_terminal() {
        // For a person at a terminal: colours, and no fields that never change.
        registry.with(fmt::layer().with_writer(io::stdout)).try_init()?;
    } else {
        let line =
            LineFormatter { format: config.format, constants: fields::constants(config, env, constants) };
        registry.with(fmt::layer().event_format(line).with_writer(output)).try_init()?;
    }
    if config.remote.enabled {
        tracing::warn!(
            "logging.remote is refused: the service it sent logs to has ended; ship standard output, or logging.file"
        );
    }
    Ok(logging)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_that_cannot_be_opened_is_named() {
        let config = LoggingConfig { file: Some("/none/agent.log".into()), ..LoggingConfig::default() };
        let error = init(&config, &Env::default(), &[]).unwrap_err();
        assert_eq!(error.to_string(), "logging.file: open /none/agent.log");
    }
}
