//! Commands, and their shared context.
//!
//! A command is a struct of arguments with `run(self, &Context)`. Requested output goes to stdout, by `write!` and not
//! by `print!`, so that a closed pipe ends the command without an error. Notes go to stderr, by [`Context::note`].

mod accounts;
mod agents;
mod api_resources;
mod apply;
mod completion;
mod config;
mod contexts;
mod create;
mod delete;
mod describe;
mod diff;
mod events;
mod freeze;
mod get;
mod label;
mod listing;
mod live;
mod logs;
mod operate;
mod operations;
mod patch;
mod playground;
mod rollout;
mod scale;
mod set;
mod top;
mod up;
mod version;
mod wait;
mod watches;

use std::{fmt, io::IsTerminal};

use clap::{Args, Subcommand};
use clap_complete::ArgValueCompleter;

use crate::{complete, hub::Client, settings::Settings};

/// Options of every command.
#[derive(Debug, Args)]
pub(crate) struct Global {
    /// The URL of the hub, or its name in the configuration (see "spindrift config"). Defaults to the current hub.
    #[arg(
        long,
        global = true,
        env = "SPINDRIFT_HUB",
        hide_env_values = true,
        value_name = "URL|NAME",
        help_heading = "Global Options",
        add = ArgValueCompleter::new(complete::hubs)
    )]
    hub: Option<String>,
    /// Print only the requested output and errors.
    #[arg(long, global = true, help_heading = "Global Options")]
    quiet: bool,
    /// Disable colored output. Also set by the environment variable NO_COLOR.
    #[arg(long, global = true, help_heading = "Global Options")]
    no_color: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Up(up::Up),
    Playground(playground::Playground),
    Get(get::Get),
    Describe(describe::Describe),
    Create(create::Create),
    Apply(apply::Apply),
    Diff(diff::Diff),
    Delete(delete::Delete),
    Patch(patch::Patch),
    Scale(scale::Scale),
    Set(set::Set),
    Label(label::Label),
    Annotate(label::Annotate),
    Rollout(rollout::Rollout),
    Logs(logs::Logs),
    Events(events::Events),
    Wait(wait::Wait),
    Top(top::Top),
    Operations(operations::Operations),
    Freeze(freeze::Freeze),
    Unfreeze(freeze::Unfreeze),
    Accounts(accounts::Accounts),
    Agents(agents::Agents),
    Watches(watches::Watches),
    Live(live::Live),
    ApiResources(api_resources::ApiResources),
    Config(config::Config),
    Completion(completion::Completion),
    Version(version::Version),
}

/// Options and environment of a command.
#[derive(Debug)]
pub(crate) struct Context {
    hub: Option<String>,
    /// Set by `--quiet`: suppresses notes on stderr.
    pub(crate) quiet: bool,
    /// Set if stdout may be colored.
    pub(crate) color: bool,
}

/// The command failed, and has already printed the reason.
#[derive(Debug, thiserror::Error)]
#[error("the command failed")]
pub(crate) struct AlreadyReported;

/// Exit code other than 1; alone, the command has already printed everything.
#[derive(Debug, thiserror::Error)]
#[error("the command ends with code {0}")]
pub(crate) struct ExitWith(pub(crate) u8);

// === impl Command ===

impl Command {
    pub(crate) async fn run(self, context: &Context) -> anyhow::Result<()> {
        match self {
            Self::Up(command) => command.run(context).await,
            Self::Playground(command) => command.run(context).await,
            Self::Get(command) => Box::pin(command.run(context)).await,
            Self::Describe(command) => Box::pin(command.run(context)).await,
            Self::Create(command) => Box::pin(command.run(context)).await,
            Self::Apply(command) => Box::pin(command.run(context)).await,
            Self::Diff(command) => Box::pin(command.run(context)).await,
            Self::Delete(command) => Box::pin(command.run(context)).await,
            Self::Patch(command) => Box::pin(command.run(context)).await,
            Self::Scale(command) => Box::pin(command.run(context)).await,
            Self::Set(command) => Box::pin(command.run(context)).await,
            Self::Label(command) => Box::pin(command.run(context)).await,
            Self::Annotate(command) => Box::pin(command.run(context)).await,
            Self::Rollout(command) => Box::pin(command.run(context)).await,
            Self::Events(command) => Box::pin(command.run(context)).await,
            Self::Wait(command) => Box::pin(command.run(context)).await,
            Self::Logs(command) => Box::pin(command.run(context)).await,
            Self::Top(command) => Box::pin(command.run(context)).await,
            Self::Operations(command) => command.run(context).await,
            Self::Freeze(command) => command.run(context).await,
            Self::Unfreeze(command) => command.run(context).await,
            Self::Accounts(command) => command.run(context).await,
            Self::Agents(command) => command.run(context).await,
            Self::Watches(command) => command.run(context).await,
            Self::Live(command) => command.run(context).await,
            Self::ApiResources(command) => command.run(context).await,
            Self::Config(command) => command.run(context),
            Self::Completion(command) => command.run(),
            Self::Version(command) => command.run(context).await,
        }
    }

    /// Whether the command handles Ctrl-C itself; the others exit at once.
    pub(crate) fn handles_interrupt(&self) -> bool {
        let cancels = matches!(
            self,
            Self::Create(_)
                | Self::Apply(_)
                | Self::Set(_)
                | Self::Label(_)
                | Self::Annotate(_)
                | Self::Diff(_)
                | Self::Delete(_)
                | Self::Patch(_)
                | Self::Scale(_)
                | Self::Rollout(_)
                | Self::Logs(_)
                | Self::Wait(_)
                | Self::Top(_)
        );
        cancels || matches!(self, Self::Up(_) | Self::Playground(_) | Self::Live(_))
    }
}

// === impl Context ===

impl Context {
    pub(crate) fn new(global: Global) -> Self {
        let Global { hub, quiet, no_color } = global;
        // https://no-color.org: present and not empty, regardless of its value.
        let unwanted = no_color || std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self { hub, quiet, color: !unwanted && std::io::stdout().is_terminal() }
    }

    /// Client of the hub of `--hub`, else of the configuration, else of `spindrift up`.
    pub(crate) fn hub(&self) -> anyhow::Result<Client> {
        let url = Settings::load()?.hub_url(self.hub.as_deref())?;
        Ok(Client::new(url)?)
    }

    /// Prints a note on stderr, such as a lost connection, unless `--quiet` is set.
    pub(crate) fn note(&self, text: impl fmt::Display) {
        if !self.quiet {
            eprintln!("{text}");
        }
    }
}
