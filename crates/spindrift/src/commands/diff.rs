//! `spindrift diff`: differences that applying manifests would make, as a unified diff of YAML.

mod unified;

use std::{cell::Cell, fmt::Write};

use anyhow::ensure;
use clap::Args;
use serde::Deserialize;
use serde_json::Value;
use spindrift_model::{Diff as DiffVerb, KubectlAction, Manifest, Verb};

use self::unified::unified;
use super::{
    AlreadyReported, Context, ExitWith,
    apply::ApplyFlags,
    get::yaml,
    operate::{AccountFanout, AccountFlags, AccountLine, DisplayMode, FilenameFlags, ManifestSource},
};

const EXAMPLES: &str = "Examples:
  # Diff resources included in web.yaml
  spindrift diff -f web.yaml -a eu-west

  # Diff all files of a directory tree in all accounts
  spindrift diff -f shop/ -R --all-accounts

  # Diff file read from stdin
  cat web.yaml | spindrift diff -f - -a eu-west";

/// Diff the live version against a would-be applied version.
///
/// Diff configurations specified by file name or stdin between the current online configuration, and the configuration
/// as it would be if applied. The output is always YAML, as "diff -u -N" prints it. The values of Secrets are masked.
///
/// Exit status: 0 No differences were found. 1 Differences were found. >1 spindrift failed with an error.
#[derive(Debug, Args)]
#[command(before_help = EXAMPLES, override_usage = "spindrift diff -f FILENAME [-a ACCOUNT | --all-accounts] [options]")]
pub(crate) struct Diff {
    #[command(flatten)]
    files: FilenameFlags,
    #[command(flatten)]
    account_flags: AccountFlags,
    #[command(flatten)]
    strategy: ApplyFlags,
    /// If true, include managed fields in the diff.
    #[arg(long)]
    show_managed_fields: bool,
}

/// Response of the agent, which masks the values of Secrets.
#[derive(Debug, Deserialize)]
struct LiveAndMerged {
    /// `None` if the object would be created.
    live: Option<Value>,
    merged: Value,
}

const DIFFERENT: u8 = 1;
const FAILED: u8 = 2;

// === impl Diff ===

impl Diff {
    pub(crate) async fn run(self, context: &Context) -> anyhow::Result<()> {
        let differs = Cell::new(false);
        match self.compare(context, &differs).await {
            Ok(()) if differs.get() => Err(ExitWith(DIFFERENT).into()),
            Ok(()) => Ok(()),
            Err(error) if error.is::<AlreadyReported>() => Err(ExitWith(FAILED).into()),
            Err(error) => Err(error.context(ExitWith(FAILED))),
        }
    }

    async fn compare(&self, context: &Context, differs: &Cell<bool>) -> anyhow::Result<()> {
        ensure!(
            !self.files.is_empty(),
            "must specify -f: a file, a directory, a URL, or - for stdin; or -k: a kustomization directory"
        );
        self.strategy.check()?;
        let sources = self.files.read().await?;
        ensure!(!sources.is_empty(), "no objects passed to diff");
        let mut verbs = Vec::new();
        for source in sources {
            verbs.push((self.verb(&source)?, source.file));
        }
        let fanout = AccountFanout::new(context)?;
        let accounts = self.account_flags.accounts(fanout.hub()).await?;
        fanout
            .run(&accounts, DisplayMode::Stream, async |line| {
                let mut patches = Vec::new();
                for (verb, file) in &verbs {
                    let answer = async {
                        fanout.submit(line.account(), verb, None).await?.json::<LiveAndMerged>().await
                    };
                    match answer.await {
                        Ok(both) => patches.push(self.patch(both, line)?),
                        Err(error) => {
                            let error = error.about(KubectlAction::Other("diffing"), Some(file));
                            line.fail(&error.to_string());
                        }
                    }
                }
                // Sorted by name, as the files that kubectl compares.
                patches.sort();
                for text in patches.into_iter().flatten() {
                    differs.set(true);
                    line.print_raw(&if context.color { coloured(&text) } else { text })?;
                }
                Ok(())
            })
            .await
    }

    fn verb(&self, source: &ManifestSource) -> anyhow::Result<Verb> {
        Ok(Verb::Diff(DiffVerb {
            manifest: Manifest(source.manifest.clone()),
            namespace: Some(source.namespace(&self.account_flags)?),
            mode: self.strategy.mode(),
            field_manager: self.strategy.field_manager.clone(),
            force_conflicts: self.strategy.force_conflicts,
        }))
    }

    /// Unified diff, or `None` if the objects are equal.
    fn patch(&self, both: LiveAndMerged, place: &AccountLine) -> anyhow::Result<Option<String>> {
        let LiveAndMerged { mut live, mut merged } = both;
        let mut name = file_name(&merged);
        if place.is_one_of_several() {
            name = format!("{}/{name}", place.account());
        }
        if !self.show_managed_fields {
            live.iter_mut().chain([&mut merged]).for_each(remove_managed_fields);
        }
        let before = live.map(|live| yaml(&live)).transpose()?.unwrap_or_default();
        let hunks = unified(&before, &yaml(&merged)?);
        let (from, to) = (format!("LIVE/{name}"), format!("MERGED/{name}"));
        let patch = || format!("diff -u -N {from} {to}\n--- {from}\n+++ {to}\n{hunks}");
        Ok((!hunks.is_empty()).then(patch))
    }
}

fn remove_managed_fields(object: &mut Value) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
}

/// File name in kubectl's form: `apps.v1.Deployment.shop.web`.
fn file_name(object: &Value) -> String {
    let text = |pointer| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let version = text("/apiVersion").replace('/', ".");
    [&version, text("/kind"), text("/metadata/namespace"), text("/metadata/name")].join(".")
}

fn coloured(text: &str) -> String {
    let mut coloured = String::new();
    for line in text.lines() {
        let code = match line.as_bytes().first() {
            _ if line.starts_with("+++") || line.starts_with("---") => "1",
            Some(b'+') => "32",
            Some(b'-') => "31",
            Some(b'@') => "36",
            _ => "0",
        };
        // Writing to a string cannot fail.
        writeln!(coloured, "\x1b[{code}m{line}\x1b[0m").ok();
    }
    coloured
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn files_are_named_as_kubectl_names_them() {
        let object = json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "namespace": "shop", "name": "web" } });
        assert_eq!(file_name(&object), "apps.v1.Deployment.shop.web");
        let object = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "shop" } });
        assert_eq!(file_name(&object), "v1.Namespace..shop");
    }
}
