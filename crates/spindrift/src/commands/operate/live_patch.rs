//! Changes that are computed from the live object: reads each object, computes a patch, and sends it.

use std::{cell::RefCell, time::Duration};

use serde_json::{Map, Value, json};
use spindrift_model::{Get, KubectlAction, Manifest, ObjectRef, Patch, PatchKind, Verb};

use super::{
    AccountFlags, ChangeFormat, DryRunMode, ResourceArg, ResourceArgs,
    change::{ChangeCommand, ChangeReport},
    display::{AccountLine, DisplayMode},
    fanout::{AccountFanout, OperationError},
    naming::{after, title},
};
use crate::commands::Context;

/// Options of a command that patches live objects.
pub(crate) struct LivePatch<'a> {
    pub(crate) account_flags: &'a AccountFlags,
    pub(crate) resources: &'a ResourceArgs,
    /// Action in the live line: `labeling`.
    pub(crate) action: &'static str,
    pub(crate) output: Option<ChangeFormat>,
    pub(crate) dry_run: DryRunMode,
    pub(crate) deadline: Option<Duration>,
    pub(crate) field_manager: String,
}

/// Change of one object.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ObjectChange {
    pub(crate) kind: PatchKind,
    /// Patch to send; without one, the object stays as it is.
    pub(crate) patch: Option<Value>,
    /// Result as kubectl prints it, such as `labeled`; without one, nothing is printed.
    pub(crate) word: Option<String>,
    /// Lines that are printed before the result.
    pub(crate) lines: Vec<String>,
}

/// Response of the patch.
#[derive(Debug, serde::Deserialize)]
struct PatchResponse {
    object: Value,
    #[serde(default)]
    warnings: Vec<String>,
}

// === impl LivePatch ===

impl LivePatch<'_> {
    /// Changes these objects in all selected accounts; a failed object does not stop the following ones.
    pub(crate) async fn run(
        &self,
        context: &Context,
        chosen: &[ResourceArg],
        change: impl Fn(&Value) -> Result<ObjectChange, String>,
    ) -> anyhow::Result<()> {
        let fanout = AccountFanout::new(context)?;
        let accounts = self.account_flags.accounts(fanout.hub()).await?;
        let documents = RefCell::new(Vec::new());
        let command = ChangeCommand {
            account_flags: self.account_flags,
            action: KubectlAction::Other(self.action),
            output: self.output,
            dry_run: self.dry_run,
            deadline: self.deadline,
        };
        let done = fanout
            .run(&accounts, DisplayMode::Progress, async |line| {
                let targets = match self.resources.in_account(&fanout, line.account(), chosen).await {
                    Ok(targets) => targets,
                    Err(error) => {
                        line.fail(&error.to_string());
                        return Ok(());
                    }
                };
                if targets.is_empty() {
                    line.note("No resources found");
                }
                for (target, _) in targets {
                    line.set_activity(&format!("{} {target}", self.action));
                    match self.change_one(&fanout, line, target, &change).await {
                        Ok(Some(report)) => command.show(report, line, &documents)?,
                        Ok(None) => {}
                        Err(error) => line.fail(&error),
                    }
                }
                Ok(())
            })
            .await;
        command.print(documents.into_inner())?;
        done
    }

    async fn change_one(
        &self,
        fanout: &AccountFanout<'_>,
        line: &AccountLine,
        target: ObjectRef,
        change: &impl Fn(&Value) -> Result<ObjectChange, String>,
    ) -> Result<Option<ChangeReport>, String> {
        let text = |error: OperationError| error.to_string();
        let get = Verb::Get(Get { target: target.clone(), reveal: false, anywhere: false });
        let current: Value = fanout
            .submit(line.account(), &get, self.deadline)
            .await
            .map_err(text)?
            .json()
            .await
            .map_err(text)?;
        let ObjectChange { kind, patch, word, lines } =
            change(&current).map_err(|error| format!("error: {error}"))?;
        for text in lines {
            line.print(&text).map_err(|error| error.to_string())?;
        }
        let mut object = current;
        if let Some(patch) = patch {
            let verb = Verb::Patch(Patch {
                target,
                kind,
                patch: Manifest(patch),
                subresource: None,
                field_manager: Some(self.field_manager.clone()),
                dry_run: self.dry_run.into(),
            });
            let response: PatchResponse = fanout
                .submit(line.account(), &verb, self.deadline)
                .await
                .map_err(text)?
                .json()
                .await
                .map_err(text)?;
            for warning in response.warnings {
                line.note(&format!("Warning: {warning}"));
            }
            object = response.object;
        }
        let name = title(&object);
        Ok(word.map(|word| ChangeReport {
            line: format!("{name} {word}{}", after(self.dry_run)),
            name,
            word,
            object,
        }))
    }
}

// === impl ObjectChange ===

impl ObjectChange {
    /// Merge patch of a map of the metadata; an empty change sends nothing but a resource version.
    pub(crate) fn of_metadata(
        field: &str,
        entries: Map<String, Value>,
        resource_version: Option<&str>,
        word: &str,
    ) -> Self {
        let mut metadata = Map::new();
        if !entries.is_empty() {
            metadata.insert(field.to_owned(), Value::Object(entries));
        }
        if let Some(version) = resource_version {
            metadata.insert("resourceVersion".to_owned(), version.into());
        }
        let patch = (!metadata.is_empty()).then(|| json!({ "metadata": metadata }));
        Self { kind: PatchKind::Merge, patch, word: Some(word.to_owned()), lines: Vec::new() }
    }
}
