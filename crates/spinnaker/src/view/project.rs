//! Projects of Front50, and the clusters that belong to them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{InstanceCounts, server_group};
use crate::{Inventory, NameParts, Row, SpinnakerKind};

/// Fields of a Front50 project that are needed here.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Project {
    #[serde(default)]
    config: ProjectConfig,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
struct ProjectConfig {
    applications: Option<Vec<String>>,
    clusters: Option<Vec<ProjectCluster>>,
}

/// Selects clusters of an account by stack and detail: `*` matches any, and an absent one matches only none.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct ProjectCluster {
    account: String,
    stack: Option<String>,
    detail: Option<String>,
    /// All applications of the project if absent.
    applications: Option<Vec<String>>,
}

/// Clusters of a project in an account.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClustersOfProject<'a> {
    account: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    stack: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<&'a str>,
    applications: Vec<ApplicationOfProject<'a>>,
    instance_counts: InstanceCounts,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ApplicationOfProject<'a> {
    application: &'a str,
    clusters: Vec<RegionOfProject<'a>>,
    last_push: i64,
}

/// Clusters of an application in a namespace.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct RegionOfProject<'a> {
    region: &'a str,
    builds: [Build<'a>; 1],
    instance_counts: InstanceCounts,
    last_push: i64,
}

/// Kubernetes has no builds, so that there is one without a number.
#[derive(Debug, Serialize)]
struct Build<'a> {
    #[serde(rename = "buildNumber")]
    number: &'static str,
    deployed: i64,
    images: &'a [String],
}

const ANY: &str = "*";
const NO_BUILD: &str = "0";

// === impl Project ===

impl Project {
    /// Applications of the project.
    pub fn applications(&self) -> &[String] {
        self.config.applications.as_deref().unwrap_or_default()
    }

    /// Clusters of the project, from the inventories of its applications; an application without one is empty.
    pub fn clusters<'a>(
        &'a self,
        inventories: &'a BTreeMap<&'a str, Inventory<'a>>,
    ) -> Vec<ClustersOfProject<'a>> {
        let clusters = self.config.clusters.iter().flatten();
        clusters.map(|cluster| ClustersOfProject::new(cluster, self.applications(), inventories)).collect()
    }
}

// === impl ProjectCluster ===

impl ProjectCluster {
    fn has(&self, group: &Row) -> bool {
        let parts = group.cluster.as_deref().map(NameParts::parse).unwrap_or_default();
        let matches = |wanted: &Option<String>, found: Option<&str>| match wanted.as_deref() {
            Some(ANY) => true,
            wanted => wanted == found,
        };
        *group.account == *self.account
            && group.cluster.is_some()
            && matches(&self.stack, parts.stack)
            && matches(&self.detail, parts.detail)
    }
}

// === impl ClustersOfProject ===

impl<'a> ClustersOfProject<'a> {
    fn new(
        cluster: &'a ProjectCluster,
        all: &'a [String],
        inventories: &'a BTreeMap<&'a str, Inventory<'a>>,
    ) -> Self {
        let applications = cluster.applications.as_deref().unwrap_or(all).iter();
        let applications: Vec<_> = applications
            .map(|name| ApplicationOfProject::new(name, cluster, inventories.get(&**name)))
            .collect();
        let regions = applications.iter().flat_map(|application| &application.clusters);
        Self {
            account: &cluster.account,
            stack: cluster.stack.as_deref(),
            detail: cluster.detail.as_deref(),
            instance_counts: regions.map(|region| region.instance_counts).sum(),
            applications,
        }
    }
}

// === impl ApplicationOfProject ===

impl<'a> ApplicationOfProject<'a> {
    fn new(application: &'a str, cluster: &ProjectCluster, inventory: Option<&'a Inventory<'a>>) -> Self {
        let mut regions: BTreeMap<&str, RegionOfProject<'a>> = BTreeMap::new();
        if let Some(inventory) = inventory {
            let groups = inventory.of_application(application, SpinnakerKind::ServerGroups);
            for group in groups.filter(|group| cluster.has(group)) {
                let counts = server_group::counts(group, inventory);
                if counts.is_empty() || server_group::is_disabled(group, inventory) {
                    continue;
                }
                let region =
                    regions.entry(&group.object.namespace).or_insert_with(|| RegionOfProject::new(group));
                region.add(group, counts);
            }
        }
        let clusters: Vec<_> = regions.into_values().collect();
        let last_push = clusters.iter().map(|region| region.last_push).max().unwrap_or_default();
        Self { application, clusters, last_push }
    }
}

// === impl RegionOfProject ===

impl<'a> RegionOfProject<'a> {
    fn new(group: &'a Row) -> Self {
        let images = group.workload().map(|workload| &*workload.images).unwrap_or_default();
        Self {
            region: &group.object.namespace,
            builds: [Build { number: NO_BUILD, deployed: 0, images }],
            instance_counts: InstanceCounts::default(),
            last_push: 0,
        }
    }

    fn add(&mut self, group: &Row, counts: InstanceCounts) {
        self.last_push = self.last_push.max(group.summary.created.unwrap_or_default());
        for build in &mut self.builds {
            build.deployed = self.last_push;
        }
        self.instance_counts = [self.instance_counts, counts].into_iter().sum();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use spindrift_model::ObjectKey;

    use super::*;
    use crate::{KindRules, RowRules};

    fn derive(account: &str, namespace: &str, body: &Value) -> Row {
        let text = |pointer: &str| body.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let key = ObjectKey {
            group: text("/apiVersion").split_once('/').map_or("", |(group, _)| group).into(),
            kind: text("/kind").into(),
            namespace: namespace.into(),
            name: text("/metadata/name").into(),
        };
        let kinds = KindRules::default();
        let rules = RowRules { kinds: &kinds, only_managed: false, all_applications: false };
        Row::derive(&account.into(), &key, body.to_string().as_bytes(), rules).unwrap()
    }

    /// Server group with a pod.
    fn group(place: (&str, &str), name: &str, cluster: &str, second: u32) -> [Row; 2] {
        let (account, namespace) = place;
        let group = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet",
            "metadata": {"name": name, "uid": name, "creationTimestamp": format!("1970-01-01T00:00:{second:02}Z"),
                "annotations": {"moniker.spinnaker.io/application": "shop", "moniker.spinnaker.io/cluster": cluster}},
            "spec": {"replicas": 1, "template": {"spec": {"containers": [{"image": format!("image-of-{name}")}]}}}});
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": format!("{name}-x"), "uid": "x",
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": name}]},
            "status": {"phase": "Running"}});
        [derive(account, namespace, &group), derive(account, namespace, &pod)]
    }

    #[test]
    fn a_project_shows_the_clusters_of_its_applications() {
        let empty = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "empty", "uid": "e",
            "annotations": {"moniker.spinnaker.io/application": "shop", "moniker.spinnaker.io/cluster": "replicaSet shop"}}});
        let mut rows = vec![derive("prod", "idle", &empty)];
        rows.extend(group(("prod", "web"), "shop-v000", "replicaSet shop", 1));
        rows.extend(group(("prod", "web"), "shop-v001", "replicaSet shop", 3));
        rows.extend(group(("prod", "api"), "shop-v000", "replicaSet shop", 2));
        rows.extend(group(("prod", "web"), "shop-main-blue", "shop-main-blue", 9));
        rows.extend(group(("test", "web"), "shop-v000", "replicaSet shop", 8));
        let inventories = BTreeMap::from([("shop", Inventory::new(&rows))]);
        let project = |clusters: Value| -> Project {
            let project = json!({"id": "1", "name": "shops", "email": null,
                "config": {"applications": ["shop", "bank"], "clusters": clusters, "pipelineConfigs": []}});
            serde_json::from_value(project).unwrap()
        };
        let counts = |up: u32| json!({"total": up, "up": up, "down": 0, "unknown": 0, "outOfService": 0, "starting": 0});
        let region = |region: &str, image: &str, up: u32, deployed: u32| {
            json!({"region": region, "instanceCounts": counts(up), "lastPush": deployed,
                "builds": [{"buildNumber": "0", "deployed": deployed, "images": [image]}]})
        };
        let bank = json!({"application": "bank", "clusters": [], "lastPush": 0});

        let by_kind = project(json!([{"account": "prod", "stack": "*", "detail": null}]));
        let shop = json!({"application": "shop", "lastPush": 3000, "clusters": [
            region("api", "image-of-shop-v000", 1, 2000), region("web", "image-of-shop-v000", 2, 3000)]});
        let expected = json!([{"account": "prod", "stack": "*", "applications": [shop, bank], "instanceCounts": counts(3)}]);
        assert_eq!(serde_json::to_value(by_kind.clusters(&inventories)).unwrap(), expected);

        let by_name = project(json!([
            {"account": "prod", "stack": "main", "detail": "blue", "applications": ["shop"]},
            {"account": "prod", "stack": "main", "applications": ["shop"]}, {"account": "nowhere"}]));
        let shown = serde_json::to_value(by_name.clusters(&inventories)).unwrap();
        assert_eq!(shown.pointer("/0/applications/0/clusters/0/region"), Some(&json!("web")));
        assert_eq!(shown.pointer("/0/instanceCounts"), Some(&counts(1)));
        assert_eq!(shown.pointer("/1/applications/0/clusters"), Some(&json!([])), "no detail is no detail");
        assert_eq!(shown.pointer("/2/applications/1"), Some(&bank));

        for nothing in [json!({}), json!({"config": {"applications": null, "clusters": null}})] {
            assert!(serde_json::from_value::<Project>(nothing).unwrap().clusters(&inventories).is_empty());
        }
    }
}
