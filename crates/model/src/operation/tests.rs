use super::*;

fn read(json: &str) -> Verb {
    serde_json::from_str(json).unwrap_or_else(|error| panic!("{json}: {error}"))
}

#[test]
fn verbs_are_read_as_people_write_them() {
    let verb =
        read(r#"{"verb":"scale","target":{"kind":"deploy","namespace":"shop","name":"web"},"replicas":3}"#);
    assert!(
        matches!(&verb, Verb::Scale(scale) if scale.replicas == 3 && scale.target.to_string() == "deploy shop/web")
    );
    let verb = read(
        r#"{"verb":"rollout","action":"undo","toRevision":2,"target":{"kind":"Deployment","name":"web"}}"#,
    );
    assert!(
        matches!(&verb, Verb::Rollout(rollout) if rollout.action == RolloutAction::Undo { to_revision: Some(2) })
    );
    assert!(verb.is_mutation());
    let verb =
        read(r#"{"verb":"delete","kind":"pods","labelSelector":"app=web","propagationPolicy":"orphan"}"#);
    assert!(
        matches!(&verb, Verb::Delete(delete) if delete.wait && delete.propagation_policy == Some(Propagation::Orphan))
    );
    assert!(!read(r#"{"verb":"discover"}"#).is_mutation());
}

#[test]
fn every_verb_has_its_own_name() {
    let object = r#""target":{"kind":"Pod","name":"x"}"#;
    for name in Verb::NAMES {
        let fields = match name {
            "apply" | "create" | "replace" | "diff" => r#""manifest":{}"#.to_owned(),
            "patch" => format!(r#"{object},"patch":{{}}"#),
            "scale" => format!(r#"{object},"replicas":1"#),
            "rollout" => format!(r#"{object},"action":"pause""#),
            "delete" | "list" | "top" => r#""kind":"pods""#.to_owned(),
            "discover" => String::new(),
            _ => object.to_owned(),
        };
        let comma = if fields.is_empty() { "" } else { "," };
        let verb = read(&format!(r#"{{"verb":"{name}"{comma}{fields}}}"#));
        assert_eq!(verb.name(), name);
        let again = serde_json::to_string(&verb).unwrap();
        assert_eq!(read(&again).name(), name, "{again}");
    }
}

#[test]
fn an_unknown_field_is_named() {
    let error =
        serde_json::from_str::<Verb>(r#"{"verb":"get","target":{"kind":"Pod","name":"x"},"revel":true}"#);
    assert!(error.unwrap_err().to_string().contains("revel"));
}

#[test]
fn nothing_prints_a_manifest() {
    let verb = read(r#"{"verb":"apply","manifest":{"kind":"Secret","stringData":{"a":"canary"}}}"#);
    assert!(!format!("{verb:?}").contains("canary"));
    assert!(serde_json::to_string(&verb).unwrap().contains("canary"));
}

#[test]
fn every_verb_has_a_class_and_changes_are_mutations() {
    let object = r#""target":{"kind":"Pod","name":"x"}"#;
    for (fields, class) in [
        (format!(r#""get",{object}"#), OperationClass::Read),
        (format!(r#""rollout",{object},"action":"status""#), OperationClass::Read),
        (format!(r#""rollout",{object},"action":"status","follow":true"#), OperationClass::Stream),
        (format!(r#""rollout",{object},"action":"restart""#), OperationClass::Change),
        (format!(r#""logs",{object}"#), OperationClass::BulkRead),
        (format!(r#""logs",{object},"follow":true"#), OperationClass::Stream),
        (format!(r#""scale",{object},"replicas":1"#), OperationClass::Change),
        (r#""list","kind":"pods""#.to_owned(), OperationClass::BulkRead),
        (r#""delete","kind":"pods","name":"x""#.to_owned(), OperationClass::WaitingChange),
        (r#""delete","kind":"pods","name":"x","wait":false"#.to_owned(), OperationClass::Change),
    ] {
        let verb = read(&format!(r#"{{"verb":{fields}}}"#));
        assert_eq!(verb.class(), class, "{fields}");
        assert_eq!(
            verb.is_mutation(),
            matches!(class, OperationClass::Change | OperationClass::WaitingChange),
            "{fields}"
        );
    }
}

#[test]
fn targets_are_shown_as_people_write_them() {
    for (verb, target) in [
        (
            r#"{"verb":"apply","manifest":{"kind":"Deployment","metadata":{"name":"web"}},"namespace":"shop"}"#,
            "Deployment shop/web",
        ),
        (
            r#"{"verb":"create","manifest":{"kind":"Job","metadata":{"generateName":"run-","namespace":"a"}},"namespace":"b"}"#,
            "Job a/run-",
        ),
        (r#"{"verb":"replace","manifest":{}}"#, "? ?"),
        (
            r#"{"verb":"delete","kind":"pods","namespace":"shop","labelSelector":"app=web"}"#,
            "pods shop/app=web",
        ),
        (r#"{"verb":"list","kind":"nodes"}"#, "nodes *"),
        (r#"{"verb":"top","kind":"pods","name":"x"}"#, "pods x"),
        (r#"{"verb":"discover"}"#, "resources *"),
        (r#"{"verb":"get","target":{"kind":"po","name":"x"}}"#, "po x"),
    ] {
        assert_eq!(read(verb).target().to_string(), target);
    }
}

#[test]
fn names_that_would_address_another_object_are_refused_by_field_in_every_verb() {
    let object = |kind: &str, namespace: &str, name: &str| {
        format!(r#"{{"kind":"{kind}","namespace":"{namespace}","name":"{name}"}}"#)
    };
    let bad = "kube-system/configmaps/x";
    let named = |verb: &str, more: &str| {
        format!(r#"{{"verb":"{verb}","target":{}{more}}}"#, object("Pod", "shop", bad))
    };
    let manifest = |verb: &str| {
        format!(
            r#"{{"verb":"{verb}","manifest":{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{bad}"}}}}}}"#
        )
    };
    for verb in Verb::NAMES {
        let (json, field) = match verb {
            "apply" | "create" | "replace" | "diff" => (manifest(verb), "manifest.metadata.name"),
            "patch" => (named(verb, r#","patch":{}"#), "target.name"),
            "scale" => (named(verb, r#","replicas":1"#), "target.name"),
            "rollout" => (named(verb, r#","action":"pause""#), "target.name"),
            "delete" | "top" => (format!(r#"{{"verb":"{verb}","kind":"pods","name":"{bad}"}}"#), "name"),
            "list" => (format!(r#"{{"verb":"list","kind":"pods","namespace":"{bad}"}}"#), "namespace"),
            "discover" => continue,
            _ => (named(verb, ""), "target.name"),
        };
        let error = read(&json).check_paths().expect_err(&json).to_string();
        assert!(
            error.starts_with(&format!("{field}: ")) && error.ends_with("may not contain '/'"),
            "{error}"
        );
    }
}

#[test]
fn every_name_that_becomes_part_of_a_path_is_checked() {
    let get = |fields: &str| format!(r#"{{"verb":"get","target":{{{fields}}}}}"#);
    let patch = |sub: &str| {
        format!(
            r#"{{"verb":"patch","target":{{"kind":"Pod","name":"x"}},"patch":{{}},"subresource":"{sub}"}}"#
        )
    };
    for (json, field) in [
        (get(r#""kind":"Pod","name":"""#), Some("target.name")),
        (get(r#""kind":"Pod","name":"..""#), Some("target.name")),
        (get(r#""kind":"Pod","namespace":"%2e","name":"x""#), Some("target.namespace")),
        (get(r#""kind":"Pod","namespace":"","name":"x""#), None),
        (get(r#""apiVersion":"apps/v1/x","kind":"Pod","name":"x""#), Some("target.apiVersion")),
        (get(r#""apiVersion":"../v1","kind":"Pod","name":"x""#), Some("target.apiVersion")),
        (get(r#""apiVersion":"apps/","kind":"Pod","name":"x""#), Some("target.apiVersion")),
        (get(r#""apiVersion":"apps/v1","kind":"Deployment","name":"x""#), None),
        (get(r#""kind":"pods/log","name":"x""#), Some("target.kind")),
        (patch("status"), None),
        (patch("../x"), Some("subresource")),
        (patch(""), Some("subresource")),
        (r#"{"verb":"matches","target":{"kind":"Secret","name":"x"},"other":{"kind":"Secret","name":"a/b"}}"#.into(), Some("other.name")),
        (r#"{"verb":"create","manifest":{"kind":"Pod","metadata":{"generateName":"a-"}}}"#.into(), None),
        (r#"{"verb":"apply","namespace":"a/b","manifest":{"kind":"Pod","metadata":{"name":"a"}}}"#.into(), Some("manifest.metadata.namespace")),
    ] {
        let found = read(&json).check_paths().err().map(|error| error.to_string());
        let starts = |error: &str| field.is_some_and(|field| error.starts_with(&format!("{field}: ")));
        assert!(found.as_deref().map_or(field.is_none(), starts), "{json}: {found:?}");
    }
}
