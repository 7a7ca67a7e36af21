//! `spindrift apply`: applies manifests in one or several accounts.

use std::time::Duration;

use anyhow::ensure;
use clap::{Args, ValueEnum};
use spindrift_model::{Apply as ApplyVerb, ApplyMode, KubectlAction, Manifest, Validation, Verb};

use super::{
    Context,
    operate::{AccountFlags, ChangeCommand, ChangeFormat, DryRunMode, FilenameFlags, Step, duration, title},
};

const EXAMPLES: &str = "Examples:
  # Apply the configuration in web.yaml to one account
  spindrift apply -f ./web.yaml -a eu-west

  # Apply all files of a directory tree to some accounts
  spindrift apply -f shop/ -R -a 'eu-*'

  # Apply the manifests passed into stdin to all accounts
  cat web.yaml | spindrift apply -f - --all-accounts

  # Submit a server-side request without persisting the resource
  spindrift apply -f web.yaml -a eu-west --dry-run=server

  # Server-side apply, with force on conflicts
  spindrift apply -f web.yaml -a eu-west --server-side --force-conflicts";

/// Apply a configuration to a resource by file name or stdin.
///
/// The resource name must be specified. This resource will be created if it doesn't exist yet. The agent of each account
/// applies the manifests in the order of the files; an object that fails does not stop the following ones.
///
/// JSON and YAML formats are accepted.
#[derive(Debug, Args)]
#[command(before_help = EXAMPLES, override_usage = "spindrift apply -f FILENAME [-a ACCOUNT | --all-accounts] [options]")]
pub(crate) struct Apply {
    #[command(flatten)]
    files: FilenameFlags,
    #[command(flatten)]
    account_flags: AccountFlags,
    #[command(flatten)]
    strategy: ApplyFlags,
    /// Delete and re-create a resource if it cannot be changed in place.
    #[arg(long)]
    force: bool,
    /// Dry run strategy.
    #[arg(long, value_enum, default_value_t, value_name = "STRATEGY")]
    dry_run: DryRunMode,
    /// Validation of unknown or duplicate fields.
    #[arg(long, value_enum, default_value_t, value_name = "MODE")]
    validate: Validate,
    /// Output format. Defaults to one line for each object.
    #[arg(short, long, value_enum, value_name = "FORMAT")]
    output: Option<ChangeFormat>,
    /// The length of time to wait for each object before giving up (e.g. 30s, 5m). Defaults to the limit of the hub.
    #[arg(long, value_parser = duration, value_name = "TIME")]
    timeout: Option<Duration>,
}

/// Flags of client-side and server-side apply.
#[derive(Debug, Args)]
pub(crate) struct ApplyFlags {
    /// If true, apply runs in the server instead of the agent. Defaults to the setting of the agent.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    server_side: Option<bool>,
    /// If true, server-side apply will force the changes against conflicts.
    #[arg(long)]
    pub(crate) force_conflicts: bool,
    /// Name of the manager used to track field ownership.
    #[arg(long, value_name = "NAME")]
    pub(crate) field_manager: Option<String>,
}

#[derive(Debug, Clone, Copy, Default, ValueEnum)]
enum Validate {
    /// Fail the request.
    #[default]
    #[value(alias = "true")]
    Strict,
    /// Warn about the fields and drop them.
    Warn,
    /// Drop the fields.
    #[value(alias = "false")]
    Ignore,
}

// === impl Apply ===

impl Apply {
    pub(crate) async fn run(self, context: &Context) -> anyhow::Result<()> {
        let steps = self.steps().await?;
        let Self { account_flags, output, dry_run, timeout, .. } = &self;
        let change = ChangeCommand {
            account_flags,
            action: KubectlAction::Applying,
            output: *output,
            dry_run: *dry_run,
            deadline: *timeout,
        };
        change.run(context, async |_, _| Ok(steps.clone())).await
    }

    async fn steps(&self) -> anyhow::Result<Vec<Step>> {
        ensure!(
            !self.files.is_empty(),
            "must specify -f: a file, a directory, a URL, or - for stdin; or -k: a kustomization directory"
        );
        self.strategy.check()?;
        let sources = self.files.read().await?;
        ensure!(!sources.is_empty(), "no objects passed to apply");
        let mut steps = Vec::new();
        for source in sources {
            let namespace = Some(source.namespace(&self.account_flags)?);
            let title = title(&source.manifest);
            let verb = Verb::Apply(ApplyVerb {
                manifest: Manifest(source.manifest),
                namespace,
                mode: self.strategy.mode(),
                field_manager: self.strategy.field_manager.clone(),
                force_conflicts: self.strategy.force_conflicts,
                force: self.force,
                dry_run: self.dry_run.into(),
                validate: self.validate.into(),
                values_from: None,
            });
            steps.push(Step { verb, title, file: Some(source.file) });
        }
        Ok(steps)
    }
}

// === impl ApplyFlags ===

impl ApplyFlags {
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
