//! Requests that are rejected before anything is done, with the bodies that Orca parses.

use serde_json::Value;
use spindrift_spinnaker::{
    KindRules, Refusal, SubmittedOperation, TaskRequest, manifest,
    operation::{NamespaceRules, validate},
    view::KUBERNETES,
};

use crate::{assert_same, entries};

#[test]
fn requests_are_refused_as_recorded() {
    let entries = entries(include_str!("refusals.jsonl"));
    assert_eq!(entries.len(), 13);
    for entry in entries {
        let recording = entry["recording"].as_u64().unwrap();
        let refusal = admit(entry["provider"].as_str().unwrap(), entry["request"].clone()).unwrap_err();
        let mut body = serde_json::to_value(refusal.body("2026-11-15T20:37:54Z".parse().unwrap())).unwrap();
        assert_eq!(body["timestamp"], "2026-11-15T20:37:54.000+00:00");
        body.as_object_mut().unwrap().remove("timestamp");
        let mut recorded = entry["body"].clone();
        if [481, 482].contains(&recording) {
            // The message of our parser differs from that of Java's.
            assert!(body["message"].as_str().unwrap().starts_with("deployManifest: "));
            recorded["message"] = body["message"].clone();
        }
        assert_same(body, recorded, &format!("recording {recording}"));
    }
}

/// Validates a request as the hub does before it creates a task.
fn admit(provider: &str, body: Value) -> Result<Vec<SubmittedOperation>, Refusal> {
    if provider != KUBERNETES {
        return Err(Refusal::unknown_provider(provider));
    }
    let request: TaskRequest = serde_json::from_value(body).unwrap();
    let submissions = request.submissions(provider)?;
    for SubmittedOperation { operation, account, description } in &submissions {
        let account = account.wanted().unwrap();
        let texts = |texts: &[&str]| texts.iter().map(ToString::to_string).collect();
        let namespaces = match account {
            "account1" => NamespaceRules { only: texts(&["default", "account1-testns00"]), omit: Vec::new() },
            "wide" => NamespaceRules { only: Vec::new(), omit: texts(&["default", "account1-testns00"]) },
            unknown => return Err(Refusal::unknown_account(unknown, ["account1", "wide"])),
        };
        let mut manifests = description.manifests()?;
        if let spindrift_spinnaker::OperationDescription::Deploy(deploy) = description {
            let namespace = deploy.namespace_override.as_deref().unwrap_or_default();
            manifest::override_namespace(&mut manifests, namespace, &KindRules::default(), |_| None);
        }
        let violations = validate(*operation, description, &manifests, &namespaces);
        if !violations.is_empty() {
            return Err(violations.into());
        }
        // No request names the account with permissions in these recordings.
        if account == "wide" {
            return Err(Refusal::not_authorized("recorder", account, *operation));
        }
    }
    Ok(submissions)
}
