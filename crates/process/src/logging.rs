//! Logs: sentences for the operator on standard output, or in a file.

use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::sync::Arc;

use tracing_subscriber::fmt::writer::BoxMakeWriter;
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};
use tracing_subscriber::{EnvFilter, fmt};

mod config;

pub use self::config::{Format, LoggingConfig, RemoteLogging};

use crate::config::Env;

/// Libraries that say too much at debug; whoever wants them asks by `LOG_LEVEL=debug,h2=debug`.
const QUIET_LIBRARIES: [&str; 5] = ["h2", "hyper", "hyper_util", "rustls", "tower"];

/// The environment variable that wins over `logging.level`.
const LEVEL_VARIABLE: &str = "LOG_LEVEL";

/// Logging that cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum LoggingError {
    /// The level is not one we know.
    #[error("{setting}: unknown log level `{level}`; use error, warn, info, debug or trace")]
    Level {
        /// `LOG_LEVEL` or `logging.level`.
        setting: &'static str,
        /// What was written there.
        level: String,
    },
    /// The file cannot be written.
    #[error("logging.file: open {}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// Logging was set up before.
    #[error("logging is already set up")]
    Twice(#[from] TryInitError),
}

/// Sets up logging for the process; call it once, as soon as the configuration is known.
pub fn init(config: &LoggingConfig, env: &Env) -> Result<(), LoggingError> {
    let filter = filter(config, env)?;
    let (writer, colours) = match &config.file {
        Some(file) => (BoxMakeWriter::new(Arc::new(open(file)?)), false),
        None => (BoxMakeWriter::new(io::stdout), io::stdout().is_terminal()),
    };
    let subscriber = fmt().with_env_filter(filter).with_writer(writer).with_ansi(colours);
    match config.format {
        Format::Text => subscriber.finish().try_init()?,
        Format::Json => subscriber.json().flatten_event(true).finish().try_init()?,
    }
    for setting in config.ignored() {
        tracing::warn!("{setting} is not supported yet and is ignored");
    }
    Ok(())
}

/// Reads the level; a list of directives such as `info,kube=debug` is understood too.
fn filter(config: &LoggingConfig, env: &Env) -> Result<EnvFilter, LoggingError> {
    let (setting, level) = match env.get(LEVEL_VARIABLE) {
        Some(level) => (LEVEL_VARIABLE, level),
        None => ("logging.level", config.level.as_str()),
    };
    let unknown = || LoggingError::Level { setting, level: level.to_owned() };
    let directives = match level.trim().to_ascii_lowercase().as_str() {
        "panic" | "fatal" | "error" => "error".to_owned(),
        "warn" | "warning" => "warn".to_owned(),
        "" | "info" => "info".to_owned(),
        verbose @ ("debug" | "trace") => {
            let quiet = QUIET_LIBRARIES.map(|library| format!("{library}=info")).join(",");
            format!("{verbose},{quiet}")
        }
        // A single unknown word would be taken for the name of a library, and nothing would be logged at all.
        directives if !directives.contains(['=', ',']) => return Err(unknown()),
        directives => directives.to_owned(),
    };
    EnvFilter::builder().parse(directives).map_err(|_| unknown())
}

fn open(file: &PathBuf) -> Result<File, LoggingError> {
    OpenOptions::new()
        .create(true)
        .append(true)
        .open(file)
        .map_err(|source| LoggingError::File { file: file.clone(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_of_the_original_are_known() {
        for (level, directives) in [
            ("INFO", "info"),
            ("Warning", "warn"),
            ("panic", "error"),
            ("fatal", "error"),
            ("", "info"),
            ("info,kube=debug", "kube=debug,info"),
        ] {
            let config = LoggingConfig { level: level.into(), ..LoggingConfig::default() };
            assert_eq!(filter(&config, &Env::default()).unwrap().to_string(), directives, "{level}");
        }
    }

    #[test]
    fn environment_wins_over_the_file() {
        let env = Env::from_iter([("LOG_LEVEL", "error")]);
        assert_eq!(filter(&LoggingConfig::default(), &env).unwrap().to_string(), "error");
    }

    #[test]
    fn unknown_level_names_its_setting() {
        let env = Env::from_iter([("LOG_LEVEL", "loud")]);
        let error = filter(&LoggingConfig::default(), &env).unwrap_err();
        assert!(error.to_string().starts_with("LOG_LEVEL: unknown log level `loud`"), "{error}");
    }

    #[test]
    fn file_that_cannot_be_opened_is_named() {
        let config = LoggingConfig { file: Some("/none/agent.log".into()), ..LoggingConfig::default() };
        let error = init(&config, &Env::default()).unwrap_err();
        assert_eq!(error.to_string(), "logging.file: open /none/agent.log");
    }

    #[test]
    fn settings_without_effect_are_told() {
        assert_eq!(LoggingConfig::default().ignored(), [""; 0]);
        let config = LoggingConfig { compress: true, max_size_mb: 9, ..LoggingConfig::default() };
        assert_eq!(config.ignored(), ["logging.maxSizeMb", "logging.compress"]);
    }
}
