use spindrift_testkit::{Cluster, eventually};

use super::*;
use crate::{ApiOptions, Credentials};

fn seen(groups: Vec<Group>) -> (Vec<String>, Vec<String>) {
    let Discovery { resources, undiscovered_groups, .. } = Discovery::of(groups);
    let resources = resources.iter().map(|resource| {
        let Resource { group, version, kind, plural, namespaced } = resource;
        format!("{group}/{version} {kind} {plural}{}", if *namespaced { " namespaced" } else { "" })
    });
    (resources.collect(), undiscovered_groups)
}

#[test]
fn aggregated_discovery_gives_each_kind_in_its_preferred_version() {
    let body = br#"{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","metadata":{},"items":[
        {"metadata":{"creationTimestamp":null},"versions":[{"version":"v1","freshness":"Current","resources":[
            {"resource":"pods","responseKind":{"group":"","version":"v1","kind":"Pod"},"scope":"Namespaced","verbs":["get","list","watch"],
             "subresources":[{"subresource":"log","verbs":["get"]}]},
            {"resource":"bindings","responseKind":{"group":"","version":"","kind":"Binding"},"scope":"Namespaced","verbs":["create"]},
            {"resource":"nameless","responseKind":{"group":"","version":"","kind":""},"scope":"Cluster","verbs":["list","watch"]}]}]},
        {"metadata":{"name":"shop.example.com"},"versions":[
            {"version":"v2","freshness":"Current","resources":[
                {"resource":"carts","responseKind":{"kind":"Cart"},"scope":"Namespaced","verbs":["list","watch"]},
                {"resource":"tills","responseKind":{"kind":"Till"},"scope":"Cluster","verbs":["list"]}]},
            {"version":"v1","resources":[
                {"resource":"carts","responseKind":{"kind":"Cart"},"scope":"Namespaced","verbs":["list","watch"]},
                {"resource":"tills","responseKind":{"kind":"Till"},"scope":"Cluster","verbs":["watch","list"]}]}]},
        {"metadata":{"name":"down.example.com"},"versions":[
            {"version":"v2","freshness":"Stale","resources":[{"resource":"olds","responseKind":{"kind":"Old"},"verbs":["list","watch"]}]},
            {"version":"v1","freshness":"Current","resources":[{"resource":"pods","responseKind":{"kind":"Pod"},"scope":"Cluster","verbs":["list","watch"]}]}]}]}"#;
    let (resources, undiscovered) = seen(aggregated::groups(body).unwrap());
    assert_eq!(
        resources,
        [
            "/v1 Pod pods namespaced",
            "shop.example.com/v2 Cart carts namespaced",
            "shop.example.com/v1 Till tills",
            "down.example.com/v1 Pod pods"
        ]
    );
    assert_eq!(undiscovered, ["down.example.com"]);
}

#[test]
fn short_names_are_those_of_the_served_definition() {
    let body =
        br#"{"kind":"APIGroupDiscoveryList","items":[{"metadata":{"name":"shop.example.com"},"versions":[
        {"version":"v1","resources":[{"resource":"carts","responseKind":{"kind":"Cart"},"scope":"Namespaced",
         "shortNames":["ct","crt"],"verbs":["list","watch"]}]}]}]}"#;
    let discovery = Discovery::of(aggregated::groups(body).unwrap());
    let [cart] = &discovery.resources[..] else { panic!("one resource") };
    assert_eq!(discovery.short_names(cart), ["ct", "crt"]);
    let stranger = Resource { group: "other.example.com".into(), ..cart.clone() };
    assert!(discovery.short_names(&stranger).is_empty(), "another group's kind of the same name");
}

#[test]
fn the_preferred_version_comes_first_in_legacy_discovery_too() {
    let body =
        br#"{"kind":"APIGroupList","groups":[{"name":"a","versions":[{"version":"v1beta1"},{"version":"v2"},
        {"version":"v1"}],"preferredVersion":{"version":"v1"}}]}"#;
    let groups = legacy::named_groups(body).unwrap();
    assert_eq!(groups[0].versions, ["v1", "v1beta1", "v2"]);
}

/// A group whose own server does not exist.
const BROKEN_GROUP: &str = r#"{"apiVersion":"apiregistration.k8s.io/v1","kind":"APIService",
    "metadata":{"name":"v1.broken.example.com"},
    "spec":{"group":"broken.example.com","version":"v1","groupPriorityMinimum":1,"versionPriority":1,
            "insecureSkipTLSVerify":true,"service":{"name":"nobody","namespace":"default"}}}"#;

#[tokio::test]
async fn both_forms_of_discovery_agree_and_bear_a_broken_group() {
    let cluster = Cluster::shared().await.unwrap();
    let credentials = Credentials::Kubeconfig { path: cluster.kubeconfig().to_owned(), context: None };
    let options = ApiOptions { no_proxy: true, ..ApiOptions::default() };
    let api = Api::connect(&credentials, &options).await.unwrap();
    cluster.kubectl_stdin(&["apply", "-f", "-"], BROKEN_GROUP).await.unwrap();

    let broken = ["broken.example.com".to_owned()];
    let aggregated = eventually!("the broken group is noticed", {
        let discovery = api.discover().await.unwrap();
        (discovery.undiscovered_groups == broken).then_some(discovery)
    });
    let legacy = api.discover_as("application/json").await.unwrap();

    assert_eq!(legacy.undiscovered_groups, broken);
    let sorted = |discovery: Discovery| {
        let seen = |resource| format!("{resource:?} {:?}", discovery.short_names(resource));
        let mut resources: Vec<_> = discovery.resources.iter().map(seen).collect();
        resources.sort();
        resources
    };
    assert_eq!(sorted(legacy), sorted(aggregated));
}
