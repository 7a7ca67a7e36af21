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
