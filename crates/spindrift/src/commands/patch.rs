//! `spindrift patch`: updates fields of objects.

use std::{fs, path::PathBuf, time::Duration};

use anyhow::{Context as _, bail, ensure};
use clap::{Args, ValueEnum, ValueHint};
use serde_json::Value;
use spindrift_model::{KubectlAction, Manifest, Patch as PatchVerb, PatchKind, Verb};

use super::{
    Context,
    operate::{AccountFlags, ChangeCommand, ChangeFormat, DryRunMode, ResourceArgs, Step, duration, parse},
};

const EXAMPLES: &str = "Examples:
  # Update a deployment using a strategic merge patch, specifying the patch as
  # JSON or as YAML
  spindrift patch deploy/web -a eu-west -p '{\"spec\":{\"paused\":true}}'
  spindrift patch deploy/web -a eu-west -p 'spec: {replicas: 3}'

  # Update a node using a JSON merge patch
  spindrift patch node node-a -a eu-west --type merge --patch-file drain.yaml

  # Update a service using a JSON patch
  spindrift patch svc/web -a eu-west --type json \\
    -p '[{\"op\":\"remove\",\"path\":\"/spec/externalName\"}]'";

/// Update fields of a resource.
///
/// Update fields of a resource using strategic merge patch, a JSON merge patch, or a JSON patch.
///
/// JSON and YAML formats are accepted. Strategic merge patch is not supported for custom resources.
#[derive(Debug, Args)]
#[command(
    before_help = EXAMPLES,
    override_usage = "spindrift patch (-f FILENAME | TYPE NAME | TYPE/NAME) [-p PATCH | --patch-file FILE] [options]"
)]
pub(crate) struct Patch {
    #[command(flatten)]
    resources: ResourceArgs,
    #[command(flatten)]
    account_flags: AccountFlags,
    /// The patch to be applied to the resource, in JSON or YAML.
    #[arg(short = 'p', long = "patch", value_name = "PATCH", conflicts_with = "file")]
    change: Option<String>,
    /// A file containing a patch to be applied to the resource.
    #[arg(long = "patch-file", value_name = "FILE", value_hint = ValueHint::FilePath)]
    file: Option<PathBuf>,
    /// The type of patch being provided.
    #[arg(long = "type", value_enum, default_value_t, value_name = "TYPE")]
    kind: Kind,
    /// If specified, patch will operate on the subresource of the requested object (e.g. status or scale).
    #[arg(long, value_name = "NAME")]
    subresource: Option<String>,
    /// Name of the manager used to track field ownership.
    #[arg(long, value_name = "NAME")]
    field_manager: Option<String>,
    /// Dry run strategy.
    #[arg(long, value_enum, default_value_t, value_name = "STRATEGY")]
    dry_run: DryRunMode,
    /// Output format. Defaults to one line for each object.
    #[arg(short, long, value_enum, value_name = "FORMAT")]
    output: Option<ChangeFormat>,
    /// The length of time to wait for each object before giving up (e.g. 30s, 5m). Defaults to the limit of the hub.
    #[arg(long, value_parser = duration, value_name = "TIME")]
    timeout: Option<Duration>,
}

#[derive(Debug, Clone, Copy, Default, ValueEnum)]
enum Kind {
    /// Strategic merge patch: lists are merged by their merge keys.
    #[default]
    Strategic,
    /// JSON merge patch (RFC 7386): lists are replaced.
    Merge,
    /// JSON patch (RFC 6902): a list of changes.
    Json,
}

// === impl Patch ===

impl Patch {
    pub(crate) async fn run(self, context: &Context) -> anyhow::Result<()> {
        let patch = self.read()?;
        let Self { resources, account_flags, output, dry_run, timeout, .. } = &self;
        let chosen = resources.chosen(account_flags).await?;
        ensure!(!chosen.is_empty(), "no objects passed to patch");
        let change = ChangeCommand {
            account_flags,
            action: KubectlAction::Other("patching"),
            output: *output,
            dry_run: *dry_run,
            deadline: *timeout,
        };
        change
            .run(context, async |fanout, account| {
                let found = resources.in_account(fanout, account, &chosen).await?;
                let steps = found.into_iter().map(|(target, file)| {
                    let title = target.to_string();
                    let verb = Verb::Patch(PatchVerb {
                        target,
                        kind: self.kind.into(),
                        patch: Manifest(patch.clone()),
                        subresource: self.subresource.clone(),
                        field_manager: self.field_manager.clone(),
                        dry_run: self.dry_run.into(),
                    });
                    Step { verb, title, file }
                });
                Ok(steps.collect())
            })
            .await
    }

    fn read(&self) -> anyhow::Result<Value> {
        let (name, text) = match (&self.change, &self.file) {
            (Some(text), _) => ("-p".to_owned(), text.clone()),
            (None, Some(file)) => {
                let name = file.display().to_string();
                let text = fs::read_to_string(file).with_context(|| format!("read {name}"))?;
                (name, text)
            }
            (None, None) => bail!("must specify -p or --patch-file containing the contents of the patch"),
        };
        let mut documents = parse(&text).with_context(|| format!("unable to parse {name}"))?;
        ensure!(documents.len() == 1, "unable to parse {name}: expected one document");
        let patch = documents.remove(0);
        match self.kind {
            Kind::Json => {
                ensure!(
                    patch.is_array(),
                    "unable to parse {name}: expected a list of changes, since it is a JSON patch"
                );
            }
            _ => ensure!(patch.is_object(), "unable to parse {name}: expected a map of fields"),
        }
        Ok(patch)
    }
}

// === impl Kind ===

impl From<Kind> for PatchKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Strategic => Self::Strategic,
            Kind::Merge => Self::Merge,
            Kind::Json => Self::Json,
        }
    }
}
