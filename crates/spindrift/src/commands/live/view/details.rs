//! Description of one object, over the other panes.

use ratatui::{
    Frame,
    layout::Rect,
    text::Line,
    widgets::{Clear, Paragraph},
};

use super::{Palette, frame_of};
use crate::commands::live::details::Details;

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, details: &Details, palette: Palette) {
    let rows = usize::from(area.height.saturating_sub(2));
    let (first, all) = (details.scrolled + 1, details.lines.len());
    let place = if all > rows { format!(", line {first} of {all}") } else { String::new() };
    let block = frame_of(&format!("{}{place}; esc closes it", details.title), true, palette);
    let lines: Vec<_> = details
        .lines
        .iter()
        .skip(details.scrolled)
        .take(rows)
        .map(|line| Line::from(line.as_str()))
        .collect();
    frame.render_widget(Clear, area);
    frame.render_widget(Paragraph::new(lines).block(block), area);
}
