use serde_json::{Value, json};

use super::*;
use crate::RedactRule;

const CANARY: &str = "canary-4711";
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

fn scrubbed(answer: &Value) -> Value {
    let rules = [RedactRule { kind: "configmaps".into(), paths: vec!["data.*".into()], preset: None }];
    let redactions = Redactions::compile(&rules).unwrap();
    let scrubbed = scrub_result(answer.to_string().into(), &redactions).unwrap();
    let text = std::str::from_utf8(&scrubbed).unwrap();
    assert!(!text.contains(CANARY), "{text}");
    serde_json::from_str(text).unwrap()
}

fn secret() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "type": "Opaque",
        "metadata": { "name": "a", "annotations": { LAST_APPLIED: CANARY, "b": "c" }, "managedFields": [] },
        "data": { "x": CANARY }, "stringData": { "y": CANARY },
    })
}

fn secret_scrubbed() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "type": "Opaque",
        "metadata": { "name": "a", "annotations": { "b": "c" } },
    })
}

fn without(mut value: Value, names: &[&str]) -> Value {
    for name in names {
        value.as_object_mut().unwrap().remove(*name);
    }
    value
}

#[test]
fn secrets_are_scrubbed_wherever_an_answer_carries_them() {
    let pod =
        json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "p" }, "spec": { "data": 1 } });
    assert_eq!(scrubbed(&secret()), secret_scrubbed());
    assert_eq!(scrubbed(&pod), pod);

    let list = |items: Value| json!({ "kind": "List", "apiVersion": "v1", "metadata": {}, "items": items });
    assert_eq!(
        scrubbed(&list(json!([pod, secret(), list(json!([secret(), null]))]))),
        list(json!([pod, secret_scrubbed(), list(json!([secret_scrubbed(), null]))]))
    );
    // The objects of a list of one kind lack the kind.
    let bare = without(secret(), &["kind", "apiVersion"]);
    assert_eq!(
        scrubbed(&json!({ "kind": "SecretList", "apiVersion": "v1", "items": [bare] })),
        json!({ "kind": "SecretList", "apiVersion": "v1", "items": [secret_scrubbed()] })
    );
    assert_eq!(
        scrubbed(&json!({ "kind": "SecretList", "apiVersion": "v1", "items": null })),
        json!({ "kind": "SecretList", "apiVersion": "v1", "items": null })
    );
    let table = |object: Value| json!({ "kind": "Table", "columnDefinitions": [], "rows": [{ "cells": ["a"], "object": object }] });
    assert_eq!(scrubbed(&table(secret())), table(secret_scrubbed()));
    let partial = json!({ "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": secret()["metadata"] });
    let expected = json!({ "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": secret_scrubbed()["metadata"] });
    assert_eq!(scrubbed(&table(partial)), table(expected));
}

#[test]
fn values_redacted_in_watches_are_redacted_in_responses() {
    let map = json!({ "kind": "ConfigMap", "apiVersion": "v1", "metadata": { "name": "m" }, "data": { "k": CANARY } });
    let expected = json!({ "kind": "ConfigMap", "apiVersion": "v1", "metadata": { "name": "m" }, "data": { "k": "REDACTED" } });
    assert_eq!(scrubbed(&map), expected);
    assert_eq!(
        scrubbed(&json!({ "kind": "ConfigMapList", "apiVersion": "v1", "items": [without(map, &["kind"])] })),
        json!({ "kind": "ConfigMapList", "apiVersion": "v1", "items": [expected] })
    );
}

#[test]
fn responses_that_are_no_objects_stay_as_they_are() {
    for answer in [
        r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","code":404}"#,
        r#"{"kind":"APIResourceList","resources":[{"kind":"Secret"}]}"#,
        r#"{"major": "1"}"#,
        r#""text""#,
        "[1, 2]",
    ] {
        assert_eq!(scrub_result(answer.into(), &Redactions::default()).unwrap(), answer);
    }
}

#[test]
fn ambiguous_responses_are_refused() {
    for answer in [
        r#"{"kind":"Pod","kind":"Secret","metadata":{},"data":"canary"}"#,
        r#"{"kind":"Secret","apiVersion":"v1","data":"canary"}"#,
        r#"{"kind":"SecretList","items":{"a":"canary"}}"#,
        "plain text",
        "",
    ] {
        assert!(scrub_result(answer.into(), &Redactions::default()).is_err(), "{answer}");
    }
}
