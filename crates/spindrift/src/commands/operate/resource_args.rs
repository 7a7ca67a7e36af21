//! Resource arguments: `deploy/web`, `deploy web api`, `-f web.yaml` or `deploy -l app=web`.

use anyhow::{bail, ensure};
use clap::Args;
use clap_complete::ArgValueCompleter;
use serde::Deserialize;
use spindrift_model::{List, ObjectRef, Verb};

use super::{
    AccountFlags,
    fanout::{AccountFanout, OperationError},
    manifests::FilenameFlags,
};
use crate::complete;

/// Arguments that select objects by name, file or label selector.
#[derive(Debug, Clone, Args)]
pub(crate) struct ResourceArgs {
    /// TYPE/NAME ..., or TYPE NAME ...
    #[arg(value_name = "TYPE[/NAME]", add = ArgValueCompleter::new(complete::resources))]
    words: Vec<String>,
    #[command(flatten)]
    pub(crate) files: FilenameFlags,
    /// Selector (label query) to filter on, supports '=', '==', '!=', 'in' and 'notin' (e.g. -l key1=value1,key2=value2).
    /// Matching objects must satisfy all of the specified label constraints.
    #[arg(short = 'l', long)]
    pub(crate) selector: Option<String>,
}

/// One object or, without a name, the objects of a kind that the selector matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ResourceArg {
    pub(crate) api_version: Option<String>,
    pub(crate) kind: String,
    pub(crate) namespace: String,
    pub(crate) name: Option<String>,
    /// File that contains the object.
    pub(crate) file: Option<String>,
}

// === impl ResourceArgs ===

impl ResourceArgs {
    /// Parses the arguments and files.
    pub(crate) async fn named(&self, account_flags: &AccountFlags) -> anyhow::Result<Vec<ResourceArg>> {
        if self.files.is_empty() {
            return named(&self.words, account_flags.namespace());
        }
        ensure!(
            self.words.is_empty(),
            "when paths or stdin are provided as resource input, you may not specify resource arguments as well"
        );
        let mut resources = Vec::new();
        for source in self.files.read().await? {
            resources.push(ResourceArg {
                api_version: Some(source.text("/apiVersion").to_owned()),
                kind: source.text("/kind").to_owned(),
                namespace: source.namespace(account_flags)?,
                name: Some(source.text("/metadata/name").to_owned()),
                file: Some(source.file),
            });
        }
        Ok(resources)
    }

    /// Splits the words into resources and changes: `pod web app=web tier-`.
    pub(crate) fn with_pairs(&self, pair_kind: &str) -> anyhow::Result<(Self, Vec<String>)> {
        let mut resources = Self { words: Vec::new(), ..self.clone() };
        let mut pairs = Vec::new();
        for word in &self.words {
            let is_pair = word.find('=').is_some_and(|at| at > 0) || (word.ends_with('-') && word != "-");
            match (is_pair, pairs.is_empty()) {
                (true, _) => pairs.push(word.clone()),
                (false, true) => resources.words.push(word.clone()),
                (false, false) => bail!("all resources must be specified before {pair_kind} changes: {word}"),
            }
        }
        ensure!(
            !resources.words.is_empty() || !resources.files.is_empty(),
            "one or more resources must be specified as <resource> <name> or <resource>/<name>"
        );
        Ok((resources, pairs))
    }

    /// As [`Self::named`]; requires a selector for kinds without a name.
    pub(crate) async fn chosen(&self, account_flags: &AccountFlags) -> anyhow::Result<Vec<ResourceArg>> {
        let resources = self.named(account_flags).await?;
        if self.selector.is_none()
            && let Some(ResourceArg { kind, .. }) = resources.iter().find(|resource| resource.name.is_none())
        {
            bail!(
                "resource(s) were provided, but no name was specified; specify a name of {kind}, or a selector with -l"
            );
        }
        Ok(resources)
    }

    /// Objects in an account; lists those without a name by the selector.
    pub(crate) async fn in_account(
        &self,
        fanout: &AccountFanout<'_>,
        account: &str,
        resources: &[ResourceArg],
    ) -> Result<Vec<(ObjectRef, Option<String>)>, OperationError> {
        let mut found = Vec::new();
        for resource in resources {
            if let Some(name) = &resource.name {
                found.push((resource.object(name), resource.file.clone()));
            } else {
                let names = self.find(fanout, account, resource).await?;
                found.extend(names.iter().map(|name| (resource.object(name), None)));
            }
        }
        Ok(found)
    }

    async fn find(
        &self,
        fanout: &AccountFanout<'_>,
        account: &str,
        resource: &ResourceArg,
    ) -> Result<Vec<String>, OperationError> {
        #[derive(Deserialize)]
        struct ObjectList {
            items: Vec<Item>,
        }
        #[derive(Deserialize)]
        struct Item {
            metadata: ItemMetadata,
        }
        #[derive(Deserialize)]
        struct ItemMetadata {
            name: String,
        }
        let list = Verb::List(List {
            api_version: resource.api_version.clone(),
            kind: resource.kind.clone(),
            namespace: Some(resource.namespace.clone()),
            label_selector: self.selector.clone(),
            field_selector: None,
            anywhere: false,
        });
        let ObjectList { items } = fanout.submit(account, &list, None).await?.json().await?;
        Ok(items.into_iter().map(|item| item.metadata.name).collect())
    }
}

/// Parses `deploy/web svc/web`, `deploy web api`, `deploy,svc web`, or kinds alone.
fn named(words: &[String], namespace: &str) -> anyhow::Result<Vec<ResourceArg>> {
    let resource = |kind: &str, name: Option<&str>| ResourceArg {
        api_version: None,
        kind: kind.to_owned(),
        namespace: namespace.to_owned(),
        name: name.map(str::to_owned),
        file: None,
    };
    let Some((first, names)) = words.split_first() else {
        bail!("you must specify resources as TYPE/NAME or TYPE NAME, or files with -f");
    };
    if !first.contains('/') {
        ensure!(
            !names.iter().any(|name| name.contains('/')),
            "there is no need to specify a resource type as a separate argument when passing arguments in resource/name \
             form (e.g. '{}' instead of '{first} {}')",
            names[0],
            names[0]
        );
        let kinds = first.split(',').filter(|kind| !kind.is_empty());
        return Ok(kinds
            .flat_map(|kind| match names {
                [] => vec![resource(kind, None)],
                names => names.iter().map(|name| resource(kind, Some(name))).collect(),
            })
            .collect());
    }
    let mut resources = Vec::new();
    for word in words {
        match word.split_once('/') {
            Some((kind, name)) if !kind.is_empty() && !name.is_empty() && !name.contains('/') => {
                resources.push(resource(kind, Some(name)));
            }
            _ => bail!("arguments in resource/name form must have a single resource and name: {word:?}"),
        }
    }
    Ok(resources)
}

// === impl ResourceArg ===

impl ResourceArg {
    fn object(&self, name: &str) -> ObjectRef {
        ObjectRef {
            api_version: self.api_version.clone(),
            kind: self.kind.clone(),
            namespace: Some(self.namespace.clone()),
            name: name.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Vec<String>, String> {
        let words: Vec<_> = line.split_whitespace().map(str::to_owned).collect();
        let resources = named(&words, "shop").map_err(|error| error.to_string())?;
        Ok(resources
            .into_iter()
            .map(|resource| format!("{}/{}", resource.kind, resource.name.unwrap_or_default()))
            .collect())
    }

    #[test]
    fn objects_are_named_in_every_form_of_kubectl() {
        for (line, expected) in [
            ("deploy/web", &["deploy/web"][..]),
            ("deploy/web svc/api", &["deploy/web", "svc/api"]),
            ("deploy web api", &["deploy/web", "deploy/api"]),
            ("deploy,svc web", &["deploy/web", "svc/web"]),
            ("deployments.apps", &["deployments.apps/"]),
        ] {
            assert_eq!(read(line).unwrap(), expected, "{line}");
        }
        for (line, expected) in [
            ("", "TYPE/NAME"),
            ("deploy svc/web", "there is no need to specify a resource type"),
            ("deploy/web api", "must have a single resource and name: \"api\""),
            ("deploy/", "must have a single resource and name"),
            ("a/b/c", "must have a single resource and name"),
        ] {
            let error = read(line).unwrap_err();
            assert!(error.contains(expected), "{line}: {error}");
        }
    }
}
