//! Rows as text, in kubectl's layout: columns of at least six characters, three spaces between them.
//!
//! Widths only grow: the first rows, usually a page, set them, and later rows widen the columns if needed.

use serde_json::Value;

use crate::Tone;

const MIN_WIDTH: usize = 6;
const PADDING: usize = 3;

/// Current widths of the columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    widths: Vec<usize>,
    least: usize,
    padding: usize,
}

/// Cell as text: one line, no escape sequences.
pub fn cell_text(cell: &Value) -> String {
    match cell {
        Value::Null => String::new(),
        Value::String(text) => one_line(text),
        other => crate::jsonpath::plain(other),
    }
}

/// First line of a text, without escape sequences.
fn one_line(text: &str) -> String {
    let (line, cut) = match text.find(['\n', '\r', '\u{c}']) {
        Some(end) => (&text[..end], "..."),
        None => (text, ""),
    };
    // A tab would end the cell.
    let mut line = line.replace('\u{1b}', "^[").replace('\t', " ");
    line.push_str(cut);
    line
}

// === impl Layout ===

impl Default for Layout {
    fn default() -> Self {
        Self { widths: Vec::new(), least: MIN_WIDTH, padding: PADDING }
    }
}

impl Layout {
    /// Layout for narrow terminals: minimal columns with one space between them.
    pub fn tight() -> Self {
        Self { widths: Vec::new(), least: 0, padding: 1 }
    }

    /// Widens the columns for these rows.
    pub fn fit(&mut self, rows: &[Vec<String>]) {
        for row in rows {
            if self.widths.len() < row.len() {
                self.widths.resize(row.len(), self.least);
            }
            for (width, cell) in self.widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count() + self.padding);
            }
        }
    }

    /// Formats one row, with a line break; the last cell is not padded.
    pub fn line(&self, row: &[String]) -> String {
        let mut line = String::new();
        for (index, cell) in row.iter().enumerate() {
            line.push_str(cell);
            if index + 1 < row.len() {
                let width = self.width_of(index);
                line.extend(std::iter::repeat_n(' ', width.saturating_sub(cell.chars().count())));
            }
        }
        line.push('\n');
        line
    }

    /// Formats one row with colors, cut to a width if there is one.
    pub fn painted(&self, row: &[String], tones: &[Option<Tone>], width: Option<usize>) -> String {
        let mut line: Vec<char> = self.line(row).trim_end_matches('\n').chars().collect();
        let is_blank = |rest: &[char]| rest.iter().all(|c| *c == ' ');
        if let Some(width) = width.filter(|width| line.get(*width..).is_some_and(|rest| !is_blank(rest))) {
            line.truncate(width.saturating_sub(1));
            line.truncate(line.iter().rposition(|c| *c != ' ').map_or(0, |last| last + 1));
            line.push('…');
        }
        let (mut text, mut begin) = (String::new(), 0);
        for (index, cell) in row.iter().enumerate() {
            let is_last = index + 1 == row.len();
            let end =
                begin + if is_last { line.len() } else { self.width_of(index).max(cell.chars().count()) };
            let part = line.get(begin..end.min(line.len())).unwrap_or_default();
            begin = end;
            match tones.get(index).copied().flatten() {
                Some(tone) if !part.is_empty() => {
                    let (shown, padding) = part.split_at(cell.chars().count().min(part.len()));
                    text.push_str(tone.start());
                    text.extend(shown);
                    text.push_str(Tone::END);
                    text.extend(padding);
                }
                _ => text.extend(part),
            }
        }
        text.push('\n');
        text
    }

    fn width_of(&self, column: usize) -> usize {
        self.widths.get(column).copied().unwrap_or(self.least)
    }

    /// Formats some rows, and widens the columns for them.
    pub fn lines(&mut self, rows: &[Vec<String>]) -> String {
        self.fit(rows);
        rows.iter().map(|row| self.line(row)).collect()
    }

    /// Width of a line.
    pub fn width(&self) -> usize {
        self.widths.iter().sum::<usize>().saturating_sub(self.padding)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn row(cells: &[&str]) -> Vec<String> {
        cells.iter().map(|cell| (*cell).to_owned()).collect()
    }

    #[test]
    fn columns_are_padded_and_keep_their_widths() {
        let mut layout = Layout::default();
        let text =
            layout.lines(&[row(&["NAME", "A", "AGE"]), row(&["web-1", "", "5m"]), row(&["ü", "1", ""])]);
        assert_eq!(text, "NAME    A     AGE\nweb-1         5m\nü       1     \n");
        assert_eq!(layout.lines(&[row(&["x", "2", "1s"])]), "x       2     1s\n");
        assert_eq!(layout.lines(&[row(&["longer-name", "2", "1s"])]), "longer-name   2     1s\n");
        assert_eq!(layout.lines(&[row(&["x", "2", "1s"])]), "x             2     1s\n");
    }

    #[test]
    fn colors_change_no_width_and_survive_a_cut() {
        let mut layout = Layout::default();
        let rows = [row(&["NAME", "READY", "STATUS"]), row(&["web-1", "0/1", "CrashLoopBackOff"])];
        layout.fit(&rows);
        let tones = [None, Some(Tone::Bad), Some(Tone::Bad)];
        let plain = layout.line(&rows[1]);
        let painted = layout.painted(&rows[1], &tones, None);
        assert_eq!(painted, "web-1   \u{1b}[31m0/1\u{1b}[0m     \u{1b}[31mCrashLoopBackOff\u{1b}[0m\n");
        assert_eq!(painted.replace("\u{1b}[31m", "").replace("\u{1b}[0m", ""), plain);
        assert_eq!(layout.painted(&rows[1], &[], None), plain);
        assert_eq!(layout.painted(&rows[1], &[], Some(20)), "web-1   0/1     Cra…\n");
        assert_eq!(
            layout.painted(&rows[1], &tones, Some(20)),
            "web-1   \u{1b}[31m0/1\u{1b}[0m     \u{1b}[31mCra…\u{1b}[0m\n"
        );
        assert_eq!(layout.painted(&rows[1], &[], Some(200)), plain);
    }

    #[test]
    fn cells_are_one_line_without_escape_sequences() {
        for (cell, expected) in [
            (json!("a\nb"), "a..."),
            (json!("\u{1b}[31mred\tx"), "^[[31mred x"),
            (json!(null), ""),
            (json!(3), "3"),
            (json!(true), "true"),
        ] {
            assert_eq!(cell_text(&cell), expected);
        }
    }
}
