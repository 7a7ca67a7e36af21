//! Manifests of the subcommands of `create`, as kubectl generates them.

use anyhow::{Context as _, ensure};
use base64::{Engine, prelude::BASE64_STANDARD};
use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};

use super::{CreateFlags, WithFlags, sources::SourceFlags};

/// Kinds that have only a name.
#[derive(Debug, Args)]
pub(crate) struct NameArgs {
    /// The name of the new object.
    name: String,
}

#[derive(Debug, Args)]
pub(crate) struct ConfigMapArgs {
    /// The name of the config map.
    name: String,
    #[command(flatten)]
    sources: SourceFlags,
}

#[derive(Debug, Args)]
pub(crate) struct SecretCommand {
    #[command(subcommand)]
    action: SecretKind,
}

#[derive(Debug, Subcommand)]
enum SecretKind {
    /// Create a secret from a local file, directory, or literal value.
    #[command(
        before_help = super::SECRET_EXAMPLES,
        override_usage = "spindrift create secret generic NAME [--type=string] [--from-file=[key=]source] \
                          [--from-literal=key1=value1] [options]"
    )]
    Generic(WithFlags<GenericSecretArgs>),
}

#[derive(Debug, Args)]
pub(crate) struct GenericSecretArgs {
    /// The name of the secret.
    name: String,
    /// The type of secret to create.
    #[arg(long = "type", value_name = "TYPE")]
    kind: Option<String>,
    #[command(flatten)]
    sources: SourceFlags,
}

#[derive(Debug, Args)]
pub(crate) struct DeploymentArgs {
    /// The name of the deployment.
    name: String,
    /// Image names to run. A deployment can have multiple images set for multi-container pod.
    #[arg(long, required = true, value_delimiter = ',', value_name = "IMAGE")]
    image: Vec<String>,
    /// The container port that this deployment exposes.
    #[arg(long)]
    port: Option<u16>,
    /// Number of replicas to create.
    #[arg(short, long, default_value_t = 1, value_name = "COUNT")]
    replicas: u32,
    /// The command of the containers.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct JobArgs {
    /// The name of the job.
    name: String,
    /// Image name to run.
    #[arg(long)]
    image: String,
    /// The command of the container.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct CronJobArgs {
    /// The name of the cron job.
    name: String,
    /// Image name to run.
    #[arg(long)]
    image: String,
    /// A schedule in the Cron format the job should be run with.
    #[arg(long)]
    schedule: String,
    /// The job's restart policy. Supported values: OnFailure, Never.
    #[arg(long, default_value = "OnFailure", value_name = "POLICY")]
    restart: String,
    /// The command of the container.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ServiceCommand {
    #[command(subcommand)]
    action: ServiceKind,
}

#[derive(Debug, Subcommand)]
enum ServiceKind {
    /// Create a ClusterIP service with the specified name.
    #[command(
        before_help = super::SERVICE_EXAMPLES,
        override_usage = "spindrift create service clusterip NAME [--tcp=<port>:<targetPort>] [options]"
    )]
    Clusterip(WithFlags<ClusterIpArgs>),
}

#[derive(Debug, Args)]
pub(crate) struct ClusterIpArgs {
    /// The name of the service.
    name: String,
    /// Port pairs can be specified as '<port>:<targetPort>'.
    #[arg(long, value_delimiter = ',', value_name = "PORT")]
    tcp: Vec<String>,
    /// Assign your own ClusterIP or set to 'None' for a 'headless' service (no loadbalancing).
    #[arg(long, value_name = "ADDRESS")]
    clusterip: Option<String>,
}

// === impl NameArgs ===

impl NameArgs {
    pub(super) fn namespace(&self) -> Value {
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": self.name } })
    }

    pub(super) fn service_account(&self) -> Value {
        json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": self.name } })
    }
}

// === impl ConfigMapArgs ===

impl ConfigMapArgs {
    pub(super) fn manifest(&self) -> anyhow::Result<Value> {
        let (mut data, mut binary) = (Map::new(), Map::new());
        for (key, value) in self.sources.read()? {
            match String::from_utf8(value) {
                Ok(text) => data.insert(key, text.into()),
                Err(error) => binary.insert(key, BASE64_STANDARD.encode(error.into_bytes()).into()),
            };
        }
        let mut map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": self.name } });
        for (field, entries) in [("data", data), ("binaryData", binary)] {
            if !entries.is_empty() {
                map[field] = entries.into();
            }
        }
        Ok(map)
    }
}

// === impl SecretCommand ===

impl SecretCommand {
    pub(super) fn manifest(self) -> anyhow::Result<(Value, CreateFlags)> {
        let SecretKind::Generic(WithFlags { args, flags }) = self.action;
        Ok((args.manifest()?, flags))
    }
}

impl GenericSecretArgs {
    fn manifest(&self) -> anyhow::Result<Value> {
        let mut data = Map::new();
        for (key, value) in self.sources.read()? {
            data.insert(key, BASE64_STANDARD.encode(value).into());
        }
        let mut secret = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": self.name } });
        if !data.is_empty() {
            secret["data"] = data.into();
        }
        if let Some(kind) = &self.kind {
            secret["type"] = kind.as_str().into();
        }
        Ok(secret)
    }
}

// === impl DeploymentArgs ===

impl DeploymentArgs {
    pub(super) fn manifest(&self) -> anyhow::Result<Value> {
        let Self { name, image, port, replicas, command } = self;
        ensure!(
            image.len() == 1 || command.is_empty(),
            "cannot specify multiple --image options and command"
        );
        let mut containers = Vec::new();
        for image in image {
            let mut one = container(&container_name(image), image, command);
            // kubectl sets the port of the first container only.
            if let Some(port) = port.filter(|_| containers.is_empty()) {
                one["ports"] = json!([{ "containerPort": port }]);
            }
            containers.push(one);
        }
        let labels = json!({ "app": name });
        Ok(json!({
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": { "name": name, "labels": labels },
            "spec": {
                "replicas": replicas,
                "selector": { "matchLabels": labels },
                "template": { "metadata": { "labels": labels }, "spec": { "containers": containers } },
            },
        }))
    }
}

/// Name of an image, without registry, tag and digest.
fn container_name(image: &str) -> String {
    let name = image.rsplit('/').next().unwrap_or(image);
    let name = name.split([':', '@']).next().unwrap_or(name);
    name.replace(['_', '.'], "-")
}

fn container(name: &str, image: &str, command: &[String]) -> Value {
    let mut container = json!({ "name": name, "image": image });
    if !command.is_empty() {
        container["command"] = command.into();
    }
    container
}

// === impl JobArgs, CronJobArgs ===

impl JobArgs {
    pub(super) fn manifest(&self) -> Value {
        let Self { name, image, command } = self;
        let spec = json!({ "containers": [container(name, image, command)], "restartPolicy": "Never" });
        json!({
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": { "name": name },
            "spec": { "template": { "spec": spec } },
        })
    }
}

impl CronJobArgs {
    pub(super) fn manifest(&self) -> Value {
        let Self { name, image, schedule, restart, command } = self;
        let spec = json!({ "containers": [container(name, image, command)], "restartPolicy": restart });
        let template = json!({ "metadata": { "name": name }, "spec": { "template": { "spec": spec } } });
        json!({
            "apiVersion": "batch/v1",
            "kind": "CronJob",
            "metadata": { "name": name },
            "spec": { "schedule": schedule, "jobTemplate": template },
        })
    }
}

// === impl ServiceCommand ===

impl ServiceCommand {
    pub(super) fn manifest(self) -> anyhow::Result<(Value, CreateFlags)> {
        let ServiceKind::Clusterip(WithFlags { args, flags }) = self.action;
        Ok((args.manifest()?, flags))
    }
}

impl ClusterIpArgs {
    fn manifest(&self) -> anyhow::Result<Value> {
        let Self { name, tcp, clusterip } = self;
        let is_headless = clusterip.as_deref() == Some("None");
        ensure!(!tcp.is_empty() || is_headless, "at least one tcp port specifier must be provided");
        let ports = tcp.iter().map(|pair| port(pair)).collect::<anyhow::Result<Vec<_>>>()?;
        let mut spec = json!({ "type": "ClusterIP", "selector": { "app": name }, "ports": ports });
        if let Some(address) = clusterip {
            spec["clusterIP"] = address.as_str().into();
        }
        Ok(json!({
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": { "name": name, "labels": { "app": name } },
            "spec": spec,
        }))
    }
}

/// Port of `80` or `80:8080`.
fn port(pair: &str) -> anyhow::Result<Value> {
    let (port, target) = pair.split_once(':').unwrap_or((pair, pair));
    let number: u16 = port
        .parse()
        .with_context(|| format!("--tcp {pair:?}: expected <port>:<targetPort>, such as 80:8080"))?;
    let target = target.parse::<u16>().map_or_else(|_| Value::from(target), Value::from);
    Ok(json!({
        "name": pair.replace(':', "-"), "port": number, "protocol": "TCP", "targetPort": target,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn containers_are_named_after_their_images() {
        for (image, name) in [
            ("nginx", "nginx"),
            ("registry.example.com:5000/team/web:1.2", "web"),
            ("web@sha256:abc", "web"),
            ("my_app.v2:1", "my-app-v2"),
        ] {
            assert_eq!(container_name(image), name);
        }
    }

    #[test]
    fn ports_are_read_as_by_kubectl() {
        assert_eq!(
            port("80:http").unwrap(),
            json!({ "name": "80-http", "port": 80, "protocol": "TCP", "targetPort": "http" })
        );
        assert_eq!(port("80").unwrap()["targetPort"], 80);
        assert!(port("http:80").unwrap_err().to_string().contains("such as 80:8080"));
    }
}
