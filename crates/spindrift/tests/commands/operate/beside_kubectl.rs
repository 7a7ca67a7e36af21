//! The same words, the same errors and the same exit codes as kubectl, on a real API server.

use serde_json::json;

use super::fleet::{ACCOUNTS, Twins};

const MANIFESTS: &str = "
apiVersion: v1
kind: ConfigMap
metadata: {name: tea, labels: {kind: tea}}
data: {blend: assam}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: web, image: 'web:1', ports: [{containerPort: 80}]}
      volumes:
      - {name: script, configMap: {name: tea, defaultMode: 0755}}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80}]}
";

const APPLY: [&str; 3] = ["apply", "-f", "-"];

#[tokio::test(flavor = "multi_thread")]
async fn applied_objects_are_reported_as_by_kubectl() {
    let twins = Twins::new("apply").await;
    let created = twins.agree(&APPLY, MANIFESTS).await.ok();
    assert_eq!(created, "configmap/tea created\ndeployment.apps/web created\nservice/web created\n");
    twins.agree(&APPLY, MANIFESTS).await.ok();
    let stronger = MANIFESTS.replace("assam", "ceylon");
    let tried = twins.agree(&[&APPLY[..], &["--dry-run=server"]].concat(), &stronger).await.ok();
    assert!(tried.starts_with("configmap/tea configured (server dry run)\n"), "{tried}");
    let configured = twins.agree(&APPLY, &stronger).await.ok();
    assert!(
        configured.starts_with("configmap/tea configured\ndeployment.apps/web unchanged\n"),
        "{configured}"
    );
    twins.agree(&[&APPLY[..], &["-o", "name"]].concat(), MANIFESTS).await.ok();
    twins.agree(&[&APPLY[..], &["--server-side", "--force-conflicts"]].concat(), MANIFESTS).await.ok();

    let read =
        ["get", "deploy", "web", "-o", "jsonpath={.spec.template.spec.volumes[0].configMap.defaultMode}"];
    assert_eq!(twins.fleet.kubectl(&[&read[..], &["-n", &twins.ours]].concat(), "").await.ok(), "493");
    let object = twins.spindrift(
        &[&APPLY[..], &["-o", "json"]].concat(),
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: tea}}",
    );
    assert_eq!(object.json()["metadata"]["name"], "tea");
}

#[tokio::test(flavor = "multi_thread")]
async fn scale_patch_pause_and_delete_are_reported_as_by_kubectl() {
    let twins = Twins::new("change").await;
    twins.agree(&APPLY, MANIFESTS).await.ok();
    for (words, is_done) in [
        (&["scale", "deploy/web", "--replicas=3"][..], true),
        (&["scale", "deploy", "web", "--replicas=2", "--current-replicas=3"], true),
        (&["scale", "deploy/web", "--replicas=4", "--current-replicas=9"], false),
        (&["scale", "deploy/nobody", "--replicas=4"], false),
        (&["scale", "deploy", "-l", "app=web", "--replicas=1"], true),
        (&["patch", "deploy/web", "-p", "{\"spec\":{\"replicas\":5}}"], true),
        (&["patch", "deploy/web", "-p", "{\"spec\":{\"replicas\":5}}"], true),
        (&["patch", "deploy", "web", "--type=merge", "-p", "spec: {replicas: 6}"], true),
        (
            &[
                "patch",
                "cm/tea",
                "--type=json",
                "-p",
                "[{\"op\":\"add\",\"path\":\"/data/milk\",\"value\":\"no\"}]",
            ],
            true,
        ),
        (&["patch", "cm/nobody", "-p", "{}"], false),
        (&["rollout", "restart", "deploy/web"], true),
        (&["rollout", "pause", "deploy/web"], true),
        (&["rollout", "pause", "deploy/web"], false),
        (&["rollout", "resume", "deployment", "web"], true),
        (&["delete", "cm/tea", "--dry-run=server"], true),
        (&["delete", "cm", "tea", "nobody"], false),
        (&["delete", "cm/nobody", "--ignore-not-found"], true),
        (&["delete", "deploy,svc", "-l", "app=web"], true),
        (&["delete", "deploy", "--all"], true),
        (&["delete", "deploy", "--all", "--ignore-not-found"], true),
        (&["delete", "svc/web", "-o", "name"], true),
    ] {
        let output = twins.agree(words, "").await;
        assert_eq!(output.code == Some(0), is_done, "{words:?}: {output:?}");
    }
    let unicorns = twins.spindrift(&["delete", "unicorns", "web"], "").error();
    assert!(unicorns.starts_with("the server doesn't have a resource type \"unicorns\""), "{unicorns}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_of_the_api_server_is_reported_as_by_kubectl() {
    let twins = Twins::new("refused").await;
    let service = json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": "web" }, "spec": { "ports": [] } });
    twins.agree(&APPLY, &service.to_string()).await;
    let two = json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": "web" },
        "spec": { "ports": [{ "port": 0 }], "selector": { "a": "b!" } } });
    let output = twins.agree(&APPLY, &two.to_string()).await;
    assert!(output.err.starts_with("The Service \"web\" is invalid: \n* "), "{output:?}");
    let elsewhere = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "namespace": "elsewhere" } });
    twins.agree(&APPLY, &elsewhere.to_string()).await;

    // Refused while it is created, and while it is changed.
    let map = |more: &str| {
        format!("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: tea}}, data: {{a: b}}{more}}}")
    };
    let strict = twins.agree(&APPLY, &map(", dat: {a: b}")).await;
    assert!(
        strict.err.starts_with("Error from server (BadRequest): error when creating \"STDIN\": "),
        "{strict:?}"
    );
    twins.agree(&APPLY, &map("")).await.ok();
    twins.agree(&APPLY, &map(", dat: {a: b}")).await;
    let outdated = map("").replace("name: tea", "name: tea, resourceVersion: '1'").replace("a: b", "a: c");
    let outdated = twins.agree(&APPLY, &outdated).await;
    assert!(
        outdated.err.starts_with("Error from server (Conflict): error when applying patch:\n{\""),
        "{outdated:?}"
    );
    let server_side = |manager: &'static str| [&APPLY[..], &["--server-side", manager]].concat();
    twins.agree(&server_side("--field-manager=one"), &map("").replace("tea", "coffee")).await.ok();
    let other = map("").replace("tea", "coffee").replace("a: b", "a: c");
    let two = server_side("--field-manager=two");
    let (theirs, ours) = (twins.kubectl(&two, &other).await, twins.spindrift(&two, &other));
    // The hint about the remedy differs.
    let first = |output: &str| output.lines().next().unwrap_or_default().to_owned();
    assert_eq!((ours.code, first(&ours.err)), (theirs.code, first(&theirs.err)));
    assert!(ours.err.starts_with("error: Apply failed with 1 conflict: conflict with \"one\""), "{ours:?}");

    let stranger = json!({ "apiVersion": "example.com/v1", "kind": "Unicorn", "metadata": { "name": "a" } });
    let output = twins.spindrift(&APPLY, &stranger.to_string());
    assert_eq!((output.code, output.out.as_str()), (Some(1), ""), "{output:?}");
    assert!(output.err.contains("Unicorn") && output.err.contains("STDIN"), "{output:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_flag_for_a_cluster_scoped_object_is_a_warning() {
    let twins = Twins::new("scope").await;
    for name in [&twins.ours, &twins.theirs] {
        let role = ["create", "clusterrole", name, "--verb=get", "--resource=pods"];
        twins.fleet.kubectl(&role, "").await.ok();
    }
    let theirs = twins.kubectl(&["delete", "clusterrole", &twins.theirs], "").await;
    let ours = twins.spindrift(&["delete", "clusterrole", &twins.ours], "");
    assert_eq!((ours.code, ours.out, &ours.err), (theirs.code, theirs.out, &theirs.err));
    assert!(ours.err.starts_with("Warning: "), "{}", ours.err);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_difference_is_that_of_kubectl_with_its_exit_code() {
    let twins = Twins::new("diff").await;
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: key}\nstringData: {a: canary, b: same}\n";
    let manifests = format!("{MANIFESTS}---\n{secret}");
    twins.agree(&APPLY, &manifests).await.ok();
    let diff = ["diff", "-f", "-"];
    twins.agree(&diff, &manifests).await.ok();

    let other = manifests.replace("assam", "ceylon").replace("web:1", "web:2").replace("canary", "cuckoo");
    let (theirs, ours) = (twins.kubectl(&diff, &other).await, twins.spindrift(&diff, &other));
    assert_eq!((theirs.code, ours.code), (Some(1), Some(1)), "{ours:?}");
    // Without names of files, fields that no two objects have in common, and the choice of quotes.
    let changes = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| {
            line.starts_with(['+', '-']) && !line.starts_with("+++") && !line.starts_with("---")
        });
        lines.filter(|line| !line.contains("resourceVersion")).map(|line| line.replace('\'', "\"")).collect()
    };
    assert_eq!(changes(&ours.out), changes(&theirs.out));
    assert!(ours.out.contains("-  blend: assam\n+  blend: ceylon\n"), "{}", ours.out);
    assert!(!ours.out.contains("canary") && !ours.out.contains("Y2FuYXJ5"), "{}", ours.out);

    let refused = twins.spindrift(&diff, &manifests.replace("port: 80}", "port: 0}"));
    assert!(refused.code > Some(1), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn files_directories_and_lists_are_read_as_kubectl_reads_them() {
    let twins = Twins::new("files").await;
    let home = twins.shell.home.path();
    let map = |name: &str| format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n");
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": [
        { "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "l1" } },
        { "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "l2" } }] });
    std::fs::create_dir_all(home.join("shop/deep")).unwrap();
    for (file, text) in [
        ("shop/b.yaml", map("b")),
        ("shop/a.yml", format!("{}---\n---\n{}", map("a1"), map("a2"))),
        ("shop/c.json", list.to_string()),
        ("shop/notes.txt", "no manifest".to_owned()),
        ("shop/deep/d.yaml", map("d")),
    ] {
        std::fs::write(home.join(file), text).unwrap();
    }
    let shop = home.join("shop");
    let shop = shop.to_str().unwrap();
    let flat = twins.agree(&["apply", "-f", shop], "").await.ok();
    assert_eq!(flat.lines().count(), 5, "{flat}");
    let deep = twins.agree(&["apply", "-R", "-f", shop], "").await.ok();
    assert!(deep.contains("configmap/d created"), "{deep}");
    twins.agree(&["delete", "-R", "-f", shop], "").await.ok();
    twins.agree(&["delete", "-f", &format!("{shop}/b.yaml"), "--ignore-not-found"], "").await.ok();
}

#[tokio::test(flavor = "multi_thread")]
async fn operations_are_recorded_and_a_frozen_account_rejects_changes() {
    let twins = Twins::new("frozen").await;
    let map = "{apiVersion: v1, kind: ConfigMap, metadata: {name: tea}}";
    twins.spindrift(&APPLY, map).ok();
    let shell = &twins.shell;
    let listed = shell.spindrift(&["operations", "-a", ACCOUNTS[0], "-o", "json"]).json();
    let ours = listed.as_array().unwrap().iter().find(|operation| {
        operation["verb"] == "apply"
            && operation["target"].as_str().is_some_and(|target| target.contains(&twins.ours))
    });
    let id = ours.unwrap()["id"].as_str().unwrap();
    let one = shell.spindrift(&["operations", id]).ok();
    assert!(one.contains("state: completed") && one.contains("agent: agent-a"), "{one}");
    let cancelled = shell.spindrift(&["operations", "cancel", id]).ok();
    assert_eq!(cancelled, format!("operation/{id} completed\n"), "too late");
    assert_eq!(shell.spindrift(&["operations", "nonsense"]).code, Some(2));

    // The other name of the cluster: other tests work under the first.
    let west = ["-a", ACCOUNTS[1]];
    let frozen = shell.spindrift(&[&["freeze", "--reason", "it moves"], &west[..]].concat()).ok();
    assert_eq!(frozen, "account/west frozen\n");
    let apply = [&APPLY[..], &west, &["-n", &twins.ours]].concat();
    let refused = shell.spindrift_stdin(&apply, map);
    assert_eq!((refused.code, refused.err.lines().count()), (Some(1), 1), "{refused:?}");
    assert!(refused.err.contains("frozen") && refused.err.contains("it moves"), "{refused:?}");
    let accounts = shell.spindrift(&["accounts"]).ok();
    assert!(accounts.contains("frozen: it moves"), "{accounts}");
    shell.spindrift(&[&["unfreeze"], &west[..]].concat()).ok();
    assert_eq!(shell.spindrift_stdin(&apply, map).ok(), "configmap/tea unchanged\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_accounts_are_worked_on_at_once() {
    let twins = Twins::new("several").await;
    let both = ["--all-accounts", "-n", &twins.ours, "--dry-run=server"];
    let output = twins.shell.spindrift_stdin(&[&APPLY[..], &both].concat(), MANIFESTS).ok();
    let mut lines: Vec<_> = output.lines().collect();
    lines.sort_unstable();
    let of = |account: &str| {
        ["configmap/tea", "deployment.apps/web", "service/web"]
            .map(|object| format!("{account}  {object} created (server dry run)"))
    };
    assert_eq!(lines, [of("east"), of("west")].concat());
}
