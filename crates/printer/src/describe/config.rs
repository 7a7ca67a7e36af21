//! Namespaces, configuration and claims.

use serde_json::Value;

use super::{Page, conditions, metadata, or};
use crate::{
    kinds::storage::{access_modes, phase, storage_class},
    look::Look,
};

pub(super) fn namespace(namespace: &Value, page: &mut Page) {
    metadata(namespace, page);
    page.field("Status", namespace.text("/status/phase"));
    conditions(namespace, page);
}

pub(super) fn config_map(map: &Value, page: &mut Page) {
    metadata(map, page);
    let mut data = Page::default();
    for (key, value) in map.at("/data").as_object().into_iter().flatten() {
        match value.as_str().unwrap_or_default() {
            text if text.contains('\n') => data.text(key, text),
            text => data.field(key, text),
        }
    }
    page.section("Data", data);
    if map.count("/binaryData") > 0 {
        let mut binary = Page::default();
        for (key, value) in map.at("/binaryData").as_object().into_iter().flatten() {
            binary.field(key, format!("{} bytes", decoded_length(value.as_str().unwrap_or_default())));
        }
        page.section("BinaryData", binary);
    }
}

/// Number of bytes that a base64 text encodes.
fn decoded_length(text: &str) -> usize {
    let digits = text.trim_end_matches('=').len();
    digits * 3 / 4
}

pub(super) fn claim(claim: &Value, page: &mut Page) {
    metadata(claim, page);
    page.field("StorageClass", storage_class(claim));
    page.field("Status", phase(claim));
    page.field("Volume", claim.text("/spec/volumeName"));
    let finalizers = claim.list("/metadata/finalizers").iter().filter_map(Value::as_str).map(str::to_owned);
    page.values("Finalizers", finalizers.collect());
    page.field("Requested", claim.text("/spec/resources/requests/storage"));
    page.field("Capacity", claim.text("/status/capacity/storage"));
    page.field("Access Modes", access_modes(claim.list("/status/accessModes")));
    page.field("VolumeMode", or(claim.text("/spec/volumeMode"), "<unset>"));
    conditions(claim, page);
}
