//! Manifests from files, directories, URLs, kustomizations and stdin, as kubectl reads them.

mod kustomize;
mod remote;

use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail, ensure};
use clap::{Args, ValueHint};
use serde_json::{Number, Value};

use super::AccountFlags;

/// Flags that select files with manifests.
#[derive(Debug, Clone, Args)]
pub(crate) struct FilenameFlags {
    /// Files, directories or URLs that contain the configuration, in YAML or JSON, or - for stdin.
    #[arg(short = 'f', long = "filename", value_delimiter = ',', value_name = "FILE", value_hint = ValueHint::AnyPath)]
    files: Vec<PathBuf>,
    /// Process a kustomization directory. This flag can't be used together with -f or -R. Needs kubectl or kustomize.
    #[arg(
        short = 'k',
        long,
        value_name = "DIRECTORY",
        value_hint = ValueHint::DirPath,
        conflicts_with_all = ["files", "recursive"]
    )]
    kustomize: Option<PathBuf>,
    /// Process the directory used in -f, --filename recursively.
    #[arg(short = 'R', long, requires = "files")]
    recursive: bool,
}

/// Manifest and its file.
#[derive(Debug, Clone)]
pub(crate) struct ManifestSource {
    pub(crate) file: String,
    pub(crate) manifest: Value,
}

/// Extensions of the files that are read from a directory.
const EXTENSIONS: [&str; 3] = ["json", "yaml", "yml"];

// === impl FilenameFlags ===

impl FilenameFlags {
    pub(crate) fn is_empty(&self) -> bool {
        self.files.is_empty() && self.kustomize.is_none()
    }

    /// Reads all manifests, in the order of the files; unpacks lists.
    pub(crate) async fn read(&self) -> anyhow::Result<Vec<ManifestSource>> {
        let mut sources = Vec::new();
        if let Some(directory) = &self.kustomize {
            let text = kustomize::build(directory).await?;
            gather(&directory.display().to_string(), &text, &mut sources)?;
        }
        for path in &self.files {
            if let Some(url) = path.to_str().filter(|path| remote::is_url(path)) {
                gather(url, &remote::fetch(url).await?, &mut sources)?;
                continue;
            }
            if path == Path::new("-") {
                let mut text = String::new();
                std::io::stdin().read_to_string(&mut text).context("read stdin")?;
                gather("STDIN", &text, &mut sources)?;
                continue;
            }
            ensure!(path.exists(), "the path \"{}\" does not exist", path.display());
            let mut files = Vec::new();
            if path.is_dir() {
                self.visit(path, &mut files)?;
            } else {
                files.push(path.clone());
            }
            for file in files {
                let name = file.display().to_string();
                let text = fs::read_to_string(&file).with_context(|| format!("read {name}"))?;
                gather(&name, &text, &mut sources)?;
            }
        }
        Ok(sources)
    }

    /// Collects the files of a directory, sorted by name.
    fn visit(&self, directory: &Path, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
        let unreadable = || format!("read {}", directory.display());
        let entries: Result<Vec<_>, _> = fs::read_dir(directory).with_context(unreadable)?.collect();
        let mut paths: Vec<_> =
            entries.with_context(unreadable)?.into_iter().map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths {
            if path.is_dir() {
                if self.recursive {
                    self.visit(&path, files)?;
                }
            } else if path
                .extension()
                .is_some_and(|extension| EXTENSIONS.iter().any(|known| extension == *known))
            {
                files.push(path);
            }
        }
        Ok(())
    }
}

// === impl ManifestSource ===

impl ManifestSource {
    /// Namespace of the object: its own, which must match `--namespace`, else `--namespace` or the default.
    pub(crate) fn namespace(&self, account_flags: &AccountFlags) -> anyhow::Result<String> {
        match (self.text("/metadata/namespace"), &account_flags.namespace) {
            ("", _) => Ok(account_flags.namespace().to_owned()),
            (own, Some(wanted)) if own != wanted => bail!(
                "the namespace from the provided object {own:?} does not match the namespace {wanted:?}. You must \
                 pass '--namespace={own}' to perform this operation."
            ),
            (own, _) => Ok(own.to_owned()),
        }
    }

    pub(crate) fn text(&self, pointer: &str) -> &str {
        self.manifest.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
    }
}

fn gather(file: &str, text: &str, sources: &mut Vec<ManifestSource>) -> anyhow::Result<()> {
    for document in parse(text).with_context(|| format!("error parsing {file}"))? {
        unpack(file, document, sources)?;
    }
    Ok(())
}

fn unpack(file: &str, document: Value, sources: &mut Vec<ManifestSource>) -> anyhow::Result<()> {
    let is_list = document["kind"].as_str().is_some_and(|kind| kind.ends_with("List"));
    match document {
        Value::Null => Ok(()),
        Value::Object(mut list) if is_list && list.get("items").is_some_and(Value::is_array) => {
            let items = list.remove("items").and_then(|mut items| items.as_array_mut().map(std::mem::take));
            items.into_iter().flatten().try_for_each(|item| unpack(file, item, sources))
        }
        manifest => {
            for field in ["apiVersion", "kind"] {
                let is_set = manifest[field].as_str().is_some_and(|text| !text.is_empty());
                ensure!(is_set, "error validating {file:?}: {field} not set");
            }
            sources.push(ManifestSource { file: file.to_owned(), manifest });
            Ok(())
        }
    }
}

/// Parses YAML documents, or a sequence of JSON documents.
pub(crate) fn parse(text: &str) -> anyhow::Result<Vec<Value>> {
    if text.trim_start().starts_with('{') {
        let documents: Result<Vec<_>, _> = serde_json::Deserializer::from_str(text).into_iter().collect();
        // YAML flow style also begins with a brace.
        if let Ok(documents) = documents {
            return Ok(documents);
        }
    }
    let options = serde_saphyr::options! {
        // A line of the file could be part of a Secret.
        with_snippet: false,
        // `defaultMode: 0644` is octal, as in kubectl.
        legacy_octal_numbers: true,
        // The files are the user's own and may be large; aliases have limits of their own.
        budget: None,
    };
    let mut documents: Vec<Value> = serde_saphyr::from_multiple_with_options(text, options)?;
    documents.iter_mut().for_each(plain_numbers);
    Ok(documents)
}

/// Sends `1.0` as `1`, as kubectl does: whole numbers are integers in JSON.
fn plain_numbers(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(plain_numbers),
        Value::Object(fields) => fields.values_mut().for_each(plain_numbers),
        Value::Number(number) if number.is_f64() => {
            let float = number.as_f64().unwrap_or_default();
            // Larger floats do not identify one integer.
            if float.fract() == 0.0 && float.abs() < 2f64.powi(53) {
                #[expect(clippy::cast_possible_truncation, reason = "it is whole, and small enough")]
                let whole = float as i64;
                *number = Number::from(whole);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn sources(text: &str) -> Vec<Value> {
        let mut sources = Vec::new();
        gather("x.yaml", text, &mut sources).unwrap();
        sources.into_iter().map(|source| source.manifest).collect()
    }

    #[test]
    fn numbers_and_booleans_are_parsed_as_by_kubectl() {
        let documents = parse(
            "a: 0644\nb: 1.0\nc: 1.5\nd: \"0644\"\ne: yes\nf: \"yes\"\ng: 12345678901234\nh: ~\ni: 1e3\nj: 2026-11-16\n\
             k: \"1\"\nl: on\nm: 0x1f\nn: -7\no: {}\np: []\nq: ''\n",
        );
        let expected = json!({
            "a": 420, "b": 1, "c": 1.5, "d": "0644", "e": true, "f": "yes", "g": 12_345_678_901_234_u64, "h": null,
            "i": 1000, "j": "2026-11-16", "k": "1", "l": true, "m": 31, "n": -7, "o": {}, "p": [], "q": "",
        });
        assert_eq!(documents.unwrap(), [expected]);
    }

    #[test]
    fn documents_lists_and_json_are_unpacked() {
        let one = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" } });
        let yaml = "# nothing yet\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\n---\n";
        assert_eq!(sources(yaml), std::slice::from_ref(&one));
        assert_eq!(sources(&format!("{one}\n{one}")), [one.clone(), one.clone()]);
        let list = json!({ "apiVersion": "v1", "kind": "List", "items": [one, { "apiVersion": "v1", "kind": "ConfigMapList",
            "items": [one] }] });
        assert_eq!(sources(&list.to_string()), [one.clone(), one]);
        assert!(sources("").is_empty());
        assert!(sources("---\n").is_empty());
    }

    #[test]
    fn errors_of_a_file_do_not_contain_its_content() {
        for (text, expected) in [
            ("kind: Pod", "error validating \"x.yaml\": apiVersion not set"),
            ("apiVersion: v1", "kind not set"),
            ("just text", "apiVersion not set"),
            ("apiVersion: v1\napiVersion: v2", "duplicate"),
            ("a: canary\n  b: c", "line 2"),
        ] {
            let error = format!("{:#}", gather("x.yaml", text, &mut Vec::new()).unwrap_err());
            assert!(error.contains(expected) && error.contains("x.yaml"), "{text}: {error}");
            assert!(!error.contains("canary"), "{error}");
        }
    }
}
