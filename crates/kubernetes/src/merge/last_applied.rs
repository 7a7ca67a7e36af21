//! The last-applied annotation of client-side apply, as kubectl writes and reads it.

use serde_json::Value;

use crate::merge::{Object, go_json};

/// Annotation with the manifest of kubectl's last apply.
pub const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Adds the annotation to a manifest.
///
/// Creates the annotations if the manifest has none, replaces null ones by empty ones, and normalizes numbers as Go does.
pub fn annotated(manifest: &Object) -> Object {
    let mut modified = unannotated(manifest);
    let text = go_json::encode(&modified);
    set(&mut modified, LAST_APPLIED, text);
    modified
}

/// Returns the manifest without the annotation, which is the content of the annotation.
pub fn unannotated(manifest: &Object) -> Object {
    let mut modified = Value::Object(manifest.clone());
    go_json::normalize(&mut modified);
    let Value::Object(mut modified) = modified else { unreachable!("it was an object") };
    let annotations = annotations_mut(&mut modified);
    annotations.remove(LAST_APPLIED);
    for value in annotations.values_mut().filter(|value| value.is_null()) {
        *value = "".into();
    }
    modified
}

/// Normalizes the numbers of an object as Go does, so that it can be compared with the last applied manifest.
pub fn normalized(object: Object) -> Object {
    let mut object = Value::Object(object);
    go_json::normalize(&mut object);
    match object {
        Value::Object(object) => object,
        _ => Object::new(),
    }
}

/// Returns the last applied manifest, or the error of its JSON; none without the annotation.
pub fn last_applied(object: &Object) -> Option<Result<Object, serde_json::Error>> {
    let text = object.get("metadata")?.get("annotations")?.get(LAST_APPLIED)?.as_str()?;
    if text.is_empty() {
        return Some(Ok(Object::new()));
    }
    Some(serde_json::from_str(text))
}

fn set(object: &mut Object, annotation: &str, text: String) {
    annotations_mut(object).insert(annotation.to_owned(), text.into());
}

/// Returns the annotations; a value that is not a map is replaced.
fn annotations_mut(object: &mut Object) -> &mut Object {
    map_at(map_at(object, "metadata"), "annotations")
}

fn map_at<'a>(object: &'a mut Object, key: &str) -> &'a mut Object {
    let value = object.entry(key).or_insert(Value::Null);
    if !value.is_object() {
        *value = Value::Object(Object::new());
    }
    value.as_object_mut().expect("it was made one")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(value: Value) -> Object {
        let Value::Object(object) = value else { panic!("an object") };
        object
    }

    #[test]
    fn a_manifest_contains_itself() {
        let manifest = object(json!({
            "kind": "ConfigMap", "apiVersion": "v1", "data": { "html": "<b>" },
            "metadata": { "name": "a", "annotations": { LAST_APPLIED: "old", "empty": null } },
        }));
        let text = "{\"apiVersion\":\"v1\",\"data\":{\"html\":\"\\u003cb\\u003e\"},\"kind\":\"ConfigMap\",\
                    \"metadata\":{\"annotations\":{\"empty\":\"\"},\"name\":\"a\"}}\n";
        let modified = annotated(&manifest);
        assert_eq!(modified["metadata"]["annotations"], json!({ LAST_APPLIED: text, "empty": "" }));
        assert_eq!(last_applied(&modified).unwrap().unwrap(), unannotated(&manifest));
    }

    #[test]
    fn annotations_are_there_even_if_there_are_none() {
        let manifest = object(json!({ "metadata": { "name": "a" }, "spec": { "replicas": 3.0 } }));
        let text = "{\"metadata\":{\"annotations\":{},\"name\":\"a\"},\"spec\":{\"replicas\":3}}\n";
        assert_eq!(annotated(&manifest)["metadata"]["annotations"], json!({ LAST_APPLIED: text }));
        assert!(last_applied(&manifest).is_none());
    }
}
