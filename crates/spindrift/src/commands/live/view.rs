//! Drawing of the state: two columns on wide terminals, else one above the other.

mod changes;
mod details;
mod fleet;
mod help;
#[cfg(test)]
mod tests;

use jiff::Timestamp;
use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    style::{Color, Modifier, Style},
    text::{Line, Span},
    widgets::{Block, BorderType, Paragraph},
};

use super::state::{Pane, State};

/// Styles, with or without colors.
#[derive(Debug, Clone, Copy)]
pub(super) struct Palette {
    color: bool,
}

/// Styles without colors.
const STRONG: Style = Style::new().add_modifier(Modifier::BOLD);

/// Smallest usable terminal.
const SMALLEST: (u16, u16) = (60, 12);

/// Width from which two columns are used.
const TWO_COLUMNS: u16 = 140;

/// Maximum number of problem lines, and the height below which none are shown: the states show them too.
const PROBLEMS: u16 = 6;
const ROOM_FOR_PROBLEMS: u16 = 14;

pub(super) fn draw(frame: &mut Frame<'_>, state: &State, palette: Palette, now: Timestamp) {
    let area = frame.area();
    if area.width < SMALLEST.0 || area.height < SMALLEST.1 {
        let (width, height) = SMALLEST;
        frame.render_widget(
            Paragraph::new(format!("the terminal is too small: at least {width}x{height} is needed")),
            area,
        );
        return;
    }
    let banner = u16::from(state.lost.is_some());
    let rows = [Constraint::Length(1), Constraint::Length(banner), Constraint::Min(0), Constraint::Length(1)];
    let [title, lost, body, foot] = Layout::vertical(rows).areas(area);
    draw_title(frame, title, state, palette, now);
    draw_banner(frame, lost, state, palette, now);
    draw_foot(frame, foot, state, palette);

    let problems = state.fleet.problems();
    let lines = u16::try_from(problems.len()).unwrap_or(u16::MAX).min(PROBLEMS);
    let hidden = problems.is_empty() || body.height < ROOM_FOR_PROBLEMS;
    let problem_rows = if hidden { 0 } else { lines.min(body.height / 4).max(1) + 2 };
    let fleet_rows = u16::try_from(state.fleet.len()).unwrap_or(u16::MAX).max(1).saturating_add(3);
    let (fleet, problem_area, changes) = if area.width >= TWO_COLUMNS {
        let [left, right] = Layout::horizontal([Constraint::Percentage(45), Constraint::Fill(1)]).areas(body);
        let [fleet, problems] =
            Layout::vertical([Constraint::Min(4), Constraint::Length(problem_rows)]).areas(left);
        (fleet, problems, right)
    } else {
        let fleet_rows = fleet_rows.min(body.height.saturating_sub(problem_rows) / 2).max(4);
        let rows = [Constraint::Length(fleet_rows), Constraint::Length(problem_rows), Constraint::Min(3)];
        let [fleet, problems, changes] = Layout::vertical(rows).areas(body);
        (fleet, problems, changes)
    };
    fleet::draw(frame, fleet, state, palette, now);
    fleet::draw_problems(frame, problem_area, &problems, palette);
    changes::draw(frame, changes, state, palette);
    if let Some(opened) = &state.details {
        details::draw(frame, body, opened, palette);
    }
    if state.help {
        help::draw(frame, area, palette);
    }
}

fn draw_title(frame: &mut Frame<'_>, area: Rect, state: &State, palette: Palette, now: Timestamp) {
    let clock = now.to_zoned(state.zone.clone()).strftime("%H:%M:%S").to_string();
    let rate = rate(state.fleet.total.tenths(now.as_second()));
    let accounts = match state.fleet.len() {
        1 => "1 account".to_owned(),
        many => format!("{many} accounts"),
    };
    let objects = thousands(state.fleet.objects());
    let numbers = format!("{accounts}  {objects} objects  {rate} changes/s  {clock} ");
    let [left, right] = Layout::horizontal([
        Constraint::Fill(1),
        Constraint::Length(u16::try_from(numbers.chars().count()).unwrap_or(u16::MAX)),
    ])
    .areas(area);
    let name = Span::styled(" spindrift live ", palette.title());
    let hub = Span::styled(format!(" {}  ", state.hub), palette.dim());
    // A cut URL would be misleading.
    let fits = name.width() + hub.width() <= usize::from(left.width);
    frame.render_widget(Line::from(if fits { vec![name, hub] } else { vec![name] }), left);
    frame.render_widget(Line::from(numbers).right_aligned(), right);
}

fn draw_banner(frame: &mut Frame<'_>, area: Rect, state: &State, palette: Palette, now: Timestamp) {
    if let Some((since, why)) = &state.lost {
        let away = spindrift_printer::human_duration(now.duration_since(*since));
        let text = format!(" reconnecting to {} for {away}: {why}", state.hub);
        frame.render_widget(Paragraph::new(text).style(palette.alarm()), area);
    }
}

fn draw_foot(frame: &mut Frame<'_>, area: Rect, state: &State, palette: Palette) {
    if state.typing {
        let text = format!(" filter: {}▏  enter keeps it, esc clears it", state.filter);
        frame.render_widget(Paragraph::new(text).style(STRONG), area);
        return;
    }
    let keys = [
        ("q", "quit"),
        ("↑↓", "move"),
        ("⏎", if state.pane == Pane::Changes { "open the object" } else { "only this account" }),
        ("tab", "pane"),
        ("/", "filter"),
        ("p", "pause"),
        ("?", "help"),
    ];
    let mut spans = Vec::new();
    for (key, meaning) in keys {
        spans.push(Span::styled(format!(" {key}"), STRONG));
        spans.push(Span::styled(format!(" {meaning} "), palette.dim()));
    }
    frame.render_widget(Line::from(spans), area);
}

/// Border of a pane; highlights the focused one.
fn frame_of<'a>(title: &str, focused: bool, palette: Palette) -> Block<'a> {
    let style = if focused { palette.focus() } else { palette.dim() };
    Block::bordered()
        .border_type(BorderType::Rounded)
        .border_style(style)
        .title(Span::styled(format!(" {title} "), if focused { STRONG } else { Style::new() }))
}

/// Formats tenths as `0`, `0.4`, `3.2`, `1,204`.
fn rate(tenths: u64) -> String {
    match tenths {
        0 => "0".into(),
        1..1000 => format!("{}.{}", tenths / 10, tenths % 10),
        _ => thousands(tenths / 10),
    }
}

/// Formats a number as `1,234,567`.
fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

// === impl Palette ===

impl Palette {
    pub(super) fn new(color: bool) -> Self {
        Self { color }
    }

    fn tinted(self, color: Color) -> Style {
        if self.color { Style::new().fg(color) } else { Style::new() }
    }

    fn title(self) -> Style {
        self.tinted(Color::Cyan).add_modifier(Modifier::BOLD)
    }

    fn dim(self) -> Style {
        self.tinted(Color::DarkGray)
    }

    fn focus(self) -> Style {
        self.tinted(Color::Cyan)
    }

    /// Row at the cursor. Not reversed: bars and colored cells would become solid blocks.
    fn cursor(self) -> Style {
        let strong = Style::new().add_modifier(Modifier::BOLD);
        if self.color { strong.bg(Color::Indexed(236)) } else { strong }
    }

    fn good(self) -> Style {
        self.tinted(Color::Green)
    }

    fn waiting(self) -> Style {
        self.tinted(Color::Yellow)
    }

    fn bad(self) -> Style {
        self.tinted(Color::Red).add_modifier(Modifier::BOLD)
    }

    fn alarm(self) -> Style {
        if self.color {
            Style::new().fg(Color::White).bg(Color::Red).add_modifier(Modifier::BOLD)
        } else {
            Style::new().add_modifier(Modifier::REVERSED)
        }
    }
}
