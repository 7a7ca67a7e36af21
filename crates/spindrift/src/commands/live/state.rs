//! State of the view; without input or output, so that every screen can be tested.

use jiff::{Timestamp, tz::TimeZone};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::{
    changes::Changes,
    details::{Details, OpenRequest},
    fleet::Fleet,
};
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
    /// Row of the change at the cursor; the first row stays at the newest change.
    pub(super) selected: usize,
    /// Description of the object that was opened.
    pub(super) details: Option<Details>,
    /// Options of the command, as typed.
    pub(super) options: String,
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum KeyAction {
    Stay,
    Leave,
    /// Requests the description of an object.
    Open(OpenRequest),
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
            selected: 0,
            details: None,
            options: String::new(),
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

    /// Shows a description, unless it was closed meanwhile.
    pub(super) fn opened(&mut self, details: Details) {
        if self.details.as_ref().is_some_and(|open| open.title == details.title) {
            self.details = Some(details);
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
                self.hold_selection(|changes| changes.upsert(object, now));
            }
            WatchEvent::Delete(object) => {
                self.fleet.count(&object.account, now);
                self.hold_selection(|changes| changes.delete(object, now));
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
            code if self.details.is_some() => self.read_details(code),
            code if self.typing => self.type_filter(code),
            KeyCode::Char('q') => return KeyAction::Leave,
            KeyCode::Char('?' | 'h') => self.help = true,
            KeyCode::Char('/') => self.typing = true,
            KeyCode::Char('p' | ' ') => self.hold_selection(Changes::toggle_pause),
            KeyCode::Tab | KeyCode::BackTab | KeyCode::Left | KeyCode::Right => self.pane = self.pane.other(),
            KeyCode::Up | KeyCode::Char('k') => self.step_back(1),
            KeyCode::Down | KeyCode::Char('j') => self.step(1),
            KeyCode::PageUp => self.step_back(PAGE),
            KeyCode::PageDown => self.step(PAGE),
            KeyCode::Home | KeyCode::Char('g') => self.step_back(usize::MAX),
            KeyCode::End | KeyCode::Char('G') => self.step(usize::MAX),
            KeyCode::Enter if self.pane == Pane::Changes => return self.open(),
            KeyCode::Enter => self.choose(),
            KeyCode::Esc => {
                self.chosen = None;
                self.filter.clear();
                self.selected = 0;
            }
            _ => {}
        }
        KeyAction::Stay
    }

    /// Adds changes; the cursor stays at its change, unless it is at the newest one.
    fn hold_selection(&mut self, add: impl FnOnce(&mut Changes)) {
        if self.selected == 0 {
            return add(&mut self.changes);
        }
        let matching = |changes: &Changes| -> Vec<u64> {
            changes.matching(self.chosen.as_deref(), &self.filter).map(|change| change.number).collect()
        };
        let held = matching(&self.changes).get(self.selected).copied();
        add(&mut self.changes);
        let numbers = matching(&self.changes);
        let found = numbers.iter().position(|number| Some(*number) == held);
        self.selected = found.unwrap_or(numbers.len().saturating_sub(1));
    }

    /// Opens the object of the change at the cursor.
    fn open(&mut self) -> KeyAction {
        let change = self.changes.matching(self.chosen.as_deref(), &self.filter).nth(self.selected);
        let Some(request) = change.map(OpenRequest::of) else { return KeyAction::Stay };
        self.details = Some(Details::loading(&request));
        KeyAction::Open(request)
    }

    fn read_details(&mut self, code: KeyCode) {
        let Some(details) = &mut self.details else { return };
        let at = details.scrolled;
        match code {
            KeyCode::Up | KeyCode::Char('k') => details.scroll_to(at.saturating_sub(1)),
            KeyCode::Down | KeyCode::Char('j') => details.scroll_to(at.saturating_add(1)),
            KeyCode::PageUp => details.scroll_to(at.saturating_sub(PAGE)),
            KeyCode::PageDown | KeyCode::Char(' ') => details.scroll_to(at.saturating_add(PAGE)),
            KeyCode::Home | KeyCode::Char('g') => details.scroll_to(0),
            KeyCode::End | KeyCode::Char('G') => details.scroll_to(usize::MAX),
            KeyCode::Esc | KeyCode::Enter | KeyCode::Char('q') => self.details = None,
            _ => {}
        }
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
        self.selected = 0;
    }

    fn step(&mut self, lines: usize) {
        match self.pane {
            Pane::Fleet => {
                self.cursor = self.cursor.saturating_add(lines).min(self.fleet.len().saturating_sub(1));
            }
            Pane::Changes => {
                let shown = self.changes.matching(self.chosen.as_deref(), &self.filter).count();
                self.selected = self.selected.saturating_add(lines).min(shown.saturating_sub(1));
            }
        }
    }

    fn step_back(&mut self, lines: usize) {
        let at = match self.pane {
            Pane::Fleet => &mut self.cursor,
            Pane::Changes => &mut self.selected,
        };
        *at = at.saturating_sub(lines);
    }

    /// Toggles between the changes of the account at the cursor and all changes.
    fn choose(&mut self) {
        let name = self.fleet.lines().nth(self.cursor).map(|(name, _)| name.clone());
        self.chosen = if self.chosen == name { None } else { name };
        self.selected = 0;
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
