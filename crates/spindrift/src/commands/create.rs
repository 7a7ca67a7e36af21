//! `spindrift create`: creates objects from files, or from the arguments of a subcommand.

mod generated;
mod sources;

use std::time::Duration;

use anyhow::ensure;
use clap::{Args, Subcommand, ValueEnum};
use serde_json::Value;
use spindrift_model::{Create as CreateVerb, KubectlAction, Manifest, Validation, Verb};

use self::generated::{
    ConfigMapArgs, CronJobArgs, DeploymentArgs, JobArgs, NameArgs, SecretCommand, ServiceCommand,
};
use super::{
    Context,
    operate::{AccountFlags, ChangeCommand, ChangeFormat, DryRunMode, FilenameFlags, Step, duration, title},
};

const EXAMPLES: &str = "Examples:
  # Create a pod using the data in pod.json
  spindrift create -f ./pod.json -a eu-west

  # Create a pod based on the JSON passed into stdin, in all accounts
  cat pod.json | spindrift create -f - --all-accounts

  # Create a namespace in two accounts
  spindrift create namespace shop -a eu-west,us-east";

const NAMESPACE_EXAMPLES: &str = "Examples:
  # Create a new namespace named my-namespace
  spindrift create namespace my-namespace -a eu-west";

const CONFIG_MAP_EXAMPLES: &str = "Examples:
  # Create a new config map named my-config based on folder bar
  spindrift create configmap my-config --from-file=path/to/bar -a eu-west

  # Create a new config map named my-config with specified keys instead of file
  # basenames on disk
  spindrift create configmap my-config --from-file=key1=/path/to/file1.txt \\
    -a eu-west

  # Create a new config map named my-config with key1=config1 and key2=config2
  spindrift create configmap my-config --from-literal=key1=config1 \\
    --from-literal=key2=config2 -a eu-west";

const SECRET_EXAMPLES: &str = "Examples:
  # Create a new secret named my-secret with key1=supersecret
  spindrift create secret generic my-secret \\
    --from-literal=key1=supersecret -a eu-west";

const DEPLOYMENT_EXAMPLES: &str = "Examples:
  # Create a deployment named my-dep that runs the busybox image
  spindrift create deployment my-dep --image=busybox -a eu-west

  # Create a deployment named my-dep that runs the nginx image with 3 replicas
  spindrift create deployment my-dep --image=nginx --replicas=3 -a eu-west

  # Create a deployment named my-dep that runs the busybox image with a command
  spindrift create deployment my-dep --image=busybox -a eu-west -- date";

const JOB_EXAMPLES: &str = "Examples:
  # Create a job
  spindrift create job my-job --image=busybox -a eu-west

  # Create a job with a command
  spindrift create job my-job --image=busybox -a eu-west -- date";

const CRON_JOB_EXAMPLES: &str = "Examples:
  # Create a cron job
  spindrift create cronjob my-job --image=busybox --schedule='*/1 * * * *' \\
    -a eu-west";

const SERVICE_ACCOUNT_EXAMPLES: &str = "Examples:
  # Create a new service account named my-service-account
  spindrift create serviceaccount my-service-account -a eu-west";

const SERVICE_EXAMPLES: &str = "Examples:
  # Create a new ClusterIP service named my-cs
  spindrift create service clusterip my-cs --tcp=5678:8080 -a eu-west";

/// Create a resource from a file or from stdin.
///
/// JSON and YAML formats are accepted.
#[derive(Debug, Args)]
#[command(
    before_help = EXAMPLES,
    args_conflicts_with_subcommands = true,
    override_usage = "spindrift create -f FILENAME [options]\n  spindrift create SUBCOMMAND [options]"
)]
pub(crate) struct Create {
    #[command(subcommand)]
    action: Option<CreateCommand>,
    #[command(flatten)]
    files: FilenameFlags,
    #[command(flatten)]
    flags: CreateFlags,
}

/// Flags of `create` and of its subcommands.
#[derive(Debug, Args)]
pub(crate) struct CreateFlags {
    #[command(flatten)]
    account_flags: AccountFlags,
    /// If true, the configuration of current object will be saved in its annotation, for a later apply.
    #[arg(long)]
    save_config: bool,
    /// Name of the manager used to track field ownership.
    #[arg(long, value_name = "NAME")]
    field_manager: Option<String>,
    /// Handling of unknown fields.
    #[arg(long, value_enum, default_value_t, value_name = "MODE")]
    validate: UnknownFields,
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
enum UnknownFields {
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

#[derive(Debug, Subcommand)]
enum CreateCommand {
    /// Create a namespace with the specified name.
    #[command(
        visible_alias = "ns",
        before_help = NAMESPACE_EXAMPLES,
        override_usage = "spindrift create namespace NAME [options]"
    )]
    Namespace(WithFlags<NameArgs>),
    /// Create a service account with the specified name.
    #[command(
        visible_alias = "sa",
        before_help = SERVICE_ACCOUNT_EXAMPLES,
        override_usage = "spindrift create serviceaccount NAME [options]"
    )]
    Serviceaccount(WithFlags<NameArgs>),
    /// Create a config map based on a file, directory, or specified literal value.
    #[command(
        visible_alias = "cm",
        before_help = CONFIG_MAP_EXAMPLES,
        override_usage = "spindrift create configmap NAME [--from-file=[key=]source] [--from-literal=key1=value1] [options]"
    )]
    Configmap(WithFlags<ConfigMapArgs>),
    /// Create a secret using a specified subcommand.
    #[command(before_help = SECRET_EXAMPLES, override_usage = "spindrift create secret generic NAME [options]")]
    Secret(SecretCommand),
    /// Create a deployment with the specified name.
    #[command(
        visible_alias = "deploy",
        before_help = DEPLOYMENT_EXAMPLES,
        override_usage = "spindrift create deployment NAME --image=image [options] -- [COMMAND] [args...]"
    )]
    Deployment(WithFlags<DeploymentArgs>),
    /// Create a service using a specified subcommand.
    #[command(
        visible_alias = "svc",
        before_help = SERVICE_EXAMPLES,
        override_usage = "spindrift create service clusterip NAME [options]"
    )]
    Service(ServiceCommand),
    /// Create a job with the specified name.
    #[command(
        before_help = JOB_EXAMPLES,
        override_usage = "spindrift create job NAME --image=image [options] -- [COMMAND] [args...]"
    )]
    Job(WithFlags<JobArgs>),
    /// Create a cron job with the specified name.
    #[command(
        visible_alias = "cj",
        before_help = CRON_JOB_EXAMPLES,
        override_usage = "spindrift create cronjob NAME --image=image --schedule='0/5 * * * ?' [options] -- [COMMAND] [args...]"
    )]
    Cronjob(WithFlags<CronJobArgs>),
}

/// Arguments of a subcommand, and the flags of all.
#[derive(Debug, Args)]
pub(crate) struct WithFlags<T: Args> {
    #[command(flatten)]
    args: T,
    #[command(flatten)]
    flags: CreateFlags,
}

// === impl Create ===

impl Create {
    pub(crate) async fn run(self, context: &Context) -> anyhow::Result<()> {
        let Self { action, files, flags } = self;
        let Some(action) = action else {
            ensure!(!files.is_empty(), "must specify one of -f and -k");
            let sources = files.read().await?;
            ensure!(!sources.is_empty(), "no objects passed to create");
            let mut objects = Vec::new();
            for source in sources {
                let namespace = source.namespace(&flags.account_flags)?;
                objects.push((source.manifest, namespace, Some(source.file)));
            }
            return flags.create(context, objects).await;
        };
        let (manifest, flags) = action.manifest()?;
        let namespace = flags.account_flags.namespace().to_owned();
        flags.create(context, vec![(manifest, namespace, None)]).await
    }
}

// === impl CreateCommand ===

impl CreateCommand {
    fn manifest(self) -> anyhow::Result<(Value, CreateFlags)> {
        Ok(match self {
            Self::Namespace(WithFlags { args, flags }) => (args.namespace(), flags),
            Self::Serviceaccount(WithFlags { args, flags }) => (args.service_account(), flags),
            Self::Configmap(WithFlags { args, flags }) => (args.manifest()?, flags),
            Self::Secret(secret) => secret.manifest()?,
            Self::Deployment(WithFlags { args, flags }) => (args.manifest()?, flags),
            Self::Service(service) => service.manifest()?,
            Self::Job(WithFlags { args, flags }) => (args.manifest(), flags),
            Self::Cronjob(WithFlags { args, flags }) => (args.manifest(), flags),
        })
    }
}

// === impl CreateFlags ===

impl CreateFlags {
    /// Creates objects, each with its namespace and file, in all selected accounts.
    async fn create(
        &self,
        context: &Context,
        objects: Vec<(Value, String, Option<String>)>,
    ) -> anyhow::Result<()> {
        let steps: Vec<_> = objects
            .into_iter()
            .map(|(manifest, namespace, file)| {
                let title = title(&manifest);
                let verb = Verb::Create(CreateVerb {
                    manifest: Manifest(manifest),
                    namespace: Some(namespace),
                    save_config: self.save_config,
                    field_manager: self.field_manager.clone(),
                    dry_run: self.dry_run.into(),
                    validate: self.validate.into(),
                });
                Step { verb, title, file }
            })
            .collect();
        let change = ChangeCommand {
            account_flags: &self.account_flags,
            action: KubectlAction::Other("creating"),
            output: self.output,
            dry_run: self.dry_run,
            deadline: self.timeout,
        };
        change.run(context, async |_, _| Ok(steps.clone())).await
    }
}

// === impl UnknownFields ===

impl From<UnknownFields> for Validation {
    fn from(fields: UnknownFields) -> Self {
        match fields {
            UnknownFields::Strict => Self::Strict,
            UnknownFields::Warn => Self::Warn,
            UnknownFields::Ignore => Self::Ignore,
        }
    }
}
