//! Verbs that change, create and await objects: the words, errors and exit codes of kubectl, on a real API server.

use std::{io::Write, net::TcpListener};

use serde_json::Value;

use super::fleet::{ACCOUNTS, Twins};

const DEPLOYMENT: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      initContainers: [{name: init, image: 'init:1'}]
      containers: [{name: web, image: 'web:1'}, {name: log, image: 'log:1'}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: tea, labels: {app: web}}
";

async fn applied(name: &str) -> Twins {
    let twins = Twins::new(name).await;
    twins.agree(&["apply", "-f", "-"], DEPLOYMENT).await.ok();
    twins
}

/// Runs each command by both, and compares the objects afterwards.
async fn agree_on(twins: &Twins, commands: &[(&[&str], bool)]) {
    for (words, is_done) in commands {
        let output = twins.agree(words, "").await;
        assert_eq!(output.code == Some(0), *is_done, "{words:?}: {output:?}");
        let mut both = Vec::new();
        for namespace in [&twins.ours, &twins.theirs] {
            let read = ["get", "deploy,cm,sa,job,cj,svc,secret", "-o", "json", "-n", namespace];
            let list: Value = serde_json::from_str(&twins.fleet.kubectl(&read, "").await.ok()).unwrap();
            let part = |object: &Value| {
                let data = [&object["spec"], &object["data"], &object["type"], &object["metadata"]["labels"]];
                let annotations = &object["metadata"]["annotations"];
                let text =
                    format!("{} {} {data:?} {annotations:?}", object["kind"], object["metadata"]["name"]);
                text.replace(namespace.as_str(), "NAMESPACE")
            };
            let is_generated = |object: &&Value| object["metadata"]["name"] != "kube-root-ca.crt";
            let items = list["items"].as_array().unwrap().iter().filter(is_generated);
            // Addresses are assigned.
            both.push(items.map(part).map(|text| without_addresses(&text)).collect::<Vec<_>>());
        }
        assert_eq!(both[0], both[1], "{words:?}");
    }
}

fn without_addresses(text: &str) -> String {
    let is_address =
        |word: &&str| word.trim_matches(|c: char| !c.is_ascii_digit()).parse::<std::net::IpAddr>().is_ok();
    text.split(' ').filter(|word| !is_address(word)).collect::<Vec<_>>().join(" ")
}

#[tokio::test(flavor = "multi_thread")]
async fn labels_and_annotations_are_changed_as_by_kubectl() {
    let twins = applied("label").await;
    agree_on(
        &twins,
        &[
            (&["label", "cm/tea", "blend=assam"], true),
            (&["label", "cm/tea", "blend=assam"], true),
            (&["label", "cm/tea", "blend=ceylon"], false),
            (&["label", "cm", "tea", "blend=ceylon", "--overwrite"], true),
            (&["label", "cm/tea", "blend=darjeeling", "app-", "--overwrite"], true),
            (&["label", "cm/tea", "blend-", "milk-"], true),
            (&["label", "deploy,cm", "-l", "app=web", "x=1"], true),
            (&["label", "cm/tea", "x=2", "--dry-run=client", "--overwrite"], true),
            (&["label", "cm/tea", "x=2", "--dry-run=server", "--overwrite"], true),
            (&["label", "cm/tea", "x=2", "-o", "name", "--overwrite"], true),
            (&["label", "cm/tea", "y=1", "--resource-version=1"], false),
            (&["label", "cm/nobody", "x=1"], false),
            (&["label", "cm/tea"], false),
            (&["label", "cm/tea", "x=1", "x-"], false),
            (&["label", "x=1"], false),
            (&["label", "cm/tea", "x=1", "more"], false),
            (&["label", "cm/tea", "--list"], true),
            (&["annotate", "cm/tea", "note=one two"], true),
            (&["annotate", "cm/tea", "note=three"], false),
            (&["annotate", "cm/tea", "note=three", "--overwrite"], true),
            (&["annotate", "cm/tea", "a=b=c", "note-"], true),
            (&["annotate", "cm/tea", "a=b", "a-"], false),
            (&["annotate", "deploy", "--all", "all=1"], true),
            (&["annotate", "cm/nobody", "x=1"], false),
        ],
    )
    .await;
    let invalid = twins.spindrift(&["label", "cm/tea", "x=a b"], "").error();
    assert!(invalid.starts_with("invalid label value: \"x=a b\": a valid label must be"), "{invalid}");
}

#[tokio::test(flavor = "multi_thread")]
async fn images_are_set_as_by_kubectl() {
    let twins = applied("image").await;
    agree_on(
        &twins,
        &[
            (&["set", "image", "deploy/web", "web=web:2"], true),
            (&["set", "image", "deploy/web", "web=web:2"], true),
            (&["set", "image", "deploy", "web", "web=web:3", "log=log:3", "init=init:3"], true),
            (&["set", "image", "deploy/web", "*=all:1"], true),
            (&["set", "image", "deploy", "--all", "web=web:4", "--dry-run=server"], true),
            (&["set", "image", "deploy", "-l", "app=web", "web=web:5"], true),
            (&["set", "image", "deploy/web", "nobody=x"], false),
            (&["set", "image", "deploy/web"], false),
            (&["set", "image", "deploy/web", "*=a", "web=b"], false),
            (&["set", "image", "deploy/nobody", "web=a"], false),
        ],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_are_created_as_by_kubectl() {
    let twins = Twins::new("create").await;
    let map = "{apiVersion: v1, kind: ConfigMap, metadata: {name: tea}, data: {a: b}}";
    twins.agree(&["create", "-f", "-"], map).await.ok();
    let again = twins.agree(&["create", "-f", "-"], map).await;
    assert!(
        again.err.starts_with("Error from server (AlreadyExists): error when creating \"STDIN\": "),
        "{again:?}"
    );
    let directory = twins.shell.home.path().join("conf");
    std::fs::create_dir(&directory).unwrap();
    std::fs::write(directory.join("a.txt"), "one\n").unwrap();
    std::fs::write(directory.join("b.bin"), [0xff, 0x00]).unwrap();
    let from = format!("--from-file={}", directory.display());
    let keyed = format!("--from-file=key={}", directory.join("a.txt").display());
    agree_on(
        &twins,
        &[
            (&["create", "configmap", "literal", "--from-literal=a=b", "--from-literal=c=d=e"], true),
            (&["create", "cm", "files", &from, &keyed], true),
            (&["create", "secret", "generic", "word", "--from-literal=a=b", &keyed], true),
            (&["create", "serviceaccount", "robot"], true),
            (&["create", "deployment", "web", "--image=nginx:1", "--replicas=2", "--port=80"], true),
            (&["create", "cronjob", "nightly", "--image=busybox", "--schedule=0 0 * * *"], true),
            (&["create", "service", "clusterip", "none", "--clusterip=None"], true),
            (&["create", "cm", "dry", "--from-literal=a=b", "--dry-run=server"], true),
            (&["create", "cm", "dry", "--from-literal=a=b", "--dry-run=client"], true),
            (&["create", "sa", "named", "-o", "name"], true),
        ],
    )
    .await;
    for words in [
        &["create", "cm", "bad", "--from-literal=a"][..],
        &["create", "cm", "bad", "--from-file=/nonexistent"],
    ] {
        let output = twins.spindrift(words, "");
        assert_eq!(output.code, Some(1), "{output:?}");
    }
    let both = ["create", "cm", "both", "-n", &twins.ours, "--all-accounts", "--dry-run=server"];
    let mut lines: Vec<_> = twins.shell.spindrift(&both).ok().lines().map(str::to_owned).collect();
    lines.sort_unstable();
    assert_eq!(lines, ACCOUNTS.map(|account| format!("{account}  configmap/both created (server dry run)")));
}

#[tokio::test(flavor = "multi_thread")]
async fn conditions_are_awaited_as_by_kubectl() {
    let twins = applied("wait").await;
    for namespace in [&twins.ours, &twins.theirs] {
        let status = r#"{"status":{"observedGeneration":1,"replicas":1,"conditions":[{"type":"Available","status":"True"}]}}"#;
        let patch =
            ["patch", "deploy/web", "--subresource=status", "--type=merge", "-p", status, "-n", namespace];
        twins.fleet.kubectl(&patch, "").await.ok();
    }
    for (words, is_done) in [
        (&["wait", "--for=condition=Available", "deploy/web"][..], true),
        (&["wait", "--for=condition=available=TRUE", "deploy", "web"], true),
        (&["wait", "--for=jsonpath={.status.replicas}=1", "deploy/web"], true),
        (&["wait", "--for=jsonpath={.metadata.name}", "cm/tea"], true),
        (&["wait", "--for=condition=Available", "deploy", "--all"], true),
        (&["wait", "--for=condition=Available", "deploy", "-l", "app=web"], true),
        (&["wait", "--for=create", "cm/tea"], true),
        (&["wait", "--for=delete", "cm/nobody"], true),
        (&["wait", "--for=condition=Progressing", "deploy/web", "--timeout=1s"], false),
        (&["wait", "--for=delete", "cm/tea", "--timeout=1s"], false),
        (&["wait", "--for=condition=Ready", "pod/nobody"], false),
        (&["wait", "--for=condition=Ready", "pods", "--all"], false),
    ] {
        let output = twins.agree(words, "").await;
        assert_eq!(output.code == Some(0), is_done, "{words:?}: {output:?}");
    }
    let awaited = twins.shell.start(&[
        "wait",
        "--for=delete",
        "cm/tea",
        "--timeout=60s",
        "-n",
        &twins.ours,
        "-a",
        ACCOUNTS[0],
    ]);
    twins.fleet.kubectl(&["delete", "cm", "tea", "-n", &twins.ours], "").await.ok();
    spindrift_testkit::eventually!("the deletion is seen", crate::support::LONG, {
        awaited.out() == "configmap/tea condition met\n"
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn manifests_come_from_urls_and_kustomizations() {
    let twins = Twins::new("remote").await;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = [0; 1024];
            let read = std::io::Read::read(&mut stream, &mut request).unwrap();
            let is_known = String::from_utf8_lossy(&request[..read]).starts_with("GET /tea.yaml ");
            let body = "{apiVersion: v1, kind: ConfigMap, metadata: {name: far}}";
            let (status, body) = if is_known { ("200 OK", body) } else { ("404 Not Found", "") };
            write!(
                stream,
                "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                body.len()
            )
            .unwrap();
        }
    });
    let url = |path: &str| format!("http://{address}/{path}");
    assert_eq!(twins.spindrift(&["apply", "-f", &url("tea.yaml")], "").ok(), "configmap/far created\n");
    assert_eq!(twins.spindrift(&["create", "-f", &url("tea.yaml")], "").code, Some(1));
    let missing = twins.spindrift(&["apply", "-f", &url("nowhere.yaml")], "").error();
    assert!(missing.contains("unable to read URL") && missing.contains("status code=404"), "{missing}");

    let home = twins.shell.home.path();
    std::fs::create_dir(home.join("base")).unwrap();
    std::fs::write(home.join("base/tea.yaml"), "{apiVersion: v1, kind: ConfigMap, metadata: {name: near}}")
        .unwrap();
    std::fs::write(home.join("base/kustomization.yaml"), "resources: [tea.yaml]\nnamePrefix: very-\n")
        .unwrap();
    // A kubectl of the test environment, by the name that the command looks for.
    let programs = home.join("programs");
    std::fs::create_dir(&programs).unwrap();
    let script =
        format!("#!/bin/sh\nexec {} kubectl \"$@\"\n", spindrift_testkit::testenv().await.unwrap().display());
    std::fs::write(programs.join("kubectl"), script).unwrap();
    std::fs::set_permissions(programs.join("kubectl"), std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .unwrap();
    let place = ["-n", &twins.ours, "-a", ACCOUNTS[0]];
    let apply = [&["apply", "-k", "base"], &place[..]].concat();
    let shell = &twins.shell;
    let with = |path: &str| {
        let words = apply.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" ");
        shell.bash(&format!("PATH={path} \"$SPINDRIFT\" {words}"))
    };
    assert_eq!(with(&format!("{}:/bin:/usr/bin", programs.display())).ok(), "configmap/very-near created\n");
    let without = with("/nonexistent");
    assert!(without.err.contains("-k needs kubectl or kustomize") && without.code == Some(1), "{without:?}");
}
