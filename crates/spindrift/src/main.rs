//! `spindrift`: the whole system in one process, and one hand on the fleet.

mod contexts;
mod up;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// One live view of, and one hand on, thousands of Kubernetes clusters.
#[derive(Debug, Parser)]
#[command(name = "spindrift", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Runs a hub and an agent in this process, against the clusters you name.
    Up(up::Up),
    /// Shows which release this is.
    Version,
}

#[tokio::main]
async fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Up(up) => up.run().await,
        Command::Version => {
            println!("spindrift {}", env!("CARGO_PKG_VERSION"));
            Ok(())
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("spindrift: {error:#}");
            ExitCode::FAILURE
        }
    }
}
