//! Tables on narrow terminals: reduces the gaps, then omits less important columns, then shortens names, so that lines do
//! not wrap.

use crate::Layout;

/// Columns of a table that are shown, and the maximum length of its lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fit {
    columns: Vec<usize>,
    /// Names of the omitted columns, in their order.
    hidden: Vec<String>,
    width: usize,
    tight: bool,
    /// Column of names, and their maximum length.
    shortened: Option<(usize, usize)>,
}

/// Columns with the identity and the state of an object; never omitted, except for [`LAST_TO_GO`].
const KEPT: [&str; 10] =
    ["ACCOUNT", "NAMESPACE", "NAME", "STATUS", "READY", "AGE", "REASON", "OBJECT", "MESSAGE", "PORT(S)"];
/// Order in which those columns are omitted if all others are.
const LAST_TO_GO: [&str; 2] = ["AGE", "PORT(S)"];
/// Minimum width of a last column that is cut.
const LEFT_OF_LAST: usize = 20;
/// Longest usual status, which may appear later in a watch.
const LONGEST_STATUS: &str = "ContainerCreating";
/// Minimum length of a shortened name.
const LEFT_OF_NAME: usize = 16;
/// End of a shortened name that is kept: the generated part, by which the pods of a workload differ.
const END_OF_NAME: usize = 6;

// === impl Fit ===

impl Fit {
    /// Chooses the columns for these rows, the first of which is the header.
    pub fn choose(rows: &[Vec<String>], width: usize) -> Self {
        let header = rows.first().map(Vec::as_slice).unwrap_or_default();
        let columns = (0..header.len()).collect();
        let mut fit = Self { columns, hidden: Vec::new(), width, tight: false, shortened: None };
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
        let is_hidden = |column: &usize| !fit.columns.contains(column);
        fit.hidden = (0..header.len()).filter(is_hidden).map(|column| name(&column).to_owned()).collect();
        fit.shorten(rows);
        fit
    }

    /// Shortens the names if the columns that are left do not fit.
    fn shorten(&mut self, rows: &[Vec<String>]) {
        let over = self.needs(rows).saturating_sub(self.width);
        let header = rows.first().map(Vec::as_slice).unwrap_or_default();
        let Some(column) = header.iter().position(|name| name == "NAME").filter(|_| over > 0) else { return };
        let longest = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
        let longest = longest.unwrap_or_default();
        // If it is the last column, it is cut anyway.
        if self.columns.last() != Some(&column) && longest > LEFT_OF_NAME {
            self.shortened = Some((column, longest.saturating_sub(over).max(LEFT_OF_NAME)));
        }
    }

    /// Names of the omitted columns.
    pub fn hidden(&self) -> &[String] {
        &self.hidden
    }

    /// Layout of the shown columns.
    pub fn layout(&self) -> Layout {
        if self.tight { Layout::tight() } else { Layout::default() }
    }

    /// Shown cells of a row.
    pub fn row(&self, row: &[String]) -> Vec<String> {
        let cell = |column: &usize| {
            let cell = row.get(*column).cloned().unwrap_or_default();
            match self.shortened {
                Some((shortened, length)) if shortened == *column => middle_cut(&cell, length),
                _ => cell,
            }
        };
        self.columns.iter().map(cell).collect()
    }

    /// Width of the terminal.
    pub fn width(&self) -> usize {
        self.width
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

/// Shortens a text in its middle.
fn middle_cut(text: &str, length: usize) -> String {
    let count = text.chars().count();
    if count <= length {
        return text.to_owned();
    }
    let begin = text.chars().take(length.saturating_sub(END_OF_NAME + 1));
    begin.chain(['…']).chain(text.chars().skip(count - END_OF_NAME)).collect()
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
        assert_eq!(shown(&pods, 68), "ACCOUNT NAMESPACE NAME READY STATUS");
        assert_eq!(shown(&pods, 20), "ACCOUNT NAMESPACE NAME READY STATUS", "at least");
        assert_eq!(Fit::choose(&pods, 68).hidden(), ["RESTARTS", "AGE"]);
        assert!(Fit::choose(&pods, 200).hidden().is_empty());
    }

    #[test]
    fn ports_of_services_are_more_important_than_addresses() {
        let services = rows(
            "ACCOUNT NAMESPACE NAME TYPE CLUSTER-IP EXTERNAL-IP PORT(S) AGE
             eu-west-1 shop checkout-gateway ClusterIP 10.96.200.100 <none> 8080/TCP,9090/TCP 5m10s",
        );
        assert_eq!(shown(&services, 80), "ACCOUNT NAMESPACE NAME TYPE PORT(S) AGE");
    }

    #[test]
    fn names_are_shortened_only_if_the_important_columns_do_not_fit() {
        let pods = rows(
            "ACCOUNT NAMESPACE NAME READY STATUS
             eu-west-1 shop recommendations-canary-7d9c5b8f6-abcde 1/1 Running",
        );
        let fit = Fit::choose(&pods, 72);
        let row = fit.row(&pods[1]);
        assert_eq!(row[2], "recommendations-canar…-abcde");
        let line = {
            let mut layout = fit.layout();
            layout.fit(std::slice::from_ref(&row));
            layout.line(&row)
        };
        assert!(line.trim_end().chars().count() <= 72, "{line}");
        assert_eq!(Fit::choose(&pods, 100).row(&pods[1]), pods[1]);
    }

    #[test]
    fn a_long_last_column_is_cut() {
        let mut events = rows("LAST TYPE MESSAGE\n5m Warning x");
        events[1][2] = "Back-off restarting failed container in pod".to_owned();
        let fit = Fit::choose(&events, 40);
        assert_eq!(fit.row(&events[0]).len(), 3);
        let row = fit.row(&events[1]);
        let mut layout = Layout::default();
        layout.fit(std::slice::from_ref(&row));
        assert_eq!(
            layout.painted(&row, &[], Some(fit.width())),
            "5m    Warning   Back-off restarting fai…\n"
        );
    }
}
