//! Panes of the accounts and their problems.

use jiff::Timestamp;
use ratatui::{
    Frame,
    layout::{Constraint, Rect},
    text::{Line, Span, Text},
    widgets::{Cell, Paragraph, Row, Table, TableState},
};
use spindrift_printer::since;

use super::{Palette, STRONG, frame_of, rate, thousands};
use crate::commands::live::{
    fleet::{self, Health},
    rate::HISTORY,
    state::{Pane, State},
};

/// Widths of the columns other than the name and the bars.
const STATE: u16 = 13;
const OBJECTS: u16 = 9;
const RATE: u16 = 9;
const SEEN: u16 = 6;

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, state: &State, palette: Palette, now: Timestamp) {
    let (all, rows) = (state.fleet.len(), usize::from(area.height.saturating_sub(3)));
    let shown = if all > rows { format!(", {rows} shown") } else { String::new() };
    let title = match &state.chosen {
        Some(account) => format!("Fleet ({all}{shown}), only {account}"),
        None => format!("Fleet ({all}{shown})"),
    };
    let block = frame_of(&title, state.pane == Pane::Fleet, palette);
    if state.fleet.len() == 0 {
        let text = "No accounts found: no agent has registered any yet";
        frame.render_widget(Paragraph::new(text).style(palette.dim()).block(block), area);
        return;
    }
    // Borders, the cursor's mark and the gaps between six columns.
    let rest = area.width.saturating_sub(2 + 2 + STATE + OBJECTS + RATE + SEEN + 5);
    let names = state.fleet.lines().map(|(name, _)| name.chars().count()).max().unwrap_or_default().max(7);
    let name = u16::try_from(names).unwrap_or(u16::MAX).min(rest.saturating_sub(10)).max(7);
    let bars = rest.saturating_sub(name).min(HISTORY);
    let rows = state.fleet.lines().map(|(name, line)| row(name, line, bars, palette, now));
    let header = Row::new([
        Text::from("ACCOUNT"),
        Text::from("STATE"),
        Text::from("OBJECTS").right_aligned(),
        Text::from("CHANGES/S").right_aligned(),
        Text::from("LAST MINUTE"),
        Text::from("SEEN").right_aligned(),
    ]);
    let widths = [name, STATE, OBJECTS, RATE, bars, SEEN].map(Constraint::Length);
    let table = Table::new(rows, widths)
        .header(header.style(STRONG))
        .row_highlight_style(if state.pane == Pane::Fleet { palette.cursor() } else { STRONG })
        .highlight_symbol("▸ ")
        .block(block);
    let mut position = TableState::default().with_selected(state.cursor);
    frame.render_stateful_widget(table, area, &mut position);
}

fn row<'a>(name: &'a str, line: &'a fleet::FleetRow, bars: u16, palette: Palette, now: Timestamp) -> Row<'a> {
    let second = now.as_second();
    let style = match line.health() {
        Health::Live => palette.good(),
        Health::Syncing => palette.waiting(),
        Health::Bad => palette.bad(),
    };
    let (state, objects, seen) = match &line.account {
        // Without the number of forbidden watches, which does not fit.
        Some(account) => {
            let state = account.state().split(',').next().unwrap_or_default().to_owned();
            (state, thousands(account.objects), since(now, &account.last_seen))
        }
        None => ("new".into(), String::new(), String::new()),
    };
    Row::new([
        Cell::from(name),
        Cell::from(Span::styled(state, style)),
        Cell::from(Text::from(objects).right_aligned()),
        Cell::from(Text::from(rate(line.rate.tenths(second))).right_aligned()),
        Cell::from(Span::styled(line.rate.bars(second, usize::from(bars)), palette.focus())),
        Cell::from(Text::from(seen).right_aligned()),
    ])
}

pub(super) fn draw_problems(
    frame: &mut Frame<'_>,
    area: Rect,
    problems: &[(&str, String)],
    palette: Palette,
) {
    if problems.is_empty() {
        return;
    }
    let lines: Vec<_> = problems
        .iter()
        .map(|(account, problem)| {
            Line::from(vec![Span::styled(format!("{account}: "), palette.bad()), Span::raw(problem.as_str())])
        })
        .collect();
    let block = frame_of(&format!("Problems ({})", problems.len()), false, palette);
    frame.render_widget(Paragraph::new(lines).block(block), area);
}
