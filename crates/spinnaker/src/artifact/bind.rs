//! Binding replaces names in a manifest by the references of the artifacts of that name. Extracting reads the same fields.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    Artifact, image_name,
    places::{ArtifactField, visit},
};
use crate::{Kind, Manifest};

/// Match of an image with an artifact: `kubernetes.artifact-binding.docker-image`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ImageMatch {
    /// By name without tag: a tagged image is replaced, too.
    #[default]
    MatchNameAndTag,
    /// By the whole image, which must have no tag.
    MatchNameOnly,
}

/// Location and rules of a binding.
#[derive(Debug, Clone, Copy)]
pub struct Binding<'a> {
    pub account: &'a str,
    pub namespace: &'a str,
    pub images: ImageMatch,
}

/// Replaces the names of artifacts in an object or a patch of this kind, one artifact after the other. Therefore the last
/// matching image wins, since a replaced image keeps its name, and of all other types the first. Returns all artifacts that
/// were used, each once.
pub fn bind(
    kind: &Kind,
    object: &mut Map<String, Value>,
    artifacts: &[Artifact],
    binding: Binding<'_>,
) -> Vec<Artifact> {
    let candidates: Vec<_> = artifacts.iter().filter(|artifact| binding.admits(artifact)).collect();
    let mut bound: Vec<Artifact> = Vec::new();
    visit(kind, object, &mut |place, text| {
        for artifact in &candidates {
            let Some(reference) = artifact.reference.as_ref().filter(|_| binding.fits(artifact, place, text))
            else {
                continue;
            };
            text.clone_from(reference);
            if !bound.contains(artifact) {
                bound.push((*artifact).clone());
            }
        }
    });
    bound
}

/// Artifacts that an object names, each once.
pub fn extract(object: &Manifest) -> Vec<Artifact> {
    let mut found: Vec<Artifact> = Vec::new();
    let mut body = object.as_map().clone();
    visit(object.kind(), &mut body, &mut |place, text| {
        let name = if place == ArtifactField::Image { image_name(text) } else { &*text };
        let artifact = Artifact {
            r#type: Some(place.artifact_type().to_owned()),
            name: Some(name.to_owned()),
            reference: Some(text.clone()),
            ..Artifact::default()
        };
        if !found.contains(&artifact) {
            found.push(artifact);
        }
    });
    found
}

// === impl Binding ===

impl Binding<'_> {
    /// Whether an artifact may be bound: Kubernetes artifacts only in their own namespace and account.
    fn admits(self, artifact: &Artifact) -> bool {
        let Some(of_type) = artifact.r#type.as_deref().filter(|of_type| !of_type.is_empty()) else {
            return false;
        };
        !of_type.starts_with("kubernetes/")
            || (artifact.location.as_deref().unwrap_or_default() == self.namespace
                && artifact.account().is_none_or(|account| account == self.account))
    }

    fn fits(self, artifact: &Artifact, place: ArtifactField, text: &str) -> bool {
        let wanted = match (place, self.images) {
            (ArtifactField::Image, ImageMatch::MatchNameAndTag) => image_name(text),
            _ => text,
        };
        artifact.is_of_type(place.artifact_type()) && artifact.name.as_deref() == Some(wanted)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const HERE: Binding<'_> =
        Binding { account: "account1", namespace: "shop", images: ImageMatch::MatchNameAndTag };

    fn artifacts(json: Value) -> Vec<Artifact> {
        serde_json::from_value(json).unwrap()
    }

    fn bound(kind: &str, mut object: Value, with: Value, binding: Binding<'_>) -> (Value, Vec<String>) {
        let used = bind(&Kind::parse(kind), object.as_object_mut().unwrap(), &artifacts(with), binding);
        (object, used.into_iter().filter_map(|artifact| artifact.reference).collect())
    }

    fn pod_template(pod: Value) -> Value {
        json!({"spec": {"template": {"spec": pod}}})
    }

    #[test]
    fn every_place_of_a_pod_template_is_bound() {
        let with = json!([
            {"type": "docker/image", "name": "nginx", "reference": "nginx:2"},
            {"type": "kubernetes/configMap", "name": "cm", "location": "shop", "reference": "cm-v001"},
            {"type": "kubernetes/secret", "name": "s", "location": "shop", "reference": "s-v002"},
        ]);
        let pod = |image: &str, config_map: &str, secret: &str| {
            json!({
                "containers": [{"image": image,
                    "env": [{"valueFrom": {"configMapKeyRef": {"name": config_map, "key": "k"}}},
                            {"valueFrom": {"secretKeyRef": {"name": secret}}}, {"name": "plain", "value": "cm"}],
                    "envFrom": [{"configMapRef": {"name": config_map}}, {"secretRef": {"name": secret}}]}],
                "initContainers": [{"image": image, "envFrom": [{"secretRef": {"name": secret}}]}],
                "volumes": [{"configMap": {"name": config_map}}, {"secret": {"secretName": secret}},
                    {"projected": {"sources": [{"configMap": {"name": config_map}}, {"secret": {"name": secret}}]}}],
                "imagePullSecrets": [{"name": "s"}],
            })
        };
        let (object, used) = bound("deployment", pod_template(pod("nginx", "cm", "s")), with.clone(), HERE);
        assert_eq!(object, pod_template(pod("nginx:2", "cm-v001", "s-v002")));
        assert_eq!(used, ["nginx:2", "cm-v001", "s-v002"]);
        let cron = |pod: Value| json!({"spec": {"jobTemplate": {"spec": {"template": {"spec": pod}}}}});
        let (object, _) = bound("cronJob", cron(pod("nginx", "cm", "s")), with.clone(), HERE);
        assert_eq!(object, cron(pod("nginx:2", "cm-v001", "s-v002")));
        let untouched = pod_template(pod("nginx", "cm", "s"));
        assert_eq!(bound("Widget.example.com", untouched.clone(), with, HERE), (untouched, vec![]));
    }

    #[test]
    fn a_tagged_image_is_replaced_unless_only_names_match() {
        let with = json!([{"type": "docker/image", "name": "nginx", "reference": "nginx:2"}]);
        let tagged = pod_template(json!({"containers": [{"image": "nginx:1"}]}));
        let (object, _) = bound("deployment", tagged.clone(), with.clone(), HERE);
        assert_eq!(object, pod_template(json!({"containers": [{"image": "nginx:2"}]})));
        let names = Binding { images: ImageMatch::MatchNameOnly, ..HERE };
        assert_eq!(bound("deployment", tagged.clone(), with.clone(), names), (tagged, vec![]));
        let pod = json!({"spec": {"containers": [{"image": "nginx:1"}, {"image": "nginx"}]}});
        let (object, _) = bound("pod", pod, with, HERE);
        assert_eq!(object, json!({"spec": {"containers": [{"image": "nginx:1"}, {"image": "nginx:2"}]}}));
    }

    #[test]
    fn artifacts_of_clusters_bind_only_where_they_are() {
        let volume = |name: &str| pod_template(json!({"volumes": [{"configMap": {"name": name}}]}));
        let table = [
            (json!({"location": "shop"}), "cm-v000"),
            (json!({"location": "shop", "metadata": {"account": "account1"}}), "cm-v000"),
            (json!({"location": "shop", "metadata": {"account": "other"}}), "cm"),
            (json!({"location": "elsewhere"}), "cm"),
            (json!({}), "cm"),
        ];
        for (mut artifact, name) in table {
            let fields = json!({"type": "kubernetes/configMap", "name": "cm", "reference": "cm-v000"});
            artifact.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
            let (object, _) = bound("deployment", volume("cm"), json!([artifact]), HERE);
            assert_eq!(object, volume(name), "{artifact}");
        }
    }

    #[test]
    fn an_autoscalers_target_is_bound_by_its_kind() {
        let target =
            |kind: &str, name: &str| json!({"spec": {"scaleTargetRef": {"kind": kind, "name": name}}});
        let with = json!([{"type": "kubernetes/replicaSet", "name": "rs", "location": "shop", "reference": "rs-v003"}]);
        let (object, _) = bound("hpa", target("ReplicaSet", "rs"), with.clone(), HERE);
        assert_eq!(object, target("ReplicaSet", "rs-v003"));
        let (object, _) = bound("hpa", target("StatefulSet", "rs"), with, HERE);
        assert_eq!(object, target("StatefulSet", "rs"));
    }

    #[test]
    fn a_patch_takes_the_last_of_two_artifacts_and_counts_both() {
        let with = json!([{"type": "docker/image", "name": "nginx", "reference": "nginx:1.27"},
            {"type": "docker/image", "name": "nginx", "reference": "nginx:1.20"}]);
        let patch = pod_template(json!({"containers": [{"image": "nginx"}]}));
        let (object, used) = bound("deployment", patch, with, HERE);
        assert_eq!(object, pod_template(json!({"containers": [{"image": "nginx:1.20"}]})));
        assert_eq!(used, ["nginx:1.27", "nginx:1.20"]);
    }

    #[test]
    fn a_patch_takes_the_first_of_two_config_maps_and_counts_it_alone() {
        let config_map = |reference: &str| json!({"type": "kubernetes/configMap", "name": "cm", "location": "shop", "reference": reference});
        let with = json!([config_map("cm-v002"), config_map("cm-v001")]);
        let volume = |name: &str| pod_template(json!({"volumes": [{"configMap": {"name": name}}]}));
        let (object, used) = bound("deployment", volume("cm"), with, HERE);
        assert_eq!((object, used), (volume("cm-v002"), vec!["cm-v002".to_owned()]));
        let images = json!([{"type": "docker/image", "name": "nginx", "reference": "nginx:1.27"},
            {"type": "docker/image", "name": "nginx", "reference": "nginx:1.20"}]);
        let pod = |image: &str| json!({"spec": {"containers": [{"image": image}]}});
        let (object, used) = bound("pod", pod("nginx"), images, HERE);
        assert_eq!(
            (object, used),
            (pod("nginx:1.27"), vec!["nginx:1.27".to_owned()]),
            "a pod's name is the whole image"
        );
    }

    #[test]
    fn extraction_is_as_recorded() {
        // recordings 255 (deployment), 212 (pod), 220 (autoscaler)
        let image = |name: &str, reference: &str| {
            let (of_type, metadata) = ("docker/image", json!({}));
            json!({"type": of_type, "customKind": false, "name": name, "reference": reference, "metadata": metadata})
        };
        let side = "registry.example.com:5000/team/side@sha256:aaaa";
        let table = [
            (
                json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"template": {"spec": {
                    "containers": [{"image": "nginx:1.25"}, {"image": side}, {"image": "nginx:1.25"}],
                    "initContainers": [{"image": "busybox:1.36"}]}}}}),
                json!([
                    image("nginx", "nginx:1.25"),
                    image("registry.example.com:5000/team/side", side),
                    image("busybox", "busybox:1.36")
                ]),
            ),
            (
                json!({"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{"image": "nginx:1.26"}],
                    "initContainers": [{"image": "busybox"}]}}),
                json!([image("nginx:1.26", "nginx:1.26")]),
            ),
            (
                json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
                    "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "shop-wide"}}}),
                json!([{"type": "kubernetes/deployment", "customKind": false, "name": "shop-wide",
                    "reference": "shop-wide", "metadata": {}}]),
            ),
            (json!({"apiVersion": "v1", "kind": "Service", "spec": {}}), json!([])),
        ];
        for (object, recorded) in table {
            let found = extract(&object.try_into().unwrap());
            assert_eq!(serde_json::to_value(found).unwrap(), recorded);
        }
    }
}
