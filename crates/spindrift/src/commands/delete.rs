//! `spindrift delete`: deletes objects and waits until they are gone.

use std::{cell::Cell, io::Write, time::Duration};

use anyhow::ensure;
use clap::{Args, ValueEnum};
use serde::Deserialize;
use serde_json::{Value, json};
use spindrift_model::{Delete as DeleteVerb, KubectlAction, Preconditions, Propagation, Verb};

use super::{
    Context,
    operate::{
        AccountFlags, AccountLine, ChangeCommand, ChangeFormat, ChangeReport, DryRunMode, ResourceArg,
        ResourceArgs, Step, after, duration, prefix,
    },
};

const EXAMPLES: &str = "Examples:
  # Delete the resources of web.yaml
  spindrift delete -f ./web.yaml -a eu-west

  # Delete a deployment and a service in two accounts
  spindrift delete deploy/web svc/web -n shop -a eu-west,us-east

  # Delete pods with label app=web, without waiting for finalizers
  spindrift delete pods -l app=web -a eu-west --wait=false

  # Force delete a pod on a dead node
  spindrift delete pod web-1 -a eu-west --force";

/// Delete resources by file names, stdin, resources and names, or by resources and label selector.
///
/// JSON and YAML formats are accepted. Only one type of argument may be specified: file names, resources and names, or
/// resources and label selector. The command waits until the resources are deleted, unless --wait=false is set.
///
/// Some resources, such as pods, support graceful deletion. These resources define a default period before they are
/// forcibly terminated (the grace period) but you may override that value with the --grace-period flag, or pass --now to
/// set a grace-period of 1. To force delete a resource, you must specify the --force flag.
///
/// IMPORTANT: Force deleting pods does not wait for confirmation that the pod's processes have been terminated, which can
/// leave those processes running until the node detects the deletion and completes graceful deletion.
#[derive(Debug, Args)]
#[command(
    before_help = EXAMPLES,
    override_usage = "spindrift delete (-f FILENAME | TYPE [NAME | -l label | --all] | TYPE/NAME ...) [options]"
)]
pub(crate) struct Delete {
    #[command(flatten)]
    resources: ResourceArgs,
    #[command(flatten)]
    account_flags: AccountFlags,
    /// Selector (field query) to filter on, supports '=', '==', and '!=' (e.g. --field-selector status.phase=Failed).
    #[arg(long)]
    field_selector: Option<String>,
    /// Delete all resources, in the namespace of the specified resource types.
    #[arg(long, conflicts_with_all = ["selector", "files"])]
    all: bool,
    /// Delete the requested object(s) across all namespaces. Requires -l, --field-selector or --all.
    #[arg(short = 'A', long)]
    all_namespaces: bool,
    /// Deletion cascading strategy for the dependents (e.g. Pods created by a ReplicationController).
    #[arg(long, value_enum, default_value = "background", value_name = "STRATEGY")]
    cascade: Cascade,
    /// Period of time in seconds given to the resource to terminate gracefully. Ignored if negative. Set to 1 for
    /// immediate shutdown. Can only be set to 0 when --force is true (force deletion).
    #[arg(long, default_value_t = -1, allow_negative_numbers = true, value_name = "SECONDS")]
    grace_period: i64,
    /// Immediately remove resources from API and bypass graceful deletion. Note that immediate deletion of some resources
    /// may result in inconsistency or data loss.
    #[arg(long)]
    force: bool,
    /// Signal resources for immediate shutdown (same as --grace-period=1).
    #[arg(long, conflicts_with = "force")]
    now: bool,
    /// Treat "resource not found" as a successful delete. Defaults to "true" when no names are specified.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    ignore_not_found: Option<bool>,
    /// Wait for resources to be deleted before returning. This waits for finalizers.
    #[arg(
        long,
        num_args = 0..=1,
        require_equals = true,
        default_value_t = true,
        default_missing_value = "true",
        action = clap::ArgAction::Set,
        value_name = "BOOL"
    )]
    wait: bool,
    /// The length of time to wait before giving up on a delete (e.g. 30s, 5m).
    #[arg(long, value_parser = duration, default_value = "5m", value_name = "TIME")]
    timeout: Duration,
    /// Dry run strategy.
    #[arg(long, value_enum, default_value_t, value_name = "STRATEGY")]
    dry_run: DryRunMode,
    /// Output format. Defaults to one line for each object.
    #[arg(short, long, value_enum, value_name = "FORMAT")]
    output: Option<ChangeFormat>,
}

/// Value of `--cascade`: the fate of the dependents of a deleted object.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Cascade {
    /// Delete dependents after the object.
    Background,
    /// Delete dependents before the object.
    Foreground,
    /// Keep dependents.
    Orphan,
}

/// Response of the agent.
#[derive(Debug, Deserialize)]
struct DeleteResponse {
    deleted: Vec<DeletedRef>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct DeletedRef {
    #[serde(default)]
    api_version: Option<String>,
    kind: String,
    #[serde(default)]
    namespace: Option<String>,
    name: String,
    #[serde(default)]
    uid: Option<String>,
}

/// Selector that matches every object: the agent requires a name or a selector.
const EVERY: &str = "metadata.name!=";

/// Warnings of kubectl.
const IMMEDIATE: &str = "Warning: Immediate deletion does not wait for confirmation that the running resource has been \
    terminated. The resource may continue to run on the cluster indefinitely.";
const NOT_IN_A_NAMESPACE: &str =
    "Warning: deleting cluster-scoped resources, not scoped to the provided namespace";

// === impl Delete ===

impl Delete {
    pub(crate) async fn run(self, context: &Context) -> anyhow::Result<()> {
        let grace = self.grace()?;
        let resources = self.chosen().await?;
        if grace == Some(0) {
            context.note(IMMEDIATE);
        }
        let steps: Vec<_> = resources.iter().map(|resource| self.step(resource, grace)).collect();
        let Self { account_flags, output, dry_run, timeout, .. } = &self;
        let deadline = self.wait.then_some(*timeout).filter(|timeout| !timeout.is_zero());
        let change = ChangeCommand {
            account_flags,
            action: KubectlAction::Other("deleting"),
            output: *output,
            dry_run: *dry_run,
            deadline,
        };
        let (forced, any) = (grace == Some(0), Cell::new(false));
        // Printed once: with `--namespace`, the user may not expect to delete cluster-scoped objects.
        let unwarned = Cell::new(account_flags.namespace.is_some());
        let report = |DeleteResponse { deleted }: DeleteResponse, line: &AccountLine| {
            any.set(any.get() || !deleted.is_empty());
            if deleted.iter().any(DeletedRef::is_cluster_scoped) && unwarned.replace(false) {
                line.note(NOT_IN_A_NAMESPACE);
            }
            deleted.into_iter().map(|deleted| deleted.report(forced, *dry_run)).collect()
        };
        change.run_with(context, async |_, _| Ok(steps.clone()), report).await?;
        // Named objects that do not exist have been reported, or are ignored on request.
        if !any.get() && resources.iter().all(|resource| resource.name.is_none()) {
            writeln!(std::io::stdout().lock(), "No resources found")?;
        }
        Ok(())
    }

    /// Grace period by kubectl's rules: zero only with `--force`.
    fn grace(&self) -> anyhow::Result<Option<u64>> {
        ensure!(!self.now || self.grace_period < 0, "--now and --grace-period cannot be specified together");
        let forced = self.force && self.grace_period <= 0;
        ensure!(
            !self.force || self.grace_period <= 0,
            "--force and --grace-period greater than 0 cannot be specified together"
        );
        Ok(match u64::try_from(self.grace_period) {
            _ if self.now => Some(1),
            _ if forced => Some(0),
            Ok(0) => Some(1),
            Ok(seconds) => Some(seconds),
            Err(_) => None,
        })
    }

    async fn chosen(&self) -> anyhow::Result<Vec<ResourceArg>> {
        let resources = self.resources.named(&self.account_flags).await?;
        ensure!(!resources.is_empty(), "no objects passed to delete");
        let selects = self.all || self.resources.selector.is_some() || self.field_selector.is_some();
        let by_name = |resource: &&ResourceArg| resource.name.is_some();
        if let Some(ResourceArg { kind, .. }) = resources.iter().find(by_name) {
            ensure!(
                !selects || !self.resources.files.is_empty(),
                "name cannot be provided when a selector is specified, for {kind}"
            );
            ensure!(!self.all_namespaces, "a resource cannot be retrieved by name across all namespaces");
        } else {
            ensure!(
                selects,
                "resource(s) were provided, but no name was specified; specify a name, -l, --field-selector or --all"
            );
        }
        Ok(resources)
    }

    fn step(&self, resource: &ResourceArg, grace: Option<u64>) -> Step {
        let ResourceArg { api_version, kind, namespace, name, file } = resource.clone();
        // Objects of files are deleted regardless of their labels.
        let (label_selector, field_selector) = match &name {
            Some(_) => (None, None),
            None if self.all => (None, Some(self.field_selector.clone().unwrap_or_else(|| EVERY.to_owned()))),
            None => (self.resources.selector.clone(), self.field_selector.clone()),
        };
        let title = format!("{kind} {}", name.as_deref().unwrap_or_default());
        // An object that a selector matched may be gone by now; that is not an error.
        let found_by_labels = name.is_none();
        let verb = Verb::Delete(DeleteVerb {
            api_version,
            kind,
            namespace: (!self.all_namespaces).then_some(namespace),
            name,
            label_selector,
            field_selector,
            grace_period_seconds: grace,
            force: grace == Some(0),
            propagation_policy: Some(self.cascade.into()),
            preconditions: Preconditions::default(),
            wait: self.wait && grace != Some(0),
            ignore_not_found: self.ignore_not_found.unwrap_or(found_by_labels),
            dry_run: self.dry_run.into(),
        });
        Step { verb, title, file }
    }
}

// === impl DeletedRef ===

impl DeletedRef {
    fn is_cluster_scoped(&self) -> bool {
        self.namespace.as_deref().is_none_or(str::is_empty)
    }

    fn report(self, forced: bool, dry_run: DryRunMode) -> ChangeReport {
        let Self { api_version, kind, namespace, name, uid } = self;
        let prefix = prefix(api_version.as_deref().unwrap_or_default(), &kind);
        let word = if forced { "force deleted" } else { "deleted" };
        let place = namespace.as_deref().filter(|namespace| !namespace.is_empty());
        let place = place.map(|namespace| format!(" from {namespace} namespace")).unwrap_or_default();
        let line = format!("{prefix} \"{name}\" {word}{place}{}", after(dry_run));
        let object: Value = json!({
            "apiVersion": api_version, "kind": kind,
            "metadata": { "namespace": namespace, "name": name, "uid": uid },
        });
        ChangeReport { name: format!("{prefix}/{name}"), line, word: word.to_owned(), object }
    }
}

// === impl Cascade ===

impl From<Cascade> for Propagation {
    fn from(cascade: Cascade) -> Self {
        match cascade {
            Cascade::Background => Self::Background,
            Cascade::Foreground => Self::Foreground,
            Cascade::Orphan => Self::Orphan,
        }
    }
}
