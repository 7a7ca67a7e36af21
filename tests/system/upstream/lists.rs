//! Lists that both have a part of.

use serde_json::json;
use spindrift_testkit::eventually;

use super::{UpstreamSetup, ask};
use crate::support::LONG;

/// Gate's questions.
const CREDENTIALS: &str = "/credentials?expand=true";
const APPLICATIONS: &str = "/applications?restricted=false&expand=true";

#[tokio::test(flavor = "multi_thread")]
async fn lists_are_of_both() {
    let setup = UpstreamSetup::set().await;
    let ours = setup.account().to_owned();
    setup.server_group("shop-v001");
    let all = || {
        let mut all = vec!["account1".to_owned(), ours.clone(), "wide".to_owned()];
        all.sort();
        all
    };
    assert_eq!(setup.get(CREDENTIALS).await.each("name"), all());

    eventually!("the application has clusters of both", LONG, {
        let answer = setup.get(APPLICATIONS).await;
        let shop = answer.json().as_array().unwrap().iter().find(|it| it["name"] == "shop").cloned();
        shop.is_some_and(|shop| {
            shop["clusterNames"][&ours] == json!(["shop"]) && shop["clusterNames"]["account1"].is_array()
        })
    });
    let shop = setup.get("/applications/shop").await.json();
    assert!(shop["clusters"]["account1"].is_array() && shop["clusters"][&ours].is_array(), "{shop}");
    assert_eq!(shop["attributes"]["cloudProviders"], "kubernetes");
    assert!(setup.get("/applications/shop/clusters").await.keys().contains(&ours));
    assert!(setup.get("/applications/shop/clusters").await.keys().contains(&"account1".to_owned()));
    let accounts = setup.get("/applications/shop/serverGroups").await.each("account");
    assert!(accounts.contains(&ours) && accounts.contains(&"account1".to_owned()), "{accounts:?}");
    let found = setup.get("/search?q=shop&type=serverGroups&pageSize=500").await.json();
    let results = found[0]["results"].as_array().unwrap();
    assert_eq!(found[0]["totalMatches"], results.len());
    assert!(
        results.iter().any(|it| it["account"] == *ours)
            && results.iter().any(|it| it["account"] == "account1")
    );
    assert!(setup.get("/securityGroups").await.keys().contains(&"account1".to_owned()));
    assert!(setup.get("/features/stages").await.each("name").contains(&"deployManifest".to_owned()));

    // An entry that one of both does not have is the other's.
    assert_eq!(setup.get("/applications/junk").await.json()["name"], "junk");
    setup.server_group("alone-v001");
    eventually!("ours alone", LONG, setup.get("/applications/alone").await.status == 200);
    assert_eq!(setup.get("/applications/nope").await.status, 404);
    assert!(!setup.get(CREDENTIALS).await.is_stale());

    // A tag of the whole.
    let answer = setup.get(CREDENTIALS).await;
    let tag = [("If-None-Match", answer.header("etag").unwrap())];
    let known = ask(&setup.stack.hub, "GET", CREDENTIALS, &tag, None).await;
    assert_eq!((known.status, known.text.as_str()), (304, ""));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_that_both_have_is_ours() {
    let setup = UpstreamSetup::set().await;
    let ours = setup.account().to_owned();
    let entry = |account: &str| json!({ "account": account, "name": "replicaSet old", "region": "default" });
    let both = json!([entry(&ours), entry("account1")]);
    setup.clouddriver.answer("GET", "/applications/moved/serverGroups", 200, both);
    let answer = setup.get("/applications/moved/serverGroups").await;
    assert_eq!(answer.each("account"), ["account1"], "what was there before it was moved is not shown");
    setup.clouddriver.answer("GET", &format!("/credentials/{ours}"), 200, json!({ "name": "theirs" }));
    assert_eq!(setup.get(&format!("/credentials/{ours}")).await.json()["name"], *ours);
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_objects_are_reported_and_polls_are_counted() {
    let setup = UpstreamSetup::set().await;
    let ours = setup.account().to_owned();
    setup.server_group("shop-v001");
    let clusters = "/applications/shop/clusters";
    eventually!("both are there", LONG, setup.get(clusters).await.keys().contains(&ours));
    assert_eq!(setup.get(CREDENTIALS).await.each("name").len(), 3);

    setup.link.cut();
    let answer = setup.get(clusters).await;
    assert!(answer.is_stale() && answer.keys() == [ours.clone()], "{answer:?}");
    // Gate and Fiat would remove accounts that are missing in an answer.
    let answer = setup.get(CREDENTIALS).await;
    assert!(answer.is_stale() && answer.each("name").len() == 3, "{answer:?}");
    let unknown = setup.get("/applications/junk").await;
    assert_eq!(unknown.status, 502, "nobody can say that there is none: {unknown:?}");

    setup.link.heal();
    eventually!("both are there again", LONG, {
        let answer = setup.get(clusters).await;
        !answer.is_stale() && answer.keys().len() > 1
    });
    eventually!("and accounts are fresh", LONG, !setup.get(CREDENTIALS).await.is_stale());
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_hangs_is_not_waited_for_long() {
    let setup = UpstreamSetup::with(json!({ "mergeTimeoutMs": 500, "rememberSeconds": 0 })).await;
    setup.link.half_open();
    let answer = setup.get(CREDENTIALS).await;
    assert!(answer.is_stale() && answer.each("name") == [setup.account()], "{answer:?}");
    assert_eq!(setup.get("/health").await.json()["status"], "UP");
    setup.link.heal();
    eventually!("it is there again", LONG, setup.get(CREDENTIALS).await.each("name").len() == 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_none_is_missing() {
    let setup = UpstreamSetup::set().await;
    setup.clouddriver.answer("GET", "/applications/odd/serverGroups", 200, json!({ "not": "a list" }));
    setup.clouddriver.answer(
        "GET",
        "/applications/broken/serverGroupManagers",
        500,
        json!({ "status": 500 }),
    );
    for path in ["/applications/odd/serverGroups", "/applications/broken/serverGroupManagers"] {
        let answer = setup.get(path).await;
        assert!(
            answer.status == 200 && answer.is_stale() && answer.json() == json!([]),
            "{path}: {answer:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scrape_shows_what_came_of_asking_it() {
    let setup = UpstreamSetup::set().await;
    let shows = async |line: &str| {
        let page = setup.get("/metrics").await.text;
        page.lines().any(|shown| shown == line).then_some(()).ok_or(page)
    };
    assert_eq!(setup.get("/manifests/account1/default/deployment%20nope").await.status, 404);
    shows("spindrift_hub_upstream_reachable 1").await.unwrap();
    shows(r#"spindrift_hub_upstream_requests_total{outcome="down"} 0"#).await.unwrap();
    setup.link.cut();
    assert_eq!(setup.get("/manifests/account1/default/deployment%20nope").await.status, 502);
    shows("spindrift_hub_upstream_reachable 0").await.unwrap();
    shows(r#"spindrift_hub_upstream_requests_total{outcome="down"} 1"#).await.unwrap();
}
