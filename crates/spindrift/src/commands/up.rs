//! `spindrift up`: hub and agent in one process, with a SQLite file and simulated clusters.

mod clusters;
mod data_dir;
mod progress;
mod welcome;

use std::{
    io::{self, Write},
    path::PathBuf,
    time::Duration,
};

use anyhow::Context as _;
use clap::Args;
use spindrift_agent::{
    accounts::reload::Source,
    app::{Agent, agent_id},
    config::AgentConfig,
};
use spindrift_hub::{
    app::{Hub, hub_id},
    config::HubConfig,
    store::StoreError,
};
use spindrift_process::{
    config::Env,
    logging::{self, LoggingConfig},
    open_files,
    serve::BindError,
    shutdown::Shutdown,
};

use self::{
    clusters::ClusterSelection,
    data_dir::{DataDir, as_typed},
    progress::SyncProgress,
    welcome::Welcome,
};
use super::Context;
use crate::hub::Client;

const LOOPBACK: &str = "127.0.0.1";
/// Number of clusters up to which all kinds are cached: about sixty watches for each, each with its own connection.
const CLUSTERS_SEEN_WHOLE: usize = 50;

const EXAMPLES: &str = "Examples:
  # Run a hub, an agent and three simulated clusters
  spindrift up

  # Run ten simulated clusters, with an empty database
  spindrift up --playground 10 --fresh

  # Watch the current context of a kubeconfig
  spindrift up --kubeconfig ~/.kube/config

  # Watch two contexts of your kubeconfig
  spindrift up --context eu-west,us-east";

/// Run a hub and an agent in one process.
///
/// The agent watches simulated clusters, or the clusters of your kubeconfig that you select with --context or
/// --kubeconfig. All ports listen on localhost only. The command runs until Ctrl-C; the database in --data-dir is kept
/// for the next run.
#[derive(Debug, Args)]
#[command(before_help = EXAMPLES, override_usage = "spindrift up [--playground N] [--context NAME,...] [options]")]
pub(crate) struct Up {
    /// Number of simulated clusters. Defaults to 3, or to 0 if --context or --kubeconfig is set.
    #[arg(long, value_name = "N")]
    playground: Option<u16>,
    /// A comma-separated list of kubeconfig contexts to watch.
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    context: Vec<String>,
    /// Path to the kubeconfig file. Without --context, its current context is watched.
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Directory of the database, which is kept between runs.
    #[arg(long, default_value = "spindrift-data", value_name = "DIR")]
    data_dir: PathBuf,
    /// Start with an empty database.
    #[arg(long)]
    fresh: bool,
    /// Port of the REST API. Pass 0 for a free port.
    #[arg(long, default_value_t = 7002)]
    port: u16,
    /// Port of the gRPC server, for further agents. Pass 0 for a free port.
    #[arg(long, default_value_t = 9091)]
    grpc_port: u16,
    /// Port of the agent's health and metrics endpoints. Pass 0 for a free port.
    #[arg(long, default_value_t = 8082)]
    agent_port: u16,
    /// Port of the simulated API servers. Pass 0 for a free port.
    #[arg(long, default_value_t = 0)]
    playground_port: u16,
    /// Log level. One of: (error, warn, info, debug).
    #[arg(long, default_value = "warn")]
    log_level: String,
}

// === impl Up ===

impl Up {
    /// Runs until Ctrl-C; with `--quiet`, prints only the address of the REST API.
    pub(crate) async fn run(self, context: &Context) -> anyhow::Result<()> {
        let env = Env::capture();
        let choice = ClusterSelection::of(&self)?;
        logging::init(
            &LoggingConfig { level: self.log_level.clone(), ..LoggingConfig::default() },
            &env,
            &[],
        )?;
        open_files::raise_limit();
        let data_dir = DataDir::open(&self.data_dir, self.fresh)?;
        let shutdown = Shutdown::new();
        shutdown.on_signals()?;

        let hub =
            Hub::build(self.hub_config(&data_dir, choice.count()), hub_id(&env)?).await.map_err(|error| {
                let database = as_typed(&data_dir.database());
                match error.downcast_ref::<StoreError>() {
                    Some(_) => error.context(format!("use {database} (--fresh starts with an empty one)")),
                    None => other_port(error),
                }
            })?;
        let (rest, grpc) = (hub.rest_address, hub.grpc_address);
        let agent_id = agent_id(&env)?;
        let clusters = choice.start(&data_dir, self.playground_port, &shutdown).await?;
        hub.forget_all_but(&agent_id, &clusters.names()).await.context("forget clusters of earlier runs")?;

        let mut config = AgentConfig::default();
        config.kubernetes.accounts.clone_from(&clusters.accounts);
        config.clouddriver.grpc = grpc.to_string();
        config.server.port = self.agent_port;
        config.server.host = LOOPBACK.into();
        // Only the user of this machine reaches the ports.
        config.kubernetes.reveal_secrets = true;
        let agent = Agent::build(Source::fixed(config), agent_id, &env).await.map_err(other_port)?;
        let (status, endpoints) = (agent.status.clone(), agent.address);
        hub.start(&shutdown);
        agent.start(&shutdown);

        let url = format!("http://localhost:{}", rest.port());
        if context.quiet {
            say(&format!("{url}\n"));
        } else {
            let welcome = Welcome { url: &url, grpc, endpoints, data_dir: &data_dir, clusters: &clusters };
            say(&welcome.addresses());
            let progress = SyncProgress::new(status, Client::new(url.parse()?)?, context);
            if shutdown.token().run_until_cancelled(progress.show()).await.is_some() {
                say(&welcome.next_steps());
            }
        }
        shutdown.wait(Duration::from_secs(10)).await?;
        Ok(())
    }

    fn hub_config(&self, data_dir: &DataDir, clusters: usize) -> HubConfig {
        let mut config = HubConfig::default();
        config.kubesvc.grpc.server.port = self.grpc_port;
        config.server.port = self.port;
        // A first run is for one user on one machine; the daemons listen on all addresses.
        config.kubesvc.grpc.server.address = LOOPBACK.into();
        config.server.host = LOOPBACK.into();
        // A first look should show all kinds; for many clusters, the default kinds of the daemon are enough.
        config.kubesvc.cache.cache_all = clusters <= CLUSTERS_SEEN_WHOLE;
        config.sql.url = format!("sqlite://{}?mode=rwc", data_dir.database().display());
        config
    }
}

/// Writes to stdout; the daemons keep running if it is closed.
fn say(text: &str) {
    io::stdout().write_all(text.as_bytes()).ok();
}

/// Error for a port in use, with the flag of this command instead of the setting of the daemon.
fn other_port(error: anyhow::Error) -> anyhow::Error {
    let Some(BindError::Taken { name, port, .. }) = error.downcast_ref::<BindError>() else { return error };
    match name.as_str() {
        "REST" => taken(name, *port, "--port"),
        "gRPC" => taken(name, *port, "--grpc-port"),
        _ => taken(name, *port, "--agent-port"),
    }
}

fn taken(name: &str, port: u16, option: &str) -> anyhow::Error {
    anyhow::anyhow!(
        "port {port} ({name}) is taken by another process, perhaps by another `spindrift up`; \
         choose another one with {option}, or 0 for any that is free"
    )
}
