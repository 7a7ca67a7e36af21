//! Objects that are scrubbed: forbidden values must not come out, and the output is JSON.

use std::sync::LazyLock;

use bytes::Bytes;
use serde_json::{Value, value::RawValue};
use spindrift_kubernetes::{RedactRule, Redactions, ScrubRules, View, scrub, scrub_result};
use spindrift_model::Resource;

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

/// Kind of values that rules forbid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sort {
    MetadataOnly,
    Redacted,
    Whole,
}

/// Rules of each sort.
pub(super) static RULES: LazyLock<[(Sort, ScrubRules); 3]> = LazyLock::new(|| {
    let rules = |kind: &str| {
        let resource = Resource {
            group: "".into(),
            version: "v1".into(),
            kind: kind.into(),
            plural: "things".into(),
            namespaced: true,
        };
        ScrubRules::new(&resource, View::Full, &redactions())
    };
    [(Sort::MetadataOnly, rules("Secret")), (Sort::Redacted, rules("ConfigMap")), (Sort::Whole, rules("Pod"))]
});

fn redactions() -> Redactions {
    let paths = ["data.*", "metadata.annotations['x']", "spec[*].a"].map(Into::into).into();
    Redactions::compile(&[RedactRule { kind: "ConfigMap".into(), paths, preset: None }])
        .expect("paths of our own")
}

/// Asserts that the output has no value that the rules forbid.
pub(super) fn assert_clean(body: &Bytes, sort: Sort, rules: &ScrubRules) {
    assert_eq!(scrub(body, rules).as_ref(), Ok(body), "twice is once");
    let Ok(object) = serde_json::from_slice::<Value>(body) else {
        // Deeper than this parser goes, or a key that is no text where nothing looks; but JSON.
        assert!(serde_json::from_slice::<&RawValue>(body).is_ok(), "no JSON");
        return;
    };
    let metadata = &object["metadata"];
    assert!(metadata.get("managedFields").is_none());
    if sort != Sort::Whole {
        assert!(metadata["annotations"].get(LAST_APPLIED).is_none());
    }
    match sort {
        Sort::MetadataOnly => {
            for name in ["data", "stringData", "binaryData"] {
                assert!(object.get(name).is_none(), "{name} passed");
            }
        }
        Sort::Redacted => {
            let values = object["data"].as_object().into_iter().flat_map(|data| data.values());
            assert!(values.into_iter().all(|value| value.is_null() || value == "REDACTED"));
        }
        Sort::Whole => {}
    }
}

fn scrubbed(input: &[u8]) -> u64 {
    let told = RULES.iter().map(|(sort, rules)| match scrub(input, rules) {
        Ok(body) => {
            assert_clean(&body, *sort, rules);
            "x".repeat(body.len() / 16)
        }
        Err(error) => error.to_string(),
    });
    behaviour(told)
}

fn results(input: &[u8]) -> u64 {
    let redactions = redactions();
    match scrub_result(Bytes::copy_from_slice(input), &redactions) {
        Ok(body) => {
            assert!(serde_json::from_slice::<&RawValue>(&body).is_ok(), "no JSON");
            assert_eq!(scrub_result(body.clone(), &redactions).as_ref(), Ok(&body), "twice is once");
            let is_changed = if body == input { "unchanged" } else { "changed" };
            behaviour([is_changed, &"x".repeat(body.len() / 16)])
        }
        Err(error) => behaviour([error.to_string()]),
    }
}
