//! Results of operations, added to the outputs of the stage.

use serde_json::{Value, json};

use super::{Outcome, Progress};
use crate::spinnaker::orca::{
    Exception, Stage,
    exception::{boolean, list, map, string},
    present,
};

/// Takes the first value of each key from all results.
pub(super) fn promote(stage: &mut Stage) -> Outcome {
    let results: Vec<Value> = list("kato.tasks", stage.get("kato.tasks"))?
        .iter()
        .flat_map(|task| task["resultObjects"].as_array().into_iter().flatten().cloned())
        .collect();
    let first = |key: &str| results.iter().find_map(|result| present(result, key));
    if let Some(manifests) = first("manifests") {
        stage.put_out("outputs.manifests", list("manifests", manifests)?.to_vec());
    }
    if let Some(names) = first("manifestNamesByNamespace") {
        stage.put_out("outputs.manifestNamesByNamespace", names_by_namespace(names)?);
    }
    if let Some(bound) = first("boundArtifacts") {
        stage.put_out("outputs.boundArtifacts", artifacts(bound)?);
    }
    if let Some(created) = first("createdArtifacts") {
        let created = artifacts(created)?;
        stage.put_out("outputs.createdArtifacts", created.clone());
        stage.put_out("artifacts", created);
    }
    Ok(Progress::Succeeded)
}

/// A map of lists of texts.
fn names_by_namespace(value: &Value) -> Result<Value, Exception> {
    for names in map("manifestNamesByNamespace", value)?.values() {
        for name in list("manifestNamesByNamespace[]", names)? {
            string("manifestNamesByNamespace[][]", name)?;
        }
    }
    Ok(value.clone())
}

/// A list of artifacts.
pub(super) fn artifacts(value: &Value) -> Result<Value, Exception> {
    list("artifacts", value)?.iter().map(artifact).collect()
}

/// An artifact; keys that Orca does not have go into its metadata.
fn artifact(value: &Value) -> Result<Value, Exception> {
    const TEXTS: [&str; 8] =
        ["artifactAccount", "location", "name", "provenance", "reference", "type", "uuid", "version"];
    let mut known = json!({ "customKind": false, "metadata": {} });
    for (key, value) in map("artifact", value)?.iter().filter(|(_, value)| !value.is_null()) {
        match key.as_str() {
            "customKind" => known["customKind"] = boolean(key, value)?.into(),
            "metadata" => known["metadata"] = map(key, value)?.clone().into(),
            text if TEXTS.contains(&text) => known[text] = string(key, value)?.into(),
            other => known["metadata"][other] = value.clone(),
        }
    }
    Ok(known)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::artifacts;

    #[test]
    fn artifacts_are_read_as_orca_does() {
        let read =
            artifacts(&json!([{ "type": "docker/image", "name": "nginx", "version": null, "odd": 1 }]))
                .unwrap();
        let expected = json!([{ "type": "docker/image", "name": "nginx", "customKind": false, "metadata": { "odd": 1 } }]);
        assert_eq!(read, expected);
        assert_eq!(artifacts(&json!([null])).unwrap_err().class, "ClassCastException");
        assert_eq!(artifacts(&json!([{ "name": 1 }])).unwrap_err().class, "ClassCastException");
    }
}
