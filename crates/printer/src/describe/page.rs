//! Layout of a description: names and values in two columns, with indented sections.

use std::fmt;

use serde_json::Value;

use crate::{Layout, look::scalar, text::cell_text};

/// Description, or a section of one.
#[derive(Debug, Default)]
pub(super) struct Page {
    entries: Vec<Entry>,
}

#[derive(Debug)]
enum Entry {
    /// Name and its values, one below the other.
    Field(String, Vec<String>),
    Section(String, Page),
    /// Name and table; the first row is the header.
    Table(String, Vec<Vec<String>>),
    /// Name and unformatted lines.
    Text(String, String),
    /// Section of the preceding field.
    Indented(Page),
}

// === impl Page ===

impl Page {
    pub(super) fn field(&mut self, name: &str, value: impl Into<String>) {
        self.entries.push(Entry::Field(clean(name), vec![clean(value)]));
    }

    /// Several values of one name, or `<none>`.
    pub(super) fn values(&mut self, name: &str, values: Vec<String>) {
        let values = if values.is_empty() { vec!["<none>".to_owned()] } else { values };
        self.entries.push(Entry::Field(clean(name), values.into_iter().map(clean).collect()));
    }

    /// Entries of a map, one value each.
    pub(super) fn map(&mut self, name: &str, map: &Value, separator: &str) {
        let entries = map.as_object().into_iter().flatten();
        let text = |value: &Value| scalar(value).unwrap_or_else(|| value.to_string());
        self.values(name, entries.map(|(key, value)| format!("{key}{separator}{}", text(value))).collect());
    }

    pub(super) fn section(&mut self, name: &str, page: Self) {
        if page.entries.is_empty() {
            self.field(name, "<none>");
        } else {
            self.entries.push(Entry::Section(clean(name), page));
        }
    }

    pub(super) fn table(&mut self, name: &str, header: &[&str], rows: Vec<Vec<String>>) {
        let mut all = vec![header.iter().map(ToString::to_string).collect::<Vec<_>>()];
        all.push(header.iter().map(|column| "-".repeat(column.len())).collect());
        // A row is one line, so a message is joined to one line and not cut.
        let cell = |cell: String| clean(cell.lines().collect::<Vec<_>>().join(" "));
        all.extend(rows.into_iter().map(|row| row.into_iter().map(cell).collect()));
        self.entries.push(Entry::Table(clean(name), all));
    }

    pub(super) fn text(&mut self, name: &str, text: &str) {
        self.entries.push(Entry::Text(clean(name), text.to_owned()));
    }

    /// Adds a section to the preceding field.
    pub(super) fn indented(&mut self, page: Self) {
        self.entries.push(Entry::Indented(page));
    }

    /// Column in which the values begin; adjacent fields between two sections share one.
    fn width_at(&self, index: usize) -> usize {
        let (before, after) = self.entries.split_at(index);
        let before = before.iter().rev().take_while(|entry| !is_block(entry));
        let after = after.iter().take_while(|entry| !is_block(entry));
        let name = |entry: &Entry| if let Entry::Field(name, _) = entry { name.chars().count() } else { 0 };
        before.chain(after).map(name).max().unwrap_or_default() + 3
    }

    fn write(&self, depth: usize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let indent = "  ".repeat(depth);
        for (index, entry) in self.entries.iter().enumerate() {
            let width = self.width_at(index);
            match entry {
                Entry::Field(name, values) => {
                    for (line, value) in values.iter().enumerate() {
                        let name = if line == 0 { format!("{name}:") } else { String::new() };
                        writeln!(f, "{}", format!("{indent}{name:<width$}{value}").trim_end())?;
                    }
                }
                Entry::Section(name, page) => {
                    writeln!(f, "{indent}{name}:")?;
                    page.write(depth + 1, f)?;
                }
                Entry::Table(name, rows) => {
                    writeln!(f, "{indent}{name}:")?;
                    let mut layout = Layout::default();
                    layout.fit(rows);
                    for row in rows {
                        writeln!(f, "{indent}  {}", layout.line(row).trim_end())?;
                    }
                }
                Entry::Indented(page) => page.write(depth + 1, f)?,
                Entry::Text(name, text) => {
                    writeln!(f, "{indent}{name}:")?;
                    for line in text.lines() {
                        let line = line.replace('\u{1b}', "^[");
                        writeln!(f, "{}", format!("{indent}  {line}").trim_end())?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// Names and values are untrusted: reduces them to one line without escape sequences.
fn clean(text: impl Into<String>) -> String {
    cell_text(&Value::String(text.into()))
}

/// Separator after the values.
fn is_block(entry: &Entry) -> bool {
    matches!(entry, Entry::Section(..) | Entry::Table(..) | Entry::Text(..))
}

impl fmt::Display for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(0, f)
    }
}
