//! The real kubectl works with a playground cluster.

use serde_json::Value;
use spindrift_testkit::{eventually, testenv};

use crate::support::Living;

const WEB: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: main, image: 'web:1', env: [{name: COLOUR, value: blue}]}
";

/// The words of a line, as kubectl aligns them with spaces.
fn words(text: &str, line: usize) -> Vec<&str> {
    text.lines().nth(line).unwrap_or_default().split_whitespace().collect()
}

async fn rolled_out(cluster: &Living) -> anyhow::Result<String> {
    cluster.kubectl("rollout status deployment/web --timeout=60s").await
}

#[tokio::test]
async fn get_prints_columns_json_yaml_and_names() -> anyhow::Result<()> {
    let cluster = Living::start().await?;
    cluster.kubectl_stdin("apply -f -", WEB).await?;
    rolled_out(&cluster).await?;

    let pods = cluster.kubectl("get pods").await?;
    assert_eq!(words(&pods, 0), ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]);
    assert_eq!(words(&pods, 1)[1..4], ["1/1", "Running", "0"], "{pods}");
    assert_eq!(pods.lines().count(), 3);
    let wide = cluster.kubectl("get deploy web -o wide").await?;
    let header = ["NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE", "CONTAINERS", "IMAGES", "SELECTOR"];
    assert_eq!(words(&wide, 0), header);
    assert_eq!(words(&wide, 1)[..4], ["web", "2/2", "2", "2"]);
    assert_eq!(words(&wide, 1)[5..], ["main", "web:1", "app=web"]);

    assert_eq!(cluster.kubectl("get deployments.v1.apps/web -o name").await?, "deployment.apps/web\n");
    let json: Value = serde_json::from_str(&cluster.kubectl("get deploy web -o json").await?)?;
    assert_eq!(json["spec"]["template"]["spec"]["containers"][0]["image"], "web:1");
    let yaml = cluster.kubectl("get deploy web -o yaml").await?;
    assert!(yaml.starts_with("apiVersion: apps/v1\nkind: Deployment\n"), "{yaml}");
    let all = cluster.kubectl("get all -l app=web -o name").await?;
    assert_eq!(all.lines().filter(|line| line.starts_with("pod/")).count(), 2, "{all}");
    assert_eq!(all.lines().filter(|line| line.starts_with("replicaset.apps/")).count(), 1, "{all}");
    let everywhere = cluster.kubectl("get pods -A").await?;
    assert_eq!(words(&everywhere, 0)[..2], ["NAMESPACE", "NAME"]);
    let missing = cluster.kubectl_fails("get pod absent", "").await;
    assert!(missing.ends_with("Error from server (NotFound): pods \"absent\" not found"), "{missing}");
    Ok(())
}

#[tokio::test]
async fn get_watches() -> anyhow::Result<()> {
    let cluster = Living::start().await?;
    let watch = cluster.kubectl_spawn("get pods --watch --output-watch-events")?;
    cluster.kubectl_stdin("apply -f -", WEB).await?;
    let lines = |event: &str| watch.log().lines().filter(|line| line.starts_with(event)).count();
    eventually!("both pods are added", lines("ADDED") == 2);
    eventually!("and run", watch.log().lines().filter(|line| line.contains("Running")).count() >= 2);
    cluster.kubectl("delete deploy web").await?;
    eventually!("and are deleted", lines("DELETED") == 2);
    assert_eq!(words(&watch.log(), 0), ["EVENT", "NAME", "READY", "STATUS", "RESTARTS", "AGE"]);
    Ok(())
}

#[tokio::test]
async fn apply_creates_changes_and_removes_fields() -> anyhow::Result<()> {
    let cluster = Living::start().await?;
    let changed = WEB.replace("web:1", "web:2").replace(", env: [{name: COLOUR, value: blue}]", "");
    for (flags, created, unchanged, configured) in [
        ("", "created", "unchanged", "configured"),
        ("--server-side", "serverside-applied", "serverside-applied", "serverside-applied"),
    ] {
        let apply = format!("apply {flags} -f -");
        for (manifest, outcome) in [(WEB, created), (WEB, unchanged), (changed.as_str(), configured)] {
            let said = cluster.kubectl_stdin(&apply, manifest).await?;
            assert_eq!(said, format!("deployment.apps/web {outcome}\n"));
        }
        let json: Value = serde_json::from_str(&cluster.kubectl("get deploy web -o json").await?)?;
        let container = &json["spec"]["template"]["spec"]["containers"][0];
        assert_eq!((&container["image"], &container["env"]), (&"web:2".into(), &Value::Null), "{flags}");
        cluster.kubectl("delete deploy web").await?;
    }
    Ok(())
}

#[tokio::test]
async fn apply_tells_of_conflicts_and_takes_over_by_force() -> anyhow::Result<()> {
    let cluster = Living::start().await?;
    cluster.kubectl_stdin("apply --server-side -f -", WEB).await?;
    cluster.kubectl("set image deployment/web main=web:9").await?;
    let said = cluster.kubectl_fails("apply --server-side -f -", WEB).await;
    let conflict =
        "conflict with \"kubectl-set\" using apps/v1: .spec.template.spec.containers[name=\"main\"].image";
    assert!(said.contains(conflict), "{said}");
    cluster.kubectl_stdin("apply --server-side --force-conflicts -f -", WEB).await?;
    let image = "get deploy web -o jsonpath={.spec.template.spec.containers[0].image}";
    assert_eq!(cluster.kubectl(image).await?, "web:1");
    Ok(())
}

#[tokio::test]
async fn create_patch_label_replace_and_delete() -> anyhow::Result<()> {
    let cluster = Living::start().await?;
    assert_eq!(cluster.kubectl_stdin("create -f -", WEB).await?, "deployment.apps/web created\n");
    let again = cluster.kubectl_fails("create -f -", WEB).await;
    assert!(
        again.contains("(AlreadyExists)") && again.contains("deployments.apps \"web\" already exists"),
        "{again}"
    );

    for (kind, patch) in [
        ("strategic", r#"{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"web:2"}]}}}}"#),
        ("merge", r#"{"spec":{"minReadySeconds":1}}"#),
        ("json", r#"[{"op":"replace","path":"/spec/minReadySeconds","value":0}]"#),
    ] {
        let said = cluster.kubectl(&format!("patch deploy web --type={kind} -p {patch}")).await?;
        assert_eq!(said, "deployment.apps/web patched\n");
    }
    assert_eq!(cluster.kubectl("label deploy web tier=front").await?, "deployment.apps/web labeled\n");
    assert_eq!(cluster.kubectl("get deploy -l tier=front -o name").await?, "deployment.apps/web\n");
    assert_eq!(cluster.kubectl_stdin("replace -f -", WEB).await?, "deployment.apps/web replaced\n");

    rolled_out(&cluster).await?;
    let said = cluster.kubectl("delete deploy web --cascade=foreground --timeout=60s").await?;
    assert_eq!(said, "deployment.apps \"web\" deleted from default namespace\n");
    assert_eq!(cluster.kubectl("get deploy,rs,pods -o name").await?, "", "it waited for all of them");
    Ok(())
}

#[tokio::test]
async fn commands_with_typed_clients_write_protobuf() -> anyhow::Result<()> {
    let cluster = Living::start().await?;
    for (command, said) in [
        ("create namespace apart", "namespace/apart created\n"),
        ("create configmap settings --from-literal=colour=blue", "configmap/settings created\n"),
        ("create deployment shop --image=shop:1 --replicas=2 --port=80", "deployment.apps/shop created\n"),
        ("create job once --image=job:1 -- sleep 1", "job.batch/once created\n"),
        ("create quota limit --hard=pods=7", "resourcequota/limit created\n"),
        (
            "create role reader --verb=get,list --resource=pods",
            "role.rbac.authorization.k8s.io/reader created\n",
        ),
        (
            "create rolebinding reader --role=reader --user=alice",
            "rolebinding.rbac.authorization.k8s.io/reader created\n",
        ),
        ("auth can-i list pods --as=alice", "yes\n"),
    ] {
        assert_eq!(cluster.kubectl(command).await?, said);
    }
    assert_eq!(cluster.kubectl("get configmap settings -o jsonpath={.data}").await?, r#"{"colour":"blue"}"#);
    cluster.kubectl("rollout status deployment/shop --timeout=60s").await?;
    let port = "get deploy shop -o jsonpath={.spec.template.spec.containers[0].ports}";
    assert_eq!(cluster.kubectl(port).await?, r#"[{"containerPort":80,"protocol":"TCP"}]"#);
    cluster.kubectl("wait job/once --for=condition=Complete --timeout=60s").await?;

    let denied = cluster.kubectl_fails("auth can-i delete pods --as=alice", "").await;
    assert!(denied.starts_with("kubectl auth can-i delete pods --as=alice"), "it says no: {denied}");
    let forbidden = cluster.kubectl_fails("delete pods --all --as=alice", "").await;
    assert!(forbidden.contains("(Forbidden)") && forbidden.contains("User \"alice\" cannot"), "{forbidden}");
    let whoami = cluster.kubectl("auth whoami --as=alice -o jsonpath={.status.userInfo.username}").await?;
    assert_eq!(whoami, "alice");
    Ok(())
}

#[tokio::test]
async fn nodes_are_drained_by_eviction() -> anyhow::Result<()> {
    let cluster = Living::start().await?;
    cluster.kubectl_stdin("apply -f -", WEB).await?;
    rolled_out(&cluster).await?;
    let node = cluster.kubectl("get pods -l app=web -o jsonpath={.items[0].spec.nodeName}").await?;
    let drain = format!(
        "drain {node} --ignore-daemonsets --delete-emptydir-data --pod-selector=app=web --timeout=60s"
    );
    let said = cluster.kubectl(&drain).await?;
    assert!(
        said.contains("evicting pod default/web-") && said.contains(&format!("node/{node} drained")),
        "{said}"
    );
    rolled_out(&cluster).await?;
    let nodes = cluster.kubectl("get pods -l app=web -o jsonpath={.items[*].spec.nodeName}").await?;
    assert!(!nodes.split_whitespace().any(|name| name == node), "{nodes}");
    Ok(())
}

/// The field table of the decoder equals the one printed from Kubernetes' own types.
#[tokio::test]
async fn the_fields_of_protobuf_messages_are_those_of_kubernetes() -> anyhow::Result<()> {
    let printed = std::process::Command::new(testenv().await?).arg("fields").output()?;
    let kept = include_str!("../../src/builtin_schema/fields.txt");
    assert!(
        String::from_utf8(printed.stdout)? == kept,
        "print them again: testenv fields > …/src/builtin_schema/fields.txt"
    );
    Ok(())
}

#[tokio::test]
async fn deployments_scale_roll_out_and_roll_back() -> anyhow::Result<()> {
    let cluster = Living::start().await?;
    cluster.kubectl_stdin("apply -f -", WEB).await?;
    let said = rolled_out(&cluster).await?;
    assert!(said.ends_with("deployment \"web\" successfully rolled out\n"), "{said}");

    assert_eq!(cluster.kubectl("scale deploy web --replicas=4").await?, "deployment.apps/web scaled\n");
    rolled_out(&cluster).await?;
    assert_eq!(cluster.kubectl("get pods -l app=web -o name").await?.lines().count(), 4);
    let refused = cluster.kubectl_fails("scale deploy web --current-replicas=2 --replicas=3", "").await;
    assert!(refused.contains("Expected replicas to be 2, was 4"), "{refused}");

    cluster.kubectl("set image deployment/web main=web:2").await?;
    rolled_out(&cluster).await?;
    let history = cluster.kubectl("rollout history deployment/web").await?;
    let revisions: Vec<&str> =
        history.lines().skip(2).filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(revisions, ["1", "2"], "{history}");
    assert_eq!(cluster.kubectl("rollout undo deployment/web").await?, "deployment.apps/web rolled back\n");
    rolled_out(&cluster).await?;
    let images = "get pods -l app=web -o jsonpath={.items[*].spec.containers[0].image}";
    // Pods of the other revision may still be terminating.
    eventually!("all pods are of the first revision", {
        let images = cluster.kubectl(images).await?;
        anyhow::ensure!(images.split_whitespace().all(|image| image == "web:1"), "{images}");
        anyhow::Ok(())
    });
    assert_eq!(cluster.kubectl("rollout restart deployment/web").await?, "deployment.apps/web restarted\n");
    rolled_out(&cluster).await?;
    Ok(())
}

#[tokio::test]
async fn logs_are_read_from_the_end_and_followed() -> anyhow::Result<()> {
    let cluster = Living::start().await?;
    cluster.kubectl("-n shop rollout status deployment/frontend --timeout=60s").await?;
    let tail = eventually!("the frontend has logged", {
        let tail = cluster.kubectl("-n shop logs deployment/frontend --tail=2").await?;
        anyhow::ensure!(tail.lines().count() == 2, "{tail}");
        anyhow::Ok(tail)
    });
    let stamped = cluster.kubectl("-n shop logs deployment/frontend --timestamps --tail=1").await?;
    assert!(stamped.starts_with("20") && stamped.contains("Z "), "{stamped}");
    let follow = cluster.kubectl_spawn("-n shop logs deployment/frontend --follow --tail=1")?;
    eventually!("more lines come", follow.log().lines().count() > tail.lines().count());
    let missing = cluster.kubectl_fails("-n shop logs absent", "").await;
    assert!(missing.contains("pods \"absent\" not found"), "{missing}");
    let wrong = cluster.kubectl_fails("-n shop logs deployment/frontend -c absent", "").await;
    assert!(wrong.contains("container absent is not valid for pod frontend-"), "{wrong}");
    Ok(())
}

#[tokio::test]
async fn describe_shows_objects_with_their_events() -> anyhow::Result<()> {
    let cluster = Living::start().await?;
    cluster.kubectl_stdin("apply -f -", WEB).await?;
    rolled_out(&cluster).await?;
    let deployment = cluster.kubectl("describe deploy web").await?;
    for line in
        ["Replicas:               2 desired | 2 updated | 2 total | 2 available | 0 unavailable", "web:1"]
    {
        assert!(deployment.contains(line), "{line} in {deployment}");
    }
    assert!(deployment.contains("ScalingReplicaSet"), "{deployment}");
    let pods = cluster.kubectl("describe pods -l app=web").await?;
    assert!(pods.contains("Node:") && pods.contains("Status:") && pods.contains("Running"), "{pods}");
    Ok(())
}

#[tokio::test]
async fn custom_kinds_are_found_by_all_their_names() -> anyhow::Result<()> {
    let cluster = Living::start().await?;
    for name in ["promotions", "promotion", "promo"] {
        let found = cluster.kubectl(&format!("get {name} -n shop -o name")).await?;
        assert!(found.lines().count() > 0 && found.starts_with("promotion."), "{found}");
    }
    let resources = cluster.kubectl("api-resources --no-headers").await?;
    let of = |kind: &str| resources.lines().any(|line| line.split_whitespace().next_back() == Some(kind));
    for kind in ["Pod", "Deployment", "CronJob", "Ingress", "Promotion"] {
        assert!(of(kind), "{kind} in {resources}");
    }
    Ok(())
}

#[tokio::test]
async fn waiting_ends_when_the_condition_holds() -> anyhow::Result<()> {
    let cluster = Living::start().await?;
    cluster.kubectl_stdin("apply -f -", WEB).await?;
    let said = cluster.kubectl("wait deploy/web --for=condition=Available --timeout=60s").await?;
    assert_eq!(said, "deployment.apps/web condition met\n");
    let deletion = cluster.kubectl_spawn("wait deploy/web --for=delete --timeout=60s")?;
    cluster.kubectl("delete deploy web").await?;
    assert!(deletion.exit(spindrift_testkit::PATIENCE).await?.success());
    Ok(())
}
