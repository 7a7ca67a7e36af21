//! `spindrift-hub`: reads its configuration and runs until a signal, or runs the preflight checks.

use std::{path::PathBuf, process::ExitCode, time::Duration};

use clap::{Args, Parser, Subcommand};
use spindrift_hub::{
    app::{Hub, hub_id},
    check,
    config::HubConfig,
};
use spindrift_process::{
    allocator,
    check::{Extent, Format},
    config::{ConfigFiles, Env},
    daemon,
    shutdown::Shutdown,
};

/// Settings of the allocator. A large page takes some ten thousand small allocations, on any thread: with an arena per
/// thread, the memory of one page is not reused for the next, and the process is twice as large. A few megabytes are kept
/// for the next page, which would otherwise spend a tenth of its time on getting them again.
const ALLOCATOR: [(&str, &str); 3] =
    [("MALLOC_ARENA_MAX", "2"), ("MALLOC_TRIM_THRESHOLD_", "4194304"), ("MALLOC_MMAP_THRESHOLD_", "4194304")];

/// The control plane of Spindrift.
#[derive(Debug, Parser)]
#[command(name = "spindrift-hub", version)]
struct Arguments {
    /// The configuration file; otherwise `spindrift-hub.yml` is looked for.
    #[arg(long, global = true, env = "SPINDRIFT_HUB_CONFIG")]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Says what is right and what is wrong: configuration, database, ports, TLS. Exits with 1 if anything is wrong.
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

fn main() -> ExitCode {
    allocator::start_with(&ALLOCATOR);
    let arguments = Arguments::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    daemon::run("spindrift-hub", runtime, run(arguments))
}

async fn run(Arguments { config, command }: Arguments) -> anyhow::Result<()> {
    let env = Env::capture();
    let files = ConfigFiles::hub(env.clone());
    let files = if let Some(file) = config { files.with_file(file) } else { files };
    if let Some(Command::Check(Check { output, quiet })) = command {
        let extent = if quiet { Extent::Problems } else { Extent::Everything };
        check::check(&files).await.finish(output, extent);
    }
    let id = hub_id(&env)?;
    let constants = [("hubId", id.to_string())];
    let (loaded, _) = daemon::start(&files, &env, &constants, |settings: &HubConfig| &settings.logging)?;

    let shutdown = Shutdown::new();
    shutdown.on_signals()?;
    // Settings name the files of secrets, which are read again when TLS is renewed.
    let _secret_files = loaded.secret_files;
    Hub::build(loaded.settings, id).await?.start(&shutdown);
    shutdown.wait(Duration::from_secs(10)).await?;
    Ok(())
}
