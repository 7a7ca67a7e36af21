//! `spindrift live`: accounts and changes on the full screen.
//!
//! ```text
//! hub ══watch from now══▶ WatchEvent ─┐
//! hub ──/v1/accounts, every 2 s──▶ ───┼──▶ State ──draw, 4 times a second──▶ terminal
//! keys ──▶ ───────────────────────────┘
//! ```
//!
//! Existing objects are never downloaded: the watch starts at the position of a page with one row, and the counts come
//! from the accounts.

mod changes;
mod details;
mod fleet;
mod rate;
mod screen;
mod state;
mod status;
mod view;

use std::{io::IsTerminal, time::Duration};

use anyhow::bail;
use clap::{Args, builder::NonEmptyStringValueParser};
use clap_complete::ArgValueCompleter;
use futures::{Stream, StreamExt};
use jiff::{Timestamp, tz::TimeZone};
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::mpsc,
    task::JoinSet,
    time::MissedTickBehavior,
};

use super::{
    Context,
    get::{check_accounts, resolve},
    operate::expand_accounts,
};
use crate::{
    complete,
    hub::{Account, Client, HubError, Selection, WatchEvent},
};
use details::{Details, OpenRequest};
use screen::{Input, Screen};
use state::{KeyAction, State};
use view::Palette;

const EXAMPLES: &str = "Examples:
  # Show all accounts and all changes
  spindrift live

  # Show changes of pods and deployments of two accounts only
  spindrift live -a eu-west,us-east -k pods,deployments";

/// Display the accounts and their newest changes, updated live.
///
/// Shows the state, the change rate and the problems of each account, and the newest changes with the state that changed,
/// on the full screen. Enter describes the object of a change. Press ? for the keys and q to quit.
#[derive(Debug, Args)]
#[command(before_help = EXAMPLES, override_usage = "spindrift live [-a ACCOUNT] [-k KIND] [options]")]
pub(crate) struct Live {
    /// Show changes of these accounts only: a comma-separated list, or patterns such as 'eu-*'.
    #[arg(
        short,
        long,
        value_parser = NonEmptyStringValueParser::new(),
        add = ArgValueCompleter::new(complete::accounts)
    )]
    account: Option<String>,
    /// Show changes of these resource types only (comma-separated).
    #[arg(short, long, add = ArgValueCompleter::new(complete::kinds))]
    kind: Option<String>,
    /// Show changes in this namespace only.
    #[arg(short, long, add = ArgValueCompleter::new(complete::namespaces))]
    namespace: Option<String>,
    /// Selector (label query) to filter on, supports '=', '==', '!=', 'in' and 'notin' (e.g. -l key1=value1,key2=value2).
    /// Matching objects must satisfy all of the specified label constraints.
    #[arg(short = 'l', long)]
    selector: Option<String>,
}

/// Interval of the frames; faster ones could not be read.
const FRAME: Duration = Duration::from_millis(250);
/// Interval of the requests for accounts.
const PACE: Duration = Duration::from_secs(2);

// === impl Live ===

impl Live {
    pub(crate) async fn run(self, context: &Context) -> anyhow::Result<()> {
        let Self { account, kind, namespace, selector } = self;
        let hub = context.hub()?;
        // A mistyped name would leave the screen empty for ever.
        let accounts: Vec<_> = account.iter().flat_map(|names| names.split(',')).map(str::to_owned).collect();
        let accounts = expand_accounts(&hub, &accounts).await?;
        check_accounts(&hub, &accounts).await?;
        if let Some(kinds) = &kind
            && let Some(uncached) =
                resolve(&hub, kinds, &[]).await?.iter().find(|target| !target.resource.cached)
        {
            bail!(
                "{} are not cached by the hub; list them with: spindrift get {kinds}",
                uncached.resource.plural
            );
        }
        if !std::io::stdout().is_terminal() || !std::io::stdin().is_terminal() {
            bail!("live needs a terminal; in scripts, use: spindrift accounts -w, spindrift get TYPE -A -w");
        }
        let options = [("-a", &account), ("-k", &kind), ("-n", &namespace), ("-l", &selector)];
        let options = options.map(|(flag, value)| value.as_ref().map(|value| format!(" {flag} {value}")));
        let selection = Selection {
            account: (!accounts.is_empty()).then(|| accounts.join(",")),
            kind,
            namespace,
            label_selector: selector,
            limit: Some(1),
            ..Selection::default()
        };
        // Before the screen opens, so that an unreachable hub is an ordinary error.
        let position = hub.page(&selection, None).await?.position;
        let mut state = State::new(hub.url(), TimeZone::system());
        state.options = options.into_iter().flatten().collect();
        state.accounts(hub.accounts().await?);
        let told = hub.watch(selection, Some(position));
        follow(hub, state, told, Palette::new(context.color)).await
    }
}

/// Draws the events until the user quits or a signal arrives.
async fn follow(
    hub: Client,
    mut state: State,
    mut told: impl Stream<Item = Result<WatchEvent, HubError>> + Unpin,
    palette: Palette,
) -> anyhow::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let (mut screen, mut input_rx) = Screen::open()?;
    let mut tasks = JoinSet::new();
    let (accounts_tx, mut accounts_rx) = mpsc::channel(1);
    let (details_tx, mut details_rx) = mpsc::channel(1);
    tasks.spawn(ask_for_accounts(hub.clone(), accounts_tx));
    let mut frames = tokio::time::interval(FRAME);
    frames.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        screen.draw(|frame| view::draw(frame, &state, palette, Timestamp::now()))?;
        // Changes are drawn with the next frame; a key redraws at once.
        loop {
            tokio::select! {
                biased;
                _ = terminate.recv() => return Ok(()),
                _ = hang_up.recv() => return Ok(()),
                _ = interrupt.recv() => return Ok(()),
                input = input_rx.recv() => match input {
                    Some(Input::Key(key)) => match state.key(key) {
                        KeyAction::Leave => return Ok(()),
                        KeyAction::Stay => break,
                        KeyAction::Open(request) => {
                            tasks.spawn(open(request, hub.clone(), details_tx.clone()));
                            break;
                        }
                    },
                    Some(Input::Resized) => break,
                    None => bail!("the terminal was closed"),
                },
                _ = frames.tick() => break,
                Some(accounts) = accounts_rx.recv() => match accounts {
                    Ok(accounts) => state.accounts(accounts),
                    Err(error) => state.away(&error, Timestamp::now()),
                },
                Some(details) = details_rx.recv() => {
                    state.opened(details);
                    break;
                }
                Some(told) = told.next() => state.told(told?, Timestamp::now()),
            }
        }
    }
}

async fn open(request: OpenRequest, hub: Client, details_tx: mpsc::Sender<Details>) {
    // The view is closed if nobody receives it.
    _ = details_tx.send(request.run(hub).await).await;
}

async fn ask_for_accounts(hub: Client, accounts_tx: mpsc::Sender<Result<Vec<Account>, HubError>>) {
    loop {
        tokio::time::sleep(PACE).await;
        if accounts_tx.send(hub.accounts().await).await.is_err() {
            return;
        }
    }
}
