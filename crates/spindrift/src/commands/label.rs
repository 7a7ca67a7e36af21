//! `spindrift label` and `spindrift annotate`: update labels and annotations.

mod pairs;

use std::time::Duration;

use anyhow::ensure;
use clap::Args;
use serde_json::{Map, Value};

use self::pairs::{MetadataMap, Pairs};
use super::{
    Context,
    operate::{AccountFlags, ChangeFormat, DryRunMode, LivePatch, ObjectChange, ResourceArgs, duration},
};

const LABEL_EXAMPLES: &str = "Examples:
  # Update pod 'foo' with the label 'unhealthy' and the value 'true'
  spindrift label pods foo unhealthy=true -a eu-west

  # Update pod 'foo' with the label 'status' and the value 'unhealthy',
  # overwriting any existing value
  spindrift label --overwrite pods foo status=unhealthy -a eu-west

  # Update all pods of the namespace in all accounts
  spindrift label pods --all status=unhealthy -n shop --all-accounts

  # Update a pod identified by the type and name in \"pod.json\"
  spindrift label -f pod.json status=unhealthy -a eu-west

  # Update pod 'foo' by removing a label named 'bar' if it exists
  # Does not require the --overwrite flag
  spindrift label pods foo bar- -a eu-west";

const ANNOTATE_EXAMPLES: &str = "Examples:
  # Update pod 'foo' with the annotation 'description' and the value 'my
  # frontend'
  spindrift annotate pods foo description='my frontend' -a eu-west

  # Update a pod identified by type and name in \"pod.json\"
  spindrift annotate -f pod.json description='my frontend' -a eu-west

  # Overwrite any existing value
  spindrift annotate --overwrite pods foo description='nginx' -a eu-west

  # Update all pods of the namespace in all accounts
  spindrift annotate pods --all description='nginx' -n shop --all-accounts

  # Update pod 'foo' by removing an annotation named 'description' if it exists
  # Does not require the --overwrite flag
  spindrift annotate pods foo description- -a eu-west";

/// Update the labels on a resource.
///
/// A label key and value must begin with a letter or number, and may contain letters, numbers, hyphens, dots, and
/// underscores, up to 63 characters each. Optionally, the key can begin with a DNS subdomain prefix and a single '/',
/// like example.com/my-app. If --overwrite is true, then existing labels can be overwritten, otherwise attempting to
/// overwrite a label will result in an error.
#[derive(Debug, Args)]
#[command(
    before_help = LABEL_EXAMPLES,
    override_usage = "spindrift label [--overwrite] (-f FILENAME | TYPE NAME) KEY_1=VAL_1 ... KEY_N=VAL_N [options]"
)]
pub(crate) struct Label {
    #[command(flatten)]
    change: MetadataFlags,
}

/// Update the annotations on one or more resources.
///
/// All Kubernetes objects support the ability to store additional data with the object as annotations. Annotations are
/// key/value pairs that can be larger than labels and include arbitrary string values such as structured JSON.
///
/// Attempting to set an annotation that already exists will fail unless --overwrite is set.
#[derive(Debug, Args)]
#[command(
    before_help = ANNOTATE_EXAMPLES,
    override_usage = "spindrift annotate [--overwrite] (-f FILENAME | TYPE NAME) KEY_1=VAL_1 ... KEY_N=VAL_N [options]"
)]
pub(crate) struct Annotate {
    #[command(flatten)]
    change: MetadataFlags,
}

/// Flags of both commands.
#[derive(Debug, Args)]
struct MetadataFlags {
    #[command(flatten)]
    resources: ResourceArgs,
    #[command(flatten)]
    account_flags: AccountFlags,
    /// If true, allow existing values to be overwritten, otherwise reject updates that overwrite them.
    #[arg(long)]
    overwrite: bool,
    /// If true, display the current values for a given resource.
    #[arg(long, conflicts_with = "output")]
    list: bool,
    /// Select all resources, in the namespace of the specified resource types.
    #[arg(long, conflicts_with = "selector")]
    all: bool,
    /// If non-empty, the update will only succeed if this is the current resource-version for the object. Only valid when
    /// specifying a single resource.
    #[arg(long, value_name = "VERSION")]
    resource_version: Option<String>,
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

// === impl Label, Annotate ===

impl Label {
    pub(crate) async fn run(self, context: &Context) -> anyhow::Result<()> {
        self.change.run(context, MetadataMap::Labels).await
    }
}

impl Annotate {
    pub(crate) async fn run(self, context: &Context) -> anyhow::Result<()> {
        self.change.run(context, MetadataMap::Annotations).await
    }
}

// === impl MetadataFlags ===

impl MetadataFlags {
    async fn run(&self, context: &Context, map: MetadataMap) -> anyhow::Result<()> {
        let (resources, words) = self.resources.with_pairs(map.word())?;
        let pairs = Pairs::parse(map, &words)?;
        ensure!(self.list || !pairs.is_empty(), "at least one {} update is required", map.word());
        let account_flags = &self.account_flags;
        let chosen = if self.all {
            resources.named(account_flags).await?
        } else {
            resources.chosen(account_flags).await?
        };
        let is_one = matches!(&chosen[..], [one] if one.name.is_some());
        ensure!(
            self.resource_version.is_none() || is_one,
            "--resource-version may only be used with a single resource"
        );
        let patch = LivePatch {
            account_flags,
            resources: &resources,
            action: map.action(),
            output: self.output,
            dry_run: self.dry_run,
            deadline: self.timeout,
            field_manager: self.field_manager.clone().unwrap_or_else(|| map.manager().to_owned()),
        };
        patch.run(context, &chosen, |live| self.change(map, &pairs, is_one, live)).await
    }

    fn change(
        &self,
        map: MetadataMap,
        pairs: &Pairs,
        is_one: bool,
        live: &Value,
    ) -> Result<ObjectChange, String> {
        let change = pairs.change(map, live, self.overwrite)?;
        if self.list {
            let lines = listing(map, is_one, live);
            return Ok(ObjectChange {
                word: None,
                lines,
                ..ObjectChange::of_metadata("", Map::new(), None, "")
            });
        }
        let version = self.resource_version.as_deref();
        let lines = match (map, self.dry_run) {
            (MetadataMap::Labels, DryRunMode::None | DryRunMode::Server) => {
                change.not_found.iter().map(|key| format!("label {key:?} not found.")).collect()
            }
            _ => Vec::new(),
        };
        let field = map.field();
        let mut changed = ObjectChange::of_metadata(field, change.entries, version, change.word);
        if map == MetadataMap::Labels && change.word == pairs::NOT_LABELED {
            changed.patch = None;
        }
        Ok(ObjectChange { lines, ..changed })
    }
}

/// Entries of an object, sorted by key.
fn listing(map: MetadataMap, is_one: bool, live: &Value) -> Vec<String> {
    let text = |pointer| live.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let mut lines = Vec::new();
    let indent = if is_one { "" } else { " " };
    if !is_one {
        let group = text("/apiVersion").split_once('/').map_or("", |(group, _)| group);
        let (kind, name) = (text("/kind"), text("/metadata/name"));
        lines.push(format!("Listing {} for {kind}.{group}/{name}:", map.field()));
    }
    for (key, value) in live["metadata"][map.field()].as_object().into_iter().flatten() {
        lines.push(format!("{indent}{key}={}", value.as_str().unwrap_or_default()));
    }
    lines
}
