//! `spindrift-agent`: reads its configuration, runs until a signal; or checks everything and says what is wrong.

use std::{alloc::System, path::PathBuf, process::ExitCode, time::Duration};

use anyhow::Context;
use clap::{Args, Parser, Subcommand};
use spindrift_agent::{
    accounts::reload::Source,
    app::{Agent, agent_id},
    check,
    config::AgentConfig,
};
use spindrift_process::{
    allocator,
    check::{Extent, Format},
    config::{ConfigFiles, Env},
    daemon,
    shutdown::Shutdown,
};
use zeroizing_alloc::ZeroAlloc;

/// Wipes memory when it is given back. What a Secret's annotations repeat of its values passes through buffers of TLS
/// and HTTP, which nobody else wipes, and would stay in the allocator's free lists for hours.
#[global_allocator]
static MEMORY: ZeroAlloc<System> = ZeroAlloc(System);

/// Which is more than a megabyte of what the agent would hold. Its threads share one arena and hardly ever meet there.
const THRIFT: [(&str, &str); 3] =
    [("MALLOC_ARENA_MAX", "1"), ("MALLOC_TRIM_THRESHOLD_", "65536"), ("MALLOC_TOP_PAD_", "16384")];

/// Watches Kubernetes and streams changes to a Spindrift hub.
#[derive(Debug, Parser)]
#[command(name = "spindrift-agent", version)]
struct Arguments {
    /// The configuration file; otherwise `armory-agent.yml` is looked for.
    #[arg(long, global = true, env = "SPINDRIFT_AGENT_CONFIG")]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Says what is right and what is wrong: configuration, accounts, API servers, the hub. Exits with 1 if anything is
    /// wrong.
    Check(Check),
}

#[derive(Debug, Args)]
struct Check {
    /// `text` or `json`.
    #[arg(long, short, default_value = "text")]
    output: Format,
    /// Prints problems only.
    #[arg(long, short)]
    quiet: bool,
}

/// Threads for the agent's work, however many cores its node has: each takes memory of its own (a stack, an arena of the
/// allocator), and one is enough for many clusters.
const WORKERS: usize = 2;

/// Threads for what blocks, such as credential plugins; they end when they are idle.
const BLOCKING: usize = 16;

fn main() -> ExitCode {
    allocator::start_with(&THRIFT);
    let arguments = Arguments::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .max_blocking_threads(BLOCKING)
        .enable_all()
        .build();
    match runtime.context("start the agent's threads").and_then(|runtime| runtime.block_on(run(arguments))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("spindrift-agent: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(Arguments { config, command }: Arguments) -> anyhow::Result<()> {
    let env = Env::capture();
    let files = ConfigFiles::agent(env.clone());
    let files = if let Some(file) = config { files.with_file(file) } else { files };
    if let Some(Command::Check(Check { output, quiet })) = command {
        let extent = if quiet { Extent::Problems } else { Extent::Everything };
        check::check(&files, &env).await.finish(output, extent);
    }
    let id = agent_id(&env)?;
    let constants = [("agentId", id.to_string())];
    let (loaded, logging) =
        daemon::start(&files, &env, &constants, |settings: &AgentConfig| &settings.logging)?;

    let shutdown = Shutdown::new();
    shutdown.on_signals()?;
    let source = Source::files(files, loaded, logging);
    Agent::build(source, id, &env).await?.start(&shutdown);
    shutdown.wait(Duration::from_secs(10)).await?;
    Ok(())
}
