//! `spindrift set`: sets specific features on objects.

use std::{collections::BTreeMap, time::Duration};

use anyhow::{bail, ensure};
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use spindrift_model::PatchKind;

use super::{
    Context,
    operate::{AccountFlags, ChangeFormat, DryRunMode, LivePatch, ObjectChange, ResourceArgs, duration},
};

const EXAMPLES: &str = "Examples:
  # Set a deployment's web container image to 'web:2' in two accounts
  spindrift set image deployment/web web=web:2 -n shop -a eu-west,us-east";

const IMAGE_EXAMPLES: &str = "Examples:
  # Set a deployment's nginx container image to 'nginx:1.9.1', and its busybox
  # container image to 'busybox'
  spindrift set image deployment/nginx busybox=busybox nginx=nginx:1.9.1 \\
    -a eu-west

  # Update all deployments' and rc's nginx container's image to 'nginx:1.9.1'
  spindrift set image deployments,rc nginx=nginx:1.9.1 --all -a eu-west

  # Update image of all containers of daemonset abc to 'nginx:1.9.1', in all
  # accounts
  spindrift set image daemonset abc *=nginx:1.9.1 --all-accounts";

/// Set specific features on objects.
///
/// These commands help you make changes to existing application resources.
#[derive(Debug, Args)]
#[command(before_help = EXAMPLES, override_usage = "spindrift set SUBCOMMAND [options]")]
pub(crate) struct Set {
    #[command(subcommand)]
    action: SetCommand,
}

#[derive(Debug, Subcommand)]
enum SetCommand {
    /// Update existing container image(s) of resources.
    ///
    /// Possible resources include (case insensitive): pod (po), replicationcontroller (rc), deployment (deploy),
    /// daemonset (ds), statefulset (sts), cronjob (cj), replicaset (rs).
    #[command(
        before_help = IMAGE_EXAMPLES,
        override_usage = "spindrift set image (-f FILENAME | TYPE NAME) CONTAINER_NAME_1=CONTAINER_IMAGE_1 ... [options]"
    )]
    Image(SetImage),
}

#[derive(Debug, Args)]
struct SetImage {
    #[command(flatten)]
    resources: ResourceArgs,
    #[command(flatten)]
    account_flags: AccountFlags,
    /// Select all resources, in the namespace of the specified resource types.
    #[arg(long, conflicts_with = "selector")]
    all: bool,
    /// Name of the manager used to track field ownership.
    #[arg(long, value_name = "NAME", default_value = "kubectl-set")]
    field_manager: String,
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

/// Name of all containers.
const ALL: &str = "*";

// === impl Set ===

impl Set {
    pub(crate) async fn run(self, context: &Context) -> anyhow::Result<()> {
        let SetCommand::Image(image) = self.action;
        image.run(context).await
    }
}

// === impl SetImage ===

impl SetImage {
    async fn run(self, context: &Context) -> anyhow::Result<()> {
        let (resources, words) = self.resources.with_pairs("image")?;
        let images = images(&words)?;
        let account_flags = &self.account_flags;
        let chosen = if self.all {
            resources.named(account_flags).await?
        } else {
            resources.chosen(account_flags).await?
        };
        let patch = LivePatch {
            account_flags,
            resources: &resources,
            action: "setting the image of",
            output: self.output,
            dry_run: self.dry_run,
            deadline: self.timeout,
            field_manager: self.field_manager.clone(),
        };
        patch.run(context, &chosen, |live| change(live, &images)).await
    }
}

fn images(words: &[String]) -> anyhow::Result<BTreeMap<String, String>> {
    let mut images = BTreeMap::new();
    for word in words {
        match word.split_once('=') {
            Some((container, image)) => images.insert(container.to_owned(), image.to_owned()),
            None => bail!("invalid image format: {word}"),
        };
    }
    ensure!(!images.is_empty(), "at least one image update is required");
    ensure!(
        images.len() == 1 || !images.contains_key(ALL),
        "all containers are already specified by *, but saw more than one container_name=container_image pairs"
    );
    Ok(images)
}

/// Strategic merge patch of the containers whose image differs.
fn change(live: &Value, images: &BTreeMap<String, String>) -> Result<ObjectChange, String> {
    let parents = pod_spec(live["kind"].as_str().unwrap_or_default());
    let pointer: String = parents.iter().flat_map(|part| ["/", part]).collect();
    let Some(spec) = live.pointer(&pointer).filter(|spec| spec.get("containers").is_some()) else {
        let text = |pointer| live.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let object = format!("{}/{}", text("/kind").to_lowercase(), text("/metadata/name"));
        return Err(format!("{object} the object is not a pod or does not have a pod template"));
    };
    let mut found: Vec<&str> = Vec::new();
    let mut changed = serde_json::Map::new();
    for list in ["initContainers", "containers"] {
        let mut entries = Vec::new();
        for container in spec[list].as_array().into_iter().flatten() {
            let name = container["name"].as_str().unwrap_or_default();
            let wanted = images.get_key_value(name).or_else(|| images.get_key_value(ALL));
            if let Some((key, image)) = wanted {
                found.push(key);
                if container["image"].as_str() != Some(image) {
                    entries.push(json!({ "name": name, "image": image }));
                }
            }
        }
        if !entries.is_empty() {
            changed.insert(list.to_owned(), entries.into());
        }
    }
    if let Some(unfound) = images.keys().find(|name| !found.contains(&name.as_str())) {
        return Err(format!("unable to find container named {unfound:?}"));
    }
    let is_changed = !changed.is_empty();
    let patch = parents.iter().rev().fold(Value::Object(changed), |inner, part| json!({ *part: inner }));
    Ok(ObjectChange {
        kind: PatchKind::Strategic,
        patch: is_changed.then_some(patch),
        word: is_changed.then(|| "image updated".to_owned()),
        lines: Vec::new(),
    })
}

/// Path of the pod spec within a kind.
fn pod_spec(kind: &str) -> &'static [&'static str] {
    match kind {
        "Pod" => &["spec"],
        "CronJob" => &["spec", "jobTemplate", "spec", "template", "spec"],
        _ => &["spec", "template", "spec"],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &str) -> anyhow::Result<BTreeMap<String, String>> {
        images(&words.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn only_images_that_differ_are_patched() {
        let deployment = json!({ "kind": "Deployment", "metadata": { "name": "web" }, "spec": { "template": { "spec": {
            "initContainers": [{ "name": "init", "image": "init:1" }],
            "containers": [{ "name": "web", "image": "web:1" }, { "name": "log", "image": "log:1" }] } } } });
        let patch = |words: &str| change(&deployment, &parsed(words).unwrap()).map(|change| change.patch);
        assert_eq!(
            patch("web=web:2 log=log:1").unwrap(),
            Some(
                json!({ "spec": { "template": { "spec": { "containers": [{ "name": "web", "image": "web:2" }] } } } })
            )
        );
        assert_eq!(patch("web=web:1").unwrap(), None);
        let all = patch("*=x:1").unwrap().unwrap();
        assert_eq!(all["spec"]["template"]["spec"]["initContainers"][0]["image"], "x:1");
        assert_eq!(patch("nobody=x").unwrap_err(), "unable to find container named \"nobody\"");
        let service = json!({ "kind": "Service", "metadata": { "name": "web" }, "spec": {} });
        assert!(
            change(&service, &parsed("a=b").unwrap()).unwrap_err().contains("does not have a pod template")
        );
    }

    #[test]
    fn images_are_read_as_by_kubectl() {
        assert!(parsed("").unwrap_err().to_string().contains("at least one image"));
        assert!(parsed("*=a b=c").unwrap_err().to_string().contains("already specified by *"));
        assert_eq!(parsed("a=b@sha256:c=d").unwrap()["a"], "b@sha256:c=d");
    }
}
