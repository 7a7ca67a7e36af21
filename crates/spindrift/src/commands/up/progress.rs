//! The first sync, as a person watches it: a bar per cluster.

use std::{collections::HashMap, io::IsTerminal, time::Duration};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use spindrift_agent::board::{Board, Progress as Listed};
use tokio::time;

use crate::{commands::Context, hub::Client};

/// As often as an eye wants it.
const REFRESH: Duration = Duration::from_millis(150);
/// More bars than this would push the first lines off the screen; then one stands for all.
const MOST_BARS: usize = 16;
const BAR_WIDTH: usize = 24;

/// Shows how far the clusters have got until all are there.
pub(super) struct Progress {
    board: Board,
    hub: Client,
    /// Whether lines may be drawn over; otherwise each is written once, when its cluster is there.
    terminal: bool,
    color: bool,
}

/// What is drawn for one cluster, or for all of them.
struct Line {
    bar: ProgressBar,
    done: bool,
}

// === impl Progress ===

impl Progress {
    pub(super) fn new(board: Board, hub: Client, context: &Context) -> Self {
        Self { board, hub, terminal: std::io::stdout().is_terminal(), color: context.color }
    }

    /// Returns when every cluster is listed, or known not to answer.
    pub(super) async fn show(self) {
        let accounts = self.board.progress();
        let widest = accounts.iter().map(|listed| listed.account.len()).max().unwrap_or_default();
        let screen = MultiProgress::with_draw_target(ProgressDrawTarget::stdout());
        let mut lines: HashMap<String, Line> = HashMap::new();
        if self.terminal && accounts.len() <= MOST_BARS {
            for listed in &accounts {
                lines
                    .insert(listed.account.clone(), Line::draw(&screen, &listed.account, widest, self.color));
            }
        }
        let whole = (self.terminal && lines.is_empty())
            .then(|| Line::draw(&screen, "all clusters", widest, self.color));
        let mut said = Vec::new();
        let mut interval = time::interval(REFRESH);
        loop {
            interval.tick().await;
            let accounts = self.board.progress();
            let objects = self.objects().await;
            for listed in &accounts {
                let text = told(listed, objects.get(&listed.account).copied());
                if let Some(line) = lines.get_mut(&listed.account) {
                    line.update(listed, &text);
                } else if settled(listed) && whole.is_none() && !said.contains(&listed.account) {
                    println!("  {:widest$}  {text}", listed.account);
                    said.push(listed.account.clone());
                }
            }
            if let Some(whole) = &whole {
                let done = accounts.iter().filter(|listed| settled(listed)).count();
                whole.bar.set_length(accounts.len() as u64);
                whole.bar.set_position(done as u64);
                whole.bar.set_message(format!("{} objects", objects.values().sum::<u64>()));
            }
            if accounts.iter().all(settled) {
                if let Some(whole) = &whole {
                    whole.bar.abandon();
                }
                return;
            }
        }
    }

    /// What the hub has of each account; nothing while it does not answer.
    async fn objects(&self) -> HashMap<String, u64> {
        let accounts = self.hub.accounts().await.unwrap_or_default();
        accounts.into_iter().map(|account| (account.name, account.objects)).collect()
    }
}

fn settled(listed: &Listed) -> bool {
    listed.error.is_some() || (listed.scopes > 0 && listed.settled == listed.scopes)
}

fn told(listed: &Listed, objects: Option<u64>) -> String {
    match (&listed.error, listed.scopes) {
        (Some(error), _) => format!("does not answer: {error}"),
        (None, 0) => "is being discovered".into(),
        (None, scopes) => format!("{scopes} kinds, {} objects", objects.unwrap_or_default()),
    }
}

// === impl Line ===

impl Line {
    fn draw(screen: &MultiProgress, name: &str, widest: usize, color: bool) -> Self {
        let color = if color { ".cyan/dim" } else { "" };
        let template = format!("  {{prefix:{widest}}}  {{bar:{BAR_WIDTH}{color}}}  {{wide_msg}}");
        let style = ProgressStyle::with_template(&template).unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = screen.add(ProgressBar::new(1));
        bar.set_style(style.progress_chars("━╸─"));
        bar.set_prefix(name.to_owned());
        Self { bar, done: false }
    }

    fn update(&mut self, listed: &Listed, text: &str) {
        if self.done {
            return;
        }
        self.bar.set_length(listed.scopes.max(1) as u64);
        self.bar.set_position(listed.settled as u64);
        self.bar.set_message(text.to_owned());
        if settled(listed) {
            self.done = true;
            self.bar.abandon();
        }
    }
}
