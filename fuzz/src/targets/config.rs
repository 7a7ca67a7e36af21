//! Configuration: every text is accepted, or refused with a sentence.

use spindrift_agent::config::AgentConfig;
use spindrift_kubernetes::{InvalidRedaction, RedactRule, Redactions};
use spindrift_process::config::{ConfigFiles, Env};

use super::behaviour;
use crate::Target;

pub(super) const AGENT: Target = Target {
    name: "config",
    seeds: &[
        "clouddriver:\n  grpc: hub:9091\n  tls: { cacertFile: /a, insecureSkipVerify: true }\nkubernetes:\n  accounts:\n  - name: a\n    kubeconfigFile: /k\n    kinds: [Pod]\n    redact:\n    - kind: cm\n      paths: ['data.*']\n",
        "kubernetes.noProxy: ${NAME:true}\nserver: {host: '', port: 8082}\nlogging: {level: debug}\n",
        "{\"kubernetes\": {\"accounts\": [{\"name\": \"b\", \"serviceAccount\": true, \"namespaces\": []}]}}",
    ],
    words: &[
        "kubernetes",
        "accounts",
        "name",
        "clouddriver",
        "grpc",
        "kubeconfigFile",
        "serviceAccount",
        "namespaces",
        "permissions",
        "redact",
        "paths",
        "kind",
        ": ",
        "- ",
        "\n",
        "\n  ",
        "[",
        "]",
        "{",
        "}",
        "${",
        "}",
        "${a:b}",
        "&a ",
        "*a",
        "<<: *a",
        "|",
        ">",
        "'",
        "\"",
        "!!int ",
        "---\n",
        "#",
        "true",
        "0x",
        "1e9",
        "~",
        "\t",
        ".",
        "-",
    ],
    run: agent,
};

pub(super) const REDACTIONS: Target = Target {
    name: "redactions",
    seeds: &[
        "data.*",
        "spec.containers[*].env[*].value",
        "metadata.annotations['a.b/c']",
        ".a['it''s']",
        "*.*",
    ],
    words: &[".", "*", "[*]", "['", "']", "''", "[", "]", "metadata", "name", "kind", "é"],
    run: redactions,
};

fn agent(input: &[u8]) -> u64 {
    // A profile takes the same way as the file, and a text that is no UTF-8 cannot be a file of ours.
    let directory = tempfile::tempdir().expect("a directory for a file");
    std::fs::write(directory.path().join("armory-agent.yml"), input).expect("a file to be read");
    let env = Env::from_iter([("NAME", "value")]);
    match ConfigFiles::agent(env).with_directory(directory.path()).load::<AgentConfig>() {
        Ok(loaded) => {
            let accounts = &loaded.settings.kubernetes.accounts;
            let rules =
                accounts.iter().map(|account| Redactions::compile(&account.redact).is_ok().to_string());
            let warnings = "warning ".repeat(loaded.warnings.len().min(8));
            behaviour(rules.chain([warnings]))
        }
        Err(error) => {
            let sentence = error.to_string();
            assert!(!sentence.trim().is_empty(), "no sentence");
            behaviour([variant(&error)])
        }
    }
}

fn redactions(input: &[u8]) -> u64 {
    let text = String::from_utf8_lossy(input);
    let rule = RedactRule { kind: "*".into(), paths: text.lines().map(Into::into).collect(), preset: None };
    match Redactions::compile(&[rule]) {
        Ok(redactions) => behaviour([")".repeat(format!("{redactions:?}").matches('(').count().min(16))]),
        Err(error) => {
            assert!(error.to_string().starts_with("redact rule 1"), "{error}");
            let problem = if let InvalidRedaction::Path { problem, .. } = &error {
                variant(problem)
            } else {
                String::new()
            };
            behaviour([variant(&error), problem])
        }
    }
}

/// The name of an enum's variant.
fn variant(value: &impl std::fmt::Debug) -> String {
    format!("{value:?}").chars().take_while(char::is_ascii_alphanumeric).collect()
}
