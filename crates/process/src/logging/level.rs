//! Log level, which can change while the process runs.

use std::sync::Arc;

use parking_lot::Mutex;
use tracing_subscriber::{EnvFilter, Registry, reload};

use super::{LoggingConfig, LoggingError};
use crate::config::Env;

/// Libraries that log too much at debug; `LOG_LEVEL=debug,h2=debug` includes them.
const QUIET_LIBRARIES: [&str; 5] = ["h2", "hyper", "hyper_util", "rustls", "tower"];

/// The environment variable that wins over `logging.level`.
const LEVEL_VARIABLE: &str = "LOG_LEVEL";

/// The setting in the configuration.
const LEVEL_SETTING: &str = "logging.level";

/// The logging of this process; clones share it.
#[derive(Debug, Clone)]
pub struct Logging {
    handle: reload::Handle<EnvFilter, Registry>,
    /// Last requested level, and its source.
    asked: Arc<Mutex<Asked>>,
}

#[derive(Debug)]
struct Asked {
    level: String,
    /// Last level of the configuration; only a change of it is followed.
    configured: String,
    by_environment: bool,
}

// === impl Logging ===

impl Logging {
    pub(super) fn new(
        config: &LoggingConfig,
        env: &Env,
    ) -> Result<(Self, reload::Layer<EnvFilter, Registry>), LoggingError> {
        let variable = env.get(LEVEL_VARIABLE);
        let (setting, level) = match variable {
            Some(level) => (LEVEL_VARIABLE, level),
            None => (LEVEL_SETTING, config.level.as_str()),
        };
        let (layer, handle) = reload::Layer::new(filter(setting, level)?);
        let asked = Asked {
            level: level.to_owned(),
            configured: config.level.clone(),
            by_environment: variable.is_some(),
        };
        Ok((Self { handle, asked: Arc::new(Mutex::new(asked)) }, layer))
    }

    /// The level, or the list of directives, that holds now.
    pub fn level(&self) -> String {
        self.asked.lock().level.clone()
    }

    /// Changes the level until the process exits, or the configuration changes it.
    pub fn set_level(&self, level: &str) -> Result<(), LoggingError> {
        let filter = filter("level", level)?;
        // Fails only if there is no subscriber any more, and then there is nothing to change.
        self.handle.reload(filter).ok();
        level.trim().clone_into(&mut self.asked.lock().level);
        Ok(())
    }

    /// Takes the level of a configuration that was read again, if it has changed; `LOG_LEVEL` still wins.
    pub fn follow(&self, config: &LoggingConfig) -> Result<(), LoggingError> {
        {
            let mut asked = self.asked.lock();
            if asked.configured == config.level {
                return Ok(());
            }
            filter(LEVEL_SETTING, &config.level)?;
            asked.configured.clone_from(&config.level);
            if asked.by_environment {
                tracing::info!("logging.level has changed, but {LEVEL_VARIABLE} wins over it");
                return Ok(());
            }
        }
        self.set_level(&config.level)
    }
}

/// Reads a level; a list of directives such as `info,kube=debug` is understood too.
fn filter(setting: &'static str, level: &str) -> Result<EnvFilter, LoggingError> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn logging(level: &str, env: &Env) -> Logging {
        let config = LoggingConfig { level: level.into(), ..LoggingConfig::default() };
        Logging::new(&config, env).unwrap().0
    }

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
            assert_eq!(filter(LEVEL_SETTING, level).unwrap().to_string(), directives, "{level}");
        }
    }

    #[test]
    fn environment_wins_over_the_file_also_when_that_changes() {
        let env = Env::from_iter([("LOG_LEVEL", "error")]);
        let logging = logging("info", &env);
        logging.follow(&LoggingConfig { level: "debug".into(), ..LoggingConfig::default() }).unwrap();
        assert_eq!(logging.level(), "error");
    }

    #[test]
    fn a_level_that_was_set_stays_until_the_configuration_says_another() {
        let logging = logging("info", &Env::default());
        logging.set_level("debug").unwrap();
        logging.follow(&LoggingConfig { level: "info".into(), ..LoggingConfig::default() }).unwrap();
        assert_eq!(logging.level(), "debug", "the configuration has not changed");
        logging.follow(&LoggingConfig { level: "warn".into(), ..LoggingConfig::default() }).unwrap();
        assert_eq!(logging.level(), "warn");
    }

    #[test]
    fn unknown_level_names_its_setting() {
        let env = Env::from_iter([("LOG_LEVEL", "loud")]);
        let error = Logging::new(&LoggingConfig::default(), &env).unwrap_err();
        assert!(error.to_string().starts_with("LOG_LEVEL: unknown log level `loud`"), "{error}");
    }
}
