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
fn every_verb_says_its_own_name() {
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
fn a_field_that_nobody_knows_is_named() {
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
fn what_is_short_what_is_long_and_what_changes_something_go_at_paces_of_their_own() {
    let object = r#""target":{"kind":"Pod","name":"x"}"#;
    for (fields, pace) in [
        (format!(r#""get",{object}"#), Pace::Glance),
        (format!(r#""rollout",{object},"action":"status""#), Pace::Glance),
        (format!(r#""rollout",{object},"action":"status","follow":true"#), Pace::Follow),
        (format!(r#""rollout",{object},"action":"restart""#), Pace::Change),
        (format!(r#""logs",{object}"#), Pace::Haul),
        (format!(r#""logs",{object},"follow":true"#), Pace::Follow),
        (format!(r#""scale",{object},"replicas":1"#), Pace::Change),
        (r#""list","kind":"pods""#.to_owned(), Pace::Haul),
        (r#""delete","kind":"pods","name":"x""#.to_owned(), Pace::Wait),
        (r#""delete","kind":"pods","name":"x","wait":false"#.to_owned(), Pace::Change),
    ] {
        let verb = read(&format!(r#"{{"verb":{fields}}}"#));
        assert_eq!(Pace::of(&verb), pace, "{fields}");
        assert_eq!(verb.is_mutation(), matches!(pace, Pace::Change | Pace::Wait), "{fields}");
    }
}
