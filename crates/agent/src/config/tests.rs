//! Configuration files of users of the Armory agent.

use spindrift_process::config::{ConfigFiles, Env, Loaded};

use super::*;

fn read(files: &[(&str, &str)]) -> Loaded<AgentConfig> {
    let directory = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(directory.path().join(name), text).unwrap();
    }
    let env = Env::from_iter([("CLOUDDRIVER_GRPC", "from-env:9091")]);
    ConfigFiles::agent(env).with_directory(directory.path()).load::<AgentConfig>().unwrap()
}

fn load(files: &[(&str, &str)]) -> AgentConfig {
    let loaded = read(files);
    assert!(loaded.warnings.is_empty(), "{:?}", loaded.warnings);
    loaded.settings
}

#[test]
fn accounts_are_read_in_both_spellings_with_profiles_over_them() {
    let config = load(&[
        (
            "armory-agent.yml",
            "kubernetes:\n  accounts:\n  - name: a\n    kubeConfigFile: /a\n    omitKinds: [Pod]\n",
        ),
        ("armory-agent-local.yml", "kubernetes.noProxy: true\nprometheus: { enabled: true }\n"),
    ]);
    let [account] = &config.kubernetes.accounts[..] else { panic!("one account") };
    assert_eq!((account.name.as_str(), account.kubeconfig_file.as_deref()), ("a", Some("/a")));
    assert!(config.kubernetes.no_proxy && config.prometheus.enabled);
    assert_eq!(config.clouddriver.grpc, "from-env:9091");
    assert!(config.clouddriver.tls().unwrap().is_none(), "no TLS file is named, so plaintext is spoken");
}

#[test]
fn the_legacy_names_are_read_where_there_is_nothing_newer() {
    let config = load(&[("kubesvc.yaml", "kubernetes: { accounts: [{ name: old, serviceAccount: true }] }")]);
    assert_eq!(config.kubernetes.accounts[0].name, "old");
    let config = load(&[
        ("kubesvc.yaml", "kubernetes: { accounts: [{ name: old, serviceAccount: true }] }"),
        ("armory-agent.yaml", "kubernetes: { accounts: [{ name: new, serviceAccount: true }] }"),
    ]);
    assert_eq!(config.kubernetes.accounts[0].name, "new");
}

#[test]
fn options_of_the_original_are_read_with_their_own_spellings() {
    let config = load(&[(
        "armory-agent.yml",
        r"
clouddriver:
  keepAliveHeartbeatSeconds: 2
  keepAliveTimeOutSeconds: 30
  tls: { clientKeyPassword: a }
  auth: { tokenCommand: { command: gcloud, args: [auth, print], format: RAW, refreshIntervalSeconds: 60 } }
  responseRetries: { enabled: false, maxRetries: 1200, backOffMs: 1 }
kubernetes:
  reconnectTimeoutMs: 5000
  retries: { enabled: false, maxRetries: 1, backOffMs: 1, retryAnyError: true, retryableErrors: [timeout] }
  serverSideApply:
    enabled: Never
    kinds: [{ kind: ConfigMap, enabled: always, clearManagedFields: never, manifestDefaults: allowed }]
server: { ssl: { enabled: false, certFile: a, keyFile: b, keyPassword: c, cacertFile: d, clientAuth: want } }
pprof: { enabled: true, port: 1 }
logging: { multiWrite: true, maxSizeMb: 2, fields: { agentCluster: , team: 7 } }
",
    )]);
    let Clouddriver { tls, auth, response_retries, .. } = &config.clouddriver;
    assert_eq!(tls.client_key_file_password.as_deref(), Some("a"));
    assert_eq!((auth.token_command.format, response_retries.enabled), (TokenFormat::Raw, false));
    let heartbeat = config.clouddriver.heartbeat(Duration::from_secs(5));
    assert_eq!(
        (heartbeat, config.clouddriver.silence(heartbeat)),
        (Duration::from_secs(2), Duration::from_secs(30))
    );
    assert_eq!(config.kubernetes.server_side_apply.kinds[0].enabled, Choice::Always);
    assert_eq!(config.kubernetes.server_side_apply.enabled, Choice::Never);
    assert_eq!(config.server.ssl.key_file_password.as_deref(), Some("c"));
    assert_eq!(config.server.ssl.ca_cert_file.as_deref(), Some("d"));
    let fields: Vec<_> =
        config.logging.fields.iter().map(|(name, value)| (name.as_str(), value.as_deref())).collect();
    assert_eq!(fields, [("agentCluster", None), ("team", Some("7"))]);
}

#[test]
fn a_session_has_pings_whatever_the_keep_alive_says() {
    let pace = |text: &str| {
        let clouddriver = read(&[("armory-agent.yml", text)]).settings.clouddriver;
        let heartbeat = clouddriver.heartbeat(Duration::from_secs(5));
        (heartbeat.as_secs(), clouddriver.silence(heartbeat).as_secs())
    };
    assert_eq!(pace(""), (5, 15), "unset");
    assert_eq!(pace("clouddriver: { keepAliveHeartbeatSeconds: 0, keepAliveTimeOutSeconds: 0 }"), (5, 15));
    assert_eq!(pace("clouddriver: { keepAliveHeartbeatSeconds: 60 }"), (5, 15), "the hub's is quicker");
    assert_eq!(pace("clouddriver: { keepAliveHeartbeatSeconds: 2 }"), (2, 6), "the agent's is quicker");
}

#[test]
fn options_without_effect_say_why_unless_they_ask_for_nothing() {
    let warnings = |text: &str| read(&[("armory-agent.yml", text)]).warnings;
    let text = "kubernetes: { accounts: [{ name: a, skin: v1, oAuthScopes: [] }, { name: b, skin: v2 }] }
hub: { auth: { armory: { clientId: x } } }
dynamicAccounts.enabled: true
certFile: /x
balanceConnection: false
";
    assert_eq!(
        warnings(text),
        [
            "`certFile` has no effect: it is the name of 2020; the client certificate is clouddriver.tls.clientCertFile",
            "`dynamicAccounts` has no effect: accounts come from the agent's own files in this version",
            "`hub` has no effect: it belonged to Armory Cloud, which has ended; the hub is named by clouddriver.grpc",
            "`kubernetes.accounts[].skin` has no effect: Spinnaker has one provider for Kubernetes today",
        ]
    );
    let copied =
        "kubernetes: { accounts: [{ name: a, serviceAccount: true, providerVersion: V2, cacheThreads: 1,
        cachingPolicies: [{ kubernetesKind: pod, maxEntriesPerAgent: 10 }], wibble: 1 }] }";
    let told = warnings(copied);
    assert_eq!(told.len(), 2, "what is copied from Clouddriver and not ours is ignored, and told: {told:?}");
}

#[test]
fn an_account_of_clouddriver_is_read_whole() {
    let account = &load(&[(
        "armory-agent.yml",
        r"
kubernetes:
  accounts:
  - name: prod
    kubeconfigFile: /k
    environment: production
    account-type: main
    onlySpinnakerManaged: yes
    customResources:
    - { kubernetesKind: Cart.example.com, spinnakerKind: serverGroups, deployPriority: 7, versioned: true }
    - { kubernetesKind: Till.example.com }
    cacheAllApplicationRelationships: true
    rawResourcesEndpointConfig: { omitKindExpressions: [pod] }
    checkPermissionsOnStartup: false
    metrics: false
    requiredGroupMembership: [sre]
    cachingPolicies: [{ kubernetesKind: pod, maxEntriesPerAgent: 10 }]
    cacheThreads: 3
    cacheIntervalSeconds: 5
",
    )])
    .kubernetes
    .accounts[0];
    assert_eq!(account.check_spinnaker(), Ok(()));
    assert_eq!(account.check_scope(), Ok(()));
    assert_eq!(account.caching_policies[0].max_entries_per_agent, Some(10));
    let told: serde_json::Value = serde_json::from_str(&account.properties()).unwrap();
    let cart = &told["customResources"][0];
    assert_eq!((&cart["deployPriority"], &cart["namespaced"]), (&"7".into(), &true.into()));
    assert_eq!((&told["environment"], &told["accountType"]), (&"production".into(), &"main".into()));
    assert_eq!((&told["onlySpinnakerManaged"], &told["metrics"]), (&true.into(), &false.into()));
    assert_eq!((&told["cacheThreads"], &told["cacheIntervalSeconds"]), (&3.into(), &5.into()));
    assert_eq!(told["rawResourcesEndpointConfig"]["omitKindExpressions"][0], "pod");
}

#[test]
fn secrets_are_never_shown() {
    let config = load(&[(
        "armory-agent.yml",
        "clouddriver: { auth: { token: hunter2 }, tls: { clientKeyFilePassword: hunter2 } }
server.ssl.keyFilePassword: hunter2
kubernetes: { accounts: [{ name: a, kubeconfigContents: hunter2 }] }",
    )]);
    assert!(!serde_json::to_string(&config).unwrap().contains("hunter2"));
}

#[test]
fn options_of_the_watch_engine_are_read_without_a_warning() {
    let config = load(&[(
        "armory-agent.yml",
        "tasks: { totalBudget: 7, budgetPerAccount: 0 }\n\
         kubernetes:\n  cacheGroupSize: 5\n  cacheGroupDelayMs: 5000\n  watches: { silenceMs: 9 }\n  accounts:\n\
         \x20 - { name: a, omitNamespaces: [x], onlyNamespacedResources: true, namespaces: [y],\n\
         \x20     customResourceDefinitions: [{ kind: Cart.example.com, scope: Cluster }, { kind: Till.example.com }] }\n",
    )]);
    let limits = config.limits();
    assert_eq!((limits.total, limits.per_account, limits.group_size), (7, 0, 5));
    assert_eq!(limits.group_delay, Duration::from_secs(5));
    assert_eq!(config.kubernetes.watches.timeouts().denied_retry, Duration::from_mins(5));
    let endless = load(&[(
        "armory-agent.yml",
        "kubernetes: { cacheGroupDelayMs: 18446744073709551615, watches: { deniedRetryMs: 18446744073709551615 } }",
    )]);
    let now = tokio::time::Instant::now();
    assert!(now.checked_add(endless.limits().group_delay).is_some(), "the clock reaches that far");
    assert!(now.checked_add(endless.kubernetes.watches.timeouts().denied_retry).is_some());
    let scopes =
        config.kubernetes.accounts[0].custom_resource_definitions.iter().map(|declared| declared.scope);
    assert_eq!(scopes.collect::<Vec<_>>(), [CustomResourceScope::Cluster, CustomResourceScope::Namespaced]);
}
