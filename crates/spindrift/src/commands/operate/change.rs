//! Operations that change objects, in each account: reported as kubectl does, or printed as documents.

use std::{cell::RefCell, io::Write, time::Duration};

use clap::ValueEnum;
use serde::Deserialize;
use serde_json::{Value, json};
use spindrift_model::{KubectlAction, Verb};
use spindrift_printer::json;

use super::{
    AccountFlags, DryRunMode,
    display::{AccountLine, DisplayMode},
    fanout::{AccountFanout, OperationError},
    naming::{after, prefix, title},
};
use crate::commands::{
    Context,
    get::{mark, yaml},
};

/// One operation.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    pub(crate) verb: Verb,
    /// Target shown while the operation runs.
    pub(crate) title: String,
    /// File of the manifest.
    pub(crate) file: Option<String>,
}

/// Options of a command that changes objects.
pub(crate) struct ChangeCommand<'a> {
    pub(crate) account_flags: &'a AccountFlags,
    /// Name of the action in errors: `applying`.
    pub(crate) action: KubectlAction,
    pub(crate) output: Option<ChangeFormat>,
    pub(crate) dry_run: DryRunMode,
    pub(crate) deadline: Option<Duration>,
}

/// Value of `--output`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ChangeFormat {
    Json,
    Yaml,
    Name,
}

/// One changed object.
#[derive(Debug)]
pub(crate) struct ChangeReport {
    /// `deployment.apps/web`.
    pub(crate) name: String,
    /// `deployment.apps/web configured`.
    pub(crate) line: String,
    /// `configured`.
    pub(crate) word: String,
    pub(crate) object: Value,
}

/// Response to most verbs that change objects.
#[derive(Debug, Deserialize)]
pub(crate) struct ChangeResponse {
    action: String,
    object: Value,
    #[serde(default)]
    warnings: Vec<String>,
    /// Target, if the object is only its subresource.
    #[serde(default)]
    target: Option<ChangedTarget>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ChangedTarget {
    api_version: String,
    kind: String,
    name: String,
}

// === impl ChangeCommand ===

impl ChangeCommand<'_> {
    /// Runs the steps of each account in order; a failed step does not stop the following ones.
    pub(crate) async fn run(
        &self,
        context: &Context,
        steps: impl AsyncFn(&AccountFanout<'_>, &str) -> Result<Vec<Step>, OperationError>,
    ) -> anyhow::Result<()> {
        self.run_with(context, steps, |changed: ChangeResponse, line| {
            warn(line, &changed.warnings);
            vec![changed.report(self.dry_run)]
        })
        .await
    }

    /// As [`Self::run`], for other response types.
    pub(crate) async fn run_with<T: for<'de> Deserialize<'de>>(
        &self,
        context: &Context,
        steps: impl AsyncFn(&AccountFanout<'_>, &str) -> Result<Vec<Step>, OperationError>,
        reports: impl Fn(T, &AccountLine) -> Vec<ChangeReport>,
    ) -> anyhow::Result<()> {
        let fanout = AccountFanout::new(context)?;
        let accounts = self.account_flags.accounts(fanout.hub()).await?;
        let documents = RefCell::new(Vec::new());
        let done = fanout
            .run(&accounts, DisplayMode::Progress, async |line| {
                let account = line.account();
                let steps = match steps(&fanout, account).await {
                    Ok(steps) => steps,
                    Err(error) => {
                        line.fail(&error.to_string());
                        return Ok(());
                    }
                };
                for step in steps {
                    line.set_activity(&format!("{} {}", self.action.word(), step.title));
                    match self.step::<T>(&fanout, account, &step).await {
                        Ok(answer) => {
                            for report in reports(answer, line) {
                                self.show(report, line, &documents)?;
                            }
                        }
                        Err(error) => {
                            warn(line, error.warnings());
                            line.fail(&error.about(self.action, step.file.as_deref()).to_string());
                        }
                    }
                }
                Ok(())
            })
            .await;
        self.print(documents.into_inner())?;
        done
    }

    async fn step<T: for<'de> Deserialize<'de>>(
        &self,
        fanout: &AccountFanout<'_>,
        account: &str,
        step: &Step,
    ) -> Result<T, OperationError> {
        fanout.submit(account, &step.verb, self.deadline).await?.json().await
    }

    pub(super) fn show(
        &self,
        report: ChangeReport,
        line: &AccountLine,
        documents: &RefCell<Vec<(String, Value)>>,
    ) -> anyhow::Result<()> {
        match self.output {
            None => line.done(&report.line, &report.word)?,
            Some(ChangeFormat::Name) => line.print_raw(&(report.name + "\n"))?,
            Some(ChangeFormat::Json | ChangeFormat::Yaml) => {
                let mut object = report.object;
                if line.is_one_of_several() {
                    mark(&mut object, line.account());
                }
                documents.borrow_mut().push((line.account().to_owned(), object));
            }
        }
        Ok(())
    }

    /// Prints one object as it is, several as a list sorted by account.
    pub(super) fn print(&self, mut documents: Vec<(String, Value)>) -> anyhow::Result<()> {
        documents.sort_by(|(left, _), (right, _)| left.cmp(right));
        let mut objects: Vec<_> = documents.into_iter().map(|(_, object)| object).collect();
        let document = match objects.len() {
            0 => return Ok(()),
            1 => objects.remove(0),
            _ => {
                json!({ "apiVersion": "v1", "items": objects, "kind": "List", "metadata": { "resourceVersion": "" } })
            }
        };
        let text = match self.output {
            Some(ChangeFormat::Yaml) => yaml(&document)?,
            _ => json::pretty(&document) + "\n",
        };
        Ok(std::io::stdout().lock().write_all(text.as_bytes())?)
    }
}

fn warn(line: &AccountLine, warnings: &[String]) {
    for warning in warnings {
        line.note(&format!("Warning: {warning}"));
    }
}

// === impl ChangeResponse ===

impl ChangeResponse {
    fn report(self, dry_run: DryRunMode) -> ChangeReport {
        let Self { action, object, target, .. } = self;
        let name = match target {
            Some(ChangedTarget { api_version, kind, name }) => {
                format!("{}/{name}", prefix(&api_version, &kind))
            }
            None => title(&object),
        };
        ChangeReport { line: format!("{name} {action}{}", after(dry_run)), name, word: action, object }
    }
}
