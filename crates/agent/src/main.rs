//! `spindrift-agent`: reads its configuration, runs until a signal.

use std::{path::PathBuf, process::ExitCode, time::Duration};

use clap::Parser;
use spindrift_agent::{
    app::{Agent, agent_id},
    config::AgentConfig,
};
use spindrift_process::{
    config::{ConfigFiles, Env},
    daemon,
    shutdown::Shutdown,
};

/// Watches Kubernetes and streams changes to a Spindrift hub.
#[derive(Debug, Parser)]
#[command(name = "spindrift-agent", version)]
struct Arguments {
    /// The configuration file; otherwise `armory-agent.yml` is looked for.
    #[arg(long, env = "SPINDRIFT_AGENT_CONFIG")]
    config: Option<PathBuf>,
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("spindrift-agent: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(Arguments { config }: Arguments) -> anyhow::Result<()> {
    let env = Env::capture();
    let files = ConfigFiles::agent(env.clone());
    let files = if let Some(file) = config { files.with_file(file) } else { files };
    let settings = daemon::settings(&files, &env, |settings: &AgentConfig| &settings.logging)?;

    let shutdown = Shutdown::new();
    shutdown.on_signals()?;
    Agent::build(settings, agent_id(&env)?).await?.start(&shutdown);
    shutdown.wait(Duration::from_secs(10)).await?;
    Ok(())
}
