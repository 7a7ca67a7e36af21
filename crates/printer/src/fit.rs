//! Tables on narrow terminals: reduces the gaps, then omits less important columns, so that lines do not wrap.

use crate::Layout;

/// Columns of a table that are shown, and the maximum length of its lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fit {
    columns: Vec<usize>,
    width: usize,
    tight: bool,
}

/// Columns with the identity and the state of an object; omitted last.
const KEPT: [&str; 9] =
    ["ACCOUNT", "NAMESPACE", "NAME", "STATUS", "READY", "AGE", "REASON", "OBJECT", "MESSAGE"];
/// Order in which those columns are omitted if all others are.
const LAST_TO_GO: [&str; 2] = ["READY", "AGE"];
/// Minimum width of a last column that is cut.
const LEFT_OF_LAST: usize = 20;
/// Longest usual status, which may appear later in a watch.
const LONGEST_STATUS: &str = "ContainerCreating";

// === impl Fit ===

impl Fit {
    /// Chooses the columns for these rows, the first of which is the header.
    pub fn choose(rows: &[Vec<String>], width: usize) -> Self {
        let header = rows.first().map(Vec::as_slice).unwrap_or_default();
        let mut fit = Self { columns: (0..header.len()).collect(), width, tight: false };
        fit.tight = fit.needs(rows) > width;
        let name = |column: &usize| header.get(*column).map(String::as_str).unwrap_or_default();
        while fit.needs(rows) > width {
            let others = fit.columns.iter().rposition(|column| !KEPT.contains(&name(column)));
            let last =
                || LAST_TO_GO.iter().find_map(|gone| fit.columns.iter().position(|c| name(c) == *gone));
            match others.or_else(last) {
                Some(gone) => drop(fit.columns.remove(gone)),
                None => break,
            }
        }
        fit
    }

    /// Layout of the shown columns.
    pub fn layout(&self) -> Layout {
        if self.tight { Layout::tight() } else { Layout::default() }
    }

    /// Shown cells of a row.
    pub fn row(&self, row: &[String]) -> Vec<String> {
        self.columns.iter().map(|column| row.get(*column).cloned().unwrap_or_default()).collect()
    }

    /// Cuts a line to the width of the terminal.
    pub fn line(&self, line: &str) -> String {
        match line.trim_end().char_indices().nth(self.width) {
            Some(_) => {
                let cut: String = line.chars().take(self.width.saturating_sub(1)).collect();
                format!("{}…\n", cut.trim_end())
            }
            None => line.to_owned(),
        }
    }

    /// Required width of the terminal, with the last column cut.
    fn needs(&self, rows: &[Vec<String>]) -> usize {
        let mut shown: Vec<_> = rows.iter().map(|row| self.row(row)).collect();
        let header = rows.first().map(|header| self.row(header)).unwrap_or_default();
        let longest =
            header.into_iter().map(|name| if name == "STATUS" { LONGEST_STATUS.to_owned() } else { name });
        shown.push(longest.collect());
        let longest_last = shown.iter().filter_map(|row| row.last()).map(|cell| cell.chars().count()).max();
        let last = longest_last.unwrap_or_default();
        let mut layout = self.layout();
        layout.fit(&shown);
        layout.width().saturating_sub(last.saturating_sub(LEFT_OF_LAST))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str) -> Vec<Vec<String>> {
        text.lines().map(|line| line.split_whitespace().map(str::to_owned).collect()).collect()
    }

    fn shown(rows: &[Vec<String>], width: usize) -> String {
        Fit::choose(rows, width).row(&rows[0]).join(" ")
    }

    #[test]
    fn less_important_columns_are_omitted_first() {
        let pods = rows(
            "ACCOUNT NAMESPACE NAME READY STATUS RESTARTS AGE
             eu-west-1 shop cart-7d9c5b8f6-abcde 1/1 Running 0 5m10s",
        );
        assert_eq!(shown(&pods, 200), "ACCOUNT NAMESPACE NAME READY STATUS RESTARTS AGE");
        assert_eq!(shown(&pods, 85), "ACCOUNT NAMESPACE NAME READY STATUS RESTARTS AGE", "closer together");
        assert_eq!(shown(&pods, 78), "ACCOUNT NAMESPACE NAME READY STATUS AGE");
        assert_eq!(shown(&pods, 68), "ACCOUNT NAMESPACE NAME STATUS AGE");
        assert_eq!(shown(&pods, 20), "ACCOUNT NAMESPACE NAME STATUS", "at least");
    }

    #[test]
    fn a_long_last_column_is_cut() {
        let mut events = rows("LAST TYPE MESSAGE\n5m Warning x");
        events[1][2] = "Back-off restarting failed container in pod".to_owned();
        let fit = Fit::choose(&events, 40);
        assert_eq!(fit.row(&events[0]).len(), 3);
        let line = Layout::default().lines(&[fit.row(&events[1])]);
        assert_eq!(fit.line(&line), "5m    Warning   Back-off restarting fai…\n");
        assert_eq!(fit.line("short\n"), "short\n");
    }
}
