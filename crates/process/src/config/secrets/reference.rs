//! One reference, taken apart and checked.

use std::collections::BTreeMap;

/// Form of the result: the secret, or a file that holds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Value,
    File,
}

/// Store of the secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Engine {
    Vault,
    S3,
    Gcs,
    SecretsManager,
    Kubernetes,
    /// The secret is written out; for tests.
    Noop,
}

/// A reference to a secret.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Reference {
    pub(super) form: Form,
    pub(super) engine: Engine,
    parameters: BTreeMap<String, String>,
    /// All that follows the engine.
    rest: String,
}

/// The parameters of an engine: short name, meaning, whether it must be there.
type EngineParameters = &'static [(&'static str, &'static str, bool)];

// === impl Engine ===

impl Engine {
    const ALL: [Self; 6] =
        [Self::Vault, Self::S3, Self::Gcs, Self::SecretsManager, Self::Kubernetes, Self::Noop];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Vault => "vault",
            Self::S3 => "s3",
            Self::Gcs => "gcs",
            Self::SecretsManager => "secrets-manager",
            Self::Kubernetes => "k8s",
            Self::Noop => "noop",
        }
    }

    fn parameters(self) -> EngineParameters {
        match self {
            Self::Vault => &[
                ("e", "secret engine", true),
                ("p", "path", true),
                ("k", "key", true),
                ("b", "base64", false),
            ],
            Self::S3 => {
                &[("r", "region", true), ("b", "bucket", true), ("f", "file", true), ("k", "key", false)]
            }
            Self::Gcs => &[("b", "bucket", true), ("f", "file", true), ("k", "key", false)],
            Self::SecretsManager => &[("r", "region", true), ("s", "secret", true), ("k", "key", false)],
            Self::Kubernetes => &[("n", "secret", true), ("k", "key", true), ("ns", "namespace", false)],
            Self::Noop => &[("v", "value", false)],
        }
    }
}

// === impl Reference ===

impl Reference {
    /// Takes a value apart, if it is a reference at all; an error names the part and never shows the rest.
    pub(super) fn parse(text: &str) -> Option<Result<Self, String>> {
        let (form, scheme, body) = if let Some(body) = text.strip_prefix("encryptedFile:") {
            (Form::File, "encryptedFile", body)
        } else {
            (Form::Value, "encrypted", text.strip_prefix("encrypted:")?)
        };
        Some(Self::parse_body(form, body.trim()).map_err(|wrong| {
            let engine = body.split('!').next().unwrap_or_default().trim();
            format!("`{scheme}:{engine}!…`: {wrong}")
        }))
    }

    fn parse_body(form: Form, body: &str) -> Result<Self, String> {
        let (name, rest) = body.split_once('!').unwrap_or((body, ""));
        let engine =
            Engine::ALL.into_iter().find(|engine| engine.name() == name.trim()).ok_or_else(|| {
                let known = Engine::ALL.map(Engine::name).join(", ");
                format!("there is no such engine; expected one of {known}")
            })?;
        if engine == Engine::Noop {
            return Ok(Self { form, engine, parameters: BTreeMap::new(), rest: rest.to_owned() });
        }
        let mut parameters = BTreeMap::new();
        for part in rest.split('!').filter(|part| !part.is_empty()) {
            let (key, value) =
                part.split_once(':').ok_or("expected parameters of the form name:value, joined by !")?;
            // The old name of Vault's path.
            let key = if engine == Engine::Vault && key == "n" { "p" } else { key };
            if !engine.parameters().iter().any(|(known, ..)| *known == key) {
                let known: Vec<_> = engine.parameters().iter().map(|(known, ..)| *known).collect();
                return Err(format!("unknown parameter {key}; expected {}", known.join(", ")));
            }
            parameters.insert(key.to_owned(), value.to_owned());
        }
        for (key, meaning, required) in engine.parameters() {
            if *required && !parameters.contains_key(*key) {
                return Err(format!("the parameter {key} ({meaning}) is missing"));
            }
        }
        if engine == Engine::SecretsManager && form == Form::File && parameters.contains_key("k") {
            return Err("a file is the whole secret, so the parameter k (key) is out of place".into());
        }
        Ok(Self { form, engine, parameters, rest: String::new() })
    }

    /// The secret that a `noop` reference writes out: `noop!v:secret`, or `noop!secret`.
    pub(super) fn literal(&self) -> &str {
        self.rest.strip_prefix("v:").unwrap_or(&self.rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        Reference::parse(text).unwrap().unwrap_err()
    }

    #[test]
    fn references_of_all_engines_are_understood() {
        for (text, engine, parameters) in [
            ("encrypted:vault!e:kv!p:a/b!k:token", Engine::Vault, "e=kv k=token p=a/b"),
            ("encryptedFile:vault!e:kv!n:a!k:token!b:true", Engine::Vault, "b=true e=kv k=token p=a"),
            ("encrypted:s3!r:eu-1!b:x!f:y.yml!k:a.b", Engine::S3, "b=x f=y.yml k=a.b r=eu-1"),
            ("encryptedFile:gcs!b:x!f:y", Engine::Gcs, "b=x f=y"),
            ("encrypted:secrets-manager!r:eu-1!s:x!k:y", Engine::SecretsManager, "k=y r=eu-1 s=x"),
            ("encrypted:k8s!n:x!k:y!ns:z", Engine::Kubernetes, "k=y n=x ns=z"),
        ] {
            let reference = Reference::parse(text).unwrap().unwrap();
            let found: Vec<_> =
                reference.parameters.iter().map(|(key, value)| format!("{key}={value}")).collect();
            assert_eq!((reference.engine, found.join(" ").as_str()), (engine, parameters), "{text}");
        }
        assert_eq!(Reference::parse("https://encrypted:x"), None);
    }

    #[test]
    fn what_is_wrong_with_a_reference_is_named_without_its_values() {
        assert_eq!(
            refused("encrypted:safe!k:hunter2"),
            "`encrypted:safe!…`: there is no such engine; expected one of vault, s3, gcs, secrets-manager, k8s, noop"
        );
        assert_eq!(
            refused("encrypted:vault!e:kv!k:x"),
            "`encrypted:vault!…`: the parameter p (path) is missing"
        );
        assert_eq!(
            refused("encrypted:gcs!b:x!f:y!z:hunter2"),
            "`encrypted:gcs!…`: unknown parameter z; expected b, f, k"
        );
        assert_eq!(
            refused("encryptedFile:secrets-manager!r:x!s:y!k:z"),
            "`encryptedFile:secrets-manager!…`: a file is the whole secret, so the parameter k (key) is out of place"
        );
        assert!(refused("encrypted:s3!hunter2").ends_with("of the form name:value, joined by !"));
    }
}
