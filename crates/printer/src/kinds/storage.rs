//! Volumes, claims, storage classes and related kinds.

use serde_json::Value;

use super::{NAME_AND_TIME, NONE, UNSET};
use crate::{
    column::{AGE, Builtin, NAME, boolean, integer, named, text, wide},
    look::{Look, entry},
};

pub(super) const PERSISTENT_VOLUME: &[Builtin] = &[
    NAME,
    text("Capacity", |volume, _| volume.text_or("/spec/capacity/storage", "0").into()),
    text("Access Modes", |volume, _| access_modes(volume.list("/spec/accessModes")).into()),
    text("Reclaim Policy", |volume, _| volume.text("/spec/persistentVolumeReclaimPolicy").into()),
    text("Status", |volume, _| phase(volume).into()),
    text("Claim", |volume, _| {
        let (namespace, name) = (volume.text("/spec/claimRef/namespace"), volume.text("/spec/claimRef/name"));
        if volume.has("/spec/claimRef") { format!("{namespace}/{name}").into() } else { "".into() }
    }),
    text("StorageClass", |volume, _| storage_class(volume).into()),
    text("VolumeAttributesClass", |volume, _| or_unset(volume, "/spec/volumeAttributesClassName")),
    text("Reason", |volume, _| volume.text("/status/reason").into()),
    AGE,
    wide("VolumeMode", |volume, _| or_unset(volume, "/spec/volumeMode")),
];

pub(super) const PERSISTENT_VOLUME_CLAIM: &[Builtin] = &[
    NAME,
    text("Status", |claim, _| phase(claim).into()),
    text("Volume", |claim, _| claim.text("/spec/volumeName").into()),
    text("Capacity", |claim, _| {
        if is_bound(claim) { claim.text_or("/status/capacity/storage", "0").into() } else { "".into() }
    }),
    text("Access Modes", |claim, _| {
        if is_bound(claim) { access_modes(claim.list("/status/accessModes")).into() } else { "".into() }
    }),
    text("StorageClass", |claim, _| storage_class(claim).into()),
    text("VolumeAttributesClass", |claim, _| or_unset(claim, "/spec/volumeAttributesClassName")),
    AGE,
    wide("VolumeMode", |claim, _| or_unset(claim, "/spec/volumeMode")),
];

const STORAGE_CLASS: &[Builtin] = &[
    named(|class, _| {
        let says_so = |annotation| entry(class, "/metadata/annotations", annotation) == Some("true");
        let is_default = says_so("storageclass.kubernetes.io/is-default-class")
            || says_so("storageclass.beta.kubernetes.io/is-default-class");
        name_of_class(class, is_default)
    }),
    text("Provisioner", |class, _| class.text("/provisioner").into()),
    text("ReclaimPolicy", |class, _| class.text_or("/reclaimPolicy", "Delete").into()),
    text("VolumeBindingMode", |class, _| class.text_or("/volumeBindingMode", "Immediate").into()),
    text("AllowVolumeExpansion", |class, _| class.flag("/allowVolumeExpansion").into()),
    AGE,
];

const CSI_DRIVER: &[Builtin] = &[
    NAME,
    boolean("AttachRequired", |driver, _| driver.at("/spec/attachRequired").as_bool().unwrap_or(true).into()),
    boolean("PodInfoOnMount", |driver, _| driver.flag("/spec/podInfoOnMount").into()),
    boolean("StorageCapacity", |driver, _| driver.flag("/spec/storageCapacity").into()),
    text("TokenRequests", |driver, _| {
        let audiences: Vec<_> =
            driver.list("/spec/tokenRequests").iter().map(|request| request.text("/audience")).collect();
        if driver.has("/spec/tokenRequests") { audiences.join(",").into() } else { UNSET.into() }
    }),
    boolean("RequiresRepublish", |driver, _| driver.flag("/spec/requiresRepublish").into()),
    text("Modes", |driver, _| {
        let modes: Vec<_> =
            driver.list("/spec/volumeLifecycleModes").iter().filter_map(Value::as_str).collect();
        if modes.is_empty() { NONE.into() } else { modes.join(",").into() }
    }),
    AGE,
];

const CSI_NODE: &[Builtin] = &[NAME, integer("Drivers", |node, _| node.count("/spec/drivers").into()), AGE];

const VOLUME_ATTACHMENT: &[Builtin] = &[
    NAME,
    text("Attacher", |attachment, _| attachment.text("/spec/attacher").into()).with_format("name"),
    text("PV", |attachment, _| attachment.text("/spec/source/persistentVolumeName").into()),
    text("Node", |attachment, _| attachment.text("/spec/nodeName").into()),
    boolean("Attached", |attachment, _| attachment.flag("/status/attached").into()),
    AGE,
];

const VOLUME_ATTRIBUTES_CLASS: &[Builtin] =
    &[NAME, text("DriverName", |class, _| class.text("/driverName").into()), AGE];

/// Columns of a kind in `storage.k8s.io`.
pub(super) fn cells(kind: &str) -> Option<&'static [Builtin]> {
    Some(match kind {
        "CSIDriver" => CSI_DRIVER,
        "CSINode" => CSI_NODE,
        "CSIStorageCapacity" => NAME_AND_TIME,
        "StorageClass" => STORAGE_CLASS,
        "VolumeAttachment" => VOLUME_ATTACHMENT,
        "VolumeAttributesClass" => VOLUME_ATTRIBUTES_CLASS,
        _ => return None,
    })
}

/// Name of a class, marked if it is the default class.
pub(super) fn name_of_class(class: &Value, is_default: bool) -> Value {
    let name = class.text("/metadata/name");
    if is_default { format!("{name} (default)").into() } else { name.into() }
}

/// Access modes by their short names, without duplicates.
pub(crate) fn access_modes(modes: &[Value]) -> String {
    const SHORT: [(&str, &str); 4] = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ];
    let named: Vec<_> =
        SHORT.iter().filter(|(mode, _)| modes.iter().any(|m| m == mode)).map(|(_, short)| *short).collect();
    named.join(",")
}

/// Class of a volume or claim; the deprecated annotation has precedence.
pub(crate) fn storage_class(object: &Value) -> &str {
    let annotated = entry(object, "/metadata/annotations", "volume.beta.kubernetes.io/storage-class");
    annotated.unwrap_or_else(|| object.text("/spec/storageClassName"))
}

/// Phase, or `Terminating`.
pub(crate) fn phase(object: &Value) -> &str {
    if object.has("/metadata/deletionTimestamp") { "Terminating" } else { object.text("/status/phase") }
}

fn is_bound(claim: &Value) -> bool {
    !claim.text("/spec/volumeName").is_empty()
}

fn or_unset(object: &Value, pointer: &str) -> Value {
    object.at(pointer).as_str().unwrap_or(UNSET).into()
}
