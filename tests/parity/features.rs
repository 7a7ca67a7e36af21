//! Features of a case, counted, so that none is believed to be covered that never occurred.

use std::collections::BTreeMap;

use serde_json::Value;

/// Number of occurrences of each feature.
pub(crate) type Features = BTreeMap<Feature, u64>;

/// Directives are counted in the patches that kubectl really sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Feature {
    PatchDelete,
    PatchReplace,
    PatchMerge,
    RetainKeys,
    SetElementOrder,
    DeleteFromPrimitiveList,
    RemovedKey,
    ReorderedList,
    ListAsMap,
    JsonMerge,
    ExplicitNull,
    ChangedInBetween,
    DeletedInBetween,
    Refused,
    CommandLine,
}

impl Feature {
    pub(crate) const ALL: [Self; 15] = [
        Self::PatchDelete,
        Self::PatchReplace,
        Self::PatchMerge,
        Self::RetainKeys,
        Self::SetElementOrder,
        Self::DeleteFromPrimitiveList,
        Self::RemovedKey,
        Self::ReorderedList,
        Self::ListAsMap,
        Self::JsonMerge,
        Self::ExplicitNull,
        Self::ChangedInBetween,
        Self::DeletedInBetween,
        Self::Refused,
        Self::CommandLine,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::PatchDelete => "`$patch: delete`",
            Self::PatchReplace => "`$patch: replace`",
            Self::PatchMerge => "`$patch: merge`",
            Self::RetainKeys => "`$retainKeys`",
            Self::SetElementOrder => "`$setElementOrder`",
            Self::DeleteFromPrimitiveList => "`$deleteFromPrimitiveList`",
            Self::RemovedKey => "a key is removed",
            Self::ReorderedList => "a list is reordered",
            Self::ListAsMap => "an item of a list with keys comes, goes or changes",
            Self::JsonMerge => "a custom kind, merged as JSON",
            Self::ExplicitNull => "a field is explicitly null",
            Self::ChangedInBetween => "another client changed the object in between",
            Self::DeletedInBetween => "another client deleted the object in between",
            Self::Refused => "the API server, or kubectl, refuses",
            Self::CommandLine => "by the command line: its exit code and every word",
        }
    }
}

/// The directives of a patch, from its text.
pub(crate) fn in_patch(patch: &str) -> Vec<Feature> {
    const MARKS: [(&str, Feature); 6] = [
        (r#""$patch":"delete""#, Feature::PatchDelete),
        (r#""$patch":"replace""#, Feature::PatchReplace),
        (r#""$patch":"merge""#, Feature::PatchMerge),
        (r#""$retainKeys":"#, Feature::RetainKeys),
        (r#""$setElementOrder/"#, Feature::SetElementOrder),
        (r#""$deleteFromPrimitiveList/"#, Feature::DeleteFromPrimitiveList),
    ];
    MARKS.iter().filter(|(mark, _)| patch.contains(mark)).map(|&(_, feature)| feature).collect()
}

/// Features of the change from the first manifest to the second.
pub(crate) fn between(first: &Value, second: &Value) -> Vec<Feature> {
    let mut found = Vec::new();
    compare(first, second, &mut found);
    found.sort_unstable();
    found.dedup();
    found
}

fn compare(first: &Value, second: &Value, found: &mut Vec<Feature>) {
    match (first, second) {
        (Value::Object(before), Value::Object(after)) => {
            for (key, value) in before {
                match after.get(key) {
                    None => found.push(Feature::RemovedKey),
                    Some(Value::Null) => found.push(Feature::ExplicitNull),
                    Some(now) => compare(value, now, found),
                }
            }
        }
        (Value::Array(before), Value::Array(after)) if before != after => {
            if is_reordered(before, after) {
                found.push(Feature::ReorderedList);
            }
            if let Some(key) = key_of(before).or_else(|| key_of(after)) {
                found.push(Feature::ListAsMap);
                for item in before {
                    if let Some(now) = after.iter().find(|other| other.get(key) == item.get(key)) {
                        compare(item, now, found);
                    }
                }
            }
        }
        _ => {}
    }
}

/// Merge key of a list's items, if they have one.
fn key_of(list: &[Value]) -> Option<&'static str> {
    const KEYS: [&str; 7] = ["mountPath", "containerPort", "port", "ip", "topologyKey", "uid", "name"];
    let has = |key: &&str| !list.is_empty() && list.iter().all(|item| item.get(*key).is_some());
    KEYS.into_iter().find(has)
}

/// Whether the common items have another order.
fn is_reordered(before: &[Value], after: &[Value]) -> bool {
    let identity = |item: &Value| {
        key_of(std::slice::from_ref(item)).map_or_else(|| item.clone(), |key| item[key].clone())
    };
    let (before, after): (Vec<_>, Vec<_>) =
        (before.iter().map(identity).collect(), after.iter().map(identity).collect());
    let common = |list: &[Value], other: &[Value]| -> Vec<Value> {
        list.iter().filter(|item| other.contains(item)).cloned().collect()
    };
    common(&before, &after) != common(&after, &before)
}

#[test]
fn changes_are_recognized() {
    use serde_json::json;
    let first =
        json!({ "a": 1, "containers": [{ "name": "x", "env": 1 }, { "name": "y" }], "plain": [1, 2] });
    let second = json!({ "containers": [{ "name": "y" }, { "name": "x" }], "plain": [1, 2, 3] });
    let all = [Feature::RemovedKey, Feature::ReorderedList, Feature::ListAsMap];
    assert_eq!(between(&first, &second), all);
    assert_eq!(between(&first, &first), []);
    assert_eq!(
        in_patch(
            r#"{"spec":{"$setElementOrder/containers":[],"containers":[{"$patch":"delete","name":"y"}]}}"#
        ),
        [Feature::PatchDelete, Feature::SetElementOrder]
    );
}
