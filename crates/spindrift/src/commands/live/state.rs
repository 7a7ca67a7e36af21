//! State of the view; without input or output, so that every screen can be tested.

use jiff::{Timestamp, tz::TimeZone};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::{changes::Changes, fleet::Fleet};
use crate::hub::{Account, HubError, WatchEvent};

pub(super) struct State {
    /// URL of the hub.
    pub(super) hub: String,
    /// Time zone of the displayed times.
    pub(super) zone: TimeZone,
    pub(super) fleet: Fleet,
    pub(super) changes: Changes,
    /// Time and reason of the lost connection.
    pub(super) lost: Option<(Timestamp, String)>,
    /// Set if the watch lost its connection: then only the watch can report that it has reconnected.
    watch_lost: bool,
    pub(super) pane: Pane,
    /// Row of the account at the cursor.
    pub(super) cursor: usize,
    /// Account to which the changes are limited.
    pub(super) chosen: Option<String>,
    /// Number of changes that are scrolled past.
    pub(super) scrolled: usize,
    pub(super) filter: String,
    /// Set while the user types the filter.
    pub(super) typing: bool,
    pub(super) help: bool,
    /// Set after `Synced`; earlier events, after a long interruption, are not changes.
    live: bool,
}

/// Focused pane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pane {
    Fleet,
    Changes,
}

/// Effect of a key on the view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyAction {
    Stay,
    Leave,
}

/// Rows of page up and page down.
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

    /// Records that the hub did not respond.
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

    /// Toggles between the changes of the account at the cursor and all changes.
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
