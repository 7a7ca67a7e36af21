//! Generated pods must look like stored ones.

use std::{collections::BTreeMap, time::Duration};

use serde_json::Value;

use super::*;
use crate::controllers::fields;

const BYTES: usize = 12 * 1024;

fn population(pods: u32, namespaces: u32) -> Arc<Population> {
    let options = PopulationOptions { pods, namespaces, seed: 7, revision: 1_000, history: 100 };
    Population::new(&Arc::new(Template::new(BYTES)), options)
}

fn paths(snapshot: Snapshot) -> Vec<Box<str>> {
    snapshot.items.map(|item| item.path).collect()
}

#[test]
fn pods_are_json_of_the_wanted_size_under_their_own_names() {
    let snapshot = population(100, 3).snapshot("", None, None).unwrap();
    for item in snapshot.items {
        let pod: Value = serde_json::from_slice(&item.object).unwrap();
        assert_eq!(format!("{}/{}", fields::namespace(&pod), fields::name(&pod)), &*item.path);
        assert_eq!(fields::text(&pod, "/metadata/resourceVersion"), "1000");
        assert!(fields::is_ready(&pod));
        assert!(item.object.len().abs_diff(BYTES) < 600, "{}", item.object.len());
    }
}

#[test]
fn the_order_of_a_list_is_that_of_its_paths_and_pages_go_on_where_they_stopped() {
    let population = population(1_000, 7);
    let all = paths(population.snapshot("", None, None).unwrap());
    assert!(all.is_sorted());
    assert_eq!(all.len(), 1_000);
    let rest = population.snapshot("", Some(&all[399]), Some(1_000)).unwrap();
    assert_eq!(rest.count, 600);
    assert_eq!(paths(rest), all[400..]);
}

#[test]
fn namespaces_divide_the_pods() {
    let population = population(1_000, 7);
    let mut of_namespaces = Vec::new();
    for namespace in population.namespaces() {
        let prefix = format!("{namespace}/");
        let of_namespace = paths(population.snapshot(&prefix, None, None).unwrap());
        assert!(of_namespace.iter().all(|path| path.starts_with(&prefix)));
        of_namespaces.extend(of_namespace);
    }
    assert_eq!(of_namespaces, paths(population.snapshot("", None, None).unwrap()));
    assert!(paths(population.snapshot("default/", None, None).unwrap()).is_empty());
}

#[test]
fn a_pod_is_found_by_its_path_until_it_is_replaced() {
    let population = population(10, 1);
    let path = paths(population.snapshot("", None, None).unwrap()).remove(4);
    let first = population.get(&path).unwrap();
    population.touch(4);
    assert_ne!(population.get(&path).unwrap(), first);
    population.replace(4);
    assert_eq!(population.get(&path), None);
    assert_eq!(population.snapshot("", None, None).unwrap().count, 10);
}

#[test]
fn changes_lead_from_one_list_to_the_next() {
    let population = population(50, 2);
    let state = || -> BTreeMap<Box<str>, Bytes> {
        let snapshot = population.snapshot("", None, None).unwrap();
        snapshot.items.map(|item| (item.path, item.object)).collect()
    };
    let (mut told, mut position) = (state(), population.revision());
    let load = Load { changes_per_second: 80.0, churn: 0.3 };
    Producer::new(vec![Arc::clone(&population)], load, 3).pass(Duration::from_secs(1));
    loop {
        let changes = population.changes(position, 7).unwrap();
        for Change { kind, path, object, .. } in &changes.changes {
            match kind {
                ChangeKind::Deleted => assert!(told.remove(path).is_some()),
                ChangeKind::Added => assert!(told.insert(path.clone(), object.clone()).is_none()),
                ChangeKind::Modified => assert!(told.insert(path.clone(), object.clone()).is_some()),
            }
        }
        if changes.position == population.revision() {
            break;
        }
        position = changes.position;
    }
    assert_eq!(told, state());
    assert!((1_080..=1_081).contains(&population.revision()), "{}", population.revision());
}

#[test]
fn what_is_forgotten_is_gone() {
    let population = population(10, 1);
    for _ in 0..101 {
        population.touch(1);
    }
    assert!(matches!(population.changes(1_000, 10), Err(ChangesError::Gone(RevisionGone { oldest: 1_001 }))));
    assert!(population.snapshot("", None, Some(1_000)).is_err());
    assert_eq!(population.changes(1_001, 10).map(|changes| changes.changes.len()).ok(), Some(10));
}
