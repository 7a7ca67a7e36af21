//! `spindrift patch`: changes parts of objects.

use std::{fs, path::PathBuf, time::Duration};

use anyhow::{Context as _, bail, ensure};
use clap::{Args, ValueEnum, ValueHint};
use serde_json::Value;
use spindrift_model::{Manifest, Patch as PatchVerb, PatchKind, Verb};

use super::{
    Context,
    operate::{Change, Dry, Format, Step, Subjects, Where, duration, parse},
};

const EXAMPLES: &str = "Examples:
  spindrift patch deploy/web -n shop -a eu-west -p '{\"spec\":{\"paused\":true}}'
  spindrift patch deploy/web -p 'spec: {replicas: 3}'
  spindrift patch node node-a --type merge --patch-file drain.yaml
  spindrift patch svc/web --type json -p '[{\"op\":\"remove\",\"path\":\"/spec/externalName\"}]'";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Patch {
    #[command(flatten)]
    subjects: Subjects,
    #[command(flatten)]
    wherever: Where,
    /// The change, in JSON or YAML.
    #[arg(short = 'p', long = "patch", value_name = "PATCH", conflicts_with = "file")]
    change: Option<String>,
    /// The file with the change, in JSON or YAML.
    #[arg(long = "patch-file", value_name = "FILE", value_hint = ValueHint::FilePath)]
    file: Option<PathBuf>,
    /// How the change is to be read.
    #[arg(long = "type", value_enum, default_value_t, value_name = "TYPE")]
    kind: Kind,
    /// Changes this part of them only, such as status or scale.
    #[arg(long, value_name = "NAME")]
    subresource: Option<String>,
    /// Whose fields they become.
    #[arg(long, value_name = "NAME")]
    field_manager: Option<String>,
    /// Whether it is only tried.
    #[arg(long, value_enum, default_value_t, value_name = "WHERE")]
    dry_run: Dry,
    /// How to show what was patched; kubectl's words if absent.
    #[arg(short, long, value_enum, value_name = "FORMAT")]
    output: Option<Format>,
    /// How long each object may take.
    #[arg(long, value_parser = duration, value_name = "TIME")]
    timeout: Option<Duration>,
}

#[derive(Debug, Clone, Copy, Default, ValueEnum)]
enum Kind {
    /// Lists are merged by the keys of their types.
    #[default]
    Strategic,
    /// Lists are replaced (RFC 7386).
    Merge,
    /// A list of changes (RFC 6902).
    Json,
}

// === impl Patch ===

impl Patch {
    pub(crate) async fn run(self, context: &Context) -> anyhow::Result<()> {
        let patch = self.read()?;
        let Self { subjects, wherever, output, dry_run, timeout, .. } = &self;
        let chosen = subjects.chosen(wherever)?;
        ensure!(!chosen.is_empty(), "no objects passed to patch");
        let change =
            Change { wherever, doing: "patching", output: *output, dry: *dry_run, deadline: *timeout };
        change
            .run(context, async |crew, account| {
                let found = subjects.in_account(crew, account, &chosen).await?;
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
                let text = fs::read_to_string(file).with_context(|| format!("{name} cannot be read"))?;
                (name, text)
            }
            (None, None) => bail!("must specify -p or --patch-file to change something"),
        };
        let mut documents = parse(&text).with_context(|| format!("unable to parse {name}"))?;
        ensure!(documents.len() == 1, "unable to parse {name}: one document is expected");
        let patch = documents.remove(0);
        match self.kind {
            Kind::Json => {
                ensure!(patch.is_array(), "unable to parse {name}: a JSON patch is a list of changes");
            }
            _ => ensure!(patch.is_object(), "unable to parse {name}: a map of fields is expected"),
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
