//! Search by any part of the name of an object, its application or its cluster.
//!
//! Hits by their own name come first; then, again, all objects of the applications and clusters that were found. Deck
//! expects the duplicates and removes them.

use std::fmt::Write;

use serde::Serialize;

use super::{ClusterRef, KUBERNETES};
use crate::{Kind, RowKey, SpinnakerKind};

/// Types to search for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchTypes {
    applications: bool,
    clusters: bool,
    spinnaker_kinds: Vec<SpinnakerKind>,
    kinds: Vec<Kind>,
}

/// Response: one page of hits.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SearchPage<'a> {
    /// Of this page.
    total_matches: usize,
    page_number: i32,
    page_size: i32,
    platform: &'a str,
    query: &'a str,
    results: Vec<Hit<'a>>,
}

/// Search hit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Hit<'a> {
    provider: &'static str,
    r#type: &'static str,
    name: String,
    group: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    account: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kubernetes_kind: Option<&'a Kind>,
    #[serde(skip_serializing_if = "Option::is_none")]
    namespace: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    region: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    logical_kind: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    server_group: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    instance_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    load_balancer: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    application: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cluster: Option<&'a str>,
}

/// Data to search: all applications and clusters, and at least the rows of the requested kinds.
#[derive(Debug, Clone, Copy)]
pub struct Searched<'a> {
    pub rows: &'a [RowKey],
    pub clusters: &'a [ClusterRef],
    pub applications: &'a [String],
}

/// Query in lower case, to be found within keys.
struct Needle {
    query: String,
    key: String,
}

// === impl SearchTypes ===

impl SearchTypes {
    /// Parses types: classifications, kinds, `applications` and `clusters`. Others find nothing.
    pub fn parse<'a>(types: impl IntoIterator<Item = &'a str>) -> Self {
        let mut wanted = Self::default();
        for name in types {
            match (name, SpinnakerKind::parse(name)) {
                ("applications", _) => wanted.applications = true,
                ("clusters", _) => wanted.clusters = true,
                // Unclassified objects are found by kind only.
                (_, Some(SpinnakerKind::Unclassified)) => {}
                (_, Some(kind)) => wanted.spinnaker_kinds.push(kind),
                (_, None) => wanted.kinds.push(Kind::parse(name)),
            }
        }
        wanted
    }

    /// Whether the row has a requested type.
    pub fn want(&self, row: &RowKey) -> bool {
        self.spinnaker_kinds.contains(&row.spinnaker_kind) || self.kinds.contains(&row.object.kind)
    }

    /// Whether applications or clusters are requested, which are not objects.
    pub fn want_names(&self) -> bool {
        self.applications || self.clusters
    }

    /// Requested classifications.
    pub fn spinnaker_kinds(&self) -> &[SpinnakerKind] {
        &self.spinnaker_kinds
    }

    /// Requested kinds.
    pub fn kinds(&self) -> &[Kind] {
        &self.kinds
    }
}

/// All hits.
pub fn search<'a>(query: &str, types: &SearchTypes, searched: Searched<'a>) -> Vec<Hit<'a>> {
    let Searched { rows, clusters, applications } = searched;
    let mut needle = Needle::new(query);
    let (mut direct, mut related) = (Vec::new(), Vec::new());
    for row in rows.iter().filter(|row| types.want(row)) {
        if needle.is_in_object(row) {
            direct.push(Hit::of_object(row));
        }
        let application = row.application.as_deref();
        let by_cluster = row.cluster.as_deref().filter(|cluster| {
            application.is_some_and(|application| needle.is_in_cluster(&row.account, application, cluster))
        });
        let by_application = application.is_some_and(|application| needle.is_in_application(application));
        if by_cluster.is_some() || by_application {
            related.push(Hit { application, cluster: by_cluster, ..Hit::of_object(row) });
        }
    }
    for ClusterRef { application, account, cluster } in clusters.iter().filter(|_| types.clusters) {
        if needle.is_in_cluster(account, application, cluster) {
            direct.push(Hit::of_cluster(account, application, cluster));
        }
        if needle.is_in_application(application) {
            related.push(Hit::of_cluster(account, application, cluster));
        }
    }
    for application in applications.iter().filter(|_| types.applications) {
        if needle.is_in_application(application) {
            direct.push(Hit::of_application(application, None));
        }
        let mut clusters = clusters.iter().filter(|cluster| cluster.application == *application);
        let found = clusters.rfind(|it| needle.is_in_cluster(&it.account, application, &it.cluster));
        related.extend(found.map(|found| Hit::of_application(application, Some(&found.cluster))));
    }
    direct.append(&mut related);
    direct
}

// === impl SearchPage ===

impl<'a> SearchPage<'a> {
    /// Page of hits, counted from one. Pages before the first and pages without a size are empty.
    pub fn new(query: &'a str, hits: Vec<Hit<'a>>, page_number: i32, page_size: i32) -> Self {
        let room = usize::try_from(page_size).unwrap_or(0);
        let results: Vec<_> = match usize::try_from(page_number.saturating_sub(1)) {
            Ok(before) => hits.into_iter().skip(before.saturating_mul(room)).take(room).collect(),
            Err(_) => Vec::new(),
        };
        // With several providers, which it always has, Clouddriver returns `aws`.
        Self { total_matches: results.len(), page_number, page_size, platform: "aws", query, results }
    }

    /// Sets the platform for a request to one provider.
    #[must_use]
    pub fn on(self, platform: Option<&'a str>) -> Self {
        Self { platform: platform.unwrap_or(self.platform), ..self }
    }
}

// === impl Hit ===

impl<'a> Hit<'a> {
    fn of_object(row: &'a RowKey) -> Self {
        let kind = &row.object.kind;
        let name = row.full_name();
        let named = |kinds: &[&str]| kinds.iter().any(|wanted| kind.is(wanted)).then(|| name.clone());
        let is_security_group = row.spinnaker_kind == SpinnakerKind::SecurityGroups;
        Self {
            group: kind.to_string(),
            account: Some(&row.account),
            kubernetes_kind: Some(kind),
            namespace: Some(&row.object.namespace),
            region: Some(&row.object.namespace),
            server_group: named(&["replicaSet", "statefulSet", "daemonSet"]),
            instance_id: named(&["pod"]),
            load_balancer: named(&["service", "ingress"]),
            id: named(&["networkPolicy"]),
            // Orca compares the application of every security group, so that there must be one.
            application: is_security_group.then(|| row.application.as_deref().unwrap_or_default()),
            ..Self::empty(row.spinnaker_kind.as_str(), name.clone())
        }
    }

    fn of_cluster(account: &'a str, application: &'a str, cluster: &'a str) -> Self {
        Self {
            account: Some(account),
            logical_kind: Some("CLUSTERS"),
            application: Some(application),
            cluster: Some(cluster),
            ..Self::empty("clusters", cluster.to_owned())
        }
    }

    fn of_application(application: &'a str, cluster: Option<&'a str>) -> Self {
        Self {
            logical_kind: Some("APPLICATIONS"),
            application: Some(application),
            cluster,
            ..Self::empty("applications", application.to_owned())
        }
    }

    fn empty(r#type: &'static str, name: String) -> Self {
        Self {
            provider: KUBERNETES,
            r#type,
            name,
            group: r#type.to_owned(),
            account: None,
            kubernetes_kind: None,
            namespace: None,
            region: None,
            logical_kind: None,
            server_group: None,
            instance_id: None,
            load_balancer: None,
            id: None,
            application: None,
            cluster: None,
        }
    }
}

// === impl Needle ===

impl Needle {
    fn new(query: &str) -> Self {
        Self { query: query.to_lowercase(), key: String::new() }
    }

    fn is_in_object(&mut self, row: &RowKey) -> bool {
        let (account, object) = (&row.account, &row.object);
        let (kind, namespace, name) = (&object.kind, &object.namespace, &object.name);
        self.is_in(format_args!("kubernetes.v2:infrastructure:{kind}:{account}:{namespace}:{name}"))
    }

    fn is_in_cluster(&mut self, account: &str, application: &str, cluster: &str) -> bool {
        self.is_in(format_args!("kubernetes.v2:logical:clusters:{account}:{application}:{cluster}"))
    }

    fn is_in_application(&mut self, application: &str) -> bool {
        self.is_in(format_args!("kubernetes.v2:logical:applications:{application}"))
    }

    fn is_in(&mut self, key: std::fmt::Arguments<'_>) -> bool {
        self.key.clear();
        if self.key.write_fmt(key).is_err() {
            return false;
        }
        self.key.make_ascii_lowercase();
        self.key.contains(&self.query)
    }
}
