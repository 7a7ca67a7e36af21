//! A program of the shop, and the objects that run it.

use serde_json::{Value, json};

use super::{Shop, ShopSize};
use crate::controllers::fields;

/// One program.
#[derive(Debug)]
pub(super) struct Workload {
    pub(super) name: &'static str,
    pub(super) namespace: &'static str,
    pub(super) kind: WorkloadKind,
    pub(super) image: &'static str,
    pub(super) release: (u8, u8, u8),
    /// Port of its service; without one it has no service.
    pub(super) port: Option<u16>,
    pub(super) environment: &'static [(&'static str, &'static str)],
    pub(super) corner: bool,
}

/// Kind of workload that runs a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WorkloadKind {
    /// Deployment, scaled between these numbers of replicas.
    Deployment { least: i64, most: i64 },
    /// StatefulSet with a volume per replica.
    StatefulSet { replicas: i64 },
    /// DaemonSet.
    DaemonSet,
    /// CronJob with this interval and run time.
    CronJob { minutes: u32, seconds: u32 },
}

const REGISTRY: &str = "registry.example.com";

// === impl Workload ===

impl Workload {
    pub(super) fn is_in(&self, size: ShopSize) -> bool {
        size == ShopSize::Full || self.corner
    }

    pub(super) fn image_of(&self, (major, minor, patch): (u8, u8, u8)) -> String {
        format!("{REGISTRY}/{}:{major}.{minor}.{patch}", self.image)
    }

    /// Objects that run the program, and those that belong to it.
    pub(super) fn manifests(&self, shop: &Shop<'_>, rng: &mut fastrand::Rng) -> Vec<Value> {
        let (major, minor, patch) = self.release;
        // Clusters differ in their releases.
        let image = self.image_of((major, minor, patch + rng.u8(..3)));
        let mut manifests = vec![self.account()];
        if !self.environment.is_empty() {
            manifests.push(self.settings(shop));
        }
        if self.port.is_some() {
            manifests.push(self.service());
        }
        manifests.push(match self.kind {
            WorkloadKind::Deployment { least, most } => {
                let replicas = if shop.size == ShopSize::Full { rng.i64(least..=most) } else { 1 };
                let strategy =
                    json!({ "type": "RollingUpdate", "rollingUpdate": { "maxSurge": 1, "maxUnavailable": 0 } });
                self.controller(
                    "Deployment",
                    &json!({ "replicas": replicas, "strategy": strategy, "revisionHistoryLimit": 3 }),
                    &image,
                )
            }
            WorkloadKind::StatefulSet { replicas } => {
                let claim = json!({
                    "metadata": { "name": "data" },
                    "spec": { "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "10Gi" } } },
                });
                let spec = json!({ "replicas": replicas, "serviceName": self.name, "volumeClaimTemplates": [claim] });
                self.controller("StatefulSet", &spec, &image)
            }
            WorkloadKind::DaemonSet => self.controller("DaemonSet", &json!({}), &image),
            WorkloadKind::CronJob { minutes, seconds } => self.cron_job(shop, &image, minutes, seconds, rng),
        });
        manifests
    }

    fn labels(&self) -> Value {
        json!({ "app": self.name, "app.kubernetes.io/part-of": self.namespace })
    }

    fn metadata(&self) -> Value {
        json!({ "name": self.name, "namespace": self.namespace, "labels": self.labels() })
    }

    fn account(&self) -> Value {
        json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": self.metadata() })
    }

    fn settings(&self, shop: &Shop<'_>) -> Value {
        let mut data: serde_json::Map<String, Value> =
            self.environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect();
        data.insert("REGION".to_owned(), shop.cluster.into());
        let mut metadata = self.metadata();
        fields::set(&mut metadata, &["name"], format!("{}-settings", self.name));
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data })
    }

    fn service(&self) -> Value {
        let mut spec = json!({
            "selector": { "app": self.name },
            "ports": [{ "name": "main", "port": self.port, "targetPort": "main" }],
        });
        if matches!(self.kind, WorkloadKind::StatefulSet { .. }) {
            fields::set(&mut spec, &["clusterIP"], "None");
        }
        json!({ "apiVersion": "v1", "kind": "Service", "metadata": self.metadata(), "spec": spec })
    }

    fn controller(&self, kind: &str, spec: &Value, image: &str) -> Value {
        let mut object =
            json!({ "apiVersion": "apps/v1", "kind": kind, "metadata": self.metadata(), "spec": spec });
        fields::set(&mut object, &["spec", "selector"], json!({ "matchLabels": { "app": self.name } }));
        fields::set(&mut object, &["spec", "template"], self.template(image));
        object
    }

    fn template(&self, image: &str) -> Value {
        let mut container = json!({
            "name": self.name,
            "image": image,
            "resources": { "requests": { "cpu": "100m", "memory": "128Mi" }, "limits": { "memory": "256Mi" } },
        });
        if !self.environment.is_empty() {
            let source = json!([{ "configMapRef": { "name": format!("{}-settings", self.name) } }]);
            fields::set(&mut container, &["envFrom"], source);
        }
        if let Some(port) = self.port {
            fields::set(&mut container, &["ports"], json!([{ "name": "main", "containerPort": port }]));
            fields::set(&mut container, &["readinessProbe"], json!({ "tcpSocket": { "port": "main" } }));
        }
        if matches!(self.kind, WorkloadKind::StatefulSet { .. }) {
            let mount = json!([{ "name": "data", "mountPath": "/var/lib/data" }]);
            fields::set(&mut container, &["volumeMounts"], mount);
        }
        json!({
            "metadata": { "labels": self.labels() },
            "spec": { "serviceAccountName": self.name, "containers": [container] },
        })
    }

    fn cron_job(
        &self,
        shop: &Shop<'_>,
        image: &str,
        minutes: u32,
        seconds: u32,
        rng: &mut fastrand::Rng,
    ) -> Value {
        let schedule = match shop.size {
            ShopSize::Full if minutes == 1 => "* * * * *".to_owned(),
            ShopSize::Full => format!("{}-59/{minutes} * * * *", rng.u32(..minutes)),
            // A thousand shops with a job every minute would have no capacity for anything else.
            ShopSize::Corner => format!("{} * * * *", rng.u32(..60)),
        };
        let mut template = self.template(image);
        fields::set(&mut template, &["spec", "restartPolicy"], "Never");
        let command = json!(["sh", "-c", format!("/bin/run --once & sleep {seconds}")]);
        fields::set(&mut template["spec"]["containers"][0], &["command"], command);
        let job = json!({ "spec": { "backoffLimit": 2, "template": template } });
        json!({
            "apiVersion": "batch/v1",
            "kind": "CronJob",
            "metadata": self.metadata(),
            "spec": {
                "schedule": schedule,
                "concurrencyPolicy": "Forbid",
                "successfulJobsHistoryLimit": 2,
                "failedJobsHistoryLimit": 1,
                "jobTemplate": job,
            },
        })
    }
}
