//! Order of deployment: by priority of the kind, and stable.

use crate::{Kind, KindRules, Manifest, NotDeployable};

/// Length up to which Java's `TimSort` uses insertion sort alone.
const SHORT: usize = 32;

/// Sorts manifests by the priority of their kinds. Calls `looked_at` with each kind whose priority is compared: Clouddriver
/// writes a line into the task's history for each, in the order in which Java compares.
pub(super) fn sort(
    manifests: &mut Vec<Manifest>,
    rules: &KindRules,
    mut looked_at: impl FnMut(&Kind),
) -> Result<(), NotDeployable> {
    let mut compare = |one: &Manifest, other: &Manifest| {
        let mut priority = |manifest: &Manifest| {
            looked_at(manifest.kind());
            rules.priority(manifest.kind())
        };
        Ok(priority(one)?.cmp(&priority(other)?))
    };
    if manifests.len() < 2 {
        return Ok(());
    }
    if manifests.len() >= SHORT {
        return sort_quietly(manifests, rules);
    }
    let mut sorted = first_run(manifests, &mut compare)?;
    while sorted < manifests.len() {
        let mut range = 0..sorted;
        while !range.is_empty() {
            let middle = usize::midpoint(range.start, range.end);
            if compare(&manifests[sorted], &manifests[middle])?.is_lt() {
                range.end = middle;
            } else {
                range.start = middle + 1;
            }
        }
        manifests[range.start..=sorted].rotate_right(1);
        sorted += 1;
    }
    Ok(())
}

/// Length of the initial ordered run; a descending run is reversed.
fn first_run(
    manifests: &mut [Manifest],
    compare: &mut impl FnMut(&Manifest, &Manifest) -> Result<std::cmp::Ordering, NotDeployable>,
) -> Result<usize, NotDeployable> {
    let descending = compare(&manifests[1], &manifests[0])?.is_lt();
    let mut end = 2;
    while end < manifests.len() && compare(&manifests[end], &manifests[end - 1])?.is_lt() == descending {
        end += 1;
    }
    if descending {
        manifests[..end].reverse();
    }
    Ok(end)
}

/// Sorts many manifests without a line for each comparison.
fn sort_quietly(manifests: &mut Vec<Manifest>, rules: &KindRules) -> Result<(), NotDeployable> {
    let mut keyed = Vec::with_capacity(manifests.len());
    for manifest in manifests.drain(..) {
        keyed.push((rules.priority(manifest.kind())?, manifest));
    }
    keyed.sort_by_key(|(priority, _)| *priority);
    manifests.extend(keyed.into_iter().map(|(_, manifest)| manifest));
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn manifests(kinds: &[(&str, &str)]) -> Vec<Manifest> {
        let manifest = |(index, (api_version, kind)): (usize, &(&str, &str))| {
            let name = index.to_string();
            json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}}).try_into().unwrap()
        };
        kinds.iter().enumerate().map(manifest).collect()
    }

    fn sorted(kinds: &[(&str, &str)]) -> (Vec<String>, Vec<String>) {
        let (mut manifests, mut asked) = (manifests(kinds), Vec::new());
        sort(&mut manifests, &KindRules::default(), |kind| asked.push(kind.to_string())).unwrap();
        (manifests.iter().map(|manifest| manifest.full_name().to_string()).collect(), asked)
    }

    #[test]
    fn kinds_are_asked_for_in_the_recorded_order() {
        let (names, asked) = sorted(&[
            ("policy/v1", "PodDisruptionBudget"),
            ("v1", "ServiceAccount"),
            ("rbac.authorization.k8s.io/v1", "Role"),
        ]);
        assert_eq!(names, ["role 2", "serviceAccount 1", "podDisruptionBudget 0"]);
        assert_eq!(asked, ["serviceAccount", "podDisruptionBudget", "role", "serviceAccount"]);
        let (names, asked) = sorted(&[("v1", "Service"), ("apps/v1", "StatefulSet")]);
        assert_eq!(names, ["service 0", "statefulSet 1"]);
        assert_eq!(asked, ["statefulSet", "service"]);
        assert_eq!(sorted(&[("v1", "Event")]), (vec!["event 0".to_owned()], vec![]));
    }

    #[test]
    fn equal_priorities_keep_their_order() {
        let kinds = [("v1", "Service"), ("v1", "ConfigMap"), ("apps/v1", "Deployment"), ("v1", "Secret")];
        let many: Vec<_> = kinds.iter().copied().cycle().take(100).collect();
        for count in [2, 5, 17, 31, 32, 100] {
            let (names, _) = sorted(&many[..count]);
            let mut stable = manifests(&many[..count]);
            stable.sort_by_key(|manifest| KindRules::default().priority(manifest.kind()).unwrap());
            let stable: Vec<_> = stable.iter().map(|manifest| manifest.full_name().to_string()).collect();
            assert_eq!(names, stable, "{count}");
        }
    }

    #[test]
    fn a_kind_that_cannot_be_deployed_fails_when_it_is_compared() {
        let mut manifests = manifests(&[("v1", "Event"), ("v1", "ConfigMap")]);
        let mut asked = Vec::new();
        let error =
            sort(&mut manifests, &KindRules::default(), |kind| asked.push(kind.to_string())).unwrap_err();
        assert_eq!(error.to_string(), "Events cannot be deployed.");
        assert_eq!(asked, ["configMap", "event"]);
    }
}
