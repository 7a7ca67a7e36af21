//! `spindrift`: command line for the objects of many clusters, and the whole system in one process (`spindrift up`).
//!
//! ```text
//! args ──clap──▶ Command ──run(Context)──▶ stdout: requested output
//!                   │                      stderr: notes, and one line `error: …` on failure
//!                   └─ Context ─▶ settings (hubs by name) ─▶ hub::Client ══HTTP══▶ hub
//! ```

mod commands;
mod complete;
mod help;
mod hub;
mod settings;

use std::{io, process::ExitCode};

use clap::{FromArgMatches, Parser};
use clap_complete::CompleteEnv;
use spindrift_process::{report, tls};
use tokio::task::JoinSet;

use commands::{AlreadyReported, Command, Context, ExitWith, Global};

/// spindrift reads and changes the objects of many Kubernetes clusters through one hub.
#[derive(Debug, Parser)]
#[command(name = "spindrift", version, disable_help_subcommand = true)]
struct Arguments {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

/// Exit code after Ctrl-C: 128 + SIGINT.
const INTERRUPTED: i32 = 130;

fn main() -> ExitCode {
    tls::install_provider();
    // Exits if the shell requests completions.
    CompleteEnv::with_factory(help::program).var(complete::VARIABLE).complete();

    let mut program = help::program();
    let matches = program.get_matches_mut();
    let arguments = Arguments::from_arg_matches(&matches).map_err(|error| error.format(&mut program));
    let Arguments { global, command } = arguments.unwrap_or_else(|error| error.exit());
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => return failed(&error.into()),
    };
    let done = runtime.block_on(async {
        let mut interrupt = JoinSet::new();
        if !command.handles_interrupt() {
            interrupt.spawn(exit_on_interrupt());
        }
        command.run(&Context::new(global)).await
    });
    // Does not wait for blocking reads and writes that are still running.
    runtime.shutdown_background();
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(&error),
    }
}

/// Runs in a task, so that a command that blocks on a slow pager exits too.
async fn exit_on_interrupt() {
    if tokio::signal::ctrl_c().await.is_ok() {
        std::process::exit(INTERRUPTED);
    }
}

fn failed(error: &anyhow::Error) -> ExitCode {
    let broken_pipe = |cause: &(dyn std::error::Error + 'static)| {
        cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    };
    // The reader, such as `head`, has closed the pipe.
    if error.chain().any(broken_pipe) {
        return ExitCode::SUCCESS;
    }
    if error.is::<AlreadyReported>() {
        return ExitCode::FAILURE;
    }
    // Without a source, the command has already printed its error; with one, the code applies to that error.
    let (code, error) = match error.downcast_ref::<ExitWith>() {
        Some(ExitWith(code)) => match error.source() {
            None => return ExitCode::from(*code),
            Some(cause) => (ExitCode::from(*code), cause),
        },
        None => (ExitCode::FAILURE, error.as_ref()),
    };
    eprintln!("error: {}", report(error).split_whitespace().collect::<Vec<_>>().join(" "));
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_arguments_of_a_command_are_the_same() {
        help::program().debug_assert();
    }
}
