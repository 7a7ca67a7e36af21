use super::*;
use crate::{ApiOptions, Credentials};

fn served(group: &str, version: &str, kind: &str, plural: &str, short_names: &[&str]) -> ServedResource {
    let resource = Resource {
        group: group.into(),
        version: version.into(),
        kind: kind.into(),
        plural: plural.into(),
        namespaced: true,
    };
    let short_names = short_names.iter().map(ToString::to_string).collect();
    ServedResource { resource, verbs: vec![], short_names }
}

fn everything() -> Vec<ServedResource> {
    vec![
        served("", "v1", "Pod", "pods", &["po"]),
        served("", "v1", "Event", "events", &["ev"]),
        served("apiregistration.k8s.io", "v1", "APIService", "apiservices", &[]),
        served("apps", "v1", "Deployment", "deployments", &["deploy"]),
        served("events.k8s.io", "v1", "Event", "events", &["ev"]),
        served("autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", &["hpa"]),
        served("autoscaling", "v1", "HorizontalPodAutoscaler", "horizontalpodautoscalers", &["hpa"]),
        served("batch", "v1", "Job", "jobs", &[]),
        served("batch.volcano.sh", "v1alpha1", "Job", "jobs", &["vj"]),
        // Its name is the short name of another.
        served("odd.example.com", "v1", "Deploy", "deploys", &["pods"]),
    ]
}

#[test]
fn a_kind_is_found_by_each_of_its_names() {
    for (name, expected) in [
        ("Pod", "pods."),
        ("pods", "pods."),
        ("po", "pods."),
        ("PODS", "pods."),
        ("ApiService", "apiservices.apiregistration.k8s.io"),
        ("Deployment.apps", "deployments.apps"),
        ("deployments.v1.apps", "deployments.apps"),
        ("deployments.ap", "deployments.apps"),
        // A full name takes precedence over a short one.
        ("deploy", "deploys.odd.example.com"),
        ("events", "events."),
        ("events.events.k8s.io", "events.events.k8s.io"),
        ("job", "jobs.batch"),
        ("Job.batch", "jobs.batch"),
        ("Job.batch.volcano.sh", "jobs.batch.volcano.sh"),
        ("jobs.v1alpha1.batch.volcano.sh", "jobs.batch.volcano.sh"),
        ("vj", "jobs.batch.volcano.sh"),
    ] {
        let found =
            KindName::parse(name).among(&everything()).unwrap_or_else(|| panic!("{name} is not found"));
        assert_eq!(format!("{}.{}", found.plural, found.group), expected, "{name}");
    }
    for name in ["", ".", "pod.apps", "unicorn", "jobs.v2.batch"] {
        assert_eq!(KindName::parse(name).among(&everything()), None, "{name}");
    }
}

#[test]
fn without_a_version_it_is_the_one_that_the_server_prefers() {
    let found = KindName::parse("hpa").among(&everything()).unwrap();
    assert_eq!(found.version.as_str(), "v2");
    let found = KindName::parse("hpa.v1.autoscaling").among(&everything()).unwrap();
    assert_eq!(found.version.as_str(), "v1");
}

#[tokio::test]
async fn an_unknown_kind_is_answered_by_a_recent_discovery() {
    // Nothing listens there: every request fails.
    const NOWHERE: &str = "{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c}}], \
        clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]}";
    let credentials = Credentials::Contents { kubeconfig: NOWHERE.into(), context: None };
    let api = Api::connect(&credentials, &ApiOptions::default()).await.unwrap();
    let resolver = Resolver::default();
    let catalogue = Catalogue { resources: everything(), undiscovered_groups: vec![] };
    // Ahead of time, so that the discovery stays recent however slow this test is.
    let discovered = Instant::now() + Duration::from_hours(1);
    resolver.cached.lock().everything = Some((discovered, Arc::new(catalogue)));
    let read = resolver.resolve(&api, None, "unicorn", KindFreshness::Recent).await;
    assert_eq!(read.unwrap(), None);

    let old = Resolver::default();
    let read = old.resolve(&api, None, "unicorn", KindFreshness::Recent).await;
    assert!(read.is_err(), "without a discovery, it is requested");
}
