//! `spindrift completion`: the script by which a shell asks this program what may follow.

use std::{io::Write, path::Path};

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use clap_complete::env::{Bash, EnvCompleter, Fish, Zsh};

use crate::complete;

#[derive(Debug, Args)]
#[command(after_help = "\
For this shell:     source <(spindrift completion bash)          (zsh alike; fish: spindrift completion fish | source)
For every shell:    put that line into ~/.bashrc, ~/.zshrc or ~/.config/fish/config.fish")]
pub(crate) struct Completion {
    #[arg(value_enum)]
    shell: Shell,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
}

/// What the shell completes.
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

/// The program as it was called: by its name if it was found that way, so that a newer one is used when it comes.
fn completer() -> anyhow::Result<String> {
    let called = std::env::args_os().next().context("this program was started without a name")?;
    let called = Path::new(&called);
    let path = if called.components().count() > 1 { std::path::absolute(called)? } else { called.to_owned() };
    Ok(path.display().to_string())
}
