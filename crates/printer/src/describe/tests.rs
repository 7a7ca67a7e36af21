use serde_json::json;

use super::*;

fn page(group: &str, kind: &str, object: &Value, events: Option<&[Value]>) -> String {
    let now = "2026-11-16T02:00:00Z".parse().unwrap();
    let related = RelatedObjects::default();
    describe(&Subject {
        kind: KindRef { group, kind },
        account: "east",
        object,
        related: &related,
        events,
        now,
    })
}

#[test]
fn a_pod_is_described_with_its_containers_and_events() {
    let pod = json!({
        "metadata": { "name": "web", "namespace": "shop", "labels": { "app": "web", "tier": "front" } },
        "spec": {
            "nodeName": "node-a",
            "containers": [{
                "name": "main",
                "image": "web:1",
                "ports": [{ "containerPort": 80, "name": "http", "protocol": "TCP" }],
                "envFrom": [{ "prefix": "S_", "configMapRef": { "name": "settings", "optional": true } }],
                "env": [
                    { "name": "MODE", "value": "fast" },
                    { "name": "WORD", "valueFrom": { "secretKeyRef": { "name": "password", "key": "word" } } },
                ],
            }],
            "tolerations": [{ "key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300 }],
        },
        "status": {
            "phase": "Running",
            "hostIP": "192.168.1.10",
            "containerStatuses": [{
                "name": "main",
                "restartCount": 3,
                "state": { "waiting": { "reason": "CrashLoopBackOff" } },
                "lastState": { "terminated": { "exitCode": 137, "reason": "OOMKilled", "finishedAt": "2026-11-01T10:00:00Z" } },
            }],
        },
    });
    let events = [
        json!({ "type": "Warning", "reason": "BackOff", "message": "Back-off\n", "count": 4,
            "source": { "component": "kubelet", "host": "node-a" },
            "firstTimestamp": "2026-11-16T01:00:00Z", "lastTimestamp": "2026-11-16T01:58:00Z" }),
        json!({ "type": "Normal", "reason": "Scheduled", "eventTime": "2026-11-16T00:30:00.000000Z",
            "message": "assigned", "reportingComponent": "default-scheduler" }),
    ];
    let expected = "\
Account:      east
Name:         web
Namespace:    shop
Node:         node-a/192.168.1.10
Labels:       app=web
              tier=front
Annotations:  <none>
Status:       Running
IP:           
IPs:          <none>
Containers:
  main:
    Container ID:   
    Image:          web:1
    Image ID:       
    Port:           80/TCP (http)
    Host Port:      0/TCP (http)
    State:          Waiting
      Reason:       CrashLoopBackOff
    Last State:     Terminated
      Reason:       OOMKilled
      Exit Code:    137
      Started:      Mon, 01 Jan 0001 00:00:00 +0000
      Finished:     Sun, 01 Nov 2026 10:00:00 +0000
    Ready:          False
    Restart Count:  3
    Environment Variables from:
      settings  ConfigMap with prefix 'S_'  Optional: true
    Environment:
      MODE:      fast
      WORD:      <set to the key 'word' in secret 'password'>  Optional: false
    Mounts:      <none>
Volumes:         <none>
QoS Class:       
Node-Selectors:  <none>
Tolerations:     a:NoExecute op=Exists for 300s
Events:
  Type     Reason     Age               From               Message
  ----     ------     ----              ----               -------
  Normal   Scheduled  90m               default-scheduler  assigned
  Warning  BackOff    2m (x4 over 60m)  kubelet            Back-off
";
    assert_eq!(page("", "Pod", &pod, Some(&events)), expected);
}

#[test]
fn an_unknown_kind_is_described_field_by_field() {
    let widget = json!({
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": { "name": "gear", "uid": "1", "creationTimestamp": "2026-11-16T01:00:00Z",
            "annotations": { "kubectl.kubernetes.io/last-applied-configuration": "{}" } },
        "spec": { "sizeOfIt": 3, "tags": ["a", "b"], "empty": {}, "parts": [{ "name": "x" }, { "name": "y" }] },
    });
    let expected = "\
Account:      east
Name:         gear
Namespace:    
Labels:       <none>
Annotations:  <none>
API Version:  example.com/v1
Kind:         Widget
Metadata:
  Creation Timestamp:  2026-11-16T01:00:00Z
  UID:                 1
Spec:
  Empty:
  Parts:
    Name:      x
    Name:      y
  Size Of It:  3
  Tags:
    a
    b
Events:  <none>
";
    assert_eq!(page("example.com", "Widget", &widget, Some(&[])), expected);
}

#[test]
fn values_cannot_move_the_cursor() {
    let pod = json!({
        "metadata": { "name": "web", "namespace": "shop" },
        "spec": { "containers": [{ "name": "\u{1b}[2Jmain" }] },
        "status": { "message": "two\rlines \u{1b}[31m" },
    });
    let event = json!({ "type": "Normal", "reason": "\u{1b}]0;owned", "message": "a" });
    let page = page("", "Pod", &pod, Some(&[event]));
    assert!(!page.contains(['\u{1b}', '\r']), "{page:?}");
    for whole in ["^[[2Jmain:", "two\\rlines ^[[31m", "^[]0;owned"] {
        assert!(page.contains(whole), "{whole}: {page}");
    }
}

#[test]
fn a_deployment_names_its_old_and_new_replica_sets() {
    let template = |image: &str, hash: Option<&str>| {
        let mut labels = json!({ "app": "web" });
        if let Some(hash) = hash {
            labels["pod-template-hash"] = hash.into();
        }
        json!({ "metadata": { "labels": labels }, "spec": { "containers": [{ "name": "c", "image": image }] } })
    };
    let deployment = json!({ "metadata": { "name": "web", "namespace": "shop", "uid": "d" },
        "spec": { "replicas": 2, "selector": { "matchLabels": { "app": "web" } }, "template": template("web:2", None) } });
    let set = |name: &str, owner: &str, image: &str| {
        json!({ "metadata": { "name": name, "uid": name, "creationTimestamp": "2026-11-16T01:00:00Z",
            "ownerReferences": [{ "controller": true, "uid": owner }] },
            "spec": { "replicas": 2, "template": template(image, Some(name)) }, "status": { "replicas": 1 } })
    };
    let mut related = RelatedObjects::default();
    related.add(
        "ReplicaSet",
        vec![set("web-1", "d", "web:1"), set("web-2", "d", "web:2"), set("other", "x", "web:2")],
    );
    let kind = KindRef { group: "apps", kind: "Deployment" };
    let now = Timestamp::UNIX_EPOCH;
    let text = describe(&Subject {
        kind,
        account: "east",
        object: &deployment,
        related: &related,
        events: None,
        now,
    });
    let end =
        "OldReplicaSets:    web-1 (1/2 replicas created)\nNewReplicaSet:     web-2 (1/2 replicas created)\n";
    assert!(text.ends_with(end), "{text}");
}

#[test]
fn the_newest_events_are_kept_in_any_order() {
    let event = |reason: &str, time: &str| json!({ "reason": reason, "lastTimestamp": time });
    let mut events = vec![
        event("newest", "2026-11-16T01:00:02Z"),
        event("never", ""),
        event("oldest", "2026-11-16T01:00:00Z"),
        event("middle", "2026-11-16T01:00:01Z"),
    ];
    keep_newest(&mut events, 2);
    let reasons: Vec<_> = events.iter().map(|event| event.text("/reason")).collect();
    assert_eq!(reasons, ["middle", "newest"]);
    keep_newest(&mut events, 5);
    assert_eq!(events.len(), 2);
}
