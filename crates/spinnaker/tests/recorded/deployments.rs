//! Deployments and jobs, one after the other against a simulated cluster: each must apply the same manifests, write the same
//! history, create and bind the same artifacts, or fail for the same reason as the recording.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use spindrift_spinnaker::{
    Coordinates, Delivery, Deploy, DeployManifest, DeployStrategy, Failure, ImageMatch, Kind, KindRules,
    Labelling, Line, Lines, Live, Lookup, Manifest, Method, OperationDescription, OperationResult,
    SpinnakerOperation, SubmittedOperation, Target, manifest,
};

use crate::{assert_same, entries};

/// Objects that were deployed so far, as in a cluster.
#[derive(Default)]
struct Cluster {
    objects: Vec<Manifest>,
    clock: u32,
}

/// Result of a deployment.
struct Deployed {
    history: Vec<Line>,
    applied: Vec<Value>,
    outcome: Result<OperationResult, Failure>,
}

#[test]
fn deployments_are_prepared_as_recorded() {
    let mut cluster = Cluster::default();
    let entries = entries(include_str!("deployments.jsonl"));
    assert_eq!(entries.len(), 41);
    for entry in entries {
        let recording = &entry["recording"];
        let deployed = cluster.run(&entry);
        let history: Vec<_> = deployed.history.iter().map(|line| line.status.as_str()).collect();
        let recorded: Vec<_> =
            entry["history"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        assert_eq!(history, recorded, "recording {recording}");
        match deployed.outcome {
            Ok(result) => {
                let result = serde_json::to_value(result).unwrap();
                assert!(!entry["failed"].as_bool().unwrap(), "recording {recording} should fail");
                let ours = json!({"names": without_suffixes(&result["manifestNamesByNamespace"]),
                    "created": result["createdArtifacts"], "bound": result["boundArtifacts"],
                    "applied": deployed.applied});
                let theirs = json!({"names": without_suffixes(&entry["names"]), "created": entry["created"],
                    "bound": entry["bound"], "applied": entry["applied"]});
                assert_same(ours, theirs, &format!("recording {recording}"));
            }
            Err(failure) => assert_eq!(Value::from(failure.message), entry["error"], "recording {recording}"),
        }
    }
}

#[test]
fn a_deployment_without_a_moniker_names_the_missing_field() {
    let description = json!({"account": "account1", "manifests": [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "namespace": "ns"}}]});
    let deployed =
        Cluster::default().run(&json!({"operation": "deployManifest", "description": description}));
    assert_eq!(deployed.outcome.unwrap_err().message, "deployManifest needs a moniker with an app");
}

#[test]
fn selectors_and_replacement_do_not_go_together() {
    let description = json!({"account": "account1", "moniker": {"app": "shop"},
        "labelSelectors": {"selectors": [{"kind": "EXISTS", "key": "a"}]},
        "manifests": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "namespace": "ns",
            "annotations": {"strategy.spinnaker.io/replace": "true"}}}]});
    let deployed =
        Cluster::default().run(&json!({"operation": "deployManifest", "description": description}));
    let message = "label selectors not supported with replace strategy, not deploying";
    assert_eq!(deployed.outcome.unwrap_err().message, message);
}

#[test]
fn without_binding_only_created_artifacts_are_bound() {
    let template =
        json!({"spec": {"containers": [{"image": "nginx"}], "volumes": [{"configMap": {"name": "cm"}}]}});
    let description = json!({"account": "account1", "moniker": {"app": "shop"}, "enableArtifactBinding": false,
        "requiredArtifacts": [{"type": "docker/image", "name": "nginx", "reference": "nginx:2"}],
        "manifests": [
            {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", "namespace": "ns"},
                "spec": {"template": template}},
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "cm", "namespace": "ns"}}]});
    let deployed =
        Cluster::default().run(&json!({"operation": "deployManifest", "description": description}));
    assert!(deployed.outcome.is_ok());
    let pods = &deployed.applied[1]["spec"]["template"]["spec"];
    assert_eq!(pods["containers"][0]["image"], "nginx");
    assert_eq!(pods["volumes"][0]["configMap"]["name"], "cm-v000");
}

#[test]
fn a_replica_set_takes_the_capacity_of_the_version_before() {
    let mut cluster = Cluster::default();
    let mut deploy = |replicas: i32, annotation: &str| {
        let description = json!({"account": "account1", "moniker": {"app": "shop"}, "manifests": [
            {"apiVersion": "apps/v1", "kind": "ReplicaSet",
                "metadata": {"name": "rs", "namespace": "ns",
                    "annotations": {"strategy.spinnaker.io/use-source-capacity": annotation}},
                "spec": {"replicas": replicas, "template": {"metadata": {"labels": {"app": "rs"}}}}}]});
        cluster.run(&json!({"operation": "deployManifest", "description": description})).applied
    };
    assert_eq!(deploy(7, "true")[0]["spec"]["replicas"], 7, "there is no other yet");
    assert_eq!(deploy(3, "true")[0]["spec"]["replicas"], 7);
    assert_eq!(deploy(3, "false")[0]["spec"]["replicas"], 3);
}

// === impl Cluster ===

impl Cluster {
    fn run(&mut self, entry: &Value) -> Deployed {
        let operation = SpinnakerOperation::parse(entry["operation"].as_str().unwrap()).unwrap();
        let submission = SubmittedOperation::parse(operation, entry["description"].clone()).unwrap();
        let account = submission.account.wanted().unwrap().to_owned();
        match &submission.description {
            OperationDescription::Deploy(request) => {
                let mut manifests = submission.description.manifests().unwrap();
                let namespace = request.namespace_override.as_deref().unwrap_or_default();
                let rules = KindRules::default();
                manifest::override_namespace(&mut manifests, namespace, &rules, |_| None);
                self.deploy(&account, request, manifests)
            }
            OperationDescription::RunJob(job) => {
                let mut history: Vec<_> = Lines(operation).start(&account).into_iter().collect();
                match job.deployment() {
                    Ok((request, manifest)) => {
                        let mut deployed = self.deploy(&account, &request, vec![manifest]);
                        history.append(&mut deployed.history);
                        Deployed { history, ..deployed }
                    }
                    Err(failure) => Deployed { history, applied: Vec::new(), outcome: Err(failure) },
                }
            }
            other => panic!("{other:?} is no deployment"),
        }
    }

    fn deploy(&mut self, account: &str, request: &DeployManifest, manifests: Vec<Manifest>) -> Deployed {
        let rules = KindRules::default();
        let images = ImageMatch::default();
        let target = Target { account, rules: &rules, images, labelling: Labelling::default() };
        let mut deploy = Deploy::new(target, request);
        let mut applied = Vec::new();
        let outcome = deploy.begin(manifests).and_then(|()| {
            while let Some(lookups) = deploy.lookups() {
                deploy.prepare(&self.answer(&lookups))?;
            }
            deploy.check()
        });
        let mut history = deploy.take_history();
        let outcome = outcome.and_then(|mut deliveries| {
            while let Some(delivery) = deliveries.next_delivery() {
                let object = delivery.selected.then(|| self.deliver(&delivery, &mut applied));
                deliveries.delivered(&delivery, object.as_ref());
            }
            let outcome = deliveries.finish();
            history.append(&mut deliveries.take_history());
            outcome
        });
        Deployed { history, applied, outcome }
    }

    fn answer(&self, lookups: &[Lookup]) -> Live {
        let mut live = Live::default();
        for lookup in lookups {
            match lookup {
                Lookup::List { kind, namespace } => {
                    let is_listed = |object: &&Manifest| {
                        object.kind() == kind && object.namespace() == or_default(namespace)
                    };
                    live.listed.extend(self.objects.iter().filter(is_listed).cloned());
                }
                Lookup::Get(wanted) => live.got.extend(self.find(wanted).cloned()),
            }
        }
        live
    }

    fn find(&self, wanted: &Coordinates) -> Option<&Manifest> {
        let Coordinates { kind, namespace, name } = wanted;
        self.objects.iter().find(|object| {
            object.kind() == kind
                && object.name() == Some(name)
                && object.namespace() == or_default(namespace)
        })
    }

    /// Simulates kubectl and an API server, as far as the tests need.
    fn deliver(&mut self, delivery: &Delivery, applied: &mut Vec<Value>) -> Manifest {
        self.clock += 1;
        let mut object = delivery.manifest.clone();
        let cluster_wide = ["customResourceDefinition", "namespace"].map(Kind::parse);
        if object.namespace().is_empty() && !cluster_wide.contains(object.kind()) {
            object.set_namespace("default");
        }
        if delivery.method == Method::Create {
            object.set_name(&format!("{}xxxxx", object.generate_name().unwrap()));
        }
        let mut body = Value::from(object);
        let client_side = [DeployStrategy::Apply, DeployStrategy::Recreate]
            .map(Method::Strategy)
            .contains(&delivery.method);
        if client_side {
            let configuration = format!("{body}\n");
            applied.push(body.clone());
            body["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"] =
                configuration.into();
        }
        body["metadata"]["creationTimestamp"] =
            format!("2026-11-15T20:{:02}:{:02}Z", self.clock / 60, self.clock % 60).into();
        let object = Manifest::try_from(body).unwrap();
        self.objects.retain(|other| other.coordinates() != object.coordinates());
        self.objects.push(object.clone());
        object
    }
}

fn or_default(namespace: &str) -> &str {
    if namespace.is_empty() { "default" } else { namespace }
}

/// Removes the five random characters of generated names.
fn without_suffixes(names: &Value) -> Value {
    let names: BTreeMap<String, Vec<String>> = serde_json::from_value(names.clone()).unwrap();
    let cut = |name: String| match name.split_once("-gen-") {
        Some((stem, _)) => format!("{stem}-gen-"),
        None => name,
    };
    let names = names.into_iter().map(|(namespace, names)| (namespace, names.into_iter().map(cut).collect()));
    serde_json::to_value(names.collect::<BTreeMap<_, Vec<_>>>()).unwrap()
}
