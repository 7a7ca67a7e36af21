//! Each failure is reported with the remedy, and shows in the exit code.

use std::{io::Read, process::Stdio};

use crate::fleet::{ACCOUNTS, Fleet, Printed, spindrift};

#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_is_nowhere_is_not_found_and_the_others_are_shown() {
    let fleet = Fleet::shared().await;
    let missing = fleet.spindrift(&["get", "pod", "nobody", "-n", "shop"]).await;
    let said = "Error from server (NotFound): pods \"nobody\" not found\n";
    assert_eq!(missing, Printed { stdout: String::new(), stderr: said.into(), code: Some(1) });
    let kubectl =
        fleet.cluster.kubectl(&["get", "pod", "nobody", "-n", "shop"]).await.unwrap_err().to_string();
    assert!(kubectl.ends_with(said.trim_end()), "{kubectl}");

    let some = fleet.spindrift(&["get", "deploy", "quiet", "nobody", "-n", "shop", "-a", ACCOUNTS[0]]).await;
    assert!(some.stdout.contains("quiet"), "{some:?}");
    assert_eq!(some.stderr, "Error from server (NotFound): deployments.apps \"nobody\" not found\n");
    assert_eq!(some.code, Some(1));
    let ignored = fleet.spindrift(&["get", "pod", "nobody", "-n", "shop", "--ignore-not-found"]).await;
    assert_eq!(ignored.code, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_impossible_request_is_reported_with_the_remedy() {
    let fleet = Fleet::shared().await;
    for (args, said) in [
        (&["get", "unicorns"][..], "error: the server doesn't have a resource type \"unicorns\""),
        (&["get", "unicorns"], "spindrift api-resources"),
        (&["get", "pods", "-a", "atlantis"], "account \"atlantis\" not found; the hub has east, west"),
        (&["get", "pods", "-o", "jsonpath={.items"], "error parsing jsonpath {.items, unclosed action"),
        (&["get", "pods", "-o", "xml"], "allowed formats are: custom-columns,json,jsonpath,name,wide,yaml"),
        (&["get", "pods", "-A", "--sort-by=.spec.beauty"], "couldn't find any field with path"),
        (&["get", "pods,svc", "-w"], "you may only specify a single resource type"),
        (&["get", "pods", "svc/x"], "there is no need to specify a resource type as a separate argument"),
        (&["get", "pods", "-l", "a b"], "labelSelector"),
        (&["get", "pods", "--field-selector", "x"], "fieldSelector"),
        (&["get", "pods", "--field-selector", "status.phsae=Running"], "did you mean status.phase?"),
        (&["get", "svc", "--field-selector", "status.phase=Running"], "expected one of "),
        (&["get", "pdos"], "did you mean pods?"),
        (&["describe", "deploymnet"], "did you mean deployment?"),
        (&["get", "pods", "-a", "north-*"], "account \"north-*\" not found; the hub has east, west"),
    ] {
        let printed = fleet.spindrift(args).await;
        assert!(
            printed.stderr.starts_with("error: ") && printed.stderr.contains(said),
            "{args:?}: {printed:?}"
        );
        assert_eq!((printed.code, printed.stdout.as_str()), (Some(1), ""), "{args:?}");
    }
}

#[tokio::test]
async fn a_hub_that_is_away_is_named_with_what_to_do() {
    let printed = Printed::of(spindrift("http://127.0.0.1:9").args(["get", "pods"]).output().unwrap());
    assert_eq!(printed.code, Some(1));
    for part in ["error: ", "http://127.0.0.1:9", "spindrift up", "--hub"] {
        assert!(printed.stderr.contains(part), "{part}: {}", printed.stderr);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_has_had_enough_ends_it_quietly() {
    let fleet = Fleet::shared().await;
    let mut command = spindrift(&fleet.hub.url());
    command.args(["get", "pods,svc,crd,events,clusterroles", "-A", "-o", "json"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = [0; 10];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let output = tokio::task::spawn_blocking(move || child.wait_with_output().unwrap()).await.unwrap();
    assert_eq!(Printed::of(output), Printed { stdout: String::new(), stderr: String::new(), code: Some(0) });
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_parameter_of_rest_is_refused_with_the_allowed_ones() {
    let fleet = Fleet::shared().await;
    for (path, expected) in [
        ("/v1/objects?knd=pods", "did you mean kind? expected account, kind, namespace,"),
        ("/v1/objects?kind=pods&fieldSelecter=a%3Db", "did you mean fieldSelector?"),
        ("/v1/objects/watch?knd=pods", "unknown parameter \"knd\""),
        ("/v1/objects?kind=pods&fieldSelector=status.phsae%3DRunning", "did you mean status.phase?"),
        ("/v1/operations?stat=failed", "did you mean state? expected account, state, limit"),
        ("/v1/watches?accounts=east", "did you mean account?"),
    ] {
        let response = reqwest::get(format!("{}{path}", fleet.hub.url())).await.unwrap();
        assert_eq!(response.status(), 400, "{path}");
        let text = response.text().await.unwrap();
        let message = serde_json::from_str::<serde_json::Value>(&text).unwrap()["message"].to_string();
        assert!(message.replace("\\\"", "\"").contains(expected), "{path}: {message}");
    }
}
