//! Every route of Clouddriver that a service calls for Kubernetes: a table of `docs/compatibility.md`, and a test.

use std::sync::LazyLock;

use regex::Regex;
use spindrift_tests::spinnaker::recorded;

/// A route, and its answer where `orcashop` is deployed.
pub(crate) struct Route {
    pub(crate) method: &'static str,
    pub(crate) path: &'static str,
    /// Filled in, with a query; nothing if the request would change something.
    pub(crate) example: &'static str,
    /// Status of the example's answer.
    pub(crate) status: u16,
    /// Not recorded, but part of the system tests.
    pub(crate) in_system_tests: bool,
    pub(crate) source: Source,
}

/// Where an answer comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// State reported by agents; answered at once.
    Store,
    /// Asked of the cluster by its agent, now.
    Live,
    /// Answered by the hub itself.
    Hub,
    /// There is nothing of this for Kubernetes, but callers ask.
    Empty,
    /// Clouddriver has no such route either, or never a good answer.
    Never,
    /// Answered by the hub itself, for three types of artifacts.
    Artifacts,
    /// The rows derived from agents' state, for the members that Front50 lists.
    Front50,
}

use Source::{Artifacts, Empty, Front50, Hub, Live, Never, Store};

const fn get(path: &'static str, example: &'static str, source: Source) -> Route {
    Route { method: "GET", path, example, status: 200, in_system_tests: false, source }
}

const fn missing(path: &'static str, example: &'static str, source: Source) -> Route {
    Route { method: "GET", path, example, status: 404, in_system_tests: false, source }
}

const fn other(method: &'static str, path: &'static str, source: Source) -> Route {
    Route { method, path, example: "", status: 0, in_system_tests: false, source }
}

/// In the order of the specification: accounts, manifests, applications, … and empty ones.
pub(crate) static ROUTES: &[Route] = &[
    get("/credentials", "/credentials?expand=true", Hub),
    get("/credentials/{account}", "/credentials/account1", Hub),
    get("/credentials/{account}/authorized", "/credentials/account1/authorized", Hub),
    other("GET", "/credentials/type/{type}", Never),
    other("PUT", "/credentials", Never),
    other("DELETE", "/credentials/{account}", Never),
    get("/manifests/{account}/{location}/{name}", "/manifests/account1/default/deployment%20gate-web", Live),
    get("/manifests/{account}/{name}", "/manifests/account1/namespace%20default", Live),
    get(
        "/manifests/{account}/{location}/{kind}/cluster/{application}/{cluster}",
        "/manifests/account1/default/replicaSet/cluster/orcashop/deployment%20gate-web",
        Live,
    ),
    get(
        "/manifests/{account}/{location}/{kind}/cluster/{application}/{cluster}/dynamic/{criteria}",
        "/manifests/account1/default/deployment/cluster/orcashop/deployment%20gate-web/dynamic/newest",
        Live,
    ),
    get("/applications", "/applications?restricted=false&expand=true", Store),
    get("/applications/{application}", "/applications/orcashop", Store),
    get("/applications/{application}/clusters", "/applications/orcashop/clusters", Store),
    get("/applications/{application}/clusters/{account}", "/applications/orcashop/clusters/account1", Store),
    get(
        "/applications/{application}/clusters/{account}/{cluster}",
        "/applications/orcashop/clusters/account1/deployment%20gate-web",
        Store,
    ),
    get(
        "/applications/{application}/clusters/{account}/{cluster}/{type}",
        "/applications/orcashop/clusters/account1/deployment%20gate-web/kubernetes",
        Store,
    ),
    get(
        "/applications/{application}/clusters/{account}/{cluster}/{type}/serverGroups",
        "/applications/orcashop/clusters/account1/deployment%20gate-web/kubernetes/serverGroups",
        Store,
    ),
    other(
        "GET",
        "/applications/{application}/clusters/{account}/{cluster}/{type}/serverGroups/{name}",
        Never,
    ),
    other(
        "GET",
        "/applications/{application}/clusters/{account}/{cluster}/{type}/serverGroups/{name}/scalingActivities",
        Never,
    ),
    other(
        "GET",
        "/applications/{application}/clusters/{account}/{cluster}/{type}/{scope}/serverGroups/target/{target}",
        Never,
    ),
    other(
        "GET",
        "/applications/{application}/clusters/{account}/{cluster}/{type}/{scope}/serverGroups/target/{target}/{summary}",
        Never,
    ),
    missing(
        "/applications/{application}/clusters/{account}/{cluster}/{type}/loadBalancers",
        "/applications/orcashop/clusters/account1/deployment%20gate-web/kubernetes/loadBalancers",
        Never,
    ),
    get("/applications/{application}/serverGroups", "/applications/orcashop/serverGroups?expand=true", Store),
    get(
        "/applications/{application}/serverGroups/{account}/{region}/{name}",
        "/applications/orcashop/serverGroups/account1/default/deployment%20gate-web?includeDetails=true",
        Store,
    ),
    get("/serverGroups", "/serverGroups?applications=orcashop", Store),
    get(
        "/serverGroups/{account}/{region}/{name}",
        "/serverGroups/account1/default/deployment%20gate-web",
        Store,
    ),
    get(
        "/applications/{application}/serverGroupManagers",
        "/applications/orcashop/serverGroupManagers",
        Store,
    ),
    get("/applications/{application}/loadBalancers", "/applications/orcashop/loadBalancers", Store),
    get("/{provider}/loadBalancers", "/kubernetes/loadBalancers", Store),
    other("GET", "/{provider}/loadBalancers/{name}", Store),
    get(
        "/{provider}/loadBalancers/{account}/{region}/{name}",
        "/kubernetes/loadBalancers/account1/default/service%20orca-svc",
        Store,
    ),
    get("/securityGroups", "/securityGroups", Store),
    get("/securityGroups/{account}", "/securityGroups/account1", Store),
    get("/securityGroups/{account}/{provider}", "/securityGroups/account1/kubernetes?region=default", Store),
    get(
        "/securityGroups/{account}/{provider}/{name}",
        "/securityGroups/account1/kubernetes/networkPolicy%20x",
        Store,
    ),
    missing(
        "/securityGroups/{account}/{provider}/{region}/{name}",
        "/securityGroups/account1/kubernetes/default/networkPolicy%20x",
        Store,
    ),
    missing("/instances/{account}/{region}/{id}", "/instances/account1/default/pod%20nope", Store),
    missing(
        "/instances/{account}/{region}/{id}/console",
        "/instances/nope/default/pod%20nope/console?provider=kubernetes",
        Live,
    ),
    missing(
        "/applications/{application}/jobs/{account}/{location}/{id}",
        "/applications/orcashop/jobs/account1/default/job%20nope",
        Live,
    ),
    get(
        "/applications/{application}/jobs/{account}/{location}/{id}/{container}",
        "/applications/orcashop/jobs/account1/default/job%20nope/main",
        Live,
    ),
    get(
        "/applications/{application}/kubernetes/pods/{account}/{namespace}/{pod}/{container}",
        "/applications/orcashop/kubernetes/pods/account1/default/nope/main",
        Live,
    ),
    other("DELETE", "/applications/{application}/jobs/{account}/{location}/{id}", Never),
    get("/search", "/search?q=orcashop&type=securityGroups&pageSize=500&page=1", Store),
    Route {
        in_system_tests: true,
        ..missing("/projects/{project}/clusters", "/projects/nope/clusters", Front50)
    },
    get("/applications/{application}/rawResources", "/applications/orcashop/rawResources", Store),
    get("/features/stages", "/features/stages", Hub),
    other("POST", "/cache/{provider}/{type}", Hub),
    get("/cache/{provider}/{type}", "/cache/kubernetes/manifest", Hub),
    get("/cache/introspection", "/cache/introspection", Hub),
    get("/health", "/health", Hub),
    get("/artifacts/credentials", "/artifacts/credentials", Artifacts),
    other("PUT", "/artifacts/fetch", Artifacts),
    missing("/artifacts/account/{account}/names", "/artifacts/account/nope/names?type=helm%2Fchart", Hub),
    missing(
        "/artifacts/account/{account}/versions",
        "/artifacts/account/nope/versions?type=helm%2Fchart&artifactName=x",
        Hub,
    ),
    other("GET", "/artifacts/content-address/{application}/{hash}", Never),
    other("POST", "/{provider}/ops", Live),
    other("POST", "/{provider}/ops/{name}", Live),
    other("POST", "/ops", Live),
    Route { in_system_tests: true, ..other("POST", "/ops/{name}", Live) },
    get("/task", "/task", Hub),
    missing("/task/{id}", "/task/nope", Hub),
    other("POST", "/task/{id}:resume", Hub),
    other("PATCH", "/{provider}/task/{id}", Hub),
    other("POST", "/{provider}/task/{id}/restart", Live),
    missing("/{provider}/task/{id}/owner", "/kubernetes/task/nope/owner", Hub),
    get("/networks", "/networks", Empty),
    get("/networks/{provider}", "/networks/kubernetes", Empty),
    get("/subnets", "/subnets", Empty),
    get("/subnets/{provider}", "/subnets/kubernetes", Empty),
    get("/certificates", "/certificates", Empty),
    get("/certificates/{provider}", "/certificates/kubernetes", Empty),
    get("/keyPairs", "/keyPairs", Empty),
    get("/instanceTypes", "/instanceTypes", Empty),
    get("/functions", "/functions", Empty),
    get("/applications/{application}/functions", "/applications/orcashop/functions", Empty),
    get("/vpcs", "/vpcs", Empty),
    get("/reports/reservation", "/reports/reservation", Empty),
    get("/storage", "/storage", Empty),
    get("/elasticIps/{account}", "/elasticIps/account1", Empty),
    get("/tags", "/tags", Empty),
    missing("/tags/{id}", "/tags/x", Empty),
    get("/installedPlugins", "/installedPlugins", Empty),
    missing("/installedPlugins/{id}", "/installedPlugins/x", Empty),
    missing("/roles/{provider}", "/roles/kubernetes", Never),
    missing("/{provider}/images/find", "/kubernetes/images/find?q=x", Never),
];

/// Patterns of the templates.
static PATTERNS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let parameter = Regex::new(r"\{[a-zA-Z]+\}").unwrap();
    let pattern = |route: &Route| {
        let path = parameter.replace_all(route.path, "[^/:]+");
        Regex::new(&format!("^{path}/?$")).unwrap()
    };
    ROUTES.iter().map(pattern).collect()
});

/// The route that a request is for; where several could be meant, the one with the fewest parameters.
pub(crate) fn of(method: &str, path: &str) -> Option<&'static Route> {
    let path = path.split('?').next().unwrap_or_default().replace("%3A", "");
    let matching = ROUTES.iter().zip(PATTERNS.iter()).filter(|(route, pattern)| {
        let is_method = route.method == method || (method == "HEAD" && route.method == "GET");
        is_method && pattern.is_match(&path)
    });
    matching.map(|(route, _)| route).min_by_key(|route| route.path.matches('{').count())
}

/// Number of recordings of each route: of experiments with Clouddriver, of Orca, of Gate.
pub(crate) fn recordings() -> Vec<(&'static Route, [usize; 3])> {
    let mut counted: Vec<_> = ROUTES.iter().map(|route| (route, [0; 3])).collect();
    let mut count = |who: usize, method: &str, path: &str| {
        let route = of(method, path);
        if let Some((_, counts)) =
            counted.iter_mut().find(|(it, _)| route.is_some_and(|of| std::ptr::eq(of, *it)))
        {
            counts[who] += 1;
        }
    };
    for recording in recorded::clouddriver() {
        count(0, &recording.request.method, &recording.request.path);
    }
    for (who, calls) in [(1, recorded::calls_of_orca()), (2, recorded::calls_of_gate())] {
        for call in calls {
            count(who, &call.method, &call.path);
        }
    }
    counted
}

#[test]
fn every_recorded_request_is_for_a_route_of_the_table_or_for_none() {
    /// Sent to see Clouddriver's answer.
    const NONE: [&str; 7] =
        ["/", "/docs", "/info", "/nope/nope", "/resolvedEnv", "/sessionLog", "/dockerRegistry/images/find"];
    let unknown: Vec<_> = recorded::clouddriver()
        .iter()
        .filter(|it| of(&it.request.method, &it.request.path).is_none())
        .filter(|it| it.status != 405 && !NONE.contains(&it.request.path.as_str()))
        .map(|it| format!("{} {}", it.request.method, it.request.path))
        .collect();
    assert_eq!(unknown, Vec::<String>::new());
    for calls in [recorded::calls_of_orca(), recorded::calls_of_gate()] {
        for call in calls {
            assert!(of(&call.method, &call.path).is_some(), "{} {}", call.method, call.path);
        }
    }
}
