//! The programs of the shop, as a table, and the objects that run them.

use serde_json::{Value, json};

use super::{Shop, Size};
use crate::controllers::fields;

/// One program.
#[derive(Debug)]
pub(super) struct Workload {
    pub(super) name: &'static str,
    pub(super) namespace: &'static str,
    pub(super) kind: Runs,
    pub(super) image: &'static str,
    pub(super) release: (u8, u8, u8),
    /// What it listens on; without a port it has no service.
    pub(super) port: Option<u16>,
    pub(super) environment: &'static [(&'static str, &'static str)],
    corner: bool,
}

/// How a program is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Runs {
    /// As a Deployment, with so many replicas at night and by day.
    Deployment { least: i64, most: i64 },
    /// As a StatefulSet, with a volume each.
    StatefulSet { replicas: i64 },
    /// On every node.
    DaemonSet,
    /// Every so many minutes, for so many seconds.
    CronJob { minutes: u32, seconds: u32 },
}

const REGISTRY: &str = "registry.example.com";

pub(super) const WORKLOADS: &[Workload] = &[
    Workload {
        name: "frontend",
        namespace: "shop",
        kind: Runs::Deployment { least: 2, most: 6 },
        image: "shop/frontend",
        release: (4, 12, 0),
        port: Some(8080),
        environment: &[
            ("CART_URL", "http://cart:8080"),
            ("SEARCH_URL", "http://search:8080"),
            ("CHECKOUT_URL", "http://checkout:8080"),
        ],
        corner: true,
    },
    Workload {
        name: "cart",
        namespace: "shop",
        kind: Runs::Deployment { least: 1, most: 4 },
        image: "shop/cart",
        release: (2, 3, 1),
        port: Some(8080),
        environment: &[("CACHE_ADDRESS", "cart-cache:6379"), ("SESSION_TTL", "45m")],
        corner: true,
    },
    Workload {
        name: "checkout",
        namespace: "shop",
        kind: Runs::Deployment { least: 1, most: 4 },
        image: "shop/checkout",
        release: (3, 0, 7),
        port: Some(8080),
        environment: &[("PAYMENT_URL", "http://payment.payments:8443"), ("CURRENCY", "EUR")],
        corner: false,
    },
    Workload {
        name: "search",
        namespace: "shop",
        kind: Runs::Deployment { least: 1, most: 3 },
        image: "shop/search",
        release: (1, 19, 4),
        port: Some(8080),
        environment: &[("CATALOGUE_DSN", "postgres://catalogue-db:5432/catalogue"), ("INDEX_REFRESH", "30s")],
        corner: false,
    },
    Workload {
        name: "recommendation",
        namespace: "shop",
        kind: Runs::Deployment { least: 1, most: 3 },
        image: "shop/recommendation",
        release: (0, 9, 2),
        port: Some(9000),
        environment: &[("MODEL", "also-bought-7"), ("MAX_ITEMS", "12")],
        corner: false,
    },
    Workload {
        name: "catalogue-db",
        namespace: "shop",
        kind: Runs::StatefulSet { replicas: 2 },
        image: "library/postgres",
        release: (17, 6, 0),
        port: Some(5432),
        environment: &[("POSTGRES_DB", "catalogue"), ("PGDATA", "/var/lib/postgresql/data/pg")],
        corner: false,
    },
    Workload {
        name: "cart-cache",
        namespace: "shop",
        kind: Runs::StatefulSet { replicas: 1 },
        image: "library/valkey",
        release: (8, 1, 3),
        port: Some(6379),
        environment: &[("MAXMEMORY", "256mb")],
        corner: false,
    },
    Workload {
        name: "sales-report",
        namespace: "shop",
        kind: Runs::CronJob { minutes: 1, seconds: 12 },
        image: "shop/reports",
        release: (1, 4, 0),
        port: None,
        environment: &[("REPORT", "sales"), ("BUCKET", "s3://shop-reports")],
        corner: true,
    },
    Workload {
        name: "stock-sync",
        namespace: "shop",
        kind: Runs::CronJob { minutes: 2, seconds: 20 },
        image: "shop/stock-sync",
        release: (0, 31, 0),
        port: None,
        environment: &[("WAREHOUSE", "https://warehouse.example.com")],
        corner: false,
    },
    Workload {
        name: "payment",
        namespace: "payments",
        kind: Runs::Deployment { least: 2, most: 4 },
        image: "payments/payment",
        release: (5, 1, 0),
        port: Some(8443),
        environment: &[("PROVIDERS", "card,transfer,voucher"), ("LEDGER_URL", "http://ledger:8080")],
        corner: true,
    },
    Workload {
        name: "ledger",
        namespace: "payments",
        kind: Runs::Deployment { least: 1, most: 2 },
        image: "payments/ledger",
        release: (2, 2, 2),
        port: Some(8080),
        environment: &[("CLOSING", "23:59")],
        corner: false,
    },
    Workload {
        name: "settlement",
        namespace: "payments",
        kind: Runs::CronJob { minutes: 5, seconds: 25 },
        image: "payments/settlement",
        release: (1, 0, 3),
        port: None,
        environment: &[("BATCH", "500")],
        corner: false,
    },
    Workload {
        name: "prometheus",
        namespace: "monitoring",
        kind: Runs::StatefulSet { replicas: 1 },
        image: "prom/prometheus",
        release: (3, 5, 0),
        port: Some(9090),
        environment: &[],
        corner: false,
    },
    Workload {
        name: "grafana",
        namespace: "monitoring",
        kind: Runs::Deployment { least: 1, most: 1 },
        image: "grafana/grafana",
        release: (12, 1, 0),
        port: Some(3000),
        environment: &[("GF_AUTH_ANONYMOUS_ENABLED", "true")],
        corner: false,
    },
    Workload {
        name: "log-shipper",
        namespace: "monitoring",
        kind: Runs::DaemonSet,
        image: "platform/log-shipper",
        release: (1, 8, 5),
        port: None,
        environment: &[("SINK", "loki.monitoring:3100")],
        corner: false,
    },
    Workload {
        name: "coredns",
        namespace: "kube-system",
        kind: Runs::Deployment { least: 2, most: 2 },
        image: "coredns/coredns",
        release: (1, 12, 1),
        port: Some(53),
        environment: &[],
        corner: false,
    },
    Workload {
        name: "kube-proxy",
        namespace: "kube-system",
        kind: Runs::DaemonSet,
        image: "kube-proxy",
        release: (1, 33, 4),
        port: None,
        environment: &[],
        corner: false,
    },
];

// === impl Workload ===

impl Workload {
    pub(super) fn is_in(&self, size: Size) -> bool {
        size == Size::Full || self.corner
    }

    pub(super) fn image_of(&self, (major, minor, patch): (u8, u8, u8)) -> String {
        format!("{REGISTRY}/{}:{major}.{minor}.{patch}", self.image)
    }

    /// The objects that run it, and those that belong to it.
    pub(super) fn manifests(&self, shop: &Shop<'_>, rng: &mut fastrand::Rng) -> Vec<Value> {
        let (major, minor, patch) = self.release;
        // Clusters are not all at the same release.
        let image = self.image_of((major, minor, patch + rng.u8(..3)));
        let mut manifests = vec![self.account()];
        if !self.environment.is_empty() {
            manifests.push(self.settings(shop));
        }
        if self.port.is_some() {
            manifests.push(self.service());
        }
        manifests.push(match self.kind {
            Runs::Deployment { least, most } => {
                let replicas = if shop.size == Size::Full { rng.i64(least..=most) } else { 1 };
                let strategy =
                    json!({ "type": "RollingUpdate", "rollingUpdate": { "maxSurge": 1, "maxUnavailable": 0 } });
                self.controller(
                    "Deployment",
                    &json!({ "replicas": replicas, "strategy": strategy, "revisionHistoryLimit": 3 }),
                    &image,
                )
            }
            Runs::StatefulSet { replicas } => {
                let claim = json!({
                    "metadata": { "name": "data" },
                    "spec": { "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "10Gi" } } },
                });
                let spec = json!({ "replicas": replicas, "serviceName": self.name, "volumeClaimTemplates": [claim] });
                self.controller("StatefulSet", &spec, &image)
            }
            Runs::DaemonSet => self.controller("DaemonSet", &json!({}), &image),
            Runs::CronJob { minutes, seconds } => self.cron_job(shop, &image, minutes, seconds, rng),
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
        if matches!(self.kind, Runs::StatefulSet { .. }) {
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
        if matches!(self.kind, Runs::StatefulSet { .. }) {
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
            Size::Full if minutes == 1 => "* * * * *".to_owned(),
            Size::Full => format!("{}-59/{minutes} * * * *", rng.u32(..minutes)),
            // A thousand shops that reported every minute would do nothing else.
            Size::Corner => format!("{} * * * *", rng.u32(..60)),
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
