//! Volumes of pods and sources of persistent volumes.

use serde_json::Value;

use super::Page;
use crate::{
    look::{Look, scalar},
    quantity,
};

/// Source of a volume: its field, kubectl's description, and the fields that are shown.
type Source = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

const SOURCES: [Source; 7] = [
    (
        "hostPath",
        "HostPath (bare host directory volume)",
        &[("Path", "/path"), ("HostPathType", "/type|<none>")],
    ),
    (
        "emptyDir",
        "EmptyDir (a temporary directory that shares a pod's lifetime)",
        &[("Medium", "/medium"), ("SizeLimit", "/sizeLimit|<unset>")],
    ),
    (
        "secret",
        "Secret (a volume populated by a Secret)",
        &[("SecretName", "/secretName"), ("Optional", "/optional|false")],
    ),
    (
        "configMap",
        "ConfigMap (a volume populated by a ConfigMap)",
        &[("Name", "/name"), ("Optional", "/optional|false")],
    ),
    (
        "nfs",
        "NFS (an NFS mount that lasts the lifetime of a pod)",
        &[("Server", "/server"), ("Path", "/path"), ("ReadOnly", "/readOnly|false")],
    ),
    (
        "persistentVolumeClaim",
        "PersistentVolumeClaim (a reference to a PersistentVolumeClaim in the same namespace)",
        &[("ClaimName", "/claimName"), ("ReadOnly", "/readOnly|false")],
    ),
    ("local", "LocalVolume (a persistent volume backed by local storage on a node)", &[("Path", "/path")]),
];

const CSI: &str = "CSI (a Container Storage Interface (CSI) volume source)";
/// Longest attribute of a driver that is printed.
const LONGEST_ATTRIBUTE: usize = 140;

pub(super) fn describe(volumes: &[Value], indent: &str, page: &mut Page) {
    if volumes.is_empty() {
        page.line(0, format!("{indent}Volumes:\t<none>"));
        return;
    }
    page.line(0, format!("{indent}Volumes:"));
    for volume in volumes {
        let indent = if indent.is_empty() { "" } else { " " };
        page.line(1, format!("{indent}{}:", volume.text("/name")));
        source(volume, page);
    }
}

/// Describes the source of a volume or persistent volume.
pub(super) fn source(volume: &Value, page: &mut Page) {
    let known = SOURCES.iter().find(|(field, ..)| !volume[*field].is_null());
    if let Some((field, title, fields)) = known {
        page.field(2, "Type", title);
        for (name, pointer) in *fields {
            let (pointer, otherwise) = pointer.split_once('|').unwrap_or((pointer, ""));
            let value = scalar(volume[*field].at(pointer)).filter(|value| !is_unset(name, value));
            page.field(2, name, value.as_deref().unwrap_or(otherwise));
        }
        return;
    }
    if volume.has("/projected") {
        projected(volume.list("/projected/sources"), page);
    } else if volume.has("/downwardAPI") {
        page.field(2, "Type", "DownwardAPI (a volume populated by information about the pod)");
        page.line(2, "Items:");
        for item in volume.list("/downwardAPI/items") {
            for pointer in ["/fieldRef/fieldPath", "/resourceFieldRef/resource"] {
                if item.has(pointer) {
                    page.line(3, format!("{} -> {}", item.text(pointer), item.text("/path")));
                }
            }
        }
    } else if volume.has("/csi") {
        csi(volume.at("/csi"), page);
    } else if volume.has("/image") {
        page.field(2, "Type", "Image (a container image or OCI artifact)");
        page.field(2, "Reference", volume.text("/image/reference"));
        page.field(2, "PullPolicy", volume.text("/image/pullPolicy"));
    } else {
        // Sources that are deprecated or rare: by name, with their fields.
        let other = volume.as_object().into_iter().flatten().find(|(_, value)| value.is_object());
        let Some((name, fields)) = other else {
            page.line(1, "<unknown>");
            return;
        };
        page.field(2, "Type", name);
        for (name, value) in fields.as_object().into_iter().flatten() {
            page.field(2, name, scalar(value).unwrap_or_else(|| value.to_string()));
        }
    }
}

/// Whether a size limit is zero, which is none.
fn is_unset(name: &str, value: &str) -> bool {
    name == "SizeLimit" && quantity::parse(value).is_some_and(|size| size <= 0.0)
}

fn projected(sources: &[Value], page: &mut Page) {
    page.field(2, "Type", "Projected (a volume that contains injected data from multiple sources)");
    for source in sources {
        if source.has("/secret") {
            page.field(2, "SecretName", source.text("/secret/name"));
            page.field(2, "Optional", source.flag("/secret/optional"));
        } else if source.has("/downwardAPI") {
            page.field(2, "DownwardAPI", "true");
        } else if source.has("/configMap") {
            page.field(2, "ConfigMapName", source.text("/configMap/name"));
            page.field(2, "Optional", source.flag("/configMap/optional"));
        } else if source.has("/serviceAccountToken") {
            let seconds = source.int("/serviceAccountToken/expirationSeconds");
            page.field(2, "TokenExpirationSeconds", seconds);
        }
    }
}

fn csi(source: &Value, page: &mut Page) {
    page.field(2, "Type", CSI);
    page.field(2, "Driver", source.text("/driver"));
    page.field(2, "FSType", source.text("/fsType"));
    // Only a persistent volume has a handle.
    if source.has("/volumeHandle") {
        page.field(2, "VolumeHandle", source.text("/volumeHandle"));
    }
    page.field(2, "ReadOnly", source.flag("/readOnly"));
    let attribute = |(key, value): (&String, &Value)| {
        let text = format!("{key}={}", value.as_str().unwrap_or_default());
        super::page::shorten(&text, LONGEST_ATTRIBUTE, "...")
    };
    let attributes = source.at("/volumeAttributes").as_object().into_iter().flatten();
    let attributes: Vec<_> = attributes.map(attribute).collect();
    page.put("    VolumeAttributes:\t");
    if attributes.is_empty() {
        page.put("<none>\n");
    }
    for (index, attribute) in attributes.iter().enumerate() {
        // kubectl indents each of the parts.
        let begin = if index == 0 { "    " } else { "        \t    " };
        page.put(format!("{begin}{attribute}\n"));
    }
}
