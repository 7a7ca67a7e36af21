//! `spindrift config`: edits the hubs of the configuration file.

use std::io::Write;

use anyhow::ensure;
use clap::{Args, Subcommand};
use clap_complete::ArgValueCompleter;
use spindrift_printer::Layout;

use super::{Context, get::yaml};
use crate::{
    complete,
    settings::{Content, Hub, Settings, parse_url},
};

const EXAMPLES: &str = "Examples:
  # Add a hub; the first one becomes the current hub
  spindrift config set-hub prod https://hub.example.com

  # Select another hub
  spindrift config use prod

  # List all hubs
  spindrift config list";

const USE_EXAMPLES: &str = "Examples:
  # Select the hub named 'prod'
  spindrift config use prod";

const SET_HUB_EXAMPLES: &str = "Examples:
  # Add a hub, or change its URL
  spindrift config set-hub prod https://hub.example.com";

const REMOVE_EXAMPLES: &str = "Examples:
  # Remove the hub named 'prod'
  spindrift config remove prod";

const LIST_EXAMPLES: &str = "Examples:
  # List all hubs
  spindrift config list";

const VIEW_EXAMPLES: &str = "Examples:
  # Show the configuration
  spindrift config view";

/// Modify the configuration file.
///
/// The configuration file has the hubs by name and the current hub, which every command uses unless --hub or the
/// environment variable SPINDRIFT_HUB is set. The file is $SPINDRIFT_CONFIG, or spindrift/config.yml in
/// $XDG_CONFIG_HOME (~/.config).
#[derive(Debug, Args)]
#[command(before_help = EXAMPLES, override_usage = "spindrift config SUBCOMMAND [options]")]
pub(crate) struct Config {
    #[command(subcommand)]
    action: ConfigCommand,
}

#[derive(Debug, Subcommand)]
enum ConfigCommand {
    /// Display the hubs; the current hub is marked with a star.
    #[command(before_help = LIST_EXAMPLES, override_usage = "spindrift config list")]
    List,
    /// Set the current hub.
    #[command(before_help = USE_EXAMPLES, override_usage = "spindrift config use NAME")]
    Use {
        /// The name of the hub.
        #[arg(add = ArgValueCompleter::new(complete::hubs))]
        name: String,
    },
    /// Set a hub entry.
    ///
    /// Adds a hub, or changes its URL. The first hub becomes the current one.
    #[command(before_help = SET_HUB_EXAMPLES, override_usage = "spindrift config set-hub NAME URL")]
    SetHub {
        /// The name of the hub.
        name: String,
        /// The URL of the hub's REST API.
        url: String,
    },
    /// Delete a hub entry.
    #[command(before_help = REMOVE_EXAMPLES, override_usage = "spindrift config remove NAME")]
    Remove {
        /// The name of the hub.
        #[arg(add = ArgValueCompleter::new(complete::hubs))]
        name: String,
    },
    /// Display the configuration and the path of its file.
    #[command(before_help = VIEW_EXAMPLES, override_usage = "spindrift config view")]
    View,
}

// === impl Config ===

impl Config {
    pub(crate) fn run(self, context: &Context) -> anyhow::Result<()> {
        let mut settings = Settings::load()?;
        match self.action {
            ConfigCommand::List => list(&settings, context),
            ConfigCommand::View => {
                let mut out = std::io::stdout().lock();
                writeln!(out, "# {}", settings.file.display())?;
                Ok(write!(out, "{}", yaml(&settings.content)?)?)
            }
            ConfigCommand::Use { name } => {
                ensure!(settings.content.hubs.contains_key(&name), settings.unknown(&name));
                settings.content.current = Some(name.clone());
                settings.save()?;
                context.note(format_args!("the current hub is {name}"));
                Ok(())
            }
            ConfigCommand::SetHub { name, url } => set_hub(settings, name, &url, context),
            ConfigCommand::Remove { name } => {
                ensure!(settings.content.hubs.remove(&name).is_some(), settings.unknown(&name));
                let was_current = settings.content.current.as_ref() == Some(&name);
                if was_current {
                    settings.content.current = None;
                }
                settings.save()?;
                let hint =
                    if was_current { "; set another one as current: spindrift config use NAME" } else { "" };
                context.note(format_args!("hub {name} removed{hint}"));
                Ok(())
            }
        }
    }
}

fn set_hub(mut settings: Settings, name: String, url: &str, context: &Context) -> anyhow::Result<()> {
    let unlike_url = !name.is_empty() && !name.contains([':', '/']) && !name.contains(char::is_whitespace);
    ensure!(
        unlike_url,
        "{name:?} is not a valid hub name: it must not be empty or contain `:`, `/` or spaces"
    );
    let url = parse_url(url)?.as_str().trim_end_matches('/').to_owned();
    context.note(format_args!("hub {name} set to {url}"));
    let Content { current, hubs } = &mut settings.content;
    hubs.insert(name.clone(), Hub { url });
    if current.is_none() {
        context.note("it is the current hub");
        *current = Some(name);
    }
    settings.save()
}

fn list(settings: &Settings, context: &Context) -> anyhow::Result<()> {
    let Content { current, hubs } = &settings.content;
    if hubs.is_empty() {
        context.note("no hubs yet; add one with: spindrift config set-hub NAME URL");
        return Ok(());
    }
    let mut rows = vec![["CURRENT", "NAME", "URL"].map(str::to_owned).to_vec()];
    rows.extend(hubs.iter().map(|(name, hub)| {
        let star = if current.as_ref() == Some(name) { "*" } else { "" };
        vec![star.to_owned(), name.clone(), hub.url.clone()]
    }));
    Ok(std::io::stdout().lock().write_all(Layout::default().lines(&rows).as_bytes())?)
}
