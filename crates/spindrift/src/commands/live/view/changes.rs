//! Pane of the newest changes.

use ratatui::{
    Frame,
    layout::{Constraint, Rect},
    text::Span,
    widgets::{Cell, Paragraph, Row, Table},
};

use super::{Palette, frame_of};
use crate::commands::live::{
    changes::{ChangeEntry, ChangeType},
    state::{Pane, State},
};

const TIME: u16 = 8;
const WHAT: u16 = 7;

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, state: &State, palette: Palette) {
    let title = title(state);
    let block = frame_of(&title, state.pane == Pane::Changes, palette);
    let inner = block.inner(area);
    let rows = usize::from(inner.height);
    let changes: Vec<_> = state
        .changes
        .matching(state.chosen.as_deref(), &state.filter)
        .skip(state.scrolled)
        .take(rows)
        .collect();
    if changes.is_empty() {
        let text = if state.filter.is_empty() { "waiting for changes…" } else { "no change contains this" };
        frame.render_widget(Paragraph::new(text).style(palette.dim()).block(block), area);
        return;
    }
    // Accounts and kinds get the width that they need, up to a quarter each, so that names have at least half.
    let widest = |text: fn(&ChangeEntry) -> &str, most: u16| {
        let width = changes.iter().map(|change| text(change).chars().count()).max().unwrap_or_default();
        u16::try_from(width).unwrap_or(u16::MAX).min(most)
    };
    let account = widest(|change| &change.account, inner.width / 4);
    let kind = widest(|change| &change.kind, inner.width / 4);
    let widths = [
        Constraint::Length(TIME),
        Constraint::Length(account),
        Constraint::Length(WHAT),
        Constraint::Length(kind),
        Constraint::Fill(1),
    ];
    let rows = changes.into_iter().map(|change| row(change, state, palette));
    frame.render_widget(Table::new(rows, widths).block(block), area);
}

/// Title with the filter and the scroll position.
fn title(state: &State) -> String {
    let account = state.chosen.as_ref().map(|account| format!(" of {account}"));
    let filter =
        Some(&state.filter).filter(|filter| !filter.is_empty()).map(|filter| format!(" with {filter:?}"));
    let standing = match state.changes.paused() {
        Some(waiting) => Some(format!(", paused, {waiting} new")),
        None => (state.scrolled > 0).then(|| format!(", scrolled by {}", state.scrolled)),
    };
    ["Changes".to_owned()].into_iter().chain(account).chain(filter).chain(standing).collect()
}

fn row<'a>(change: &'a ChangeEntry, state: &State, palette: Palette) -> Row<'a> {
    let style = match change.change_type {
        ChangeType::Created => palette.good(),
        ChangeType::Changed => palette.waiting(),
        ChangeType::Deleted => palette.bad(),
    };
    let time = change.at.to_zoned(state.zone.clone()).strftime("%H:%M:%S").to_string();
    Row::new([
        Cell::from(Span::styled(time, palette.dim())),
        Cell::from(change.account.as_str()),
        Cell::from(Span::styled(change.change_type.word(), style)),
        Cell::from(change.kind.as_str()),
        Cell::from(change.path()),
    ])
}
