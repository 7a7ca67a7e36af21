//! The first steps of every daemon: its settings, its log, its name.

use tracing::{info, warn};

use crate::{
    config::{ConfigError, ConfigFiles, Env, Schema},
    logging::{self, LoggingConfig, LoggingError},
    open_files, tls,
};

/// A daemon that cannot even start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Its configuration makes no sense.
    #[error("read the configuration")]
    Config(#[from] ConfigError),
    /// It cannot log.
    #[error("set up logging")]
    Logging(#[from] LoggingError),
}

/// Reads the settings, sets up logging by them, and logs what they are and what is odd about them.
pub fn settings<T: Schema>(
    files: &ConfigFiles,
    env: &Env,
    logging: impl Fn(&T) -> &LoggingConfig,
) -> Result<T, StartError> {
    tls::install_provider();
    let loaded = files.load::<T>()?;
    logging::init(logging(&loaded.settings), env)?;
    open_files::raise_limit();
    for warning in &loaded.warnings {
        warn!("{warning}");
    }
    let shown = serde_json::to_string(&loaded.settings).unwrap_or_default();
    info!(files = ?loaded.files, settings = shown, "configuration");
    Ok(loaded.settings)
}

/// What this process calls itself: the pod's name, or the machine's.
pub fn host_name(env: &Env) -> Option<String> {
    let name = env.get("HOSTNAME").map(str::to_owned);
    let name = name.or_else(|| std::fs::read_to_string("/etc/hostname").ok())?;
    Some(name.trim().to_owned()).filter(|name| !name.is_empty())
}
