//! Start of a daemon: its threads, settings, log and name.

use std::{fmt, io, process::ExitCode};

use tokio::runtime::Runtime;
use tracing::{error, info, warn};

use crate::{
    config::{ConfigError, ConfigFiles, Env, Loaded, Schema},
    logging::{self, Logging, LoggingConfig, LoggingError},
    open_files, tls,
};

/// Error for a daemon that cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Its configuration is invalid.
    #[error("read the configuration")]
    Config(#[from] ConfigError),
    /// Its log cannot be set up.
    #[error("set up logging")]
    Logging(#[from] LoggingError),
}

/// Runs a daemon on its runtime and returns the exit code of the process; an error goes to standard error.
pub fn run<E: fmt::Display>(
    name: &str,
    runtime: io::Result<Runtime>,
    daemon: impl Future<Output = Result<(), E>>,
) -> ExitCode {
    let error = match runtime.map(|runtime| runtime.block_on(daemon)) {
        Ok(Ok(())) => return ExitCode::SUCCESS,
        // With all causes, where the error has any.
        Ok(Err(error)) => format!("{error:#}"),
        Err(error) => format!("start the worker threads: {error}"),
    };
    eprintln!("{name}: {error}");
    ExitCode::FAILURE
}

/// Reads the settings, sets up logging by them, and logs the settings with their warnings and problems.
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
    log_settings(&loaded);
    Ok((loaded, logging))
}

/// Logs the effective settings, with their warnings and problems.
pub fn log_settings<T: Schema>(loaded: &Loaded<T>) {
    let Loaded { settings, files, warnings, problems, secret_files: _ } = loaded;
    for warning in warnings {
        warn!("{warning}");
    }
    for problem in problems {
        error!("{problem}");
    }
    match serde_json::to_string(settings) {
        Ok(settings) => info!(?files, settings, "configuration"),
        Err(error) => warn!(?files, %error, "the effective settings cannot be logged"),
    }
}

/// Returns the name of the pod, or of the machine.
pub fn host_name(env: &Env) -> Option<String> {
    let name = env.get("HOSTNAME").map(str::to_owned);
    let name = name.or_else(|| std::fs::read_to_string("/etc/hostname").ok())?;
    Some(name.trim().to_owned()).filter(|name| !name.is_empty())
}

/// Returns the namespace of the pod, if the process runs in one.
pub fn pod_namespace(env: &Env) -> Option<String> {
    const FILE: &str = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";
    let namespace = env.get("POD_NAMESPACE").map(str::to_owned);
    let namespace = namespace.or_else(|| std::fs::read_to_string(FILE).ok())?;
    Some(namespace.trim().to_owned()).filter(|namespace| !namespace.is_empty())
}
