use serde_json::{Value, json};

use super::*;

fn matches(selector: &LabelSelector, labels: &Value) -> bool {
    selector.matches(|key| labels.get(key).and_then(Value::as_str))
}

#[test]
fn every_operator_matches_as_kubernetes_does() {
    let labels = json!({"app": "web", "tier": "front", "rank": "7", "example.com/team": "blue"});
    for (selector, expected) in [
        ("", true),
        (" ", true),
        ("app=web", true),
        ("app = web", true),
        ("app==web,tier!=back", true),
        ("app=db", false),
        ("app=", false),
        ("app in (web, db)", true),
        ("app in(web,db),tier", true),
        ("app\tin\n(db)", false),
        ("app notin (web,db)", false),
        ("none notin (a)", true),
        ("none in (,a)", false),
        ("none!=a", true),
        ("app", true),
        ("!app", false),
        ("! none", true),
        ("!none,app in (web),rank>6", true),
        ("rank<7", false),
        ("app>1", false),
        ("example.com/team=blue", true),
    ] {
        assert_eq!(matches(&selector.parse().unwrap(), &labels), expected, "{selector}");
    }
    assert!(matches(&"app=".parse().unwrap(), &json!({"app": ""})));
    assert!(matches(&"app in ()".parse().unwrap(), &json!({"app": ""})));
}

#[test]
fn invalid_selectors_are_reported_in_the_words_of_the_api_server() {
    for (selector, message) in [
        (",", "found ',', expected: !, identifier, or 'end of string'"),
        ("=x", "found '=', expected: !, identifier, or 'end of string'"),
        ("a,=x", "found '=', expected: identifier after ','"),
        ("a,", "found '', expected: identifier after ','"),
        ("!a=b", "found '=', expected: ',' or 'end of string'"),
        ("app=a b", "found 'b', expected: ',' or 'end of string'"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        ("a b=c", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("app in shop", "unable to parse requirement: found 'shop' expected: '('"),
        ("app in (a", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("app in (a b)", "unable to parse requirement: found 'b', expected: ',' or ')'"),
        ("app=(a)", "unable to parse requirement: found '(', expected: identifier"),
    ] {
        assert_eq!(selector.parse::<LabelSelector>().unwrap_err().to_string(), message, "{selector}");
    }
    for (selector, part) in [
        ("é=1", "<nil>: Invalid value: \"é\": name part must consist"),
        ("a=é", "values[0][a]: Invalid value: \"é\": a valid label must be"),
        ("a>b", "values[0]: Invalid value: \"b\": for 'Gt', 'Lt' operators"),
    ] {
        let error = selector.parse::<LabelSelector>().unwrap_err().to_string();
        assert!(error.starts_with(&format!("unable to parse requirement: {part}")), "{error}");
    }
}

#[test]
fn a_requirement_is_one_term() {
    assert_eq!("a in (b,c)".parse::<LabelRequirement>().unwrap().values, ["b", "c"]);
    for text in ["", "a,b", "a=b c"] {
        assert!(text.parse::<LabelRequirement>().is_err(), "{text}");
    }
}

#[test]
fn selectors_are_written_as_they_are_read() {
    for text in ["", "a=b", "a!=b,c in (d,e),f notin (g),h,!i,j>1,k<2", "a="] {
        assert_eq!(text.parse::<LabelSelector>().unwrap().to_string(), text);
    }
}

#[test]
fn label_selector_objects_are_read_and_sorted() {
    let object = json!({
        "matchLabels": {"tier": "web"},
        "matchExpressions": [
            {"key": "app", "operator": "In", "values": ["b", "a"]},
            {"key": "zone", "operator": "NotIn", "values": ["x"]},
            {"key": "old", "operator": "DoesNotExist"},
            {"key": "new", "operator": "Exists"},
        ],
    });
    let selector = LabelSelector::of_object(&object).unwrap();
    assert_eq!(selector.to_string(), "tier=web,app in (b,a),zone notin (x),!old,new");
    assert_eq!(selector.sorted().to_string(), "app in (a,b),new,!old,tier=web,zone notin (x)");
    assert_eq!(LabelSelector::of_labels(&json!({"b": "2", "a": ""})).to_string(), "a=,b=2");
    for empty in [json!({}), json!(null), json!({"matchLabels": {}, "matchExpressions": []})] {
        assert!(LabelSelector::of_object(&empty).unwrap().is_empty());
    }
    let unknown = json!({"matchExpressions": [{"key": "a", "operator": "Near"}]});
    assert_eq!(LabelSelector::of_object(&unknown), Err(UnknownOperator("Near".into())));
}

#[test]
fn field_requirements_are_read_with_their_escapes() {
    let read =
        |term: &str| FieldRequirement::parse(term).map(|found| (found.path(), found.value, found.is_equal));
    let path = |keys: &[&str]| Some(keys.iter().map(|key| (*key).to_owned()).collect());
    assert_eq!(read("status.phase==Running"), Some((path(&["status", "phase"]), "Running".into(), true)));
    assert_eq!(read(".a.b!=c"), Some((path(&["a", "b"]), "c".into(), false)));
    assert_eq!(read(r"a.b\.io/c=d\,e\=\\"), Some((path(&["a", "b.io/c"]), r"d,e=\".into(), true)));
    assert_eq!(read("a..b="), Some((None, String::new(), true)));
    for term in ["a", "!a", "a=b=c", r"a=\n", "status.phase in (a)"] {
        assert_eq!(read(term), None, "{term}");
    }
    assert_eq!(split_terms(r"a=b\,c,d=e"), [r"a=b\,c", "d=e"]);
}
