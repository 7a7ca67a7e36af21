use super::*;

#[test]
fn elements_are_merged_by_their_key() {
    let image = |image: &str| containers(json!([{ "name": "a", "image": image, "tty": true }]));
    check(
        "Pod",
        [
            // Changed; fields of others stay.
            (
                image("1"),
                containers(json!([{ "name": "a", "image": "1", "tty": true, "stdin": true }])),
                image("2"),
                pod(json!({
                    "$setElementOrder/containers": [{ "name": "a" }],
                    "containers": [{ "name": "a", "image": "2" }],
                })),
            ),
            // Added, between others.
            (
                containers(named(&["a", "c"])),
                containers(named(&["a", "c"])),
                containers(named(&["a", "b", "c"])),
                pod(json!({
                    "$setElementOrder/containers": named(&["a", "b", "c"]),
                    "containers": named(&["b"]),
                })),
            ),
            // Removed, while a sidecar that someone injected stays.
            (
                containers(named(&["a", "b"])),
                containers(named(&["a", "b", "injected"])),
                containers(named(&["a"])),
                pod(json!({
                    "$setElementOrder/containers": named(&["a"]),
                    "containers": [{ "name": "b", "$patch": "delete" }],
                })),
            ),
            // A field of an element removed.
            (
                containers(json!([{ "name": "a", "tty": true }])),
                containers(json!([{ "name": "a", "tty": true }])),
                containers(json!([{ "name": "a" }])),
                pod(json!({
                    "$setElementOrder/containers": [{ "name": "a" }],
                    "containers": [{ "name": "a", "tty": null }],
                })),
            ),
            // Only the order.
            (
                containers(named(&["a", "b"])),
                containers(named(&["a", "b"])),
                containers(named(&["b", "a"])),
                pod(json!({ "$setElementOrder/containers": named(&["b", "a"]) })),
            ),
            // The list was empty or missing: no order directive.
            (
                json!({}),
                containers(json!([])),
                containers(named(&["b", "a"])),
                containers(named(&["b", "a"])),
            ),
            (json!({}), json!({}), containers(named(&["b", "a"])), containers(named(&["b", "a"]))),
            // All removed.
            (
                containers(named(&["a"])),
                containers(named(&["a", "x"])),
                containers(json!([])),
                containers(json!([{ "name": "a", "$patch": "delete" }])),
            ),
            (
                containers(named(&["a"])),
                containers(named(&["a", "x"])),
                pod(json!({})),
                pod(json!({ "containers": null })),
            ),
            // It was never applied, so that it stays.
            (json!({}), containers(named(&["x", "a"])), containers(named(&["a"])), {
                pod(json!({ "$setElementOrder/containers": named(&["a"]) }))
            }),
        ],
    );
}

#[test]
fn lists_within_lists_are_merged_by_their_keys() {
    let env = |env: Value| containers(json!([{ "name": "a", "env": env }]));
    let patch = |order: Value, env: Value| {
        pod(json!({
            "$setElementOrder/containers": [{ "name": "a" }],
            "containers": [{ "name": "a", "$setElementOrder/env": order, "env": env }],
        }))
    };
    check(
        "Pod",
        [
            (
                env(json!([{ "name": "X", "value": "1" }, { "name": "Y", "value": "2" }])),
                env(
                    json!([{ "name": "X", "value": "1" }, { "name": "Y", "value": "2" }, { "name": "Z", "value": "3" }]),
                ),
                env(json!([{ "name": "Y", "value": "2" }])),
                patch(named(&["Y"]), json!([{ "name": "X", "$patch": "delete" }])),
            ),
            (
                env(json!([{ "name": "X", "value": "1" }])),
                env(json!([{ "name": "X", "value": "1" }])),
                env(json!([{ "name": "X", "valueFrom": { "fieldRef": { "fieldPath": "p" } } }])),
                patch(
                    named(&["X"]),
                    json!([{ "name": "X", "value": null, "valueFrom": { "fieldRef": { "fieldPath": "p" } } }]),
                ),
            ),
        ],
    );
}

#[test]
fn a_volume_of_another_source_loses_the_former() {
    let volume = |volume: Value| pod(json!({ "volumes": [volume] }));
    check(
        "Pod",
        [(
            volume(json!({ "name": "v", "emptyDir": {} })),
            volume(json!({ "name": "v", "emptyDir": {} })),
            volume(json!({ "name": "v", "configMap": { "name": "c" } })),
            pod(json!({
                "$setElementOrder/volumes": [{ "name": "v" }],
                "volumes": [{
                    "$retainKeys": ["configMap", "name"], "configMap": { "name": "c" }, "emptyDir": null, "name": "v",
                }],
            })),
        )],
    );
}

#[test]
fn lists_without_a_strategy_are_replaced() {
    let args = |args: Value| containers(json!([{ "name": "a", "args": args }]));
    check(
        "Pod",
        [(
            args(json!(["1", "2"])),
            args(json!(["1", "2", "injected"])),
            args(json!(["2"])),
            pod(json!({
                "$setElementOrder/containers": [{ "name": "a" }],
                "containers": [{ "name": "a", "args": ["2"] }],
            })),
        )],
    );
    let tolerations = |key: &str| pod(json!({ "tolerations": [{ "key": key }] }));
    check("Pod", [(tolerations("a"), tolerations("a"), tolerations("b"), tolerations("b"))]);
}

#[test]
fn ports_of_one_number_are_paired_as_kubectl_pairs_them() {
    let port =
        |protocol: &str, node_port: u16| json!({ "port": 53, "protocol": protocol, "nodePort": node_port });
    let ports = |ports: Value| json!({ "spec": { "ports": ports } });
    let both = || json!([port("TCP", 1), port("UDP", 2)]);
    let patch =
        three_way("Service", ports(both()), ports(both()), ports(json!([port("TCP", 1), port("UDP", 3)])));
    let expected = json!({ "spec": {
        "$setElementOrder/ports": [{ "port": 53 }, { "port": 53 }],
        "ports": [{ "port": 53, "nodePort": 3 }],
    } });
    assert_eq!(patch, Ok(expected));
}

#[test]
fn numbers_are_sorted_as_text() {
    let ports = |ports: &[u16]| -> Value {
        json!({ "spec": { "ports": ports.iter().map(|port| json!({ "port": port })).collect::<Value>() } })
    };
    check(
        "Service",
        [(ports(&[80, 443, 8080]), ports(&[80, 443, 8080]), ports(&[80]), {
            json!({ "spec": {
                "$setElementOrder/ports": [{ "port": 80 }],
                "ports": [{ "port": 443, "$patch": "delete" }, { "port": 8080, "$patch": "delete" }],
            } })
        })],
    );
}

#[test]
fn elements_of_the_server_keep_their_places() {
    let live = containers(named(&["x", "a", "y", "b", "z"]));
    for (order, patch, expected) in [
        (&["b", "a"][..], json!([]), &["x", "y", "b", "a", "z"][..]),
        (&["a", "n", "b"], named(&["n"]), &["x", "a", "n", "y", "b", "z"]),
        (&["a"], json!([{ "name": "b", "$patch": "delete" }]), &["x", "a", "y", "z"]),
    ] {
        let patch = pod(json!({ "$setElementOrder/containers": named(order), "containers": patch }));
        let applied = apply_strategic(object(live.clone()), object(patch.clone()), shape("Pod")).unwrap();
        assert_eq!(Value::Object(applied), containers(named(expected)), "{patch}");
    }
}

#[test]
fn directives_of_elements_are_executed() {
    let live = containers(json!([{ "name": "a", "tty": true }, { "name": "b" }]));
    for (patch, expected) in [
        (json!([{ "$patch": "replace" }, { "name": "c" }]), named(&["c"])),
        (json!([{ "$patch": "delete", "name": "a" }]), named(&["b"])),
        (json!([{ "$patch": "delete", "name": "absent" }, { "name": "b", "tty": true }]), {
            json!([{ "name": "a", "tty": true }, { "name": "b", "tty": true }])
        }),
        (json!([{ "name": "a", "$retainKeys": ["name"] }]), named(&["a", "b"])),
    ] {
        let applied = apply_strategic(object(live.clone()), object(containers(patch.clone())), shape("Pod"));
        assert_eq!(applied.map(Value::Object), Ok(containers(expected)), "{patch}");
    }
}

#[test]
fn errors_do_not_contain_values() {
    let canary = json!([{ "image": "canary" }]);
    for (old, new) in [
        (containers(canary.clone()), containers(named(&["a"]))),
        (containers(named(&["a"])), containers(canary)),
        (containers(json!([["canary"]])), containers(named(&["a"]))),
        (containers(json!([null])), containers(named(&["a"]))),
        (containers(json!(["canary"])), containers(named(&["a"]))),
    ] {
        let error = three_way("Pod", json!({}), old.clone(), new).expect_err(&old.to_string());
        assert!(!error.to_string().contains("canary"), "{error}");
    }
}
