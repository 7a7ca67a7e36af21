//! `spindrift completion`: prints the script by which a shell requests completions from this program.

use std::{io::Write, path::Path};

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use clap_complete::env::{Bash, EnvCompleter, Fish, Zsh};

use crate::complete;

const EXAMPLES: &str = "Examples:
  # Load the completion code for bash into the current shell
  source <(spindrift completion bash)

  # Load the completion code for zsh into the current shell
  source <(spindrift completion zsh)

  # Load the completion code for fish into the current shell
  spindrift completion fish | source";

/// Output shell completion code for the specified shell (bash, zsh, or fish).
///
/// The shell code must be evaluated to provide interactive completion of spindrift commands, accounts, namespaces,
/// resource types and names. This can be done by sourcing it from ~/.bashrc, ~/.zshrc or ~/.config/fish/config.fish.
#[derive(Debug, Args)]
#[command(before_help = EXAMPLES, override_usage = "spindrift completion SHELL")]
pub(crate) struct Completion {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
}

/// Name of the program in the shell.
const PROGRAM: &str = "spindrift";

// === impl Completion ===

impl Completion {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let shell: &dyn EnvCompleter = match self.shell {
            Shell::Bash => &Bash,
            Shell::Zsh => &Zsh,
            Shell::Fish => &Fish,
        };
        let mut script = Vec::new();
        shell.write_registration(complete::VARIABLE, PROGRAM, PROGRAM, &completer()?, &mut script)?;
        Ok(std::io::stdout().lock().write_all(&script)?)
    }
}

/// Program as it was called: by its name if it was found in `PATH`, so that the shell uses a newer version later.
fn completer() -> anyhow::Result<String> {
    let called = std::env::args_os().next().context("this program was started without a name")?;
    let called = Path::new(&called);
    let path = if called.components().count() > 1 { std::path::absolute(called)? } else { called.to_owned() };
    Ok(path.display().to_string())
}
