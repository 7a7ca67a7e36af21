//! Lists of accounts, agents and so on, as a table, JSON, YAML or names; with `--watch`, again on each change.

use std::{collections::HashMap, io::Write, time::Duration};

use clap::{Args, ValueEnum};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;
use spindrift_printer::{Layout, cell_text, tones};

use super::{Context, get::yaml};
use crate::hub::HubError;

/// Value of `--output`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListFormat {
    Wide,
    Json,
    Yaml,
    Name,
}

#[derive(Debug, Args)]
pub(crate) struct ListFlags {
    /// Output format. Defaults to a table.
    #[arg(short, long, value_enum, value_name = "FORMAT")]
    output: Option<ListFormat>,
    /// When using the default output format, don't print headers (default print headers).
    #[arg(long)]
    no_headers: bool,
}

/// Item of a list.
pub(crate) trait ListItem: Serialize {
    /// All columns; those after [`Self::NARROW`] are for `-o wide` only.
    const COLUMNS: &[&str];
    /// Number of columns without `-o wide`.
    const NARROW: usize;

    fn name(&self) -> String;

    /// Identity of an item between two responses, where names are not unique.
    fn key(&self) -> String {
        self.name()
    }

    /// One cell for each column.
    fn cells(&self, now: Timestamp) -> Vec<String>;

    /// Text of the fields whose changes `--watch` prints.
    fn change_marker(&self) -> String;
}

/// Prints lists; columns keep their widths between two prints.
pub(crate) struct ListPrinter {
    show: ListFlags,
    /// Set if states may be colored.
    color: bool,
    layout: Layout,
    headed: bool,
}

/// Interval of `--watch`: short enough for a user, and cheap for the hub.
const PACE: Duration = Duration::from_secs(2);

// === impl ListFlags ===

impl ListFlags {
    /// Whether no output format was requested.
    pub(crate) fn is_table(&self) -> bool {
        self.output.is_none()
    }
}

// === impl ListPrinter ===

impl ListPrinter {
    pub(crate) fn new(show: ListFlags, context: &Context) -> Self {
        Self { show, color: context.color, layout: Layout::default(), headed: false }
    }

    /// Prints a whole list, or a note on stderr if it is empty.
    pub(crate) fn print<T: ListItem>(
        &mut self,
        items: &[T],
        nothing: &str,
        context: &Context,
    ) -> anyhow::Result<()> {
        if items.is_empty() && matches!(self.show.output, None | Some(ListFormat::Wide | ListFormat::Name)) {
            context.note(nothing);
            return Ok(());
        }
        let text = match self.show.output {
            Some(ListFormat::Json) => format!("{}\n", serde_json::to_string_pretty(items)?),
            Some(ListFormat::Yaml) => yaml(&items)?,
            Some(ListFormat::Name) => items.iter().map(|item| item.name() + "\n").collect(),
            None | Some(ListFormat::Wide) => self.table(items),
        };
        Ok(std::io::stdout().lock().write_all(text.as_bytes())?)
    }

    /// Prints a list, then its new and changed items; returns only if the hub rejects the request.
    pub(crate) async fn watch<T: ListItem>(
        &mut self,
        ask: impl AsyncFn() -> Result<Vec<T>, HubError>,
        context: &Context,
    ) -> anyhow::Result<()> {
        let mut known: HashMap<String, String> = HashMap::new();
        let mut away = false;
        let mut first = true;
        loop {
            match ask().await {
                Ok(items) => {
                    if std::mem::take(&mut away) {
                        context.note("reconnected to the hub");
                    }
                    self.print_each(&changed(&mut known, items))?;
                    first = false;
                }
                Err(error) if first || !error.is_retryable() => return Err(error.into()),
                Err(error) => {
                    if !std::mem::replace(&mut away, true) {
                        context.note(format_args!("{error}; retrying"));
                    }
                }
            }
            tokio::time::sleep(PACE).await;
        }
    }

    /// Prints each item of a watch as a separate document.
    fn print_each<T: ListItem>(&mut self, items: &[T]) -> anyhow::Result<()> {
        let mut out = std::io::stdout().lock();
        match self.show.output {
            Some(ListFormat::Json) => {
                for item in items {
                    writeln!(out, "{}", serde_json::to_string(item)?)?;
                }
            }
            Some(ListFormat::Yaml) => {
                for item in items {
                    write!(out, "---\n{}", yaml(item)?)?;
                }
            }
            Some(ListFormat::Name) => {
                for item in items {
                    writeln!(out, "{}", item.name())?;
                }
            }
            None | Some(ListFormat::Wide) => out.write_all(self.table(items).as_bytes())?,
        }
        Ok(out.flush()?)
    }

    fn table<T: ListItem>(&mut self, items: &[T]) -> String {
        let columns = if self.show.output == Some(ListFormat::Wide) { T::COLUMNS.len() } else { T::NARROW };
        let now = Timestamp::now();
        let mut rows = Vec::new();
        if !std::mem::replace(&mut self.headed, true) && !self.show.no_headers {
            rows.push(T::COLUMNS.iter().take(columns).map(ToString::to_string).collect());
        }
        let clean = |cell| cell_text(&Value::String(cell));
        rows.extend(items.iter().map(|item| item.cells(now).into_iter().take(columns).map(clean).collect()));
        if !self.color {
            return self.layout.lines(&rows);
        }
        let header: Vec<_> = T::COLUMNS.iter().map(ToString::to_string).collect();
        self.layout.fit(&rows);
        rows.iter().map(|row| self.layout.painted(row, &tones(&header, row), None)).collect()
    }
}

/// Returns the new and changed items by key, and stores the current ones in `known`.
fn changed<T: ListItem>(known: &mut HashMap<String, String>, items: Vec<T>) -> Vec<T> {
    let before = std::mem::take(known);
    known.extend(items.iter().map(|item| (item.key(), item.change_marker())));
    items.into_iter().filter(|item| before.get(&item.key()) != Some(&item.change_marker())).collect()
}

/// Cell of an optional value.
pub(crate) fn or_none(text: Option<&str>) -> String {
    text.filter(|text| !text.is_empty()).unwrap_or("<none>").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize)]
    struct Fruit(&'static str, u32);

    impl ListItem for Fruit {
        const COLUMNS: &[&str] = &["NAME", "COUNT", "COLOUR"];
        const NARROW: usize = 2;
        fn name(&self) -> String {
            self.0.into()
        }
        fn cells(&self, _: Timestamp) -> Vec<String> {
            vec![self.0.into(), self.1.to_string(), "red".into()]
        }
        fn change_marker(&self) -> String {
            self.1.to_string()
        }
    }

    #[test]
    fn a_table_has_one_header_and_wide_ones_all_columns() {
        let context = Context { hub: None, quiet: true, color: false };
        let mut narrow = ListPrinter::new(ListFlags { output: None, no_headers: false }, &context);
        assert_eq!(narrow.table(&[Fruit("apple", 1)]), "NAME    COUNT\napple   1\n");
        assert_eq!(narrow.table(&[Fruit("fig", 2)]), "fig     2\n");
        let mut wide =
            ListPrinter::new(ListFlags { output: Some(ListFormat::Wide), no_headers: true }, &context);
        assert_eq!(wide.table(&[Fruit("apple", 1)]), "apple   1     red\n");
        assert_eq!(wide.table(&[Fruit("\u{1b}[2J\nx", 1)]), "^[[2J...   1     red\n");
    }

    #[test]
    fn only_new_and_changed_items_are_printed_again() {
        let mut known = HashMap::new();
        let mut told = |items| changed(&mut known, items).iter().map(ListItem::name).collect::<Vec<_>>();
        assert_eq!(told(vec![Fruit("apple", 1), Fruit("fig", 1)]), ["apple", "fig"]);
        assert_eq!(told(vec![Fruit("apple", 1), Fruit("fig", 2)]), ["fig"]);
        assert!(told(vec![Fruit("apple", 1)]).is_empty());
        assert_eq!(told(vec![Fruit("apple", 1), Fruit("fig", 2)]), ["fig"], "it was away, and is back");
    }
}
