//! Values of a Secret that a manifest lacks because live reads hide them. They are read and written in the cluster only.

use serde_json::Value;
use spindrift_kubernetes::{Object, annotated, last_applied};
use spindrift_model::{ErrorKind, OperationError};

use super::manifest_target::{ManifestTarget, bad_request, metadata_text};

/// Values of the Secret that a request names as their source.
pub(super) struct HiddenValues {
    /// Name of the source.
    source: String,
    /// `data` of the source; none if it has none, or does not exist.
    data: Option<Value>,
}

// === impl HiddenValues ===

impl HiddenValues {
    /// Reads the values; none if the request names no source, or the manifest has `data` of its own.
    ///
    /// A manifest with a uid was read from the cluster: if that object is gone, its values are, too, and nothing is written.
    pub(super) async fn read(
        target: &ManifestTarget<'_>,
        source: Option<String>,
    ) -> Result<Option<Self>, OperationError> {
        let Some(source) = source else { return Ok(None) };
        if !target.resource.group.is_empty() || &*target.resource.kind != "Secret" {
            return Err(bad_request(format!("valuesFrom: expected a Secret, got {}", target.resource.kind)));
        }
        if target.manifest.get("data").is_some_and(|data| !data.is_null()) {
            return Ok(None);
        }
        let live = target.live(&source).await?.map(|live| live.object);
        if let Some(uid) = metadata_text(&target.manifest, "uid") {
            check_uid(&source, uid, live.as_ref())?;
        }
        let data = live.and_then(|mut live| live.remove("data"));
        Ok(Some(Self { source, data }))
    }

    /// Adds the values to the manifest.
    pub(super) fn fill_in_manifest(&self, target: &mut ManifestTarget<'_>) {
        if let Some(data) = &self.data {
            target.manifest.insert("data".to_owned(), data.clone());
        }
    }

    /// Adds the values to an object: of the target's own live object, if it is the source, else as they were read.
    pub(super) fn fill_in(&self, object: &mut Object, name: &str, live: Option<&Object>) {
        let data = match live {
            Some(live) if self.source == name => live.get("data"),
            _ => self.data.as_ref(),
        };
        match data {
            Some(data) => _ = object.insert("data".to_owned(), data.clone()),
            None => _ = object.remove("data"),
        }
    }
}

fn check_uid(source: &str, uid: &str, live: Option<&Object>) -> Result<(), OperationError> {
    let (kind, reason) = match live.map(|live| metadata_text(live, "uid")) {
        Some(Some(found)) if found == uid => return Ok(()),
        Some(_) => (ErrorKind::Conflict, "was deleted and created again since it was read"),
        None => (ErrorKind::NotFound, "not found"),
    };
    let message = format!(
        "secrets \"{source}\" {reason}, so its values cannot be kept; deploy the Secret with `data` or `stringData`"
    );
    Err(OperationError::agent(kind, message))
}

/// Adds the annotation of client-side apply to a manifest without values. It lists the keys of `data` that were applied
/// before, with empty values, so that a later manifest without one of them removes it.
pub(super) fn annotated_without_values(manifest: &Object, live: &Object) -> Object {
    let mut applied = manifest.clone();
    let before = last_applied(live).and_then(Result::ok);
    let data = before.as_ref().and_then(|before| before.get("data")?.as_object());
    if let Some(data) = data {
        let keys: Object = data.keys().map(|key| (key.clone(), "".into())).collect();
        applied.insert("data".to_owned(), keys.into());
    }
    let mut modified = annotated(&applied);
    modified.remove("data");
    modified
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use spindrift_kubernetes::LAST_APPLIED;

    use super::*;

    fn object(value: &Value) -> Object {
        value.as_object().expect("an object").clone()
    }

    #[test]
    fn the_annotation_has_the_keys_that_were_applied_and_no_values() {
        let before = json!({ "data": { "a": "eA==", "b": "eQ==" } }).to_string();
        let live = object(&json!({ "data": { "a": "eA==", "b": "eQ==", "c": "eg==" },
            "metadata": { "annotations": { LAST_APPLIED: before } } }));
        let manifest = object(&json!({ "metadata": { "name": "login", "labels": { "team": "a" } } }));
        let modified = annotated_without_values(&manifest, &live);
        assert!(modified.get("data").is_none());
        let applied = last_applied(&modified).unwrap().unwrap();
        assert_eq!(applied["data"], json!({ "a": "", "b": "" }));
        let modified = annotated_without_values(&manifest, &object(&json!({ "data": { "a": "eA==" } })));
        assert!(last_applied(&modified).unwrap().unwrap().get("data").is_none());
    }

    #[test]
    fn values_of_the_target_itself_are_those_of_its_live_object() {
        let hidden = HiddenValues { source: "login".to_owned(), data: Some(json!({ "a": "b2xk" })) };
        let live = object(&json!({ "data": { "a": "bmV3" } }));
        for (name, live, expected) in [
            ("login", Some(&live), json!({ "a": "bmV3" })),
            ("login", None, json!({ "a": "b2xk" })),
            ("login-v000", Some(&live), json!({ "a": "b2xk" })),
        ] {
            let mut object = Object::new();
            hidden.fill_in(&mut object, name, live);
            assert_eq!(object["data"], expected, "{name}");
        }
    }
}
