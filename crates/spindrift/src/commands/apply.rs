//! `spindrift apply`: makes objects what manifests say, in one cluster or in many.

use std::time::Duration;

use anyhow::ensure;
use clap::{Args, ValueEnum};
use spindrift_model::{Apply as ApplyVerb, ApplyMode, Manifest, Status, Validation, Verb};

use super::{
    Context,
    operate::{Change, Dry, Files, Format, Step, Where, duration, title},
};

const EXAMPLES: &str = "Examples:
  spindrift apply -f web.yaml -a eu-west              in one cluster
  spindrift apply -f shop/ -R -a 'eu-*'               a directory, in some clusters
  cat web.yaml | spindrift apply -f - --all-accounts  from stdin, in all clusters
  spindrift apply -f web.yaml --dry-run=server        what would be, stored nowhere
  spindrift apply -f web.yaml --server-side --force-conflicts";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Apply {
    #[command(flatten)]
    files: Files,
    #[command(flatten)]
    wherever: Where,
    #[command(flatten)]
    how: How,
    /// Deletes and creates anew what cannot be changed in place.
    #[arg(long)]
    force: bool,
    /// Whether it is only tried.
    #[arg(long, value_enum, default_value_t, value_name = "WHERE")]
    dry_run: Dry,
    /// What becomes of fields that the API server does not know.
    #[arg(long, value_enum, default_value_t, value_name = "HOW")]
    validate: Validate,
    /// How to show what was done; kubectl's words if absent.
    #[arg(short, long, value_enum, value_name = "FORMAT")]
    output: Option<Format>,
    /// How long each object may take.
    #[arg(long, value_parser = duration, value_name = "TIME")]
    timeout: Option<Duration>,
}

/// How a manifest becomes an object.
#[derive(Debug, Args)]
pub(crate) struct How {
    /// Lets the API server compute the change; =false: lets the agent do it. As the agent is configured, if absent.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    server_side: Option<bool>,
    /// Takes fields from their other managers.
    #[arg(long)]
    pub(crate) force_conflicts: bool,
    /// Whose fields they become.
    #[arg(long, value_name = "NAME")]
    pub(crate) field_manager: Option<String>,
}

#[derive(Debug, Clone, Copy, Default, ValueEnum)]
enum Validate {
    /// They are refused.
    #[default]
    #[value(alias = "true")]
    Strict,
    /// They are dropped with a warning.
    Warn,
    /// They are dropped.
    #[value(alias = "false")]
    Ignore,
}

// === impl Apply ===

impl Apply {
    pub(crate) async fn run(self, context: &Context) -> anyhow::Result<()> {
        let steps = self.steps()?;
        let Self { wherever, output, dry_run, timeout, .. } = &self;
        let change =
            Change { wherever, doing: Status::APPLYING, output: *output, dry: *dry_run, deadline: *timeout };
        change.run(context, async |_, _| Ok(steps.clone())).await
    }

    fn steps(&self) -> anyhow::Result<Vec<Step>> {
        ensure!(!self.files.is_empty(), "must specify -f: a file, a directory, or - for stdin");
        self.how.check()?;
        let sources = self.files.read()?;
        ensure!(!sources.is_empty(), "no objects passed to apply");
        let mut steps = Vec::new();
        for source in sources {
            let namespace = Some(source.namespace(&self.wherever)?);
            let title = title(&source.manifest);
            let verb = Verb::Apply(ApplyVerb {
                manifest: Manifest(source.manifest),
                namespace,
                mode: self.how.mode(),
                field_manager: self.how.field_manager.clone(),
                force_conflicts: self.how.force_conflicts,
                force: self.force,
                dry_run: self.dry_run.into(),
                validate: self.validate.into(),
            });
            steps.push(Step { verb, title, file: Some(source.file) });
        }
        Ok(steps)
    }
}

// === impl How ===

impl How {
    pub(crate) fn mode(&self) -> ApplyMode {
        match self.server_side {
            None => ApplyMode::Configured,
            Some(true) => ApplyMode::ServerSide,
            Some(false) => ApplyMode::ClientSide,
        }
    }

    pub(crate) fn check(&self) -> anyhow::Result<()> {
        let needless = self.force_conflicts && self.server_side != Some(true);
        ensure!(!needless, "--force-conflicts only works with --server-side");
        Ok(())
    }
}

// === impl Validate ===

impl From<Validate> for Validation {
    fn from(validate: Validate) -> Self {
        match validate {
            Validate::Strict => Self::Strict,
            Validate::Warn => Self::Warn,
            Validate::Ignore => Self::Ignore,
        }
    }
}
