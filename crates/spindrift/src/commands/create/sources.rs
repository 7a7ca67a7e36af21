//! Keys and values of `--from-file`, `--from-literal` and `--from-env-file`.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail, ensure};
use clap::{Args, ValueHint};

/// Sources of the entries of a config map or secret.
#[derive(Debug, Args)]
pub(crate) struct SourceFlags {
    /// Key file can be specified using its file path, in which case file basename will be used as key, or optionally with
    /// a key and file path, in which case the given key will be used. Specifying a directory will iterate each named file
    /// in the directory.
    #[arg(long = "from-file", value_name = "[KEY=]SOURCE", value_hint = ValueHint::AnyPath)]
    files: Vec<String>,
    /// Specify a key and literal value to insert (i.e. mykey=somevalue).
    #[arg(long = "from-literal", value_name = "KEY=VALUE")]
    literals: Vec<String>,
    /// Specify the path to a file to read lines of key=val pairs to create an entry for each.
    #[arg(
        long = "from-env-file",
        value_name = "FILE",
        value_hint = ValueHint::FilePath,
        conflicts_with_all = ["files", "literals"]
    )]
    env_files: Vec<PathBuf>,
}

/// Values by key.
type Entries = BTreeMap<String, Vec<u8>>;

// === impl SourceFlags ===

impl SourceFlags {
    /// Reads all sources; a key must be unique.
    pub(super) fn read(&self) -> anyhow::Result<Entries> {
        let mut entries = Entries::new();
        for source in &self.files {
            add_file(source, &mut entries)?;
        }
        for literal in &self.literals {
            let Some((key, value)) = literal.split_once('=').filter(|(key, _)| !key.is_empty()) else {
                bail!("invalid literal source {literal}, expected key=value");
            };
            add(key, value.as_bytes().to_vec(), &mut entries)?;
        }
        for file in &self.env_files {
            let text =
                fs::read_to_string(file).with_context(|| format!("error reading {}", file.display()))?;
            add_lines(&text, &mut entries)?;
        }
        Ok(entries)
    }
}

fn add_file(source: &str, entries: &mut Entries) -> anyhow::Result<()> {
    let (key, path) = match source.split_once('=') {
        Some((key, path)) => {
            ensure!(!key.is_empty() && !path.is_empty(), "invalid source {source:?}, expected [key=]source");
            (Some(key), Path::new(path))
        }
        None => (None, Path::new(source)),
    };
    let unreadable = || format!("error reading {}", path.display());
    if !path.is_dir() {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        return add(key.unwrap_or(name), fs::read(path).with_context(unreadable)?, entries);
    }
    ensure!(key.is_none(), "cannot give a key name for a directory path");
    let mut files: Vec<_> = fs::read_dir(path)
        .and_then(std::iter::Iterator::collect::<Result<Vec<_>, _>>)
        .with_context(unreadable)?
        .into_iter()
        .map(|file| file.path())
        .filter(|file| file.is_file())
        .collect();
    files.sort();
    for file in files {
        let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        add(name, fs::read(&file).with_context(|| format!("error reading {}", file.display()))?, entries)?;
    }
    Ok(())
}

/// Adds `KEY=value` lines; a key alone takes its value from the environment.
fn add_lines(text: &str, entries: &mut Entries) -> anyhow::Result<()> {
    let lines = text.trim_start_matches('\u{feff}').lines().map(str::trim_start);
    for line in lines.filter(|line| !line.is_empty() && !line.starts_with('#')) {
        match line.split_once('=') {
            Some((key, value)) => add(key, value.as_bytes().to_vec(), entries)?,
            None => add(line, std::env::var(line).unwrap_or_default().into_bytes(), entries)?,
        }
    }
    Ok(())
}

fn add(key: &str, value: Vec<u8>, entries: &mut Entries) -> anyhow::Result<()> {
    let is_valid = !key.is_empty()
        && key.len() <= 253
        && !matches!(key, "." | "..")
        && key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
    ensure!(
        is_valid,
        "{key:?} is not a valid key name: a valid config key must consist of alphanumeric characters, '-', '_' or '.'"
    );
    ensure!(
        entries.insert(key.to_owned(), value).is_none(),
        "cannot add key {key:?}, another key by that name already exists"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_read_as_by_kubectl() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("b.txt"), "two").unwrap();
        fs::write(directory.path().join("a.txt"), "one").unwrap();
        let path = directory.path().display().to_string();
        let read = |files: &[String], literals: &[&str]| {
            let literals = literals.iter().map(ToString::to_string).collect();
            SourceFlags { files: files.to_vec(), literals, env_files: Vec::new() }
                .read()
                .map_err(|error| error.to_string())
        };
        let all = read(std::slice::from_ref(&path), &["c=d=e"]).unwrap();
        let keys: Vec<_> = all.keys().map(String::as_str).collect();
        assert_eq!((keys, &all["c"][..]), (vec!["a.txt", "b.txt", "c"], &b"d=e"[..]));
        let named = read(&[format!("key={path}/a.txt")], &[]).unwrap();
        assert_eq!(named["key"], b"one");
        for (files, literals, expected) in [
            (&[format!("key={path}")][..], &[][..], "cannot give a key name for a directory"),
            (&[], &["novalue"], "invalid literal source novalue"),
            (&[], &["a=1", "a=2"], "another key by that name already exists"),
            (&[], &["a/b=1"], "is not a valid key name"),
            (&[format!("{path}/nowhere")], &[], "error reading"),
        ] {
            let error = read(files, literals).unwrap_err();
            assert!(error.contains(expected), "{expected}: {error}");
        }
    }

    #[test]
    fn files_of_variables_may_have_comments() {
        let mut entries = Entries::new();
        add_lines("# no\n\nA=1\n  B=two words\n", &mut entries).unwrap();
        assert_eq!(
            entries,
            Entries::from([("A".into(), b"1".to_vec()), ("B".into(), b"two words".to_vec())])
        );
    }
}
