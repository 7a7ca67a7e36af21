//! References to secrets in values: `encrypted:<engine>!k:v!…` stands for a value, `encryptedFile:…` for a file of it.
//!
//! A reference that cannot be followed costs the value that it stands for, and nothing else.

use super::Problem;
use super::schema::join;
use super::tree::{Kind, Scalar, Tree, Value};
use crate::private_file;

mod reference;

use reference::{Engine, Form, Reference};

/// Replaces references by secrets; those that are not available are left out and reported.
pub(crate) fn resolve(tree: &mut Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    follow(tree, "", &mut problems);
    problems
}

fn follow(tree: &mut Tree, path: &str, problems: &mut Vec<Problem>) {
    match &mut tree.value {
        Value::Null => {}
        Value::Scalar(scalar) => {
            let Some(reference) = Reference::parse(&scalar.text) else { return };
            tree.value = match reference.and_then(|reference| reveal(&reference)) {
                Ok(text) => Value::Scalar(Scalar { text, kind: Kind::Text }),
                Err(message) => {
                    problems.push(Problem { key: path.to_owned(), message });
                    Value::Null
                }
            };
        }
        Value::List(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                follow(item, &format!("{path}[{index}]"), problems);
            }
            // Of a list of texts, only the one that is missing goes; a list of maps keeps its places.
            items.retain(|item| !matches!(item.value, Value::Null));
        }
        Value::Map(entries) => {
            for (key, tree) in entries {
                follow(tree, &join(path, key), problems);
            }
        }
    }
}

/// The secret itself, or the file that now holds it.
fn reveal(reference: &Reference) -> Result<String, String> {
    let Engine::Noop = reference.engine else {
        return Err(format!(
            "secrets of the engine `{}` cannot be read by this version; give the value itself, or a file or variable that holds it",
            reference.engine.name()
        ));
    };
    let secret = reference.literal();
    match reference.form {
        Form::Value => Ok(secret.to_owned()),
        Form::File => private_file::hold(secret.as_bytes())
            .map(|path| path.display().to_string())
            .map_err(|error| format!("the secret cannot be put into a file: {error}")),
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
        let problems = resolve(&mut tree);
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
        assert_eq!(resolve(&mut tree), []);
        let Value::Scalar(scalar) = &tree.get(["a"]).unwrap().value else { panic!("a path") };
        assert_eq!(std::fs::read_to_string(&scalar.text).unwrap(), "hunter2");
        assert_eq!(std::fs::metadata(&scalar.text).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
