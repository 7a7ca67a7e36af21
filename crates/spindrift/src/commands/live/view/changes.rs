//! Pane of the newest changes.

use ratatui::{
    Frame,
    layout::{Constraint, Rect},
    style::Style,
    text::Span,
    widgets::{Cell, Paragraph, Row, Table, TableState},
};

use super::{Palette, frame_of};
use crate::commands::live::{
    changes::{ChangeEntry, ChangeType},
    state::{Pane, State},
    status::ObjectHealth,
};

const TIME: u16 = 8;
const WORD: u16 = 7;

/// Width from which changes have a word instead of a sign.
const WIDE: u16 = 110;

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, state: &State, palette: Palette) {
    let title = title(state);
    let block = frame_of(&title, state.pane == Pane::Changes, palette);
    let inner = block.inner(area);
    let rows = usize::from(inner.height);
    let first = (state.selected + 1).saturating_sub(rows.max(1));
    let changes: Vec<_> =
        state.changes.matching(state.chosen.as_deref(), &state.filter).skip(first).take(rows).collect();
    if changes.is_empty() {
        let text = if state.filter.is_empty() { "waiting for changes…" } else { "no change contains this" };
        frame.render_widget(Paragraph::new(text).style(palette.dim()).block(block), area);
        return;
    }
    // Columns get the width that they need, up to a share, so that the details have a third.
    let widest = |text: fn(&ChangeEntry) -> String, most: u16| {
        let width = changes.iter().map(|change| text(change).chars().count()).max().unwrap_or_default();
        u16::try_from(width).unwrap_or(u16::MAX).min(most)
    };
    let is_wide = inner.width >= WIDE;
    let widths = [
        Constraint::Length(TIME),
        Constraint::Length(widest(|change| change.account.clone(), inner.width / 8)),
        Constraint::Length(if is_wide { WORD } else { 1 }),
        Constraint::Length(widest(ChangeEntry::shown_kind, inner.width / 6)),
        Constraint::Length(widest(ChangeEntry::path, inner.width * 3 / 10)),
        Constraint::Fill(1),
    ];
    let focused = state.pane == Pane::Changes;
    let rows = changes.into_iter().map(|change| row(change, state, is_wide, palette));
    let table = Table::new(rows, widths)
        .row_highlight_style(if focused { palette.cursor() } else { Style::new() })
        .highlight_symbol(if focused { "▸ " } else { "  " })
        .block(block);
    let mut position = TableState::default().with_selected(state.selected - first);
    frame.render_stateful_widget(table, area, &mut position);
}

/// Title with the options, the filter and the position of the cursor.
fn title(state: &State) -> String {
    let account = state.chosen.as_ref().map(|account| format!(" of {account}"));
    let filter =
        Some(&state.filter).filter(|filter| !filter.is_empty()).map(|filter| format!(" with {filter:?}"));
    let standing = match state.changes.paused() {
        Some(waiting) => Some(format!(", paused, {waiting} new")),
        None => (state.selected > 0).then(|| format!(", {} newer", state.selected)),
    };
    let title = format!("Changes{}", state.options);
    [title].into_iter().chain(account).chain(filter).chain(standing).collect()
}

fn row<'a>(change: &'a ChangeEntry, state: &State, is_wide: bool, palette: Palette) -> Row<'a> {
    let style = match change.change_type {
        ChangeType::Created => palette.good(),
        ChangeType::Changed => palette.waiting(),
        ChangeType::Deleted => palette.bad(),
    };
    let time = change.at.to_zoned(state.zone.clone()).strftime("%H:%M:%S").to_string();
    let word = if is_wide { change.change_type.word() } else { change.change_type.sign() };
    let health = match change.health {
        ObjectHealth::Good => Style::new(),
        ObjectHealth::Degraded => palette.waiting(),
        ObjectHealth::Bad => palette.bad(),
    };
    Row::new([
        Cell::from(Span::styled(time, palette.dim())),
        Cell::from(change.account.as_str()),
        Cell::from(Span::styled(word, style)),
        Cell::from(change.shown_kind()),
        Cell::from(Span::styled(change.path(), health)),
        Cell::from(Span::styled(change.detail.as_str(), health)),
    ])
}
