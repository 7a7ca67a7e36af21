//! Operations and tasks: the one with the account performs them.

use serde_json::{Value, json};
use spindrift_testkit::eventually;

use super::{UpstreamSetup, ask};
use crate::support::LONG;

fn deployment(account: &str, name: &str) -> Value {
    let manifest = json!({ "apiVersion": "v1", "kind": "ServiceAccount",
        "metadata": { "name": name, "namespace": "default" } });
    json!({ "deployManifest": { "account": account, "cloudProvider": "kubernetes", "manifests": [manifest],
        "moniker": { "app": "shop" }, "source": "text" } })
}

#[tokio::test(flavor = "multi_thread")]
async fn operations_and_tasks_go_to_the_side_with_the_account() {
    let setup = UpstreamSetup::set().await;
    let hub = &setup.stack.hub;
    let ops = "/kubernetes/ops?clientRequestId=one";
    let theirs = json!([deployment("account1", "there")]);
    let id = "0a1b2c3d-0000-4000-8000-000000000001";
    setup.clouddriver.answer("POST", ops, 200, json!({ "id": id, "resourceUri": format!("/task/{id}") }));
    let task = json!({ "id": id, "status": { "completed": true } });
    setup.clouddriver.answer("GET", &format!("/task/{id}"), 200, task.clone());
    setup.clouddriver.answer("POST", &format!("/task/{id}:resume"), 200, json!({ "id": id }));
    setup.clouddriver.answer("GET", &format!("/kubernetes/task/{id}/owner"), 200, json!({ "name": "jvm" }));

    let answer = ask(hub, "POST", ops, &[], Some(&theirs)).await;
    assert_eq!((answer.status, &answer.json()["id"]), (200, &json!(id)), "{answer:?}");
    assert_eq!(setup.get(&format!("/task/{id}")).await.json(), task);
    let resumed = ask(hub, "POST", &format!("/task/{id}:resume"), &[], Some(&json!({}))).await;
    assert_eq!(resumed.json()["id"], id);
    assert_eq!(setup.get(&format!("/kubernetes/task/{id}/owner")).await.json()["name"], "jvm");

    let ours = json!([deployment(setup.account(), "here")]);
    let answer = ask(hub, "POST", "/kubernetes/ops?clientRequestId=two", &[], Some(&ours)).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let path = answer.json()["resourceUri"].as_str().unwrap().to_owned();
    eventually!("ours is done here", LONG, {
        let status = setup.get(&path).await.json()["status"].clone();
        status["completed"] == true && status["failed"] == false
    });
    let received = setup.clouddriver.received();
    let asked = |text: &str| received.iter().filter(|asked| asked.path.contains(text)).count();
    assert_eq!((asked("clientRequestId=one"), asked("clientRequestId=two"), asked(&path)), (1, 0, 0));
    let posted = received.iter().find(|asked| asked.path == ops).unwrap();
    assert_eq!(posted.body, theirs, "as it came");
    assert_eq!(setup.get("/task/nobodys").await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn tasks_of_both_are_listed_given_up_and_asked_for_again_where_they_are() {
    let setup = UpstreamSetup::set().await;
    let hub = &setup.stack.hub;
    let id = "0a1b2c3d-0000-4000-8000-000000000002";
    let of_theirs = format!("/kubernetes/task/{id}");
    // A question that was never recorded, so that it has one answer only.
    let tasks = "/task?of=this-test";
    setup.clouddriver.answer("GET", tasks, 200, json!([{ "id": id, "status": { "completed": false } }]));
    setup.clouddriver.answer("PATCH", &of_theirs, 200, json!({ "id": id }));
    setup.clouddriver.answer("POST", &format!("{of_theirs}/restart"), 200, json!({ "id": "another" }));

    // A delete that cannot end.
    let held = json!({ "apiVersion": "v1", "kind": "ServiceAccount",
        "metadata": { "name": "held", "namespace": "default", "finalizers": ["example.com/hold"] } });
    setup.stage.fleet.clusters[0].create(held).unwrap();
    let delete = json!([{ "deleteManifest": { "account": setup.account(), "manifestName": "serviceAccount held",
        "location": "default", "options": {} } }]);
    let answer = ask(hub, "POST", "/kubernetes/ops?clientRequestId=hang", &[], Some(&delete)).await;
    let ours = answer.json()["id"].as_str().unwrap().to_owned();
    let mut both = [ours.clone(), id.to_owned()];
    both.sort();
    assert_eq!(setup.get(tasks).await.each("id"), both);

    let retry = json!({ "retry": true });
    let answer = ask(hub, "PATCH", &of_theirs, &[], Some(&retry)).await;
    assert_eq!((answer.status, answer.json()), (200, json!({ "id": id })), "{answer:?}");
    let answer = ask(hub, "POST", &format!("{of_theirs}/restart"), &[], Some(&delete)).await;
    assert_eq!(answer.json()["id"], "another", "{answer:?}");
    let of_ours = format!("/kubernetes/task/{ours}");
    let answer = ask(hub, "PATCH", &of_ours, &[], Some(&retry)).await;
    assert_eq!((answer.status, &answer.json()["id"]), (200, &json!(ours)), "{answer:?}");
    assert_eq!(setup.get(tasks).await.each("id"), [id], "ours has ended");
    let answer = ask(hub, "POST", &format!("{of_ours}/restart"), &[], Some(&delete)).await;
    let again = answer.json()["id"].as_str().unwrap().to_owned();
    assert!(answer.status == 200 && again != ours, "{answer:?}");
    assert!(setup.get(tasks).await.each("id").contains(&again));

    let received = setup.clouddriver.received();
    let changed = received.iter().filter(|asked| asked.method != "GET");
    let changed: Vec<_> = changed.map(|asked| (asked.method.as_str(), asked.path.as_str())).collect();
    assert_eq!(changed, [("PATCH", of_theirs.as_str()), ("POST", &format!("{of_theirs}/restart"))]);
}

#[tokio::test(flavor = "multi_thread")]
async fn operations_of_both_in_one_request_are_refused_and_nothing_is_done() {
    let setup = UpstreamSetup::set().await;
    let both = json!([deployment(setup.account(), "mixed"), deployment("account1", "mixed")]);
    let answer = ask(&setup.stack.hub, "POST", "/kubernetes/ops", &[], Some(&both)).await;
    assert_eq!(answer.status, 400, "never retried: {answer:?}");
    let message = answer.json()["message"].as_str().unwrap().to_owned();
    assert!(message.contains("account1 is of the Clouddriver behind it"), "{message}");
    assert!(!setup.clouddriver.received().iter().any(|asked| asked.method == "POST"));
    let made = setup.stage.fleet.clusters[0].list("", "serviceaccounts", Some("default"));
    let made = made.iter().any(|it| serde_json::to_value(it).unwrap()["metadata"]["name"] == "mixed");
    assert!(!made, "half of it is not done");
}

#[tokio::test(flavor = "multi_thread")]
async fn artifacts_are_fetched_by_the_side_with_their_account() {
    let setup = UpstreamSetup::set().await;
    let fetch = |account: &str, reference: &str| json!({ "type": "embedded/base64", "artifactAccount": account, "reference": reference });
    let embedded = fetch("embedded-artifact", "aGVsbG8=");
    let answer = ask(&setup.stack.hub, "PUT", "/artifacts/fetch", &[], Some(&embedded)).await;
    assert_eq!((answer.status, answer.text.as_str()), (200, "hello"));
    assert!(setup.clouddriver.received().iter().all(|asked| asked.path != "/artifacts/fetch"), "ours can");
    let foreign = json!({ "type": "s3/object", "artifactAccount": "their-bucket", "reference": "s3://b/o" });
    ask(&setup.stack.hub, "PUT", "/artifacts/fetch", &[], Some(&foreign)).await;
    let mut received = setup.clouddriver.received().into_iter();
    assert_eq!(received.find(|asked| asked.path == "/artifacts/fetch").unwrap().body, foreign);
}
