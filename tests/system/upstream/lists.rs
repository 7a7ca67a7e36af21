//! Lists that both have a part of.

use serde_json::json;
use spindrift_testkit::eventually;

use super::{Scene, ask};
use crate::support::LONG;

/// Gate's questions.
const CREDENTIALS: &str = "/credentials?expand=true";
const APPLICATIONS: &str = "/applications?restricted=false&expand=true";

#[tokio::test(flavor = "multi_thread")]
async fn lists_are_of_both() {
    let scene = Scene::set().await;
    let ours = scene.account().to_owned();
    scene.server_group("shop-v001");
    let all = || {
        let mut all = vec!["account1".to_owned(), ours.clone(), "wide".to_owned()];
        all.sort();
        all
    };
    assert_eq!(scene.get(CREDENTIALS).await.each("name"), all());

    eventually!("the application has clusters of both", LONG, {
        let said = scene.get(APPLICATIONS).await;
        let shop = said.json().as_array().unwrap().iter().find(|it| it["name"] == "shop").cloned();
        shop.is_some_and(|shop| {
            shop["clusterNames"][&ours] == json!(["shop"]) && shop["clusterNames"]["account1"].is_array()
        })
    });
    let shop = scene.get("/applications/shop").await.json();
    assert!(shop["clusters"]["account1"].is_array() && shop["clusters"][&ours].is_array(), "{shop}");
    assert_eq!(shop["attributes"]["cloudProviders"], "kubernetes");
    assert!(scene.get("/applications/shop/clusters").await.keys().contains(&ours));
    assert!(scene.get("/applications/shop/clusters").await.keys().contains(&"account1".to_owned()));
    let accounts = scene.get("/applications/shop/serverGroups").await.each("account");
    assert!(accounts.contains(&ours) && accounts.contains(&"account1".to_owned()), "{accounts:?}");
    let found = scene.get("/search?q=shop&type=serverGroups&pageSize=500").await.json();
    let results = found[0]["results"].as_array().unwrap();
    assert_eq!(found[0]["totalMatches"], results.len());
    assert!(
        results.iter().any(|it| it["account"] == *ours)
            && results.iter().any(|it| it["account"] == "account1")
    );
    assert!(scene.get("/securityGroups").await.keys().contains(&"account1".to_owned()));
    assert!(scene.get("/features/stages").await.each("name").contains(&"deployManifest".to_owned()));

    // An entry that one of both does not have is the other's.
    assert_eq!(scene.get("/applications/junk").await.json()["name"], "junk");
    scene.server_group("alone-v001");
    eventually!("ours alone", LONG, scene.get("/applications/alone").await.status == 200);
    assert_eq!(scene.get("/applications/nope").await.status, 404);
    assert!(!scene.get(CREDENTIALS).await.is_stale());

    // A tag of the whole.
    let said = scene.get(CREDENTIALS).await;
    let tag = [("If-None-Match", said.header("etag").unwrap())];
    let known = ask(&scene.stack.hub, "GET", CREDENTIALS, &tag, None).await;
    assert_eq!((known.status, known.text.as_str()), (304, ""));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_that_both_have_is_ours() {
    let scene = Scene::set().await;
    let ours = scene.account().to_owned();
    let entry = |account: &str| json!({ "account": account, "name": "replicaSet old", "region": "default" });
    let both = json!([entry(&ours), entry("account1")]);
    scene.clouddriver.answer("GET", "/applications/moved/serverGroups", 200, both);
    let said = scene.get("/applications/moved/serverGroups").await;
    assert_eq!(said.each("account"), ["account1"], "what was there before it was moved is not shown");
    scene.clouddriver.answer("GET", &format!("/credentials/{ours}"), 200, json!({ "name": "theirs" }));
    assert_eq!(scene.get(&format!("/credentials/{ours}")).await.json()["name"], *ours);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_missing_is_said_and_what_is_polled_is_remembered() {
    let scene = Scene::set().await;
    let ours = scene.account().to_owned();
    scene.server_group("shop-v001");
    let clusters = "/applications/shop/clusters";
    eventually!("both are there", LONG, scene.get(clusters).await.keys().contains(&ours));
    assert_eq!(scene.get(CREDENTIALS).await.each("name").len(), 3);

    scene.link.cut();
    let said = scene.get(clusters).await;
    assert!(said.is_stale() && said.keys() == [ours.clone()], "{said:?}");
    // Gate and Fiat would remove accounts that are missing in an answer.
    let said = scene.get(CREDENTIALS).await;
    assert!(said.is_stale() && said.each("name").len() == 3, "{said:?}");
    let unknown = scene.get("/applications/junk").await;
    assert_eq!(unknown.status, 502, "nobody can say that there is none: {unknown:?}");

    scene.link.heal();
    eventually!("both are there again", LONG, {
        let said = scene.get(clusters).await;
        !said.is_stale() && said.keys().len() > 1
    });
    eventually!("and accounts are fresh", LONG, !scene.get(CREDENTIALS).await.is_stale());
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_hangs_is_not_waited_for_long() {
    let scene = Scene::with(json!({ "mergeTimeoutMs": 500, "rememberSeconds": 0 })).await;
    scene.link.half_open();
    let said = scene.get(CREDENTIALS).await;
    assert!(said.is_stale() && said.each("name") == [scene.account()], "{said:?}");
    assert_eq!(scene.get("/health").await.json()["status"], "UP");
    scene.link.heal();
    eventually!("it is there again", LONG, scene.get(CREDENTIALS).await.each("name").len() == 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_none_is_missing() {
    let scene = Scene::set().await;
    scene.clouddriver.answer("GET", "/applications/odd/serverGroups", 200, json!({ "not": "a list" }));
    scene.clouddriver.answer(
        "GET",
        "/applications/broken/serverGroupManagers",
        500,
        json!({ "status": 500 }),
    );
    for path in ["/applications/odd/serverGroups", "/applications/broken/serverGroupManagers"] {
        let said = scene.get(path).await;
        assert!(said.status == 200 && said.is_stale() && said.json() == json!([]), "{path}: {said:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scrape_shows_what_came_of_asking_it() {
    let scene = Scene::set().await;
    let shows = async |line: &str| {
        let page = scene.get("/metrics").await.text;
        page.lines().any(|shown| shown == line).then_some(()).ok_or(page)
    };
    assert_eq!(scene.get("/manifests/account1/default/deployment%20nope").await.status, 404);
    shows("spindrift_hub_upstream_reachable 1").await.unwrap();
    shows(r#"spindrift_hub_upstream_requests_total{outcome="down"} 0"#).await.unwrap();
    scene.link.cut();
    assert_eq!(scene.get("/manifests/account1/default/deployment%20nope").await.status, 502);
    shows("spindrift_hub_upstream_reachable 0").await.unwrap();
    shows(r#"spindrift_hub_upstream_requests_total{outcome="down"} 1"#).await.unwrap();
}
