//! Values: from the environment, in place of placeholders, as other types, and misfits.

use super::*;

#[test]
fn environment_overrides_known_keys_only() {
    let env = [
        ("CLOUDDRIVER_GRPC", "env:1"),
        ("CLOUDDRIVER_INSECURE", "false"),
        ("TIMEOUTSECONDS", "12"),
        ("KUBERNETES_RETRYABLEERRORS", "a, b"),
        ("CLOUDDRIVER_NONSENSE", "x"),
        ("PROMETHEUS_PORT", "tcp://10.0.0.1:9090"),
    ];
    let loaded = load(&[("armory-agent.yaml", "clouddriver: {grpc: file, mode: ALWAYS}")], &env).unwrap();
    let Settings { clouddriver, kubernetes, prometheus, timeout_seconds, .. } = loaded.settings;
    assert_eq!((clouddriver.grpc.as_str(), clouddriver.insecure), ("env:1", false));
    assert_eq!(clouddriver.mode, Mode::Always);
    assert_eq!(timeout_seconds, 12);
    assert_eq!(kubernetes.retryable_errors, ["a", "b"]);
    assert_eq!(prometheus.port, 0);
    assert_eq!(
        loaded.warnings,
        [
            "environment variable PROMETHEUS_PORT is not used for `prometheus.port`: it describes a Kubernetes service"
        ]
    );
}

#[test]
fn placeholders_take_keys_then_environment_then_default() {
    let cases = [
        ("clouddriver.grpc: ${HOST}:9091", "env-host:9091"),
        ("clouddriver.grpc: ${my.host}\nmy: {host: mine}", "mine"),
        ("clouddriver.grpc: ${HOST}\nHOST: key-wins", "key-wins"),
        ("clouddriver.grpc: ${NONE:fallback:1}", "fallback:1"),
        ("clouddriver.grpc: '${NONE:${HOST}}/${NONE:}'", "env-host/"),
        ("clouddriver.grpc: ${timeout-seconds}s\ntimeoutSeconds: 7", "7s"),
        ("clouddriver.grpc: 'secret!p:${'", "secret!p:${"),
    ];
    for (text, grpc) in cases {
        let loaded = load(&[("armory-agent.yaml", text)], &[("HOST", "env-host")]).unwrap();
        assert_eq!(loaded.settings.clouddriver.grpc, grpc, "{text}");
    }
    let numbers = load(&[("armory-agent.yaml", "timeoutSeconds: ${T}")], &[("T", "5")]).unwrap();
    assert_eq!(numbers.settings.timeout_seconds, 5);
}

#[test]
fn placeholder_for_nothing_stays_and_warns() {
    let loaded = base("clouddriver.grpc: a-${NOBODY}");
    assert_eq!(loaded.settings.clouddriver.grpc, "a-${NOBODY}");
    assert_eq!(
        loaded.warnings,
        ["`clouddriver.grpc`: `${NOBODY}` names no key and no environment variable; left as it is"]
    );
}

#[test]
fn placeholder_cycle_names_the_keys() {
    let error =
        load(&[("armory-agent.yaml", "clouddriver.grpc: ${a.b}\na: {b: '${clouddriver.grpc}'}")], &[])
            .unwrap_err();
    assert_eq!(
        error.to_string(),
        "placeholder of key `clouddriver.grpc` refers to itself: clouddriver.grpc -> a.b -> clouddriver.grpc"
    );
}

#[test]
fn numbers_stand_for_strings_as_they_were_written() {
    let loaded = base(
        "kubernetes.accounts:\n- name: 0123\n  namespaces: [1.10, true, x]\n  permissions: {READ: [7]}\n\
         logging.fields: {a.b: 1.50}\nprometheus: {port: '8008'}",
    );
    let account = loaded.settings.kubernetes.accounts.first().unwrap();
    assert_eq!(account.name, "0123");
    assert_eq!(account.namespaces, ["1.10", "true", "x"]);
    assert_eq!(account.permissions["READ"], ["7"]);
    assert_eq!(loaded.settings.logging.fields["a.b"], "1.50");
    assert_eq!(loaded.settings.prometheus.port, 8008);
}

#[test]
fn misfits_name_key_value_expectation_and_place() {
    let cases = [
        (
            "clouddriver:\n  insecure: maybe",
            "clouddriver.insecure: invalid type: string \"maybe\", expected a boolean",
            ":2:13)",
        ),
        (
            "prometheus: {port: 70000}",
            "prometheus.port: invalid value: integer `70000`, expected u16",
            ":1:20)",
        ),
        (
            "kubernetes: {accounts: [{name: [x]}]}",
            "kubernetes.accounts[0].name: invalid type: sequence, expected a string",
            ":1:32)",
        ),
        (
            "clouddriver: {mode: nope}",
            "clouddriver.mode: unknown variant `nope`, expected `always` or `allowed`",
            ":1:21)",
        ),
    ];
    for (text, what, place) in cases {
        let message = load(&[("armory-agent.yaml", text)], &[]).unwrap_err().to_string();
        assert!(message.starts_with(what) && message.ends_with(place), "{message}");
        assert!(message.contains("armory-agent.yaml"), "{message}");
    }
    let error = load(&[], &[("PROMETHEUS_PORT", "many")]).unwrap_err().to_string();
    assert!(error.ends_with("(environment variable PROMETHEUS_PORT)"), "{error}");
}

#[test]
fn effective_settings_hide_secrets() {
    #[derive(Serialize)]
    struct Secrets {
        #[serde(serialize_with = "redact::secret")]
        token: String,
        #[serde(serialize_with = "redact::optional")]
        password: Option<String>,
        #[serde(serialize_with = "redact::optional")]
        none: Option<String>,
    }
    let secrets = Secrets { token: "t0p".into(), password: Some("t0p".into()), none: None };
    let text = serde_json::to_string(&secrets).unwrap();
    assert_eq!(text, r#"{"token":"<redacted>","password":"<redacted>","none":null}"#);
}
