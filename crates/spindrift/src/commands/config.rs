//! `spindrift config`: hubs by name.

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

#[derive(Debug, Args)]
pub(crate) struct Config {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Lists the hubs, the current one with a star.
    List,
    /// Chooses the hub that is asked unless another is named.
    Use {
        #[arg(add = ArgValueCompleter::new(complete::hubs))]
        name: String,
    },
    /// Adds a hub, or changes its URL; the first one becomes the current one.
    SetHub { name: String, url: String },
    /// Removes a hub.
    Remove {
        #[arg(add = ArgValueCompleter::new(complete::hubs))]
        name: String,
    },
    /// Shows the whole configuration, and which file it is in.
    View,
}

// === impl Config ===

impl Config {
    pub(crate) fn run(self, context: &Context) -> anyhow::Result<()> {
        let mut settings = Settings::load()?;
        match self.action {
            Action::List => list(&settings, context),
            Action::View => {
                let mut out = std::io::stdout().lock();
                writeln!(out, "# {}", settings.file.display())?;
                Ok(write!(out, "{}", yaml(&settings.content)?)?)
            }
            Action::Use { name } => {
                ensure!(settings.content.hubs.contains_key(&name), settings.unknown(&name));
                settings.content.current = Some(name.clone());
                settings.save()?;
                context.note(format_args!("the current hub is {name}"));
                Ok(())
            }
            Action::SetHub { name, url } => set_hub(settings, name, &url, context),
            Action::Remove { name } => {
                ensure!(settings.content.hubs.remove(&name).is_some(), settings.unknown(&name));
                let was_current = settings.content.current.as_ref() == Some(&name);
                if was_current {
                    settings.content.current = None;
                }
                settings.save()?;
                let hint = if was_current { "; choose another: spindrift config use NAME" } else { "" };
                context.note(format_args!("hub {name} is removed{hint}"));
                Ok(())
            }
        }
    }
}

fn set_hub(mut settings: Settings, name: String, url: &str, context: &Context) -> anyhow::Result<()> {
    let unlike_url = !name.is_empty() && !name.contains([':', '/']) && !name.contains(char::is_whitespace);
    ensure!(
        unlike_url,
        "{name:?} is no name for a hub: it must not be empty, nor contain `:`, `/` or spaces"
    );
    let url = parse_url(url)?.as_str().trim_end_matches('/').to_owned();
    context.note(format_args!("hub {name} is {url}"));
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
