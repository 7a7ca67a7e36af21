//! Answers to merged lists that are out of the ordinary, on either side.

use serde_json::json;
use spindrift_testkit::{Database, eventually};

use super::{Scene, ask};
use crate::support::LONG;

/// A question that was never recorded, so that it has one answer only.
const APPLICATIONS: &str = "/applications?of=these-tests";

/// Two applications that are theirs.
fn teach_applications(scene: &Scene) {
    let application = |name: &str| json!({ "name": name, "attributes": { "name": name }, "clusterNames": { "wide": [name] } });
    scene.clouddriver.answer("GET", APPLICATIONS, 200, json!([application("junk"), application("plain")]));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_it_alone_refuses_is_refused_as_it_says() {
    let scene = Scene::set().await;
    let refusal = json!({ "error": "Forbidden", "message": "Access denied to application secret" });
    scene.clouddriver.answer("GET", "/applications/secret", 403, refusal.clone());
    let said = scene.get("/applications/secret").await;
    assert_eq!((said.status, said.json()), (403, refusal.clone()), "{said:?}");

    scene.clouddriver.answer("GET", "/applications/secret/serverGroups", 401, refusal);
    let said = scene.get("/applications/secret/serverGroups").await;
    assert!(said.status == 200 && said.is_stale() && said.json() == json!([]), "ours may be told: {said:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_is_not_fetched_from_elsewhere() {
    let scene = Scene::set().await;
    let elsewhere = [("location", "/login")];
    scene.clouddriver.answer_with("GET", "/applications/moved", 302, &elsewhere, json!(null));
    scene.clouddriver.answer_with("GET", "/applications/moved/serverGroups", 302, &elsewhere, json!(null));
    let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    let url = format!("{}/applications/moved", scene.stack.hub.url());
    let said = client.get(url).send().await.unwrap();
    assert_eq!((said.status().as_u16(), &said.headers()["location"]), (302, &"/login".parse().unwrap()));
    let said = scene.get("/applications/moved/serverGroups").await;
    assert!(said.status == 200 && said.is_stale() && said.json() == json!([]), "{said:?}");
    assert!(scene.clouddriver.received().iter().all(|asked| asked.path != "/login"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_in_an_encoding_that_nobody_asked_for_is_no_part_of_a_list() {
    let scene = Scene::set().await;
    let (zipped, text) = ([("content-encoding", "gzip")], json!({ "@text": "\u{1f}\u{8b} and so on" }));
    for path in ["/applications/zipped", "/applications/zipped/serverGroups"] {
        scene.clouddriver.answer_with("GET", path, 200, &zipped, text.clone());
    }
    let accepts = [("Accept-Encoding", "gzip")];
    let said = ask(&scene.stack.hub, "GET", "/applications/zipped/serverGroups", &accepts, None).await;
    assert!(said.status == 200 && said.is_stale() && said.json() == json!([]), "{said:?}");
    let said = ask(&scene.stack.hub, "GET", "/applications/zipped", &accepts, None).await;
    assert!(said.status == 502 && said.text.contains("gzip"), "{said:?}");
    assert_eq!(said.header("content-encoding"), None);
    let received = scene.clouddriver.received();
    let asked = received.iter().find(|asked| asked.path == "/applications/zipped").unwrap();
    assert!(!asked.headers.contains_key("accept-encoding"), "{asked:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_one_user_was_told_is_not_remembered_for_another() {
    let scene = Scene::set().await;
    teach_applications(&scene);
    let apps_of = async |user: &str| {
        let said = ask(&scene.stack.hub, "GET", APPLICATIONS, &[("X-SPINNAKER-USER", user)], None).await;
        (said.is_stale(), said.json().as_array().unwrap().len())
    };
    assert_eq!(apps_of("ann").await, (false, 2));
    scene.link.cut();
    assert_eq!(apps_of("ann").await, (true, 2));
    assert_eq!(apps_of("bob").await, (true, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_told_of_projects_is_all_theirs() {
    let scene = Scene::set().await;
    let clusters = json!([{ "account": scene.account(), "stack": "main" }, { "account": "account1" }]);
    scene.clouddriver.answer("GET", "/projects/shops/clusters", 200, clusters.clone());
    assert_eq!(scene.get("/projects/shops/clusters").await.json(), clusters);
}

#[tokio::test(flavor = "multi_thread")]
async fn while_our_database_is_away_what_is_theirs_is_there() {
    let scene = Scene::on(Database::postgres_dedicated().await.unwrap(), json!({})).await;
    teach_applications(&scene);
    let ours = scene.account().to_owned();
    scene.server_group("shop-v001");
    eventually!("both are there", LONG, {
        scene.get("/applications/shop/clusters").await.keys().contains(&ours)
    });
    let all = scene.get(APPLICATIONS).await;
    assert_eq!(all.each("name"), ["junk", "plain", "shop"]);
    let accounts = scene.get("/credentials").await.each("name");
    let id = "0a1b2c3d-0000-4000-8000-000000000007";
    let task = json!({ "id": id, "status": { "completed": true } });
    scene.clouddriver.answer("GET", &format!("/task/{id}"), 200, task.clone());

    scene.stack.database.stop().await.unwrap();
    let path =
        "/manifests/account1/account1-testns00/CronTab.stable.example.com%20my-cron?includeEvents=false";
    let said = scene.get(path).await;
    assert_eq!(said.status, 200, "{said:?}");
    assert_eq!(scene.get(&format!("/task/{id}")).await.json(), task);
    let said = scene.get("/applications/shop/clusters").await;
    assert!(said.status == 200 && said.names_stale(&ours), "{said:?}");
    assert!(said.keys().contains(&"account1".to_owned()) && !said.keys().contains(&ours), "{said:?}");
    // Gate and Fiat would remove accounts that are missing in an answer.
    let said = scene.get(APPLICATIONS).await;
    assert!(said.names_stale(&ours) && said.text == all.text, "{said:?}");
    assert_eq!(scene.get("/credentials").await.each("name"), accounts);
    // No answer claims that there is nothing of ours, or that something was done.
    let said = scene.get(&format!("/manifests/{ours}/default/replicaSet%20shop-v001")).await;
    assert_eq!(said.status, 503, "{said:?}");
    let operation = json!([{ "scaleManifest": { "account": ours, "manifestName": "replicaSet shop-v001" } }]);
    let said = ask(&scene.stack.hub, "POST", "/kubernetes/ops", &[], Some(&operation)).await;
    assert_eq!(said.status, 500, "{said:?}");

    scene.stack.database.start().await.unwrap();
    eventually!("ours is there again", LONG, {
        let said = scene.get("/applications/shop/clusters").await;
        said.keys().contains(&ours) && !said.names_stale(&ours)
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_that_is_forgotten_is_theirs_again() {
    let mut scene = Scene::set().await;
    let ours = scene.account().to_owned();
    let path = format!("/credentials/{ours}");
    scene.clouddriver.answer("GET", &path, 200, json!({ "name": "theirs" }));
    let forget = async |scene: &Scene| {
        ask(&scene.stack.hub, "DELETE", &format!("/v1/accounts/{ours}"), &[], None).await
    };
    let refused = forget(&scene).await;
    assert_eq!(refused.status, 409, "{refused:?}");
    assert!(refused.text.contains("agent-a"), "{refused:?}");

    scene.stack.agent.reconfigure(|all| all["kubernetes"]["accounts"] = json!([])).unwrap();
    eventually!("the agent has let go of it", LONG, forget(&scene).await.status == 204);
    assert_eq!(scene.get(&path).await.json()["name"], "theirs");
    assert_eq!(forget(&scene).await.status, 404);
    assert_eq!(scene.stack.hub.objects(&[("account", &ours)]).await.unwrap().len(), 0);
}
