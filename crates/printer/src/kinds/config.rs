//! Config maps, secrets, resource quotas and leases.

use serde_json::Value;

use crate::{
    column::{AGE, Builtin, NAME, text},
    look::{Look, scalar},
};

/// Cell of a value that the hub never receives.
const HIDDEN: &str = "<hidden>";

pub(super) const CONFIG_MAP: &[Builtin] =
    &[NAME, text("Data", |map, _| (map.count("/data") + map.count("/binaryData")).into()), AGE];

/// The hub has only the metadata of a Secret: no type, no data.
pub(super) const SECRET: &[Builtin] = &[
    NAME,
    text("Type", |secret, _| secret.text_or("/type", HIDDEN).into()),
    text("Data", |secret, _| if secret.has("/type") { secret.count("/data").into() } else { HIDDEN.into() }),
    AGE,
];

pub(super) const RESOURCE_QUOTA: &[Builtin] = &[
    NAME,
    text("Request", |quota, _| used_of_hard(quota, |resource| !is_limit(resource)).into()),
    text("Limit", |quota, _| used_of_hard(quota, is_limit).into()),
    AGE,
];

pub(super) const LEASE: &[Builtin] =
    &[NAME, text("Holder", |lease, _| lease.text("/spec/holderIdentity").into()), AGE];

fn is_limit(resource: &str) -> bool {
    resource.starts_with("limits.")
}

fn used_of_hard(quota: &Value, wanted: fn(&str) -> bool) -> String {
    let Some(hard) = quota.at("/status/hard").as_object() else { return String::new() };
    let used = quota.at("/status/used");
    let mut resources: Vec<_> = hard.iter().filter(|(resource, _)| wanted(resource)).collect();
    resources.sort_unstable_by_key(|(resource, _)| *resource);
    let quantity = |value: Option<&Value>| value.and_then(scalar).unwrap_or_else(|| "0".to_owned());
    let parts: Vec<_> = resources
        .into_iter()
        .map(|(resource, hard)| {
            format!("{resource}: {}/{}", quantity(used.get(resource)), quantity(Some(hard)))
        })
        .collect();
    parts.join(", ")
}
