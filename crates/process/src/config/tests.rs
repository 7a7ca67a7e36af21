//! The whole way from files to settings: which files, which keys.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use super::*;

mod values;

#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Settings {
    clouddriver: Clouddriver,
    kubernetes: Kubernetes,
    prometheus: Prometheus,
    logging: LoggingSettings,
    timeout_seconds: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Clouddriver {
    grpc: String,
    insecure: bool,
    multiplier: f64,
    client_key_file_password: Option<String>,
    mode: Mode,
}

#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Mode {
    Always,
    #[default]
    Allowed,
}

#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Kubernetes {
    accounts: Vec<Account>,
    retryable_errors: Vec<String>,
}

#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Account {
    name: String,
    kubeconfig_file: Option<String>,
    namespaces: Vec<String>,
    permissions: BTreeMap<String, Vec<String>>,
}

#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Prometheus {
    port: u16,
}

#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct LoggingSettings {
    fields: BTreeMap<String, String>,
}

impl Default for Clouddriver {
    fn default() -> Self {
        Self {
            grpc: "spin-clouddriver-grpc:9091".into(),
            insecure: true,
            multiplier: 1.6,
            client_key_file_password: None,
            mode: Mode::default(),
        }
    }
}

impl Schema for Settings {
    fn example() -> Self {
        let account = Account { namespaces: vec![String::new()], ..Account::default() };
        let kubernetes = Kubernetes { accounts: vec![account], retryable_errors: vec![String::new()] };
        Self { kubernetes, ..Self::default() }
    }

    fn free_form() -> &'static [&'static str] {
        &["kubernetes.accounts[].permissions"]
    }

    fn aliases() -> &'static [(&'static str, &'static str)] {
        &[("clouddriver.clientKeyPassword", "clientKeyFilePassword")]
    }

    fn contained() -> &'static [&'static str] {
        &["kubernetes.accounts[]"]
    }

    fn strict() -> &'static [&'static str] {
        &["clouddriver.insecure", "prometheus"]
    }

    fn limited_options(&self, is_set: &dyn Fn(&str) -> bool) -> Vec<String> {
        let is_limited = self.timeout_seconds == 0 && is_set("timeoutSeconds");
        is_limited.then(|| "timeoutSeconds".to_owned()).into_iter().collect()
    }
}

/// Loads the agent's settings from files given as name and text.
fn load(files: &[(&str, &str)], env: &[(&str, &str)]) -> Result<Loaded<Settings>, ConfigError> {
    let directory = directory(files);
    ConfigFiles::agent(env.iter().copied().collect()).with_directory(directory.path()).load()
}

fn directory(files: &[(&str, &str)]) -> TempDir {
    let directory = TempDir::new().unwrap();
    for (name, text) in files {
        std::fs::write(directory.path().join(name), text).unwrap();
    }
    directory
}

fn base(text: &str) -> Loaded<Settings> {
    load(&[("armory-agent.yaml", text)], &[]).unwrap()
}

#[test]
fn profiles_override_the_base_in_order() {
    let files = [
        ("armory-agent.yaml", "clouddriver: {grpc: base, multiplier: 2}"),
        ("armory-agent-armory.yaml", "clouddriver: {grpc: armory}"),
        ("armory-agent-local.yml", "clouddriver: {insecure: false}"),
        ("armory-agent-prod.yaml", "clouddriver: {grpc: prod}"),
    ];
    let cases = [
        (vec![], "armory", false),
        (vec![("SPRING_PROFILES_ACTIVE", "local, prod")], "prod", false),
        (vec![("PROFILES_ACTIVE", "prod")], "prod", true),
        (vec![("SPRING_PROFILES_ACTIVE", "prod"), ("PROFILES_ACTIVE", "local")], "prod", true),
    ];
    for (env, grpc, insecure) in cases {
        let loaded = load(&files, &env).unwrap();
        let found = loaded.settings.clouddriver;
        assert_eq!((found.grpc.as_str(), found.insecure), (grpc, insecure), "{env:?}");
        assert!((found.multiplier - 2.0).abs() < f64::EPSILON);
    }
}

#[test]
fn overlays_replace_lists_and_win_with_false_zero_and_null() {
    let loaded = load(
        &[
            (
                "armory-agent.yaml",
                "timeoutSeconds: 9\nclouddriver: {grpc: base, insecure: true}\nkubernetes: {retryableErrors: [a, b]}",
            ),
            (
                "armory-agent-local.yaml",
                "timeoutSeconds: 0\nclouddriver: {grpc: null, insecure: false}\nkubernetes: {retryableErrors: [c]}",
            ),
        ],
        &[],
    )
    .unwrap();
    assert_eq!(loaded.settings.timeout_seconds, 0);
    assert!(!loaded.settings.clouddriver.insecure);
    assert_eq!(loaded.settings.clouddriver.grpc, Clouddriver::default().grpc);
    assert_eq!(loaded.settings.kubernetes.retryable_errors, ["c"]);
}

#[test]
fn keys_match_in_any_spelling() {
    for text in [
        "kubernetes: {accounts: [{kubeconfigFile: x}]}",
        "kubernetes: {accounts: [{kubeConfigFile: x}]}",
        "Kubernetes: {accounts: [{kubeconfig-file: x}]}",
        "kubernetes.accounts: [{KUBECONFIG_FILE: x}]",
    ] {
        let loaded = base(text);
        let account = loaded.settings.kubernetes.accounts.first().unwrap();
        assert_eq!(account.kubeconfig_file.as_deref(), Some("x"), "{text}");
        assert_eq!(loaded.warnings, [""; 0], "{text}");
    }
    let aliased = base("clouddriver.client-key-password: s").settings.clouddriver;
    assert_eq!(aliased.client_key_file_password.as_deref(), Some("s"));
}

#[test]
fn spellings_of_one_key_merge_across_files() {
    let loaded = load(
        &[
            ("armory-agent.yaml", "clouddriver.grpc: a"),
            ("armory-agent-local.yaml", "CloudDriver:\n  GRPC: b"),
        ],
        &[],
    )
    .unwrap();
    assert_eq!(loaded.settings.clouddriver.grpc, "b");
}

#[test]
fn unknown_keys_warn_once_with_the_nearest() {
    let loaded = base(
        "clouddriver: {multiplyer: 2, xyz: {deep: 1}}\nspring: {profiles: x}\n\
         kubernetes: {accounts: [{name: a, omitKind: []}, {name: b, omitKind: [], namespace: [x]}]}",
    );
    assert_eq!(
        loaded.warnings,
        [
            "unknown key `clouddriver.multiplyer`: did you mean `clouddriver.multiplier`?",
            "unknown key `clouddriver.xyz` is ignored",
            "unknown key `kubernetes.accounts[].omitKind` is ignored",
            "unknown key `kubernetes.accounts[].namespace`: did you mean `kubernetes.accounts[].namespaces`?",
        ]
    );
    assert!(loaded.settings.clouddriver.insecure);
}

#[test]
fn legacy_name_counts_only_alone() {
    let legacy = [("kubesvc.yml", "clouddriver.grpc: old"), ("kubesvc-local.yml", "timeoutSeconds: 3")];
    let loaded = load(&legacy, &[]).unwrap();
    assert_eq!((loaded.settings.clouddriver.grpc.as_str(), loaded.settings.timeout_seconds), ("old", 3));

    let loaded = load(&[legacy[0], ("armory-agent-local.yaml", "clouddriver.grpc: new")], &[]).unwrap();
    assert_eq!(loaded.settings.clouddriver.grpc, "new");
    assert_eq!(loaded.files.len(), 1);
}

#[test]
fn yaml_comes_before_yml() {
    let files =
        [("armory-agent.yml", "clouddriver.grpc: yml"), ("armory-agent.yaml", "clouddriver.grpc: yaml")];
    assert_eq!(load(&files, &[]).unwrap().settings.clouddriver.grpc, "yaml");
}

#[test]
fn nothing_found_is_a_warning() {
    let loaded = load(&[], &[]).unwrap();
    assert_eq!(loaded.settings, Settings::default());
    let [warning] = loaded.warnings.as_slice() else { panic!("{:?}", loaded.warnings) };
    assert!(warning.starts_with("no configuration file found in /") && warning.ends_with("; using defaults"));
}

#[test]
fn file_asked_for_by_name_must_exist_and_brings_its_profiles() {
    let directory =
        directory(&[("my.conf.yml", "clouddriver.grpc: a"), ("my.conf-local.yml", "timeoutSeconds: 4")]);
    let files = ConfigFiles::hub(Env::default());
    let loaded: Loaded<Settings> =
        files.clone().with_file(directory.path().join("my.conf.yml")).load().unwrap();
    assert_eq!((loaded.settings.clouddriver.grpc.as_str(), loaded.settings.timeout_seconds), ("a", 4));

    let missing = files.with_file(directory.path().join("none.yml")).load::<Settings>().unwrap_err();
    assert!(matches!(missing, ConfigError::Read { .. }), "{missing}");
}

#[test]
fn imported_file_is_laid_over_the_others() {
    let extra = directory(&[("extra.yaml", "clouddriver.grpc: imported")]);
    let path = extra.path().join("extra.yaml");
    let text = format!("spring.config.import: file:{}\nclouddriver.grpc: base", path.display());
    let loaded = base(&text);
    assert_eq!(loaded.settings.clouddriver.grpc, "imported");
    assert_eq!(loaded.files.last(), Some(&path));
    assert!(base("spring: {config: {import: 'optional:file:/none.yaml'}}").warnings.is_empty());
}

#[test]
fn a_reference_that_cannot_be_resolved_is_an_error_except_in_an_account() {
    let vault = "'encrypted:vault!e:kv!p:x!k:y'";
    let in_account = format!("kubernetes: {{accounts: [{{name: a, kubeconfigFile: {vault}}}, {{name: b}}]}}");
    let loaded = base(&in_account);
    let keys: Vec<_> = loaded.problems.iter().map(|problem| problem.key.as_str()).collect();
    assert_eq!(keys, ["kubernetes.accounts[0].kubeconfigFile"]);
    assert_eq!(loaded.settings.kubernetes.accounts.len(), 2);
    for (text, key) in [
        (format!("clouddriver: {{insecure: {vault}}}"), "clouddriver.insecure"),
        (format!("clouddriver: {{grpc: {vault}}}"), "clouddriver.grpc"),
        (format!("kubernetes: {{retryableErrors: [{vault}]}}"), "kubernetes.retryableErrors[0]"),
        (format!("kubernetes: {{accounts: {vault}}}"), "kubernetes.accounts"),
        ("clouddriver: {mode: sometimes}".to_owned(), "clouddriver.mode"),
        ("clouddriver: {insecure: perhaps}".to_owned(), "clouddriver.insecure"),
    ] {
        let error = load(&[("armory-agent.yaml", &text)], &[]).unwrap_err().to_string();
        assert!(error.starts_with(&format!("{key}: ")), "{text}: {error}");
    }
}

#[test]
fn unknown_keys_are_errors_where_the_default_is_weaker() {
    for (text, words) in [
        (
            "clouddriver: {insecur: false}",
            "unknown key `clouddriver.insecur`: did you mean `clouddriver.insecure`?",
        ),
        ("prometheus: {colour: red}", "unknown key `prometheus.colour`: remove it"),
        ("prometeus: {port: 1}", "unknown key `prometeus`: did you mean `prometheus`?"),
    ] {
        let error = load(&[("armory-agent.yaml", text)], &[]).unwrap_err().to_string();
        assert!(error.starts_with(words), "{text}: {error}");
    }
    assert_eq!(base("clouddriver: {colour: red}").warnings.len(), 1, "elsewhere they are warnings");
}

#[test]
fn options_with_limits_are_told_apart_from_defaults() {
    assert_eq!(base("clouddriver: {grpc: x}").warnings, [""; 0]);
    assert_eq!(base("timeout-seconds: 0").warnings, ["timeoutSeconds"]);
    let loaded = load(&[("armory-agent.yaml", "{}")], &[("TIMEOUTSECONDS", "0")]).unwrap();
    assert_eq!(loaded.warnings, ["timeoutSeconds"]);
}
