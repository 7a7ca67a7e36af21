//! What the view knows and what the user has chosen; pure, so that every screen can be tested.

use jiff::{Timestamp, tz::TimeZone};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::{changes::Changes, fleet::Fleet};
use crate::hub::{Account, HubError, WatchEvent};

pub(super) struct State {
    /// The hub's URL.
    pub(super) hub: String,
    /// Times are shown in this zone.
    pub(super) zone: TimeZone,
    pub(super) fleet: Fleet,
    pub(super) changes: Changes,
    /// Since when the hub is away, and why.
    pub(super) lost: Option<(Timestamp, String)>,
    /// Whether it is the watch that broke: then only the watch can tell that the hub is back.
    watch_lost: bool,
    pub(super) pane: Pane,
    /// The line of the fleet that the cursor is on.
    pub(super) cursor: usize,
    /// The account whose changes alone are shown.
    pub(super) chosen: Option<String>,
    /// How many of the newest changes are scrolled over.
    pub(super) scrolled: usize,
    pub(super) filter: String,
    /// Whether the filter is being typed.
    pub(super) typing: bool,
    pub(super) help: bool,
    /// What is told before the feed is live, after a long break, is no news.
    live: bool,
}

/// Where arrows go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pane {
    Fleet,
    Changes,
}

/// Whether the view goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyAction {
    Stay,
    Leave,
}

/// Lines of a page, up or down.
const PAGE: usize = 10;

// === impl State ===

impl State {
    pub(super) fn new(hub: &str, zone: TimeZone) -> Self {
        Self {
            hub: hub.to_owned(),
            zone,
            fleet: Fleet::default(),
            changes: Changes::default(),
            lost: None,
            watch_lost: false,
            pane: Pane::Fleet,
            cursor: 0,
            chosen: None,
            scrolled: 0,
            filter: String::new(),
            typing: false,
            help: false,
            live: false,
        }
    }

    pub(super) fn accounts(&mut self, accounts: Vec<Account>) {
        self.fleet.update(accounts);
        self.cursor = self.cursor.min(self.fleet.len().saturating_sub(1));
        if !self.watch_lost {
            self.lost = None;
        }
    }

    /// The hub did not answer.
    pub(super) fn away(&mut self, error: &HubError, now: Timestamp) {
        if self.lost.is_none() {
            self.lost = Some((now, error.to_string()));
        }
    }

    pub(super) fn told(&mut self, told: WatchEvent, now: Timestamp) {
        match told {
            WatchEvent::Upsert(_) | WatchEvent::Delete(_) if !self.live => {}
            WatchEvent::Upsert(object) => {
                self.fleet.count(&object.account, now);
                self.changes.upsert(object, now);
            }
            WatchEvent::Delete(object) => {
                self.fleet.count(&object.account, now);
                self.changes.delete(object, now);
            }
            WatchEvent::Reset { .. } => {}
            WatchEvent::Synced => self.live = true,
            WatchEvent::Lost(error) => {
                (self.live, self.watch_lost) = (false, true);
                self.away(&error, now);
            }
            WatchEvent::Back => (self.lost, self.watch_lost) = (None, false),
        }
    }

    pub(super) fn key(&mut self, key: KeyEvent) -> KeyAction {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c' | 'd') if control => return KeyAction::Leave,
            _ if self.help => self.help = false,
            code if self.typing => self.type_filter(code),
            KeyCode::Char('q') => return KeyAction::Leave,
            KeyCode::Char('?' | 'h') => self.help = true,
            KeyCode::Char('/') => self.typing = true,
            KeyCode::Char('p' | ' ') => self.changes.toggle_pause(),
            KeyCode::Tab | KeyCode::BackTab | KeyCode::Left | KeyCode::Right => self.pane = self.pane.other(),
            KeyCode::Up | KeyCode::Char('k') => self.step_back(1),
            KeyCode::Down | KeyCode::Char('j') => self.step(1),
            KeyCode::PageUp => self.step_back(PAGE),
            KeyCode::PageDown => self.step(PAGE),
            KeyCode::Home | KeyCode::Char('g') => self.step_back(usize::MAX),
            KeyCode::End | KeyCode::Char('G') => self.step(usize::MAX),
            KeyCode::Enter => self.choose(),
            KeyCode::Esc => {
                self.chosen = None;
                self.filter.clear();
                self.scrolled = 0;
            }
            _ => {}
        }
        KeyAction::Stay
    }

    fn type_filter(&mut self, code: KeyCode) {
        match code {
            KeyCode::Enter => self.typing = false,
            KeyCode::Esc => {
                self.typing = false;
                self.filter.clear();
            }
            KeyCode::Backspace => drop(self.filter.pop()),
            KeyCode::Char(c) => self.filter.push(c),
            _ => {}
        }
        self.scrolled = 0;
    }

    fn step(&mut self, lines: usize) {
        match self.pane {
            Pane::Fleet => {
                self.cursor = self.cursor.saturating_add(lines).min(self.fleet.len().saturating_sub(1));
            }
            Pane::Changes => {
                let shown = self.changes.matching(self.chosen.as_deref(), &self.filter).count();
                self.scrolled = self.scrolled.saturating_add(lines).min(shown.saturating_sub(1));
            }
        }
    }

    fn step_back(&mut self, lines: usize) {
        let at = match self.pane {
            Pane::Fleet => &mut self.cursor,
            Pane::Changes => &mut self.scrolled,
        };
        *at = at.saturating_sub(lines);
    }

    /// Shows the changes of the account under the cursor alone, or again of all.
    fn choose(&mut self) {
        let name = self.fleet.lines().nth(self.cursor).map(|(name, _)| name.clone());
        self.chosen = if self.chosen == name { None } else { name };
        self.scrolled = 0;
    }
}

// === impl Pane ===

impl Pane {
    fn other(self) -> Self {
        match self {
            Self::Fleet => Self::Changes,
            Self::Changes => Self::Fleet,
        }
    }
}
