use serde_json::json;

use super::*;

fn page(group: &str, kind: &str, object: &Value, events: Option<&[Value]>) -> String {
    let now = "2026-11-16T02:00:00Z".parse().unwrap();
    describe(&Subject { kind: KindRef { group, kind }, account: "east", object, events, now })
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
                "ports": [{ "containerPort": 80, "name": "http" }],
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
        json!({ "type": "Warning", "reason": "BackOff", "message": "Back-off\nagain", "count": 4,
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
Start Time:
Labels:       app=web
              tier=front
Annotations:  <none>
Status:       CrashLoopBackOff
IPs:          <none>
Containers:
  main:
    Image:          web:1
    Ports:          80/TCP (http)
    State:          Waiting
      Reason:  CrashLoopBackOff
    Last State:     Terminated
      Reason:     OOMKilled
      Exit Code:  137
      Finished:   Sun, 01 Nov 2026 10:00:00 +0000
    Ready:          False
    Restart Count:  3
    Environment:    MODE: fast
                    WORD: <set to the key 'word' in secret 'password'>
    Mounts:         <none>
Volumes:         <none>
Node-Selectors:  <none>
Tolerations:     a:NoExecute op=Exists for 300s
QoS Class:
Events:
  Type      Reason      Age                From                Message
  ----      ------      ---                ----                -------
  Normal    Scheduled   90m                default-scheduler   assigned
  Warning   BackOff     2m (x4 over 60m)   kubelet, node-a     Back-off again
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
Labels:       <none>
Annotations:  <none>
API Version:  example.com/v1
Kind:         Widget
Metadata:
  Creation Timestamp:  2026-11-16T01:00:00Z
  UID:                 1
Spec:
  Empty:  <none>
  Parts:
    Name:  x
    Name:  y
  Size Of It:  3
  Tags:        a
               b
Events:  <none>
";
    assert_eq!(page("example.com", "Widget", &widget, Some(&[])), expected);
}

#[test]
fn values_cannot_move_the_cursor_or_break_lines() {
    let pod = json!({
        "metadata": { "name": "web", "namespace": "shop" },
        "spec": { "containers": [{ "name": "\u{1b}[2Jmain" }] },
        "status": {
            "containerStatuses": [{ "name": "\u{1b}[2Jmain", "state": { "über": {} } }],
            "conditions": [{ "type": "Ready", "message": "two\r\nlines \u{1b}[31m" }],
        },
    });
    let event = json!({ "type": "Normal", "reason": "\u{1b}]0;owned", "message": "a\nb" });
    let page = page("", "Pod", &pod, Some(&[event]));
    assert!(!page.contains(['\u{1b}', '\r']), "{page:?}");
    for whole in ["^[[2Jmain:", "State:          Über", "two lines ^[[31m", "^[]0;owned", "a b\n"] {
        assert!(page.contains(whole), "{whole}: {page}");
    }
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
