//! The first steps of every daemon: its settings, its log, its name.

use tracing::{error, info, warn};

use crate::{
    config::{ConfigError, ConfigFiles, Env, Loaded, Schema},
    logging::{self, Logging, LoggingConfig, LoggingError},
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
///
/// `constants` are fields that every line of the log carries.
pub fn start<T: Schema>(
    files: &ConfigFiles,
    env: &Env,
    constants: &[(&str, String)],
    logging: impl Fn(&T) -> &LoggingConfig,
) -> Result<(Loaded<T>, Logging), StartError> {
    tls::install_provider();
    let loaded = files.load::<T>()?;
    let logging = logging::init(logging(&loaded.settings), env, constants)?;
    open_files::raise_limit();
    tell(&loaded);
    Ok((loaded, logging))
}

/// Logs the effective settings, and what is odd about them.
pub fn tell<T: Schema>(loaded: &Loaded<T>) {
    let Loaded { settings, files, warnings, problems } = loaded;
    for warning in warnings {
        warn!("{warning}");
    }
    for problem in problems {
        error!("{problem}");
    }
    let shown = serde_json::to_string(settings).unwrap_or_default();
    info!(files = ?files, settings = shown, "configuration");
}

/// What this process calls itself: the pod's name, or the machine's.
pub fn host_name(env: &Env) -> Option<String> {
    let name = env.get("HOSTNAME").map(str::to_owned);
    let name = name.or_else(|| std::fs::read_to_string("/etc/hostname").ok())?;
    Some(name.trim().to_owned()).filter(|name| !name.is_empty())
}

/// The namespace that the pod runs in, if this is one.
pub fn pod_namespace(env: &Env) -> Option<String> {
    const FILE: &str = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";
    let namespace = env.get("POD_NAMESPACE").map(str::to_owned);
    let namespace = namespace.or_else(|| std::fs::read_to_string(FILE).ok())?;
    Some(namespace.trim().to_owned()).filter(|namespace| !namespace.is_empty())
}
