//! Objects that are scrubbed: what is forbidden must not come out, and what comes out is JSON.

use bytes::Bytes;
use serde_json::Value;
use spindrift_kubernetes::{RedactRule, Redactions, ScrubRules, View, scrub, scrub_result};
use spindrift_model::{Resource, ScrubRevision};

use super::{JSON, behaviour};
use crate::Target;

pub(super) const SCRUB: Target = Target {
    name: "scrub",
    seeds: &[
        r#"{"kind":"Secret","apiVersion":"v1","metadata":{"name":"a","managedFields":[{}],"annotations":{"x":"y","kubectl.kubernetes.io/last-applied-configuration":"canary"}},"data":{"a":"canary"},"stringData":{"b":"canary"},"type":"Opaque"}"#,
        r#"{"metadata":{"annotations":{"kubectl.kubernetes.io\/last-applied-configuration":"canary"}},"dat\u0061":[{"canary":[1.5e3,null]}]}"#,
    ],
    words: JSON,
    run: scrubbed,
};

pub(super) const RESULTS: Target = Target {
    name: "results",
    seeds: &[
        r#"{"kind":"List","apiVersion":"v1","items":[{"kind":"Secret","apiVersion":"v1","metadata":{"name":"a"},"data":{"a":"canary"}},{"kind":"SecretList","apiVersion":"v1","items":[{"metadata":{},"data":"canary"}]}]}"#,
        r#"{"kind":"Table","rows":[{"cells":[],"object":{"kind":"Secret","apiVersion":"v1","metadata":{},"data":{"a":"canary"}}}]}"#,
        r#"{"kind":"Status","metadata":{},"code":404}"#,
    ],
    words: JSON,
    run: results,
};

const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Rules of each sort: metadata only, redacted, and neither.
pub(super) fn rules() -> [ScrubRules; 3] {
    let resource = |kind: &str| Resource {
        group: "".into(),
        version: "v1".into(),
        kind: kind.into(),
        plural: "things".into(),
        namespaced: true,
    };
    let redactions = redactions();
    [
        ScrubRules::new(&resource("Secret"), View::Full, &Redactions::default()),
        ScrubRules::new(&resource("ConfigMap"), View::Full, &redactions),
        ScrubRules::new(&resource("Pod"), View::Full, &redactions),
    ]
}

fn redactions() -> Redactions {
    let paths = ["data.*", "metadata.annotations['x']", "spec[*].a"].map(Into::into).into();
    Redactions::compile(&[RedactRule { kind: "ConfigMap".into(), paths }]).expect("paths of our own")
}

/// Whether what came out holds nothing that the rules forbid.
pub(super) fn assert_clean(body: &Bytes, rules: &ScrubRules) {
    let object: Value = match serde_json::from_slice(body) {
        Ok(object) => object,
        // Deeper than this parser goes; ours has no such limit.
        Err(error) if error.to_string().starts_with("recursion limit") => return,
        Err(error) => {
            assert!(serde_json::from_slice::<&serde_json::value::RawValue>(body).is_ok(), "no JSON: {error}");
            return;
        }
    };
    let metadata = &object["metadata"];
    assert!(metadata.get("managedFields").is_none());
    let [secret, config_map, _] = self::rules();
    if is_same(rules, &secret) {
        for name in ["data", "stringData", "binaryData"] {
            assert!(object.get(name).is_none(), "{name} passed");
        }
        assert!(metadata["annotations"].get(LAST_APPLIED).is_none());
    } else if is_same(rules, &config_map) {
        let values = object["data"].as_object().into_iter().flat_map(|data| data.values());
        assert!(values.into_iter().all(|value| value.is_null() || value == "REDACTED"));
        assert!(metadata["annotations"].get(LAST_APPLIED).is_none());
    }
    assert_eq!(scrub(body, rules).as_ref(), Ok(body), "twice is once");
}

fn is_same(left: &ScrubRules, right: &ScrubRules) -> bool {
    format!("{left:?}") == format!("{right:?}")
}

fn scrubbed(input: &[u8]) -> u64 {
    let mut words = Vec::new();
    for rules in rules() {
        assert_ne!(rules.revision(), ScrubRevision(0));
        match scrub(input, &rules) {
            Ok(body) => {
                assert_clean(&body, &rules);
                words.push(format!("passed {}", body.len().ilog2()));
            }
            Err(error) => words.push(error.to_string()),
        }
    }
    behaviour(words)
}

fn results(input: &[u8]) -> u64 {
    let redactions = redactions();
    match scrub_result(Bytes::copy_from_slice(input), &redactions) {
        Ok(body) => {
            assert!(serde_json::from_slice::<&serde_json::value::RawValue>(&body).is_ok(), "no JSON");
            assert_eq!(scrub_result(body.clone(), &redactions).as_ref(), Ok(&body), "twice is once");
            behaviour([format!("passed, {}", if body == input { "unchanged" } else { "changed" })])
        }
        Err(error) => behaviour([error.to_string()]),
    }
}
