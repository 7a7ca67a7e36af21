//! References to secrets in values: `encrypted:<engine>!k:v!…` stands for a value, `encryptedFile:…` for a file of it.
//!
//! A reference that cannot be resolved leaves its value out, and is reported: whatever needs the value must not run.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Problem;
use super::schema::join;
use super::tree::{Kind, Scalar, Tree, Value};
use crate::private_file::PrivateFile;

mod reference;

use reference::{Engine, Form, Reference};

/// Replaces references by secrets; those that are not available are left out and reported.
pub(crate) fn resolve(tree: &mut Tree) -> (Vec<Problem>, Vec<Arc<PrivateFile>>) {
    let mut resolved = Resolved::default();
    resolved.follow(tree, "");
    (resolved.problems, resolved.files)
}

/// Results of the references.
#[derive(Default)]
struct Resolved {
    problems: Vec<Problem>,
    files: Vec<Arc<PrivateFile>>,
}

// === impl Resolved ===

impl Resolved {
    fn follow(&mut self, tree: &mut Tree, path: &str) {
        match &mut tree.value {
            Value::Null => {}
            Value::Scalar(scalar) => {
                let Some(reference) = Reference::parse(&scalar.text) else { return };
                tree.value = match reference.and_then(|reference| self.reveal(&reference)) {
                    Ok(text) => Value::Scalar(Scalar { text, kind: Kind::Text }),
                    Err(message) => {
                        self.problems.push(Problem { key: path.to_owned(), message });
                        Value::Null
                    }
                };
            }
            Value::List(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    self.follow(item, &format!("{path}[{index}]"));
                }
                // The elements of a list of maps keep their places, by which problems name them; of a list of texts, only
                // the one that is missing goes.
                let has_maps = items.iter().any(|item| matches!(item.value, Value::Map(_)));
                for item in items.iter_mut().filter(|item| has_maps && matches!(item.value, Value::Null)) {
                    item.value = Value::Map(BTreeMap::new());
                }
                items.retain(|item| !matches!(item.value, Value::Null));
            }
            Value::Map(entries) => {
                for (key, tree) in entries {
                    self.follow(tree, &join(path, key));
                }
            }
        }
    }

    /// Returns the secret itself, or the path of a file with it.
    fn reveal(&mut self, reference: &Reference) -> Result<String, String> {
        let Engine::Noop = reference.engine else {
            return Err(format!(
                "secrets of the engine `{}` cannot be read by this version; give the value itself, or a file or variable that holds it",
                reference.engine.name()
            ));
        };
        let secret = reference.literal();
        match reference.form {
            Form::Value => Ok(secret.to_owned()),
            Form::File => {
                let file = PrivateFile::hold(secret.as_bytes());
                let file = file.map_err(|error| format!("the secret cannot be put into a file: {error}"))?;
                let path = file.path().display().to_string();
                self.files.push(file);
                Ok(path)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse::parse;
    use super::*;

    #[test]
    fn a_reference_becomes_its_secret_or_is_left_out_with_a_reason() {
        let text = "a: encrypted:noop!v:hunter2\nb: {c: 'encrypted:vault!e:kv!p:agent!k:token', d: plain}\nl: [x, 'encrypted:s3!b:x']\n";
        let mut tree = parse("a.yaml".as_ref(), text).unwrap();
        let (problems, _) = resolve(&mut tree);
        let text = |path: &[&str]| match &tree.get(path.iter().copied()).unwrap().value {
            Value::Scalar(scalar) => Some(scalar.text.clone()),
            _ => None,
        };
        assert_eq!(text(&["a"]).unwrap(), "hunter2");
        assert_eq!((text(&["b", "c"]), text(&["b", "d"])), (None, Some("plain".into())));
        let told: Vec<_> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told[0].starts_with("b.c: secrets of the engine `vault` cannot be read"), "{told:?}");
        assert!(
            told[1].starts_with("l[1]: `encrypted:s3!…`: the parameter r (region) is missing"),
            "{told:?}"
        );
    }

    #[test]
    fn a_file_of_a_secret_is_only_ours_to_read() {
        use std::os::unix::fs::PermissionsExt;
        let mut tree = parse("a.yaml".as_ref(), "a: encryptedFile:noop!v:hunter2").unwrap();
        let (problems, files) = resolve(&mut tree);
        assert_eq!(problems, []);
        let Value::Scalar(scalar) = &tree.get(["a"]).unwrap().value else { panic!("a path") };
        assert_eq!(std::fs::read_to_string(&scalar.text).unwrap(), "hunter2");
        assert_eq!(std::fs::metadata(&scalar.text).unwrap().permissions().mode() & 0o777, 0o600);
        drop(files);
        std::fs::metadata(&scalar.text).expect_err("it is closed with the configuration");
    }

    #[test]
    fn elements_of_a_list_of_maps_keep_their_places() {
        let text = "l: ['encrypted:vault!e:kv!p:x!k:y', {name: two, key: 'encrypted:vault!e:kv!p:x!k:y'}]";
        let mut tree = parse("a.yaml".as_ref(), text).unwrap();
        let (problems, _) = resolve(&mut tree);
        let keys: Vec<_> = problems.iter().map(|problem| problem.key.as_str()).collect();
        assert_eq!(keys, ["l[0]", "l[1].key"]);
        let Value::List(items) = &tree.get(["l"]).unwrap().value else { panic!("a list") };
        assert_eq!(items.len(), 2);
    }
}
