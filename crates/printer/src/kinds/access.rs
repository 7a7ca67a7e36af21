//! Role bindings and certificate signing requests.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::NONE;
use crate::{
    column::{AGE, Builtin, NAME, text, wide},
    human_duration,
    look::Look,
};

pub(super) const ROLE_BINDING: &[Builtin] = &[
    NAME,
    text("Role", |binding, _| {
        format!("{}/{}", binding.text("/roleRef/kind"), binding.text("/roleRef/name")).into()
    }),
    AGE,
    wide("Users", |binding, _| subjects(binding, "User")),
    wide("Groups", |binding, _| subjects(binding, "Group")),
    wide("ServiceAccounts", |binding, _| subjects(binding, "ServiceAccount")),
];

pub(super) const CERTIFICATE_SIGNING_REQUEST: &[Builtin] = &[
    NAME,
    AGE,
    text("SignerName", |request, _| request.text_or("/spec/signerName", NONE).into()),
    text("Requestor", |request, _| request.text("/spec/username").into()),
    text("RequestedDuration", requested_duration),
    text("Condition", |request, _| condition(request).into()),
];

fn subjects(binding: &Value, kind: &str) -> Value {
    let subjects = binding.list("/subjects").iter().filter(|subject| subject.text("/kind") == kind);
    let names = subjects.map(|subject| match (kind, subject.text("/namespace")) {
        ("ServiceAccount", namespace) if !namespace.is_empty() => {
            format!("{namespace}/{}", subject.text("/name"))
        }
        _ => subject.text("/name").to_owned(),
    });
    names.collect::<Vec<_>>().join(", ").into()
}

fn requested_duration(request: &Value, _: Timestamp) -> Value {
    match request.at("/spec/expirationSeconds").as_i64() {
        Some(secs) => human_duration(SignedDuration::from_secs(secs)).into(),
        None => NONE.into(),
    }
}

fn condition(request: &Value) -> String {
    let has = |condition| request.condition(condition).is_some();
    let mut text = match () {
        () if has("Denied") => "Denied".to_owned(),
        () if has("Approved") => "Approved".to_owned(),
        () => "Pending".to_owned(),
    };
    if has("Failed") {
        text.push_str(",Failed");
    }
    if request.has("/status/certificate") {
        text.push_str(",Issued");
    }
    text
}
