//! Credentials with few permissions: readable kinds flow, the others are reported, and tried again.

use serde_json::{Value, json};
use spindrift_testkit::{AgentProcess, Cluster, assert_converged, binary, eventually};

use crate::support::{CONFIG_MAPS, LONG, Stack, account};

/// Lets a user list and watch, or only one of both, in one namespace.
async fn grant(cluster: &Cluster, user: &str, namespace: &str, verbs: &str, resources: &str) {
    let role = format!("{user}-{}", resources.replace(',', "-"));
    let (verbs, resources) = (format!("--verb={verbs}"), format!("--resource={resources}"));
    cluster.kubectl(&["create", "role", &role, "-n", namespace, &verbs, &resources]).await.unwrap();
    let (bound, who) = (format!("--role={role}"), format!("--user={user}"));
    cluster.kubectl(&["create", "rolebinding", &role, "-n", namespace, &bound, &who]).await.unwrap();
}

/// `Kind namespace phase` of each watch of an account, as the hub shows it.
async fn phases(stack: &Stack, account: &str) -> Vec<String> {
    let watches = stack.hub.get(&format!("/v1/watches?account={account}")).await.unwrap();
    let text = |value: &Value| value.as_str().unwrap_or("<all>").to_owned();
    let phase = |watch: &Value| {
        format!("{} {} {}", text(&watch["kind"]), text(&watch["namespace"]), text(&watch["phase"]))
    };
    let mut phases: Vec<_> = watches.as_array().unwrap().iter().map(phase).collect();
    phases.sort();
    phases
}

/// State column of `spindrift accounts`.
fn accounts_table(stack: &Stack) -> String {
    let output = std::process::Command::new(binary("spindrift").unwrap())
        .args(["accounts"])
        .env("SPINDRIFT_HUB", stack.hub.url())
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn denied_scopes_are_reported_on_both_sides_and_picked_up_when_granted() {
    let cluster = Cluster::shared().await.unwrap();
    let mut namespaces = Vec::new();
    for _ in 0..3 {
        namespaces.push(cluster.namespace("limited").await.unwrap());
    }
    let [one, two, three] = &namespaces[..] else { panic!("three namespaces") };
    let user = format!("user-{one}");
    for namespace in [one, two] {
        grant(cluster, &user, namespace, "list,watch", "configmaps").await;
    }
    // A kind that may be listed and not watched is as good as none, and so is the other way round.
    grant(cluster, &user, one, "list", "services").await;
    grant(cluster, &user, one, "watch", "secrets").await;
    let kubeconfig = cluster.kubeconfig_for(&user).unwrap();
    let limited = json!({ "name": "limited", "kubeconfigFile": kubeconfig, "namespaces": namespaces });
    let settings = [("/kubernetes/watches", json!({ "silenceMs": 2000, "deniedRetryMs": 2000 }))];
    let kinds = ["ConfigMap", "Secret", "Service"];
    let stack = Stack::with_settings(&kinds, json!([limited]), &settings).await;
    stack.synced("limited").await;

    // Two of three namespaces work; the hub reports at once which kinds will not come.
    for namespace in [one, two] {
        cluster.kubectl(&["create", "configmap", "seen", "-n", namespace]).await.unwrap();
    }
    let expected = [format!("ConfigMap. {one}/seen"), format!("ConfigMap. {two}/seen")];
    let config_maps = async || -> Vec<String> {
        let names = stack.names("limited").await;
        names.into_iter().filter(|name| name.ends_with("/seen")).collect()
    };
    eventually!("both namespaces flow", LONG, config_maps().await == expected);
    let denied = |account: &Value| account["denied"].as_u64().unwrap_or_default();
    let shown = eventually!("the hub says what is denied", LONG, {
        let account = stack.account("limited").await;
        (denied(&account) == 7 && account["listing"] == 0).then_some(account)
    });
    assert_eq!(shown["watches"], 9);
    let table = accounts_table(&stack);
    assert!(table.contains("live 2/2, 7 denied"), "{table}");
    let watches = stack.hub.get("/v1/watches?account=limited").await.unwrap();
    let reason = |kind: &str| {
        let watches = watches.as_array().unwrap().iter();
        let mut found = watches.filter(|watch| watch["kind"] == kind && watch["namespace"] == **one);
        found.next().unwrap()["denied"].as_str().unwrap().to_owned()
    };
    assert_eq!(reason("Service"), format!("watch of services in namespace {one} is forbidden"));
    assert_eq!(reason("Secret"), format!("list of secrets in namespace {one} is forbidden"));
    let account = &stack.agent.get("/accounts").await.unwrap()[0];
    assert_eq!(account["Denied"].as_array().unwrap().len(), 7, "{account}");

    // A new session does not begin by asking all of it again, nor by complaining again.
    let complaints = || stack.agent.daemon().log().matches("not allowed to list and watch").count();
    assert_eq!(complaints(), 7);
    stack.link.cut();
    eventually!("the session ends", LONG, stack.metric("kubesvc_disconnection_total").await == 1);
    stack.link.heal();
    stack.synced("limited").await;
    assert_eq!(complaints(), 7);

    // Granted permissions are picked up.
    grant(cluster, &user, three, "list,watch", "configmaps").await;
    cluster.kubectl(&["create", "configmap", "seen", "-n", three]).await.unwrap();
    eventually!("the third namespace flows", LONG, config_maps().await.len() == 3);
    eventually!("the hub says so", LONG, denied(&stack.account("limited").await) == 6);

    // Revoked kinds stay, are marked as old, and come back when they are allowed again.
    cluster.kubectl(&["delete", "rolebinding", "-n", two, &format!("{user}-configmaps")]).await.unwrap();
    let revoked = format!("ConfigMap {two} denied");
    eventually!("the hub knows that it is old", LONG, phases(&stack, "limited").await.contains(&revoked));
    cluster.kubectl(&["delete", "configmap", "seen", "-n", two]).await.unwrap();
    assert_eq!(config_maps().await.len(), 3, "what was there is shown, as old");
    let bind = [
        "create",
        "rolebinding",
        "again",
        "-n",
        two,
        &format!("--role={user}-configmaps"),
        &format!("--user={user}"),
    ];
    cluster.kubectl(&bind).await.unwrap();
    eventually!("what happened meanwhile arrives", LONG, config_maps().await.len() == 2);
    assert!(phases(&stack, "limited").await.contains(&format!("ConfigMap {two} live")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recreated_role_binding_is_picked_up_within_moments() {
    let cluster = Cluster::shared().await.unwrap();
    let namespace = &cluster.namespace("rebound").await.unwrap();
    let user = format!("user-{namespace}");
    grant(cluster, &user, namespace, "list,watch", "configmaps").await;
    let kubeconfig = cluster.kubeconfig_for(&user).unwrap();
    let account = json!({ "name": "main", "kubeconfigFile": kubeconfig, "namespaces": [namespace] });
    // Denied kinds are tried again after the default of five minutes, for which no test waits.
    let settings = [("/kubernetes/watches", json!({ "silenceMs": 2000 }))];
    let stack = Stack::with_settings(&["ConfigMap"], json!([account]), &settings).await;
    stack.synced("main").await;

    let name = format!("{user}-configmaps");
    cluster.kubectl(&["delete", "rolebinding", "-n", namespace, &name]).await.unwrap();
    eventually!("the refusal is seen", LONG, {
        let watches = stack.agent.get("/watches").await.unwrap();
        watches["main"]["waiting"][0]["error"].as_str().is_some_and(|error| error.contains("forbidden"))
    });
    let (role, who) = (format!("--role={name}"), format!("--user={user}"));
    cluster.kubectl(&["create", "rolebinding", "-n", namespace, &name, &role, &who]).await.unwrap();
    cluster.kubectl(&["create", "configmap", "after", "-n", namespace]).await.unwrap();
    let after = format!("ConfigMap. {namespace}/after");
    eventually!("it flows again", LONG, stack.names("main").await.contains(&after));
}

#[tokio::test(flavor = "multi_thread")]
async fn declared_namespaces_and_definitions_stand_in_until_the_real_ones_may_be_read() {
    let cluster = Cluster::shared().await.unwrap();
    let namespace = cluster.namespace("declared").await.unwrap();
    let user = format!("user-{namespace}");
    grant(cluster, &user, &namespace, "list,watch", "configmaps").await;
    cluster.kubectl(&["create", "configmap", "seen", "-n", &namespace]).await.unwrap();
    let declared = json!({
        "name": "declared",
        "kubeconfigFile": cluster.kubeconfig_for(&user).unwrap(),
        "namespaces": [namespace],
        "customResourceDefinitions": [
            { "kind": "Cart.declared.example.com" },
            { "kind": "Till.declared.example.com", "scope": "Cluster" },
        ],
    });
    let only_namespaced = {
        let mut account = declared.clone();
        account["name"] = "only-namespaced".into();
        account["onlyNamespacedResources"] = true.into();
        account
    };
    let mistaken = json!({
        "name": "mistaken", "kubeconfigFile": cluster.kubeconfig(), "onlyNamespacedResources": true,
    });
    let kinds = ["ConfigMap", "Namespace", "CustomResourceDefinition", "Node"];
    let settings = [("/kubernetes/watches", json!({ "deniedRetryMs": 2000 }))];
    let accounts = json!([declared, only_namespaced, mistaken]);
    let stack = Stack::with_settings(&kinds, accounts, &settings).await;

    let expected = [
        format!("ConfigMap. {namespace}/seen"),
        "CustomResourceDefinition.apiextensions.k8s.io /carts.declared.example.com".to_owned(),
        "CustomResourceDefinition.apiextensions.k8s.io /tills.declared.example.com".to_owned(),
        format!("Namespace. /{namespace}"),
    ];
    for account in ["declared", "only-namespaced"] {
        eventually!(format!("{account} shows what it declares"), LONG, {
            let names = stack.names(account).await;
            anyhow::ensure!(names == expected, "{names:?}");
            Ok(())
        });
    }
    let query = [("account", "only-namespaced"), ("kind", "Namespace")];
    let stand_in = stack.hub.objects(&query).await.unwrap().remove(0);
    assert_eq!(stand_in.object["metadata"]["annotations"]["spindrift.io/synthetic"], "true");
    assert_eq!(stack.account("only-namespaced").await["denied"], 0, "what is never asked for is not denied");
    assert_eq!(stack.account("declared").await["denied"], 3, "Namespace, CustomResourceDefinition, Node");
    let accounts = stack.agent.get("/accounts?Config.Name=mistaken").await.unwrap();
    let mistaken = accounts.as_array().unwrap().iter().find(|it| it["Config"]["Name"] == "mistaken").unwrap();
    assert!(
        mistaken["State"]["Error"].as_str().unwrap().contains("onlyNamespacedResources needs namespaces")
    );

    // The real one takes its place.
    let role = format!("read-{namespace}");
    let create = ["create", "clusterrole", &role, "--verb=list,watch", "--resource=namespaces"];
    cluster.kubectl(&create).await.unwrap();
    let (bound, who) = (format!("--clusterrole={role}"), format!("--user={user}"));
    cluster.kubectl(&["create", "clusterrolebinding", &role, &bound, &who]).await.unwrap();
    let query = [("account", "declared"), ("kind", "Namespace")];
    let real = eventually!("the real namespace is there", LONG, {
        let objects = stack.hub.objects(&query).await.unwrap();
        objects.into_iter().find(|object| !object.uid.starts_with("synthetic"))
    });
    assert_eq!(real.name, namespace, "and only the one that the account is limited to");
    assert_eq!(stack.hub.objects(&query).await.unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn omitted_namespaces_are_left_out_and_come_back_with_the_configuration() {
    let cluster = Cluster::builder().bare().start().await.unwrap();
    let kept = cluster.namespace("kept").await.unwrap();
    let omitted = cluster.namespace("omitted").await.unwrap();
    for namespace in [&kept, &omitted] {
        cluster.kubectl(&["create", "configmap", "seen", "-n", namespace]).await.unwrap();
    }
    let mut main = account("main", &cluster);
    main["omitNamespaces"] = json!([omitted, "kube-system"]);
    let mut stack = Stack::with_settings(&["ConfigMap", "Namespace"], json!([main]), &[]).await;
    let has = async |stack: &Stack, namespace: &str| {
        let names = stack.names("main").await;
        let of = [format!("ConfigMap. {namespace}/seen"), format!("Namespace. /{namespace}")];
        of.iter().filter(|name| names.contains(name)).count()
    };
    eventually!("one namespace is there", LONG, has(&stack, &kept).await == 2);
    stack.synced("main").await;
    // Changes in the other one are not sent either; the kept one's change comes after it.
    cluster.kubectl(&["label", "configmap", "seen", "-n", &omitted, "a=b"]).await.unwrap();
    cluster.kubectl(&["create", "configmap", "after", "-n", &kept]).await.unwrap();
    let after = format!("ConfigMap. {kept}/after");
    eventually!("the later change is there", LONG, stack.names("main").await.contains(&after));
    assert_eq!(has(&stack, &omitted).await, 0);

    // Another filter is another list, though the hub could resume.
    let names = [omitted.clone(), kept.clone()];
    for (omit, left) in [(&names[1..], &omitted), (&names[..1], &kept)] {
        stack.agent.configure(|all| all["kubernetes"]["accounts"][0]["omitNamespaces"] = json!(omit));
        stack.agent.restart().unwrap();
        eventually!("the other namespace is there", LONG, has(&stack, left).await == 2);
        eventually!("and the first is not", LONG, has(&stack, &omit[0]).await == 0);
    }
    stack.agent.configure(|all| all["kubernetes"]["accounts"][0]["omitNamespaces"] = json!([]));
    stack.agent.restart().unwrap();
    assert_converged(&cluster, &stack.hub, "main", &[CONFIG_MAPS, ("", "v1", "Namespace", "namespaces")])
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_shows_less_is_not_promoted_without_a_word() {
    let cluster = Cluster::shared().await.unwrap();
    let namespace = cluster.namespace("succession").await.unwrap();
    let user = format!("user-{namespace}");
    grant(cluster, &user, &namespace, "list,watch", "configmaps").await;
    for kind in ["configmap", "serviceaccount"] {
        cluster.kubectl(&["create", kind, "seen", "-n", &namespace]).await.unwrap();
    }
    let account = |kubeconfig: &std::path::Path| json!([{ "name": "main", "kubeconfigFile": kubeconfig, "namespaces": [namespace] }]);
    let kinds = ["ConfigMap", "ServiceAccount"];
    let mut stack = Stack::with_settings(&kinds, account(cluster.kubeconfig()), &[]).await;
    stack.hub.configure("/kubesvc/cache/narrowerAgentGraceSeconds", json!(3600));
    stack.hub.restart().await.unwrap();
    stack.synced("main").await;
    let both = [format!("ConfigMap. {namespace}/seen"), format!("ServiceAccount. {namespace}/seen")];
    eventually!("all is there", LONG, stack.names("main").await == both);

    // The primary dies; the only standby may not read all that it could.
    let narrow = cluster.kubeconfig_for(&user).unwrap();
    let standby = AgentProcess::start("agent-b", stack.hub.grpc(), &account(&narrow)).unwrap();
    eventually!("it is connected", LONG, stack.hub.metric("spindrift_hub_sessions").await.unwrap() == 2);
    stack.agent.kill();
    let less = format!(
        "agent agent-b shows less of the account than agent agent-a did: ServiceAccount in {namespace}"
    );
    eventually!("the hub says why nobody caches it", LONG, stack.account("main").await["problem"] == less);
    eventually!("and so does the agent", LONG, {
        standby.get("/accounts").await.unwrap()[0]["Problems"].to_string().contains(&less)
    });
    assert_eq!(stack.account("main").await["cachedBy"], Value::Null);
    assert_eq!(stack.names("main").await, both, "what it cannot see is not taken for gone");

    // One that sees all takes over.
    stack.agent.restart().unwrap();
    eventually!("the primary is back", LONG, stack.account("main").await["cachedBy"] == "agent-a");

    // Without another agent, it is accepted after all, and reported.
    stack.hub.configure("/kubesvc/cache/narrowerAgentGraceSeconds", json!(0));
    stack.hub.restart().await.unwrap();
    eventually!("the primary attaches again", LONG, stack.account("main").await["cachedBy"] == "agent-a");
    stack.synced("main").await;
    stack.agent.kill();
    eventually!("the standby is taken", LONG, stack.account("main").await["cachedBy"] == "agent-b");
    eventually!("what it may not read stays, and is said to be old", LONG, {
        phases(&stack, "main").await.contains(&format!("ServiceAccount {namespace} denied"))
    });
    assert_eq!(stack.names("main").await, both);
    assert_eq!(stack.account("main").await["problem"], less);
}
