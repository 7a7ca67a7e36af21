//! Traffic: load balancers of a workload, and the labels by which they select it.

use serde_json::{Map, Value, json};

use crate::{Existing, Failure, FullName, Manifest, annotation::LOAD_BALANCERS};

/// Direction of a traffic change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Traffic {
    On,
    Off,
}

/// Load balancers in an object's annotation.
pub fn load_balancers(object: &Manifest) -> Vec<String> {
    object.annotation(LOAD_BALANCERS).and_then(|list| serde_json::from_str(list).ok()).unwrap_or_default()
}

/// Annotates a manifest that can receive traffic with the load balancers of a request.
pub fn annotate(manifest: &mut Manifest, services: &[String]) -> Result<(), Failure> {
    if services.is_empty() || !manifest.kind().can_receive_traffic() {
        return Ok(());
    }
    let present = load_balancers(manifest);
    if !present.is_empty() && present != services {
        return Err(Failure::illegal_state(format!(
            "Manifest already has {LOAD_BALANCERS} annotation set to [{}]. Failed attempting to set it to [{}].",
            present.join(", "),
            services.join(", ")
        )));
    }
    let list = serde_json::to_string(services).expect("a list of texts is JSON");
    manifest.annotate(LOAD_BALANCERS, &list, Existing::Keep);
    Ok(())
}

/// Parses the name of a load balancer, which must be a service.
pub fn load_balancer(name: &str) -> Result<FullName, Failure> {
    let name = FullName::parse(name).map_err(|error| Failure::illegal_argument(error.to_string()))?;
    if name.kind.can_load_balance() {
        return Ok(name);
    }
    let kind = &name.kind;
    Err(Failure::illegal_argument(format!("No support for load balancing via {kind} exists in Spinnaker")))
}

/// Adds the labels that a service selects by to the pods of a workload.
pub fn attach(service: &Manifest, workload: &mut Manifest) -> Result<(), Failure> {
    let selector = selector_of(service);
    if selector.is_empty() {
        let message = "Service must have a non-empty selector in order to be attached to a workload";
        return Err(Failure::illegal_argument(message));
    }
    let labels = workload.traffic_labels();
    if selector.keys().any(|key| labels.is_some_and(|labels| labels.contains_key(key))) {
        let message = "Service selector must have no label keys in common with target workload";
        return Err(Failure::illegal_argument(message));
    }
    let of_pods = workload.has_pod_metadata();
    for (key, value) in &selector {
        let value = value.as_str().unwrap_or_default();
        if of_pods {
            workload.label_pods(key, value, Existing::Overwrite);
        } else {
            workload.label_with(key, value, Existing::Overwrite);
        }
    }
    Ok(())
}

/// JSON patch that adds the labels a service selects by to an object, or removes them.
pub fn patch(traffic: Traffic, service: &Manifest, target: &Manifest) -> Vec<Value> {
    let labels = target.traffic_labels();
    let has = |key: &String| labels.is_some_and(|labels| labels.contains_key(key));
    let path = |key: &str| {
        let key = key.replace('~', "~0").replace('/', "~1");
        format!("{}/labels/{key}", target.traffic_metadata())
    };
    let selector = selector_of(service);
    match traffic {
        Traffic::On => selector
            .iter()
            .map(|(key, value)| {
                let op = if has(key) { "replace" } else { "add" };
                json!({"op": op, "path": path(key), "value": value})
            })
            .collect(),
        Traffic::Off => {
            let present = selector.keys().filter(|key| has(key));
            present.map(|key| json!({"op": "remove", "path": path(key)})).collect()
        }
    }
}

/// Whether a pod that a replica set's selector matches is changed with it: only if the replica set owns it, by name.
pub fn is_pod_of(pod: &Manifest, replica_set: &Manifest) -> bool {
    let owners = pod.pointer("/metadata/ownerReferences").and_then(Value::as_array);
    owners.into_iter().flatten().any(|owner| {
        owner.get("name").and_then(Value::as_str).is_some_and(|name| Some(name) == replica_set.name())
    })
}

fn selector_of(service: &Manifest) -> Map<String, Value> {
    service.pointer("/spec/selector").and_then(Value::as_object).cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service(selector: Value) -> Manifest {
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "svc"}, "spec": {"selector": selector}})
            .try_into()
            .unwrap()
    }

    fn replica_set(labels: Value) -> Manifest {
        json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "rs"},
            "spec": {"selector": {"matchLabels": {"app": "rs"}}, "template": {"metadata": {"labels": labels}}}})
        .try_into()
        .unwrap()
    }

    #[test]
    fn a_service_is_attached_by_its_selector() {
        let mut workload = replica_set(json!({"app": "rs"}));
        attach(&service(json!({"lb": "traffic"})), &mut workload).unwrap();
        assert_eq!(workload.traffic_labels(), json!({"app": "rs", "lb": "traffic"}).as_object());
        let failure = attach(&service(json!({"lb": "traffic"})), &mut workload).unwrap_err();
        assert_eq!(
            failure.message,
            "Service selector must have no label keys in common with target workload"
        );
        let failure = attach(&service(json!(null)), &mut workload).unwrap_err();
        let message = "Service must have a non-empty selector in order to be attached to a workload";
        assert_eq!(failure.message, message);
    }

    #[test]
    fn traffic_is_turned_on_and_off_by_labels() {
        let service = service(json!({"lb": "traffic", "a/b~c": "1"}));
        let disabled = replica_set(json!({"lb": "old"}));
        assert_eq!(
            Value::from(patch(Traffic::On, &service, &disabled)),
            json!([
                {"op": "add", "path": "/spec/template/metadata/labels/a~1b~0c", "value": "1"},
                {"op": "replace", "path": "/spec/template/metadata/labels/lb", "value": "traffic"},
            ])
        );
        assert_eq!(
            Value::from(patch(Traffic::Off, &service, &disabled)),
            json!([{"op": "remove", "path": "/spec/template/metadata/labels/lb"}])
        );
        let pod: Manifest =
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"lb": "traffic"}}})
                .try_into()
                .unwrap();
        let off = patch(Traffic::Off, &service, &pod);
        assert_eq!(Value::from(off), json!([{"op": "remove", "path": "/metadata/labels/lb"}]));
    }

    #[test]
    fn of_the_pods_that_a_replica_set_selects_those_are_its_own_that_it_owns() {
        let pod = |owner: &str| -> Manifest {
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"ownerReferences": [{"name": owner}]}})
                .try_into()
                .unwrap()
        };
        let replica_set = replica_set(json!({}));
        assert!(is_pod_of(&pod("rs"), &replica_set) && !is_pod_of(&pod("other"), &replica_set));
    }

    #[test]
    fn load_balancers_are_services() {
        assert_eq!(load_balancer("svc x").unwrap().to_string(), "service x");
        let failure = load_balancer("ingress nope").unwrap_err();
        assert_eq!(failure.message, "No support for load balancing via ingress exists in Spinnaker");
        assert!(load_balancer("x").is_err());
    }

    #[test]
    fn another_list_of_load_balancers_is_not_overwritten() {
        let mut workload = replica_set(json!({}));
        annotate(&mut workload, &["service a".into()]).unwrap();
        assert_eq!(workload.annotation(LOAD_BALANCERS), Some(r#"["service a"]"#));
        annotate(&mut workload, &["service a".into()]).unwrap();
        assert!(annotate(&mut workload, &["service b".into()]).is_err());
        assert_eq!(load_balancers(&workload), ["service a"]);
        let mut config: Manifest =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}}).try_into().unwrap();
        annotate(&mut config, &["service a".into()]).unwrap();
        assert!(load_balancers(&config).is_empty());
    }
}
