//! Page of a description: lines with tab-separated cells, aligned as Go's `text/tabwriter` does, which kubectl uses.

use std::fmt;

use serde_json::Value;

use crate::look::{Look, scalar};

/// Spaces of one level.
const INDENT: &str = "  ";
/// Spaces between two columns.
const PADDING: usize = 2;
/// Longest annotation that is printed on one line.
const LONGEST_ANNOTATION: usize = 140;
/// This annotation repeats the whole object.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Text in parts; the columns of each part are aligned separately.
#[derive(Debug, Default)]
pub(crate) struct Page {
    parts: Vec<String>,
}

// === impl Page ===

impl Page {
    /// Writes a text at the end, without a line break; tabs end cells.
    pub(crate) fn put(&mut self, text: impl AsRef<str>) {
        // Values cannot move the cursor.
        let text = text.as_ref().replace('\u{1b}', "^[").replace('\r', "\\r");
        match self.parts.last_mut() {
            Some(part) => part.push_str(&text),
            None => self.parts.push(text),
        }
    }

    /// Writes a line at a level.
    pub(crate) fn line(&mut self, level: usize, text: impl AsRef<str>) {
        self.put(format!("{}{}\n", INDENT.repeat(level), text.as_ref()));
    }

    /// Writes a name and a value.
    pub(crate) fn field(&mut self, level: usize, name: &str, value: impl fmt::Display) {
        self.line(level, format!("{name}:\t{value}"));
    }

    /// Begins a part whose columns are aligned separately.
    pub(crate) fn flush(&mut self) {
        self.parts.push(String::new());
    }

    /// Writes values below each other; `title` contains its own indent.
    pub(crate) fn values(&mut self, title: &str, indent: &str, values: &[String]) {
        self.put(format!("{indent}{title}:\t"));
        if values.is_empty() {
            self.put("<none>\n");
        }
        for (index, value) in values.iter().enumerate() {
            let begin = if index == 0 { String::new() } else { format!("{indent}\t") };
            self.put(format!("{begin}{value}\n"));
        }
    }

    /// Writes a map as `key=value`, sorted.
    pub(crate) fn labels(&mut self, title: &str, indent: &str, labels: &Value) {
        let labels = labels.as_object().into_iter().flatten();
        let labels: Vec<_> =
            labels.map(|(key, value)| format!("{key}={}", scalar(value).unwrap_or_default())).collect();
        self.values(title, indent, &labels);
    }

    /// Writes annotations: long ones and those of several lines below their key.
    pub(crate) fn annotations(&mut self, title: &str, annotations: &Value) {
        self.put(format!("{title}:\t"));
        let annotations = annotations.as_object().into_iter().flatten();
        let mut annotations = annotations.filter(|(key, _)| *key != LAST_APPLIED).peekable();
        if annotations.peek().is_none() {
            self.put("<none>\n");
        }
        for (index, (key, value)) in annotations.enumerate() {
            if index > 0 {
                self.put("\t");
            }
            let value = value.as_str().unwrap_or_default();
            let value = value.strip_suffix('\n').unwrap_or(value);
            if value.len() + key.len() + 2 > LONGEST_ANNOTATION || value.contains('\n') {
                self.put(format!("{key}:\n"));
                for line in value.split('\n') {
                    self.put(format!("\t  {}\n", shorten(line, LONGEST_ANNOTATION - 2, "...")));
                }
            } else {
                self.put(format!("{key}: {value}\n"));
            }
        }
    }

    /// Writes labels and annotations of an object.
    pub(crate) fn metadata(&mut self, object: &Value) {
        self.labels("Labels", "", object.at("/metadata/labels"));
        self.annotations("Annotations", object.at("/metadata/annotations"));
    }
}

impl fmt::Display for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.parts.iter().try_for_each(|part| f.write_str(&aligned(part)))
    }
}

/// Cuts a text to a number of bytes.
pub(super) fn shorten(text: &str, length: usize, end: &str) -> String {
    if text.len() <= length {
        return text.to_owned();
    }
    let length = (0..=length).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
    format!("{}{end}", &text[..length])
}

/// Aligns the cells of adjacent lines. A cell ends with a tab; the text after the last tab of a line belongs to no column.
fn aligned(text: &str) -> String {
    let lines: Vec<Vec<&str>> = text.split('\n').map(|line| line.split('\t').collect()).collect();
    let mut out = String::new();
    align(&lines, &mut Vec::new(), &mut out);
    // The text after the last line break is no line.
    out.pop();
    out
}

/// Writes lines whose first columns have these widths; aligns each block of lines that have a further column.
fn align(lines: &[Vec<&str>], widths: &mut Vec<usize>, out: &mut String) {
    let column = widths.len();
    let has_column = |line: &Vec<&str>| line.len() > column + 1;
    let mut rest = lines;
    while !rest.is_empty() {
        let begin = rest.iter().position(has_column).unwrap_or(rest.len());
        let (before, block) = rest.split_at(begin);
        for line in before {
            write_line(line, widths, out);
        }
        let end = block.iter().position(|line| !has_column(line)).unwrap_or(block.len());
        let (block, after) = block.split_at(end);
        if !block.is_empty() {
            let longest = block.iter().map(|line| line[column].chars().count() + PADDING).max();
            widths.push(longest.unwrap_or_default());
            align(block, widths, out);
            widths.pop();
        }
        rest = after;
    }
}

fn write_line(cells: &[&str], widths: &[usize], out: &mut String) {
    for (index, cell) in cells.iter().enumerate() {
        out.push_str(cell);
        if let Some(width) = widths.get(index) {
            out.extend(std::iter::repeat_n(' ', width.saturating_sub(cell.chars().count())));
        }
    }
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn cells_are_aligned_in_blocks_of_lines() {
        let mut page = Page::default();
        page.field(0, "Name", "web");
        page.labels("Labels", "", &json!({ "b": "2", "a": "1" }));
        page.line(0, "Containers:");
        page.field(1, "Long name", "x");
        page.line(1, "A:\tb\tc");
        page.line(0, "Type\tStatus \tReason");
        page.flush();
        page.field(0, "E", "");
        let expected = "\
Name:    web
Labels:  a=1
         b=2
Containers:
  Long name:  x
  A:          b        c
Type          Status   Reason
E:  
";
        assert_eq!(page.to_string(), expected);
    }

    #[test]
    fn long_annotations_are_below_their_key() {
        let mut page = Page::default();
        page.annotations("Annotations", &json!({ "a": "1", "two": "x\ny\n", LAST_APPLIED: "{}" }));
        assert_eq!(
            page.to_string(),
            "Annotations:  a: 1\n              two:\n                x\n                y\n"
        );
        let mut none = Page::default();
        none.annotations("Annotations", &json!({ LAST_APPLIED: "{}" }));
        assert_eq!(none.to_string(), "Annotations:  <none>\n");
    }
}
