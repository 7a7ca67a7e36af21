//! Tables, one for each kind, written page by page.

use std::io::Write;

use jiff::Timestamp;
use spindrift_printer::{CustomColumns, Fit, KindRef, Layout, Printer, Table, TableOptions, Tone, tones};

use super::{
    PrintFlags, TableScreen, definition,
    documents::marked,
    fetch::FetchedObject,
    output::Output,
    stale::StaleAccounts,
    target::{QueryFlags, Target},
};
use crate::{commands::Context, hub::Client};

/// Writes rows to stdout.
pub(crate) struct Rows<'a> {
    output: Output,
    show: &'a PrintFlags,
    query: &'a QueryFlags,
    /// Terminal; its width only if lines may be cut.
    screen: TableScreen,
    table: Option<Columns>,
    layout: Layout,
    fit: Option<Fit>,
    /// Accounts whose names are marked.
    stale: Option<&'a StaleAccounts>,
    /// Names of omitted columns, until they are noted.
    hidden: Vec<String>,
    /// Set once a table had a namespace column; then all following tables have one, as in kubectl.
    namespace: bool,
    /// Set once the header of this table has been written.
    headed: bool,
    /// Set once any row has been written.
    any: bool,
}

/// Source of the cells of a row.
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
        screen: TableScreen,
    ) -> Self {
        // `-o wide` is never cut.
        let width = screen.width.filter(|_| matches!(output, Output::Table));
        let screen = TableScreen { width, ..screen };
        let (table, layout) = (None, Layout::default());
        Self {
            output,
            show,
            query,
            screen,
            table,
            layout,
            fit: None,
            stale: None,
            hidden: Vec::new(),
            namespace: false,
            headed: false,
            any: false,
        }
    }

    /// Marks these accounts, and records which of them are shown.
    pub(crate) fn mark(&mut self, stale: &'a StaleAccounts) {
        self.stale = Some(stale);
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
        if let Some(stale) = self.stale {
            for object in page {
                stale.show(&object.account);
            }
        }
        let now = Timestamp::now();
        let rows = page.iter().map(|FetchedObject { account, value }| self.cells(account, value, now));
        let rows = rows.collect::<anyhow::Result<Vec<_>>>()?;
        self.write(rows, None)
    }

    /// Cells of one object.
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

    /// Names of the columns.
    pub(crate) fn header(&self) -> Vec<String> {
        match &self.table {
            Some(Columns::OfKind(table)) => table.header(),
            Some(Columns::Custom(columns)) => columns.header(),
            None => Vec::new(),
        }
    }

    /// Writes rows, the first ones below the header; those of a watch begin with the type of the event.
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
            // The header counts for the choice of columns even with `--no-headers`.
            rows.insert(0, header);
            self.fit = self.screen.width.map(|width| Fit::choose(&rows, width));
            if let Some(fit) = &self.fit {
                self.layout = fit.layout();
                let new = fit.hidden().iter().filter(|name| !self.hidden.contains(name)).cloned();
                let new: Vec<_> = new.collect();
                self.hidden.extend(new);
            }
            if self.show.no_headers {
                rows.remove(0);
            }
            // An empty line between the tables of two kinds.
            if self.any && !self.show.no_headers && matches!(self.table, Some(Columns::OfKind(_))) {
                writeln!(out)?;
            }
        }
        (self.headed, self.any) = (true, true);
        let mut header = self.header();
        if event.is_some() {
            header.insert(0, "EVENT".to_owned());
        }
        if let Some(fit) = &self.fit {
            rows = rows.iter().map(|row| fit.row(row)).collect();
            header = fit.row(&header);
        }
        self.layout.fit(&rows);
        let width = self.fit.as_ref().map(Fit::width);
        for row in &rows {
            let tones = if self.screen.color { self.tones(&header, row) } else { Vec::new() };
            out.write_all(self.layout.painted(row, &tones, width).as_bytes())?;
        }
        Ok(out.flush()?)
    }

    fn tones(&self, header: &[String], row: &[String]) -> Vec<Option<Tone>> {
        let mut tones = tones(header, row);
        let account = header.iter().position(|name| name == "ACCOUNT");
        let is_stale = |account: &String| self.stale.is_some_and(|stale| stale.contains(account));
        if let Some(at) = account.filter(|at| row.get(*at).is_some_and(is_stale))
            && let Some(tone) = tones.get_mut(at)
        {
            *tone = Some(Tone::Warning);
        }
        tones
    }

    /// Notes the columns that the terminal is too narrow for, once for all tables.
    pub(crate) fn note_hidden(&mut self, context: &Context) {
        let hidden = std::mem::take(&mut self.hidden);
        if let Some(width) = self.screen.width.filter(|_| !hidden.is_empty()) {
            let hidden = hidden.join(", ");
            context.note(format_args!(
                "(not shown, since the terminal has {width} columns: {hidden}; use -o wide to see all)"
            ));
        }
    }

    /// Whether anything has been written.
    pub(crate) fn any(&self) -> bool {
        self.any
    }
}

/// Printer of a kind: built in, or from its CustomResourceDefinition.
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
