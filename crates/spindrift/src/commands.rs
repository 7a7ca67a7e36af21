//! The commands, and what they have in common.
//!
//! A command is a struct of arguments with `run(self, &Context)`. What was asked for goes to stdout, by `write!` and not
//! by `print!`, so that a pipe that closes ends the command quietly; all else goes to stderr, by [`Context::note`].

mod accounts;
mod agents;
mod api_resources;
mod apply;
mod completion;
mod config;
mod contexts;
mod delete;
mod describe;
mod diff;
mod freeze;
mod get;
mod listing;
mod live;
mod logs;
mod operate;
mod operations;
mod patch;
mod playground;
mod rollout;
mod scale;
mod top;
mod up;
mod version;
mod watches;

use std::{fmt, io::IsTerminal};

use clap::{Args, Subcommand};
use clap_complete::ArgValueCompleter;

use crate::{complete, hub::Client, settings::Settings};

/// Options of every command.
#[derive(Debug, Args)]
pub(crate) struct Global {
    /// The hub to ask: its URL, or its name in your configuration.
    #[arg(
        long,
        global = true,
        env = "SPINDRIFT_HUB",
        value_name = "URL|NAME",
        help_heading = "Global options",
        add = ArgValueCompleter::new(complete::hubs)
    )]
    hub: Option<String>,
    /// Says nothing but what was asked for, and errors.
    #[arg(long, global = true, help_heading = "Global options")]
    quiet: bool,
    /// Uses no colours; so does the environment variable NO_COLOR.
    #[arg(long, global = true, help_heading = "Global options")]
    no_color: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Runs a hub and an agent in this process: against simulated clusters, or against those you name.
    Up(up::Up),
    /// Runs simulated clusters: little shops that live, or as many pods as you like.
    Playground(playground::Playground),
    /// Shows objects of all clusters, in kubectl's habits.
    Get(get::Get),
    /// Describes objects of all clusters, with their events.
    Describe(describe::Describe),
    /// Makes objects what manifests say, in one cluster or in many.
    Apply(apply::Apply),
    /// Shows what applying manifests would change.
    Diff(diff::Diff),
    /// Deletes objects, and waits until they are gone.
    Delete(delete::Delete),
    /// Changes parts of objects.
    Patch(patch::Patch),
    /// Sets how many replicas there are.
    Scale(scale::Scale),
    /// Goes back, holds, restarts or follows the rollout of a workload.
    Rollout(rollout::Rollout),
    /// Shows what containers write.
    Logs(logs::Logs),
    /// Shows what pods and nodes use.
    Top(top::Top),
    /// Shows what was done and is under way, or calls it off.
    Operations(operations::Operations),
    /// Lets nobody change anything in an account.
    Freeze(freeze::Freeze),
    /// Lets an account be changed again.
    Unfreeze(freeze::Unfreeze),
    /// Shows the clusters, who caches them, and how far.
    Accounts(accounts::Accounts),
    /// Shows the agents that are connected, and what they cache.
    Agents(agents::Agents),
    /// Shows what is watched of each account, and how far it is.
    Watches(watches::Watches),
    /// Shows the fleet live on the whole screen: states, change rates, problems, the newest changes.
    Live(live::Live),
    /// Shows the kinds that are cached, and their short names.
    ApiResources(api_resources::ApiResources),
    /// Keeps hubs by name, and which of them is asked.
    Config(config::Config),
    /// Prints the script for your shell by which Tab completes accounts, namespaces, kinds and names.
    Completion(completion::Completion),
    /// Shows which release this is, and which one the hub is.
    Version(version::Version),
}

/// What a command finds around it.
#[derive(Debug)]
pub(crate) struct Context {
    hub: Option<String>,
    /// Whether only what was asked for is said.
    pub(crate) quiet: bool,
    /// Whether colours are welcome on stdout.
    pub(crate) color: bool,
}

/// The command failed, and has said why in its own words.
#[derive(Debug, thiserror::Error)]
#[error("the command failed")]
pub(crate) struct Reported;

/// The command has said all it has to say, and ends with this code.
#[derive(Debug, thiserror::Error)]
#[error("the command ends with code {0}")]
pub(crate) struct Ended(pub(crate) u8);

// === impl Command ===

impl Command {
    pub(crate) async fn run(self, context: &Context) -> anyhow::Result<()> {
        match self {
            Self::Up(command) => command.run(context).await,
            Self::Playground(command) => command.run(context).await,
            Self::Get(command) => Box::pin(command.run(context)).await,
            Self::Describe(command) => Box::pin(command.run(context)).await,
            Self::Apply(command) => Box::pin(command.run(context)).await,
            Self::Diff(command) => Box::pin(command.run(context)).await,
            Self::Delete(command) => Box::pin(command.run(context)).await,
            Self::Patch(command) => Box::pin(command.run(context)).await,
            Self::Scale(command) => Box::pin(command.run(context)).await,
            Self::Rollout(command) => Box::pin(command.run(context)).await,
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

    /// Whether it has an end of its own for Ctrl-C; the others just end.
    pub(crate) fn stops_by_itself(&self) -> bool {
        let calls_off = matches!(
            self,
            Self::Apply(_)
                | Self::Diff(_)
                | Self::Delete(_)
                | Self::Patch(_)
                | Self::Scale(_)
                | Self::Rollout(_)
                | Self::Logs(_)
                | Self::Top(_)
        );
        calls_off || matches!(self, Self::Up(_) | Self::Playground(_) | Self::Live(_))
    }
}

// === impl Context ===

impl Context {
    pub(crate) fn new(global: Global) -> Self {
        let Global { hub, quiet, no_color } = global;
        // https://no-color.org: present and not empty, whatever it says.
        let unwanted = no_color || std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self { hub, quiet, color: !unwanted && std::io::stdout().is_terminal() }
    }

    /// The hub that the user named, or that the configuration names, or the one of `spindrift up`.
    pub(crate) fn hub(&self) -> anyhow::Result<Client> {
        let url = Settings::load()?.hub_url(self.hub.as_deref())?;
        Ok(Client::new(url)?)
    }

    /// Says something that was not asked for, such as that the hub is away.
    pub(crate) fn note(&self, text: impl fmt::Display) {
        if !self.quiet {
            eprintln!("{text}");
        }
    }
}
