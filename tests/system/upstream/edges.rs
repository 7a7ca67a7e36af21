//! Answers to merged lists that are out of the ordinary, on either side.

use serde_json::json;
use spindrift_testkit::{Database, eventually};

use super::{UpstreamSetup, ask};
use crate::support::LONG;

/// A question that was never recorded, so that it has one answer only.
const APPLICATIONS: &str = "/applications?of=these-tests";

/// Two applications that are theirs.
fn teach_applications(setup: &UpstreamSetup) {
    let application = |name: &str| json!({ "name": name, "attributes": { "name": name }, "clusterNames": { "wide": [name] } });
    setup.clouddriver.answer("GET", APPLICATIONS, 200, json!([application("junk"), application("plain")]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_of_the_clouddriver_is_passed_on() {
    let setup = UpstreamSetup::set().await;
    let refusal = json!({ "error": "Forbidden", "message": "Access denied to application secret" });
    setup.clouddriver.answer("GET", "/applications/secret", 403, refusal.clone());
    let answer = setup.get("/applications/secret").await;
    assert_eq!((answer.status, answer.json()), (403, refusal.clone()), "{answer:?}");

    setup.clouddriver.answer("GET", "/applications/secret/serverGroups", 401, refusal);
    let answer = setup.get("/applications/secret/serverGroups").await;
    assert!(
        answer.status == 200 && answer.is_stale() && answer.json() == json!([]),
        "ours may be told: {answer:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_is_not_fetched_from_elsewhere() {
    let setup = UpstreamSetup::set().await;
    let elsewhere = [("location", "/login")];
    setup.clouddriver.answer_with("GET", "/applications/moved", 302, &elsewhere, json!(null));
    setup.clouddriver.answer_with("GET", "/applications/moved/serverGroups", 302, &elsewhere, json!(null));
    let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    let url = format!("{}/applications/moved", setup.stack.hub.url());
    let answer = client.get(url).send().await.unwrap();
    assert_eq!((answer.status().as_u16(), &answer.headers()["location"]), (302, &"/login".parse().unwrap()));
    let answer = setup.get("/applications/moved/serverGroups").await;
    assert!(answer.status == 200 && answer.is_stale() && answer.json() == json!([]), "{answer:?}");
    assert!(setup.clouddriver.received().iter().all(|asked| asked.path != "/login"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_in_an_unrequested_encoding_is_no_part_of_a_list() {
    let setup = UpstreamSetup::set().await;
    let (zipped, text) = ([("content-encoding", "gzip")], json!({ "@text": "\u{1f}\u{8b} and so on" }));
    for path in ["/applications/zipped", "/applications/zipped/serverGroups"] {
        setup.clouddriver.answer_with("GET", path, 200, &zipped, text.clone());
    }
    let accepts = [("Accept-Encoding", "gzip")];
    let answer = ask(&setup.stack.hub, "GET", "/applications/zipped/serverGroups", &accepts, None).await;
    assert!(answer.status == 200 && answer.is_stale() && answer.json() == json!([]), "{answer:?}");
    let answer = ask(&setup.stack.hub, "GET", "/applications/zipped", &accepts, None).await;
    assert!(answer.status == 502 && answer.text.contains("gzip"), "{answer:?}");
    assert_eq!(answer.header("content-encoding"), None);
    let received = setup.clouddriver.received();
    let asked = received.iter().find(|asked| asked.path == "/applications/zipped").unwrap();
    assert!(!asked.headers.contains_key("accept-encoding"), "{asked:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_to_one_user_are_not_cached_for_another() {
    let setup = UpstreamSetup::set().await;
    teach_applications(&setup);
    let apps_of = async |user: &str| {
        let answer = ask(&setup.stack.hub, "GET", APPLICATIONS, &[("X-SPINNAKER-USER", user)], None).await;
        (answer.is_stale(), answer.json().as_array().unwrap().len())
    };
    assert_eq!(apps_of("ann").await, (false, 2));
    setup.link.cut();
    assert_eq!(apps_of("ann").await, (true, 2));
    assert_eq!(apps_of("bob").await, (true, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn projects_are_those_of_the_clouddriver() {
    let setup = UpstreamSetup::set().await;
    let clusters = json!([{ "account": setup.account(), "stack": "main" }, { "account": "account1" }]);
    setup.clouddriver.answer("GET", "/projects/shops/clusters", 200, clusters.clone());
    assert_eq!(setup.get("/projects/shops/clusters").await.json(), clusters);
}

#[tokio::test(flavor = "multi_thread")]
async fn while_our_database_is_away_what_is_theirs_is_there() {
    let setup = UpstreamSetup::on(Database::postgres_dedicated().await.unwrap(), json!({})).await;
    teach_applications(&setup);
    let ours = setup.account().to_owned();
    setup.server_group("shop-v001");
    eventually!("both are there", LONG, {
        setup.get("/applications/shop/clusters").await.keys().contains(&ours)
    });
    let all = setup.get(APPLICATIONS).await;
    assert_eq!(all.each("name"), ["junk", "plain", "shop"]);
    let accounts = setup.get("/credentials").await.each("name");
    let id = "0a1b2c3d-0000-4000-8000-000000000007";
    let task = json!({ "id": id, "status": { "completed": true } });
    setup.clouddriver.answer("GET", &format!("/task/{id}"), 200, task.clone());

    setup.stack.database.stop().await.unwrap();
    let path =
        "/manifests/account1/account1-testns00/CronTab.stable.example.com%20my-cron?includeEvents=false";
    let answer = setup.get(path).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(setup.get(&format!("/task/{id}")).await.json(), task);
    let answer = setup.get("/applications/shop/clusters").await;
    assert!(answer.status == 200 && answer.names_stale(&ours), "{answer:?}");
    assert!(answer.keys().contains(&"account1".to_owned()) && !answer.keys().contains(&ours), "{answer:?}");
    // Gate and Fiat would remove accounts that are missing in an answer.
    let answer = setup.get(APPLICATIONS).await;
    assert!(answer.names_stale(&ours) && answer.text == all.text, "{answer:?}");
    assert_eq!(setup.get("/credentials").await.each("name"), accounts);
    // No answer claims that there is nothing of ours, or that something was done.
    let answer = setup.get(&format!("/manifests/{ours}/default/replicaSet%20shop-v001")).await;
    assert_eq!(answer.status, 503, "{answer:?}");
    let operation = json!([{ "scaleManifest": { "account": ours, "manifestName": "replicaSet shop-v001" } }]);
    let answer = ask(&setup.stack.hub, "POST", "/kubernetes/ops", &[], Some(&operation)).await;
    assert_eq!(answer.status, 500, "{answer:?}");

    setup.stack.database.start().await.unwrap();
    eventually!("ours is there again", LONG, {
        let answer = setup.get("/applications/shop/clusters").await;
        answer.keys().contains(&ours) && !answer.names_stale(&ours)
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removed_account_belongs_to_the_clouddriver_again() {
    let mut setup = UpstreamSetup::set().await;
    let ours = setup.account().to_owned();
    let path = format!("/credentials/{ours}");
    setup.clouddriver.answer("GET", &path, 200, json!({ "name": "theirs" }));
    let forget = async |setup: &UpstreamSetup| {
        ask(&setup.stack.hub, "DELETE", &format!("/v1/accounts/{ours}"), &[], None).await
    };
    let refused = forget(&setup).await;
    assert_eq!(refused.status, 409, "{refused:?}");
    assert!(refused.text.contains("agent-a"), "{refused:?}");

    setup.stack.agent.reconfigure(|all| all["kubernetes"]["accounts"] = json!([])).unwrap();
    eventually!("the agent has let go of it", LONG, forget(&setup).await.status == 204);
    assert_eq!(setup.get(&path).await.json()["name"], "theirs");
    assert_eq!(forget(&setup).await.status, 404);
    assert_eq!(setup.stack.hub.objects(&[("account", &ours)]).await.unwrap().len(), 0);
}
