//! The annotation in which client-side apply keeps what was applied, as kubectl writes and reads it.

use serde_json::Value;

use crate::merge::{Object, go_json};

/// Where kubectl keeps the manifest that it applied last.
pub const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// A manifest as it is applied: with itself, before that, in an annotation.
///
/// Annotations are there even if the manifest has none, and null ones are empty; numbers are as Go reads them.
pub fn annotated(manifest: &Object) -> Object {
    let mut modified = unannotated(manifest);
    let text = go_json::encode(&modified);
    set(&mut modified, LAST_APPLIED, text);
    modified
}

/// A manifest without the annotation, which is what the annotation holds.
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

/// An object with its numbers as Go reads them, so that it can be compared with what was applied.
pub fn normalized(object: Object) -> Object {
    let mut object = Value::Object(object);
    go_json::normalize(&mut object);
    match object {
        Value::Object(object) => object,
        _ => Object::new(),
    }
}

/// What was applied last, or why that cannot be read; none if nothing was.
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

/// The annotations; whatever stands in their place and is no map gives way.
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
    fn a_manifest_carries_itself() {
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
