//! Invalid and forbidden operations are refused at once: in Clouddriver's words, and with nothing half-done.

use serde_json::{Value, json};

use super::{TaskSetup, config_map, deployment, done, send, send_as};

/// Request and refusal: the status, the end of the exception's name, the message or the one error.
type Case = (&'static str, Value, u16, &'static str, String);

fn scale(account: &str) -> Value {
    json!({ "account": account, "manifestName": "deployment x", "location": "default", "replicas": 1 })
}

fn but(mut description: Value, key: &str, value: Value) -> Value {
    description[key] = value;
    description
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_requests_are_refused_by_naming_what_is_bad() {
    let setup = TaskSetup::with(&json!({ "namespaces": ["default", "shop"] })).await;
    let account = setup.account.as_str();
    let elsewhere = deployment(account, json!([config_map("elsewhere", "x", "1")]));
    let validation = "DescriptionValidationException";
    let table: Vec<Case> = vec![
        (
            "wibbleManifest",
            scale(account),
            400,
            "AtomicOperationConverterNotFoundException",
            "No atomic operation converter found for description 'wibbleManifest' and cloud provider 'kubernetes'. It is \
             possible that either 1) the account name used for the operation is incorrect, or 2) the account name used \
             for the operation is unhealthy/unable to communicate with kubernetes."
                .into(),
        ),
        (
            "scaleManifest",
            scale("nope"),
            400,
            "InvalidRequestException",
            format!("credentials not found (name: nope, names: {account})"),
        ),
        (
            "scaleManifest",
            but(scale(account), "credentials", json!("nope")),
            400,
            validation,
            "scaleKubernetesManifest.scaleKubernetesManifest.account.notFound".into(),
        ),
        (
            "scaleManifest",
            but(scale(account), "account", json!(null)),
            400,
            validation,
            "scaleKubernetesManifest.scaleKubernetesManifest.account.empty".into(),
        ),
        (
            "scaleManifest",
            but(scale(account), "location", json!("elsewhere")),
            400,
            validation,
            "scaleKubernetesManifest.scaleKubernetesManifest.elsewhere.wrongNamespace".into(),
        ),
        (
            "scaleManifest",
            but(scale(account), "manifestName", json!("shop-api")),
            400,
            "IllegalArgumentException",
            "Expected a full resource name of the form <kind> <name>. Got: shop-api".into(),
        ),
        (
            "deployManifest",
            elsewhere.clone(),
            400,
            validation,
            "deployKubernetesManifest.deployKubernetesManifest.elsewhere.wrongNamespace".into(),
        ),
        (
            "deployManifest",
            but(elsewhere.clone(), "manifests", json!(null)),
            400,
            validation,
            "deployKubernetesManifest.deployKubernetesManifest.manifests.empty".into(),
        ),
        (
            "deployManifest",
            but(elsewhere, "manifests", json!([{ "kind": "Pod" }, { "metadata": { "name": "web" } }])),
            400,
            "IllegalArgumentException",
            "manifests[1] (\"web\"): a manifest must have a kind".into(),
        ),
        (
            "undoRolloutManifest",
            scale(account),
            400,
            validation,
            "undoRolloutKubernetesManifest.undoRolloutKubernetesManifest.numRevisionsBack & revision.empty".into(),
        ),
    ];
    for (operation, description, status, exception, message) in table {
        // Nothing of a request is done unless all of it makes sense.
        let good = deployment(account, json!([config_map("default", "half-done", "1")]));
        let body = json!([{ "deployManifest": good }, { operation: description }]);
        let answer = send(&setup.stack.hub, "POST", "/kubernetes/ops", &body).await;
        assert_eq!((answer.status, &answer.body["status"]), (status, &json!(status)), "{answer:?}");
        assert_eq!(answer.body["error"], "Bad Request");
        assert!(answer.body["exception"].as_str().unwrap().ends_with(exception), "{answer:?}");
        let history = if exception == validation {
            assert_eq!(answer.body["message"], "Validation Failed");
            &answer.body["errors"][0]
        } else {
            &answer.body["message"]
        };
        assert_eq!(history, &json!(message), "{operation}");
    }
    for (field, value) in [
        ("manifests", json!("nope")),
        ("strategy", json!("WIBBLE")),
        ("versioned", json!({})),
        ("moniker", json!("shop")),
    ] {
        let description = but(deployment(account, json!([])), field, value);
        let answer =
            send(&setup.stack.hub, "POST", "/kubernetes/ops", &json!([{ "deployManifest": description }]))
                .await;
        let exception = &answer.body["exception"];
        assert_eq!(
            (answer.status, exception),
            (400, &json!("java.lang.IllegalArgumentException")),
            "{field}: {answer:?}"
        );
    }
    let unknown = send(&setup.stack.hub, "POST", "/wibble/ops", &json!([])).await;
    assert_eq!(
        (unknown.status, &unknown.body["message"]),
        (400, &json!("No cloud provider named 'wibble' found"))
    );
    assert!(setup.objects("", "configmaps").iter().all(|it| it["metadata"]["name"] != "half-done-v000"));
    assert_eq!(setup.stack.hub.get("/task").await.unwrap(), json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_that_cannot_be_read_are_problems_of_the_framework() {
    let setup = TaskSetup::set().await;
    let nested = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
    for body in ["", "{\"deployManifest\":{}}", "[1]", "[{\"deployManifest\":", "\"text\"", &nested] {
        let path = "/kubernetes/ops";
        let answer = send_as(&setup.stack.hub, "POST", path, &[], body.to_owned().into()).await;
        let problem = json!({ "type": "about:blank", "title": "Bad Request", "status": 400,
            "detail": "Failed to read request", "instance": path });
        assert_eq!((answer.status, &answer.body), (400, &problem), "{body:.40}");
    }
    let large = format!("[{{\"deployManifest\":{{\"account\":\"{}\"}}}}]", "x".repeat(50_000_000));
    let before = setup.stack.hub.daemon().rss_bytes().unwrap();
    let answer = send_as(&setup.stack.hub, "POST", "/kubernetes/ops", &[], large.into()).await;
    assert_eq!((answer.status, &answer.body["error"]), (413, &json!("Payload Too Large")), "{answer:?}");
    let grown = setup.stack.hub.daemon().rss_bytes().unwrap().saturating_sub(before);
    assert!(grown < 40_000_000, "it is not held: {grown} bytes more");
    assert_eq!(setup.stack.hub.get("/task").await.unwrap(), json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_with_permissions_is_changed_by_those_who_name_it() {
    let permissions = json!({ "permissions": { "READ": ["Devs"], "WRITE": ["sre"] } });
    let setup = TaskSetup::with(&permissions).await;
    let account = setup.account.as_str();
    let description = deployment(account, json!([config_map("default", "denied", "1")]));
    let body = json!([{ "deployManifest": description }]);
    let denied = send(&setup.stack.hub, "POST", "/kubernetes/ops", &body).await;
    assert_eq!((denied.status, &denied.body["message"]), (400, &json!("Validation Failed")), "{denied:?}");
    let error = format!(
        "recorder is not authorized (account: {account}, description: KubernetesDeployManifestDescription)"
    );
    assert_eq!(denied.body["errors"], json!([error]));
    let names = format!("other,{account}");
    let headers = [("X-SPINNAKER-USER", "recorder"), ("X-SPINNAKER-ACCOUNTS", names.as_str())];
    let allowed =
        send_as(&setup.stack.hub, "POST", "/kubernetes/ops", &headers, body.to_string().into()).await;
    assert_eq!(allowed.status, 200, "{allowed:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_with_unreadable_permissions_rejects_all_changes() {
    let setup = TaskSetup::with(&json!({ "permissions": "sre" })).await;
    let account = setup.account.as_str();
    let description = deployment(account, json!([config_map("default", "denied", "1")]));
    let body = json!([{ "deployManifest": description }]).to_string();
    let headers = [("X-SPINNAKER-USER", "recorder"), ("X-SPINNAKER-ACCOUNTS", account)];
    let denied = send_as(&setup.stack.hub, "POST", "/kubernetes/ops", &headers, body.into()).await;
    assert_eq!((denied.status, &denied.body["message"]), (400, &json!("Validation Failed")), "{denied:?}");
    assert!(
        denied.body["errors"][0].as_str().unwrap().starts_with("recorder is not authorized"),
        "{denied:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn in_namespaces_that_are_left_out_nothing_is_changed() {
    let setup = TaskSetup::with(&json!({ "omitNamespaces": ["kube-system"] })).await;
    let description = deployment(&setup.account, json!([config_map("kube-system", "denied", "1")]));
    let body = json!([{ "deployManifest": description }]);
    let denied = send(&setup.stack.hub, "POST", "/kubernetes/ops", &body).await;
    let error = "deployKubernetesManifest.deployKubernetesManifest.kube-system.omittedNamespace";
    assert_eq!((denied.status, &denied.body["errors"]), (400, &json!([error])), "{denied:?}");
    done(
        &setup.stack.hub,
        "deployManifest",
        deployment(&setup.account, json!([config_map("default", "allowed", "1")])),
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn all_ways_of_asking_lead_to_a_task() {
    let setup = TaskSetup::set().await;
    let description = deployment(&setup.account, json!([config_map("default", "ways", "1")]));
    let list = json!([{ "deployManifest": description }]);
    for (path, body) in [
        ("/kubernetes/ops", &list),
        ("/kubernetes/ops/deployManifest", &description),
        ("/ops", &list),
        ("/ops/deployManifest", &description),
    ] {
        let answer = send(&setup.stack.hub, "POST", path, body).await;
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        let task = super::ended(&setup.stack.hub, answer.body["id"].as_str().unwrap()).await;
        assert_eq!(task["status"]["failed"], false, "{path}: {task:#}");
    }
    let nobody = json!([{ "deployManifest": { "account": setup.account, "manifests": [] } }]);
    let answer = send(&setup.stack.hub, "POST", "/ops", &nobody).await;
    assert_eq!((answer.status, &answer.body["error"]), (400, &json!("Bad Request")), "{answer:?}");
    let empty = send(&setup.stack.hub, "POST", "/kubernetes/ops", &json!([])).await;
    assert_eq!(empty.status, 200, "{empty:?}");
    let task = super::ended(&setup.stack.hub, empty.body["id"].as_str().unwrap()).await;
    assert_eq!((&task["status"]["failed"], &task["resultObjects"]), (&json!(false), &json!([])), "{task:#}");

    // Of several operations, the first that fails ends the task, and only its failure is reported.
    let missing =
        json!({ "account": setup.account, "manifestName": "deployment nope", "location": "default" });
    let several = json!([{ "deployManifest": description, "scaleManifest": missing }, { "deployManifest": description }]);
    let answer = send(&setup.stack.hub, "POST", "/kubernetes/ops", &several).await;
    let task = super::ended(&setup.stack.hub, answer.body["id"].as_str().unwrap()).await;
    assert_eq!(task["resultObjects"].as_array().unwrap().len(), 1, "{task:#}");
    assert_eq!(task["resultObjects"][0]["operation"], "KubernetesScaleManifestOperation");
    let completed = super::history(&task).iter().filter(|line| **line == "Orchestration completed.").count();
    assert_eq!(completed, 1);
    done(&setup.stack.hub, "deployManifest", description).await;
}
