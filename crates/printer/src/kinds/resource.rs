//! Resource claims and slices.

use serde_json::Value;

use crate::{
    column::{AGE, Builtin, NAME, text},
    look::Look,
};

pub(super) const RESOURCE_CLAIM: &[Builtin] = &[NAME, text("State", |claim, _| state(claim).into()), AGE];

pub(super) const RESOURCE_SLICE: &[Builtin] = &[
    NAME,
    text("Node", |slice, _| slice.text("/spec/nodeName").into()),
    text("Driver", |slice, _| slice.text("/spec/driver").into()),
    text("Pool", |slice, _| slice.text("/spec/pool/name").into()),
    AGE,
];

fn state(claim: &Value) -> String {
    let is_deleted = claim.has("/metadata/deletionTimestamp");
    let is_allocated = claim.has("/status/allocation");
    let states = [
        ("deleted", is_deleted),
        ("pending", !is_allocated && !is_deleted),
        ("allocated", is_allocated),
        ("reserved", is_allocated && claim.count("/status/reservedFor") > 0),
    ];
    let states: Vec<_> = states.into_iter().filter(|(_, holds)| *holds).map(|(state, _)| state).collect();
    states.join(",")
}
