//! Objects from clusters and manifests from people never cause a panic, whatever they hold.

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use spindrift_model::ObjectKey;
use spindrift_spinnaker::{
    Deploy, DeployManifest, ImageMatch, KindRules, Labelling, Live, Manifest, Row, RowRules, Target,
    operation::TaskRequest, status, view::ManifestView,
};

/// Any JSON, with significant keys at many depths.
fn nonsense() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-zA-Z\\[\"/ .:-]{0,9}".prop_map(Value::from),
    ];
    let key = prop::sample::select(vec![
        "metadata",
        "annotations",
        "labels",
        "name",
        "namespace",
        "spec",
        "template",
        "containers",
        "image",
        "env",
        "volumes",
        "status",
        "conditions",
        "replicas",
        "selector",
        "matchLabels",
        "ownerReferences",
        "phase",
        "containerStatuses",
        "ports",
        "ingress",
        "generation",
        "strategy.spinnaker.io/max-version-history",
        "traffic.spinnaker.io/load-balancers",
        "moniker.spinnaker.io/sequence",
        "items",
        "jobTemplate",
    ]);
    leaf.prop_recursive(6, 48, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key.clone(), inner), 0..6).prop_map(|map| Value::Object(
                map.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
            )),
        ]
    })
}

/// An object of a kind that there are rules for, with nonsense in it.
fn object() -> impl Strategy<Value = Map<String, Value>> {
    let kinds = prop::sample::select(vec![
        ("apps/v1", "Deployment"),
        ("apps/v1", "ReplicaSet"),
        ("apps/v1", "StatefulSet"),
        ("apps/v1", "DaemonSet"),
        ("batch/v1", "Job"),
        ("batch/v1", "CronJob"),
        ("v1", "Pod"),
        ("v1", "Service"),
        ("v1", "ConfigMap"),
        ("networking.k8s.io/v1", "NetworkPolicy"),
        ("autoscaling/v2", "HorizontalPodAutoscaler"),
        ("example.com/v1", "Widget"),
    ]);
    (kinds, nonsense(), nonsense(), nonsense()).prop_map(|((api_version, kind), metadata, spec, status)| {
        let fields = [
            ("apiVersion", api_version.into()),
            ("kind", kind.into()),
            ("metadata", metadata),
            ("spec", spec),
            ("status", status),
        ];
        fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    })
}

proptest! {
    #[test]
    fn any_object_can_be_kept_and_shown(body in object()) {
        let body = Value::Object(body);
        let text = |key: &str| body[key].as_str().unwrap_or_default();
        let group = text("apiVersion").split_once('/').map_or("", |(group, _)| group);
        let key = ObjectKey { group: group.into(), kind: text("kind").into(), namespace: "".into(), name: "x".into() };
        let rules = RowRules { kinds: &KindRules::default(), only_managed: false, all_applications: true };
        let row = Row::derive(&"account1".into(), &key, body.to_string().as_bytes(), rules);
        prop_assert!(row.is_none_or(|row| row.application.as_deref() == Some("x") || !body["metadata"].is_null()));
        let manifest = Manifest::try_from(body).expect("it has a kind");
        prop_assert!(status(&manifest).is_ok());
        let view = ManifestView::new("account1", &manifest, Vec::new(), Vec::new()).expect("as its status");
        prop_assert!(serde_json::to_string(&view).is_ok());
    }

    #[test]
    fn any_manifest_is_prepared_or_refused(body in object()) {
        let manifest = Manifest::try_from(Value::Object(body)).expect("it has a kind");
        let request = DeployManifest { moniker: Some(manifest.moniker()), ..DeployManifest::default() };
        let rules = KindRules::default();
        let target =
            Target { account: "a", rules: &rules, images: ImageMatch::default(), labelling: Labelling::default() };
        let mut deploy = Deploy::new(target, &request);
        prop_assert!(deploy.begin(vec![manifest]).is_ok());
        while deploy.lookups().is_some() {
            if deploy.prepare(&Live::default()).is_err() {
                return Ok(());
            }
        }
        let mut deliveries = deploy.check().expect("nothing is required");
        let delivery = deliveries.next_delivery().expect("it was prepared");
        let shown = delivery.manifest.annotation("artifact.spinnaker.io/type").is_some();
        prop_assert!(shown, "{:?}", delivery.manifest);
    }

    #[test]
    fn any_request_is_read_or_refused(
        name in "(deploy|scale|delete|patch|undoRollout)Manifest|runJob",
        body in nonsense(),
    ) {
        let body = json!([{name: body}]);
        let request: TaskRequest = serde_json::from_value(body).expect("it is a list of objects");
        if let Err(refused) = request.submissions("kubernetes") {
            prop_assert!(!refused.to_string().is_empty());
        }
    }
}
