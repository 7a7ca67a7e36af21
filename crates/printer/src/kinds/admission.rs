//! Kinds of `admissionregistration.k8s.io`: webhooks and policies.

use jiff::Timestamp;
use serde_json::Value;

use super::UNSET;
use crate::{
    column::{AGE, Builtin, NAME, integer, text},
    labels::selector_text,
    look::Look,
};

const WEBHOOKS: &[Builtin] = &[NAME, integer("Webhooks", |config, _| config.count("/webhooks").into()), AGE];

const VALIDATING_POLICY: &[Builtin] = &[
    NAME,
    integer("Validations", |policy, _| policy.count("/spec/validations").into()),
    text("ParamKind", param_kind),
    AGE,
];

const MUTATING_POLICY: &[Builtin] = &[
    NAME,
    integer("Mutations", |policy, _| policy.count("/spec/mutations").into()),
    text("ParamKind", param_kind),
    AGE,
];

const POLICY_BINDING: &[Builtin] = &[
    NAME,
    text("PolicyName", |binding, _| binding.text("/spec/policyName").into()),
    text("ParamRef", |binding, _| param_ref(binding).into()),
    AGE,
];

/// Columns of a kind in `admissionregistration.k8s.io`.
pub(super) fn cells(kind: &str) -> Option<&'static [Builtin]> {
    Some(match kind {
        "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration" => WEBHOOKS,
        "ValidatingAdmissionPolicy" => VALIDATING_POLICY,
        "MutatingAdmissionPolicy" => MUTATING_POLICY,
        "ValidatingAdmissionPolicyBinding" | "MutatingAdmissionPolicyBinding" => POLICY_BINDING,
        _ => return None,
    })
}

fn param_kind(policy: &Value, _: Timestamp) -> Value {
    if !policy.has("/spec/paramKind") {
        return UNSET.into();
    }
    format!("{}/{}", policy.text("/spec/paramKind/apiVersion"), policy.text("/spec/paramKind/kind")).into()
}

fn param_ref(binding: &Value) -> String {
    match binding.text("/spec/paramRef/name") {
        "" if binding.has("/spec/paramRef/selector") => selector_text(binding.at("/spec/paramRef/selector")),
        "" => UNSET.to_owned(),
        name => format!("{}/{name}", binding.text_or("/spec/paramRef/namespace", "*")),
    }
}
