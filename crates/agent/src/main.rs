//! `spindrift-agent`: reads its configuration and runs until a signal, or runs the preflight check.

use std::{alloc::System, path::PathBuf, process::ExitCode, time::Duration};

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

/// Wipes memory when it is freed. Values of a Secret that its annotations repeat pass through buffers of TLS and HTTP, which
/// nothing else wipes, and would stay in the allocator's free lists for hours.
#[global_allocator]
static MEMORY: ZeroAlloc<System> = ZeroAlloc(System);

/// Settings of the allocator that save more than a megabyte. The threads share one arena and hardly ever contend for it.
const ALLOCATOR: [(&str, &str); 3] =
    [("MALLOC_ARENA_MAX", "1"), ("MALLOC_TRIM_THRESHOLD_", "65536"), ("MALLOC_TOP_PAD_", "16384")];

/// Watch Kubernetes and stream changes to a Spindrift hub
#[derive(Debug, Parser)]
#[command(name = "spindrift-agent", version)]
struct Arguments {
    /// Path of the configuration file; by default `armory-agent.yml` is looked for
    #[arg(long, global = true, env = "SPINDRIFT_AGENT_CONFIG")]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a preflight check of the configuration, accounts, API servers and the hub; exits with 1 on any problem
    Check(Check),
}

#[derive(Debug, Args)]
struct Check {
    /// Output format: text or json
    #[arg(long, short, default_value = "text")]
    output: Format,
    /// Print problems only
    #[arg(long, short)]
    quiet: bool,
}

/// Worker threads, independent of the cores of the node: each takes memory of its own (a stack, an arena of the allocator),
/// and one is enough for many clusters.
const WORKERS: usize = 2;

/// Threads for blocking work, such as credential plugins; they end when they are idle.
const BLOCKING: usize = 16;

fn main() -> ExitCode {
    allocator::start_with(&ALLOCATOR);
    let arguments = Arguments::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .max_blocking_threads(BLOCKING)
        .enable_all()
        .build();
    daemon::run("spindrift-agent", runtime, run(arguments))
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
