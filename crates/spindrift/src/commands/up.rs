//! `spindrift up`: hub and agent in one process, on a SQLite file.

use std::{path::PathBuf, time::Duration};

use anyhow::{Context, bail};
use clap::Args;
use spindrift_agent::{
    app::{Agent, agent_id},
    config::{AccountConfig, AgentConfig},
};
use spindrift_hub::{
    app::{Hub, hub_id},
    config::HubConfig,
};
use spindrift_process::{
    config::Env,
    logging::{self, LoggingConfig},
    shutdown::Shutdown,
    tls,
};

use super::contexts::Contexts;

const LOOPBACK: &str = "127.0.0.1";
const PORTS: &str = "start (--port, --grpc-port and --agent-port choose other ports; 0 takes a free one)";

/// Runs a hub and an agent in this process, against the clusters you name.
#[derive(Debug, Args)]
pub(crate) struct Up {
    /// Contexts of your kubeconfig to watch, joined by commas.
    #[arg(long, value_delimiter = ',')]
    context: Vec<String>,
    /// The kubeconfig to use; without --context, its current context is watched.
    #[arg(long)]
    kubeconfig: Option<PathBuf>,
    /// Where the database is kept between runs.
    #[arg(long, default_value = "spindrift-data")]
    data_dir: PathBuf,
    /// The port of the REST API; 0 takes a free one.
    #[arg(long, default_value_t = 7002)]
    port: u16,
    /// The port that further agents dial; 0 takes a free one.
    #[arg(long, default_value_t = 9091)]
    grpc_port: u16,
    /// The port of the agent's own endpoints; 0 takes a free one.
    #[arg(long, default_value_t = 8082)]
    agent_port: u16,
    /// What to log: error, warn, info or debug.
    #[arg(long, default_value = "warn")]
    log_level: String,
}

// === impl Up ===

impl Up {
    pub(crate) async fn run(self) -> anyhow::Result<()> {
        tls::install_provider();
        let env = Env::capture();
        let accounts = self.accounts()?;
        logging::init(&LoggingConfig { level: self.log_level.clone(), ..LoggingConfig::default() }, &env)?;
        let data_dir = std::path::absolute(&self.data_dir)?;
        std::fs::create_dir_all(&data_dir)
            .with_context(|| format!("--data-dir: create {}", data_dir.display()))?;
        let database = data_dir.join("spindrift.db");

        let shutdown = Shutdown::new();
        shutdown.on_signals()?;
        let mut hub = HubConfig::default();
        hub.kubesvc.grpc.server.port = self.grpc_port;
        hub.server.port = self.port;
        // A first run is for one person on one machine; the daemons listen for everybody.
        hub.kubesvc.grpc.server.address = LOOPBACK.into();
        hub.server.host = LOOPBACK.into();
        hub.sql.url = format!("sqlite://{}?mode=rwc", database.display());
        let hub = Hub::build(hub, hub_id(&env)?).await.context(PORTS)?;
        let (rest, grpc) = (hub.rest_address.port(), hub.grpc_address.port());
        hub.start(&shutdown);

        let names: Vec<_> = accounts.iter().map(|account| account.name.clone()).collect();
        let mut agent = AgentConfig::default();
        agent.kubernetes.accounts = accounts;
        agent.clouddriver.grpc = format!("{LOOPBACK}:{grpc}");
        agent.server.port = self.agent_port;
        agent.server.host = LOOPBACK.into();
        let agent = Agent::build(agent, agent_id(&env)?).await.context(PORTS)?;
        let health = agent.address.port();
        agent.start(&shutdown);

        println!("Spindrift {} watches {}", env!("CARGO_PKG_VERSION"), names.join(", "));
        println!(
            "  REST      http://localhost:{rest}   (try /v1/accounts, /v1/objects?kind=pods, /v1/objects/watch)"
        );
        println!("  agents    localhost:{grpc}");
        println!("  the agent http://localhost:{health}   (/accounts, /watches, /health)");
        println!("  database  {}", database.display());
        println!("Ctrl-C stops it.");
        shutdown.wait(Duration::from_secs(10)).await?;
        Ok(())
    }

    /// The clusters that the user named; none are touched unasked.
    fn accounts(&self) -> anyhow::Result<Vec<AccountConfig>> {
        let found = Contexts::find(self.kubeconfig.as_deref())?;
        let named = self.kubeconfig.is_some() || !self.context.is_empty();
        let contexts = match found {
            Some(contexts) if named => contexts,
            Some(Contexts { file, names, .. }) if !names.is_empty() => bail!(
                "which clusters? {} has the contexts {}; name some: spindrift up --context {}",
                file.display(),
                names.join(", "),
                names[0],
            ),
            _ => bail!("no kubeconfig was found; name one: spindrift up --kubeconfig FILE [--context a,b]"),
        };
        let file = std::path::absolute(&contexts.file)?.display().to_string();
        let account = |context: String| AccountConfig {
            name: context.clone(),
            kubeconfig_file: Some(file.clone()),
            context: Some(context),
            ..AccountConfig::default()
        };
        Ok(contexts.choose(&self.context)?.into_iter().map(account).collect())
    }
}
