//! Bodies.

use futures::future::join_all;
use serde_json::{Value, json};
use spindrift_testkit::{Database, eventually};

use super::{RequestSetup, request, send};
use crate::support::LONG;

/// Routes with a body: method, path (`ACCOUNT` stands for the account), and a body with a place for a value.
const ROUTES: [(&str, &str, &str); 7] = [
    ("POST", "/kubernetes/ops", r#"[{"scaleManifest":{"account":"nobody","replicas":VALUE}}]"#),
    ("POST", "/kubernetes/ops/scaleManifest", r#"{"account":"nobody","replicas":VALUE}"#),
    ("POST", "/kubernetes/task/none/restart", r#"[{"scaleManifest":{"account":"nobody","replicas":VALUE}}]"#),
    ("PATCH", "/kubernetes/task/none", r#"{"retry":VALUE}"#),
    ("PUT", "/artifacts/fetch", r#"{"artifactAccount":"nobody","type":VALUE}"#),
    ("POST", "/v1/accounts/ACCOUNT/operations", r#"{"verb":"get","target":{"kind":"Pod","name":VALUE}}"#),
    ("PUT", "/v1/accounts/ACCOUNT/freeze", r#"{"reason":VALUE}"#),
];

fn split(template: &str) -> (&[u8], &[u8]) {
    let (before, after) = template.split_once("VALUE").unwrap();
    (before.as_bytes(), after.as_bytes())
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_that_are_hardly_json_are_refused_on_every_store() {
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let digits = "9".repeat(10_000);
    let values: [&[u8]; 10] = [
        deep.as_bytes(),
        digits.as_bytes(),
        b"1e400",
        b"NaN",
        b"\"a\0b\"",
        b"\"\xff\xfe\"",
        br#""\u0000""#,
        br#""\ud800""#,
        br#""a","more":1,"more":2"#,
        b"",
    ];
    let whole: [&[u8]; 6] =
        [b"\x1f\x8b\x08\0\0\0\0\0\0\x03", b"\xef\xbb\xbf[]", b"[\0]\0", b"a=b", b"\0", b"{\"a\""];
    let (values, whole) = (&values, &whole);
    join_all(Database::all().await.unwrap().into_iter().map(|database| async move {
        let engine = database.engine();
        let mut setup = RequestSetup::set(database).await;
        for (method, path, template) in ROUTES {
            let path = path.replace("ACCOUNT", setup.account());
            let (before, after) = split(template);
            let values = values.iter().map(|value| [before, value, after].concat());
            for body in values.chain(whole.iter().map(|body| body.to_vec())) {
                for headers in
                    ["content-type: application/json\r\n", "content-encoding: gzip\r\ncontent-type: x\r\n"]
                {
                    let answer = send(setup.hub(), &request(method, &path, headers, &body)).await;
                    let body = String::from_utf8_lossy(&body);
                    let status = answer.as_ref().map_or(0, |answer| answer.status);
                    assert!((400..500).contains(&status), "{engine:?}: {path}: {body:.80}: {answer:.600?}");
                }
            }
        }
        setup.is_unimpressed().await;
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_of_fifty_megabytes_are_refused_and_not_held() {
    let mut setup = RequestSetup::set(Database::sqlite().unwrap()).await;
    let large = "x".repeat(50_000_000);
    let before = setup.hub().daemon().rss_bytes().unwrap();
    for (method, path, template) in ROUTES {
        let path = path.replace("ACCOUNT", setup.account());
        let body = template.replace("VALUE", &format!("\"{large}\""));
        let headers = "content-type: application/json\r\n";
        let answer = send(setup.hub(), &request(method, &path, headers, body.as_bytes())).await.unwrap();
        assert_eq!(answer.status, 413, "{path}: {answer:?}");
        assert!(answer.text.contains("bytes"), "it says how many there may be: {answer:?}");
    }
    let peak = setup.hub().daemon().peak_rss_bytes().unwrap().saturating_sub(before);
    println!("figure rest-large-bodies-hub-memory = {} MB (goal 64 MB)", peak / 1_000_000);
    assert!(peak < 64_000_000, "{peak} bytes more than before");
    setup.is_unimpressed().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_of_seven_megabytes_is_carried_out_on_every_store() {
    let data = "x".repeat(700_000);
    let data = &data;
    join_all(Database::all().await.unwrap().into_iter().map(|database| async move {
        let engine = database.engine();
        let setup = RequestSetup::set(database).await;
        let manifest = |index: usize| {
            let annotations = json!({ "strategy.spinnaker.io/versioned": "false" });
            let metadata = json!({ "name": format!("large-{index}"), "namespace": "default", "annotations": annotations });
            json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": { "value": data } })
        };
        let manifests: Vec<_> = (0..10).map(manifest).collect();
        let description =
            json!({ "account": setup.account(), "moniker": { "app": "large" }, "manifests": manifests });
        let body = json!([{ "deployManifest": description }]).to_string();
        let client = reqwest::Client::new();
        let ops = client.post(format!("{}/kubernetes/ops", setup.hub().url()));
        let ops = ops.header("content-type", "application/json").body(body);
        let asked = ops.send().await.unwrap();
        assert_eq!(asked.status(), 200, "{engine:?}");
        let task = asked.json::<Value>().await.unwrap()["resourceUri"].as_str().unwrap().to_owned();
        eventually!("the task ends", LONG * 3, {
            let task = setup.hub().get(&task).await.unwrap();
            if task["status"]["completed"] == true { Ok(task) } else { Err(task) }
        });
        let objects = setup.stage.fleet.clusters[0].list("", "configmaps", Some("default"));
        let objects = objects.iter().map(|object| serde_json::to_value(object).unwrap());
        let is_large = |object: &Value| object["metadata"]["name"].as_str().unwrap().starts_with("large-");
        assert_eq!(
            objects.filter(is_large).count(),
            10,
            "{engine:?}: {}",
            setup.hub().text(&task).await.unwrap()
        );
    }))
    .await;
}
