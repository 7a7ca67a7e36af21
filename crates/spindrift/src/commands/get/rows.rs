//! Tables, one per kind, as their pages come.

use std::io::Write;

use jiff::Timestamp;
use spindrift_printer::{CustomColumns, Fit, KindRef, Layout, Printer, Table, TableOptions};

use super::{
    PrintFlags, definition,
    documents::marked,
    fetch::FetchedObject,
    output::Output,
    target::{QueryFlags, Target},
};
use crate::hub::Client;

/// Writes rows to stdout.
pub(crate) struct Rows<'a> {
    output: Output,
    show: &'a PrintFlags,
    query: &'a QueryFlags,
    /// The terminal's, if it is one and lines may be cut.
    width: Option<usize>,
    table: Option<Columns>,
    layout: Layout,
    fit: Option<Fit>,
    /// Whether a table had a column for namespaces: then, as kubectl does it, all that follow have.
    namespace: bool,
    /// Whether the header of this table has been written.
    headed: bool,
    /// Whether anything has been written at all.
    any: bool,
}

/// What the cells of a row are.
enum Columns {
    OfKind(Table),
    Custom(CustomColumns),
}

// === impl Rows ===

impl<'a> Rows<'a> {
    pub(crate) fn new(
        output: Output,
        show: &'a PrintFlags,
        query: &'a QueryFlags,
        width: Option<usize>,
    ) -> Self {
        // Who wants it wide gets it all.
        let width = width.filter(|_| matches!(output, Output::Table));
        let (table, layout) = (None, Layout::default());
        Self {
            output,
            show,
            query,
            width,
            table,
            layout,
            fit: None,
            namespace: false,
            headed: false,
            any: false,
        }
    }

    /// Begins the table of a kind.
    pub(crate) async fn begin(&mut self, hub: &Client, target: &Target, several: bool) -> anyhow::Result<()> {
        self.headed = false;
        self.fit = None;
        self.layout = Layout::default();
        self.namespace |= self.query.shows_namespace(&target.resource);
        self.table = Some(match &self.output {
            Output::CustomColumns(columns) => Columns::Custom(columns.clone()),
            output => {
                let resource = &target.resource;
                let options = TableOptions {
                    account: !self.query.is_one_account(),
                    namespace: self.namespace,
                    wide: matches!(output, Output::Wide),
                    kind_prefix: (several || self.show.with_kind).then(|| resource.prefix()),
                    label_columns: self.show.label_columns.clone(),
                    show_labels: self.show.labels,
                };
                Columns::OfKind(Table::new(printer(hub, target).await?, options))
            }
        });
        Ok(())
    }

    /// Writes a page of rows.
    pub(crate) fn page(&mut self, page: &[FetchedObject]) -> anyhow::Result<()> {
        let now = Timestamp::now();
        let rows = page.iter().map(|FetchedObject { account, value }| self.cells(account, value, now));
        let rows = rows.collect::<anyhow::Result<Vec<_>>>()?;
        self.write(rows, None)
    }

    /// The cells of one object.
    pub(crate) fn cells(
        &self,
        account: &str,
        value: &serde_json::Value,
        now: Timestamp,
    ) -> anyhow::Result<Vec<String>> {
        Ok(match &self.table {
            Some(Columns::OfKind(table)) => table.row(account, value, now),
            Some(Columns::Custom(columns)) => {
                let found = FetchedObject { account: account.to_owned(), value: value.clone() };
                columns.row(&marked(found, self.query))?
            }
            None => Vec::new(),
        })
    }

    /// The names of the columns.
    pub(crate) fn header(&self) -> Vec<String> {
        match &self.table {
            Some(Columns::OfKind(table)) => table.header(),
            Some(Columns::Custom(columns)) => columns.header(),
            None => Vec::new(),
        }
    }

    /// Writes rows, below the header if they are the first; of a watch, with what happened in front.
    pub(crate) fn write(&mut self, mut rows: Vec<Vec<String>>, event: Option<&str>) -> anyhow::Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        if let Some(event) = event {
            for row in &mut rows {
                // As wide as the longest, MODIFIED.
                row.insert(0, format!("{event:<8}"));
            }
        }
        let mut out = std::io::stdout().lock();
        if !self.headed {
            let mut header = self.header();
            if event.is_some() {
                header.insert(0, "EVENT".to_owned());
            }
            // The header takes part in the choice of columns even if it is not shown.
            rows.insert(0, header);
            self.fit = self.width.map(|width| Fit::choose(&rows, width));
            if let Some(fit) = &self.fit {
                self.layout = fit.layout();
            }
            if self.show.no_headers {
                rows.remove(0);
            }
            // Tables of several kinds stand apart.
            if self.any && !self.show.no_headers && matches!(self.table, Some(Columns::OfKind(_))) {
                writeln!(out)?;
            }
        }
        (self.headed, self.any) = (true, true);
        if let Some(fit) = &self.fit {
            rows = rows.iter().map(|row| fit.row(row)).collect();
        }
        self.layout.fit(&rows);
        for row in &rows {
            let line = self.layout.line(row);
            let line = self.fit.as_ref().map_or(line.clone(), |fit| fit.line(&line));
            out.write_all(line.as_bytes())?;
        }
        Ok(out.flush()?)
    }

    /// Whether anything has been written.
    pub(crate) fn any(&self) -> bool {
        self.any
    }
}

/// The printer of a kind: built in, or as its definition says.
async fn printer(hub: &Client, target: &Target) -> anyhow::Result<Printer> {
    let resource = &target.resource;
    let kind = KindRef { group: &resource.group, kind: &resource.kind };
    if let Some(printer) = Printer::builtin(kind) {
        return Ok(printer);
    }
    Ok(match definition(hub, resource).await? {
        Some(definition) => Printer::custom(&definition, &resource.version),
        None => Printer::of(kind),
    })
}
