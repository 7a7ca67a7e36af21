//! Arguments of `get` and `describe`: kinds, names, accounts and namespaces.

use anyhow::{anyhow, bail};
use clap::{Args, builder::NonEmptyStringValueParser};
use clap_complete::ArgValueCompleter;

use spindrift_process::nearest;

use crate::{
    commands::operate::{expand_accounts, is_pattern},
    complete,
    hub::{ApiResource, Client, Selection},
};

/// Flags that select objects.
#[derive(Debug, Clone, Args)]
pub(crate) struct QueryFlags {
    /// List the requested object(s) across all namespaces. --namespace is ignored even if specified.
    #[arg(short = 'A', long)]
    all_namespaces: bool,
    /// The namespace of the requested object(s).
    #[arg(short, long, default_value = "default", add = ArgValueCompleter::new(complete::namespaces))]
    namespace: String,
    /// A comma-separated list of accounts, or patterns such as 'eu-*'. Defaults to all accounts.
    #[arg(
        short,
        long = "account",
        value_delimiter = ',',
        value_name = "ACCOUNT",
        value_parser = NonEmptyStringValueParser::new(),
        add = ArgValueCompleter::new(complete::accounts)
    )]
    accounts: Vec<String>,
    /// Set if the accounts were selected by a pattern, which may match several.
    #[arg(skip)]
    by_pattern: bool,
    /// Selector (label query) to filter on, supports '=', '==', '!=', 'in' and 'notin' (e.g. -l key1=value1,key2=value2).
    /// Matching objects must satisfy all of the specified label constraints.
    #[arg(short = 'l', long)]
    selector: Option<String>,
    /// Selector (field query) to filter on, supports '=', '==', and '!=' (e.g. --field-selector status.phase=Running).
    #[arg(long)]
    field_selector: Option<String>,
}

/// Kind and names of the requested objects; without names, all objects of the kind.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) resource: ApiResource,
    pub(crate) names: Vec<String>,
}

/// Kinds of kubectl's category `all`.
const ALL: [(&str, &str); 10] = [
    ("", "Pod"),
    ("", "ReplicationController"),
    ("", "Service"),
    ("apps", "DaemonSet"),
    ("apps", "Deployment"),
    ("apps", "ReplicaSet"),
    ("apps", "StatefulSet"),
    ("autoscaling", "HorizontalPodAutoscaler"),
    ("batch", "CronJob"),
    ("batch", "Job"),
];

/// Parses the arguments: `pods web-1 web-2`, `deploy,svc`, `pod/web-1 svc/web`.
pub(crate) async fn resolve(hub: &Client, kind: &str, names: &[String]) -> anyhow::Result<Vec<Target>> {
    let mut resources = hub.api_resources().await?;
    if kinds(kind, names).any(|kind| find(&resources, kind).is_err()) {
        resources = hub.served_resources().await?;
    }
    let mut targets = Vec::new();
    if !kind.contains('/') {
        if names.iter().any(|name| name.contains('/')) {
            bail!(
                "there is no need to specify a resource type as a separate argument when passing arguments in \
                 resource/name form (e.g. 'spindrift get resource/<resource_name>' instead of 'spindrift get resource \
                 resource/<resource_name>')"
            );
        }
        for word in kind.split(',') {
            for resource in find(&resources, word)? {
                add(&mut targets, resource, names);
            }
        }
        return Ok(targets);
    }
    for word in std::iter::once(kind).chain(names.iter().map(String::as_str)) {
        let Some((kind, name)) = word.split_once('/').filter(|(_, name)| !name.is_empty()) else {
            bail!(
                "arguments in resource/name form may not have more than one slash or be mixed with names: {word:?}"
            );
        };
        for resource in find(&resources, kind)? {
            add(&mut targets, resource, &[name.to_owned()]);
        }
    }
    Ok(targets)
}

/// Kinds of the arguments.
fn kinds<'a>(kind: &'a str, names: &'a [String]) -> impl Iterator<Item = &'a str> {
    let names = names.iter().map(String::as_str).filter(|_| kind.contains('/'));
    kind.split(',').chain(names).filter_map(|word| word.split('/').next())
}

/// Adds names to the last target if it has the same kind: consecutive names of one kind are one table.
fn add(targets: &mut Vec<Target>, resource: &ApiResource, names: &[String]) {
    let same = |target: &&mut Target| {
        target.resource.group == resource.group && target.resource.kind == resource.kind
    };
    match targets.last_mut().filter(same) {
        Some(target) => target.names.extend_from_slice(names),
        None => targets.push(Target { resource: resource.clone(), names: names.to_vec() }),
    }
}

fn find<'a>(resources: &'a [ApiResource], word: &str) -> anyhow::Result<Vec<&'a ApiResource>> {
    let word = word.trim().to_lowercase();
    if word == "all" {
        let of = |(group, kind): &(&str, &str)| {
            resources.iter().find(|resource| resource.group == *group && resource.kind == *kind)
        };
        return Ok(ALL.iter().filter_map(of).collect());
    }
    let meant = resources.iter().filter(|resource| resource.is_called(&word));
    match meant.min_by_key(|resource| (resource.precedence(), &resource.group)) {
        Some(resource) => Ok(vec![resource]),
        None => Err(anyhow!("{}", unknown_kind(resources, &word))),
    }
}

fn unknown_kind(resources: &[ApiResource], word: &str) -> String {
    let of = |resource: &'_ ApiResource| {
        [resource.kind.to_lowercase(), resource.plural.to_lowercase()]
            .into_iter()
            .chain(resource.short_names.clone())
    };
    let known: Vec<_> = resources.iter().flat_map(of).collect();
    let name = word.split('.').next().unwrap_or(word);
    let hint = match nearest(known.iter().map(String::as_str), name) {
        // With another group, it would be the same word again.
        Some(close) if close != name => format!("did you mean {close}? "),
        _ => String::new(),
    };
    format!(
        "the server doesn't have a resource type \"{word}\" in any account; {hint}for the resource types that the hub caches, see: spindrift \
         api-resources"
    )
}

// === impl ApiResource ===

impl ApiResource {
    fn is_called(&self, word: &str) -> bool {
        let (name, group) = word.split_once('.').map_or((word, None), |(name, group)| (name, Some(group)));
        let is_named = self.kind.to_lowercase() == name
            || self.plural.to_lowercase() == name
            || self.short_names.iter().any(|short| short.to_lowercase() == name);
        is_named
            && group.is_none_or(|group| {
                group == self.group.to_lowercase() || group == format!("{}.{}", self.version, self.group)
            })
    }

    /// Whether some objects of it are not in the cache of the hub.
    pub(crate) fn is_read_live(&self) -> bool {
        !self.cached || self.uncached > 0
    }

    /// Order of groups that have the same name: the core group, then Kubernetes' own groups, then others.
    fn precedence(&self) -> u8 {
        match self.group.as_str() {
            "" => 0,
            group if !group.contains('.') || group.ends_with(".k8s.io") => 1,
            _ => 2,
        }
    }

    /// Unambiguous form of the kind for the hub: `Pod.v1.`, `Deployment.apps`.
    pub(crate) fn pattern(&self) -> String {
        match self.group.as_str() {
            "" => format!("{}.{}.", self.kind, self.version),
            group => format!("{}.{group}", self.kind),
        }
    }

    /// Prefix of names with `-o name` and in several tables: `pod`, `deployment.apps`.
    pub(crate) fn prefix(&self) -> String {
        let kind = self.kind.to_lowercase();
        if self.group.is_empty() { kind } else { format!("{kind}.{}", self.group) }
    }
}

// === impl Target ===

impl Target {
    /// Note for the user that the objects do not come from the cache, if so.
    pub(crate) fn live_note(&self) -> Option<String> {
        let ApiResource { plural, cached, uncached, .. } = &self.resource;
        if !cached {
            return Some(format!("note: {plural} are not cached by the hub; read live from the clusters"));
        }
        (*uncached > 0).then(|| {
            format!(
                "note: {plural} are not cached in {uncached} of the accounts; read live from their clusters"
            )
        })
    }

    /// kubectl's error for an object that does not exist.
    pub(crate) fn not_found(&self, name: &str) -> String {
        let ApiResource { plural, group, .. } = &self.resource;
        let dot = if group.is_empty() { "" } else { "." };
        format!("Error from server (NotFound): {plural}{dot}{group} \"{name}\" not found")
    }
}

// === impl QueryFlags ===

impl QueryFlags {
    /// Query for the hub.
    pub(crate) fn selection(&self, resource: &ApiResource, name: Option<&str>) -> Selection {
        let namespace = (!self.all_namespaces && resource.namespaced).then(|| self.namespace.clone());
        Selection {
            account: (!self.accounts.is_empty()).then(|| self.accounts.join(",")),
            kind: Some(resource.pattern()),
            namespace,
            name: name.map(str::to_owned),
            label_selector: self.selector.clone(),
            field_selector: self.field_selector.clone(),
            limit: None,
            live: resource.is_read_live().then_some(true),
        }
    }

    /// Whether the user selected exactly one account; then the output is the same as kubectl's.
    pub(crate) fn is_one_account(&self) -> bool {
        self.accounts.len() == 1 && !self.by_pattern
    }

    /// Replaces patterns by the accounts that they match.
    pub(crate) async fn expand(&mut self, hub: &Client) -> anyhow::Result<()> {
        self.by_pattern = self.accounts.iter().any(|wanted| is_pattern(wanted));
        self.accounts = expand_accounts(hub, &self.accounts).await?;
        Ok(())
    }

    pub(crate) fn shows_namespace(&self, resource: &ApiResource) -> bool {
        self.all_namespaces && resource.namespaced
    }

    /// kubectl's note for an empty result.
    pub(crate) fn nothing(&self, targets: &[Target]) -> String {
        let namespaced = targets.iter().any(|target| target.resource.namespaced);
        if self.all_namespaces || !namespaced {
            "No resources found".to_owned()
        } else {
            format!("No resources found in {} namespace.", self.namespace)
        }
    }

    /// Fails if a selected account does not exist, since an empty result would be misleading.
    pub(crate) async fn check_accounts(&self, hub: &Client) -> anyhow::Result<()> {
        check_accounts(hub, &self.accounts).await
    }
}

/// Fails if the hub has no account of one of these names.
pub(crate) async fn check_accounts(hub: &Client, accounts: &[String]) -> anyhow::Result<()> {
    if accounts.is_empty() {
        return Ok(());
    }
    let known: Vec<_> = hub.accounts().await?.into_iter().map(|account| account.name).collect();
    match accounts.iter().find(|account| !known.contains(account)) {
        None => Ok(()),
        Some(unknown) if known.is_empty() => {
            bail!("account {unknown:?} not found: no agent has connected to the hub yet")
        }
        Some(unknown) => bail!("account {unknown:?} not found; the hub has {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resource(group: &str, kind: &str, plural: &str, short: &[&str]) -> ApiResource {
        ApiResource {
            group: group.into(),
            version: "v1".into(),
            kind: kind.into(),
            plural: plural.into(),
            namespaced: true,
            short_names: short.iter().map(ToString::to_string).collect(),
            accounts: 1,
            cached: true,
            uncached: 0,
        }
    }

    #[test]
    fn kinds_are_found_by_all_their_names() {
        let resources = [
            resource("serving.knative.dev", "Service", "services", &["kservice"]),
            resource("", "Service", "services", &["svc"]),
            resource("apps", "Deployment", "deployments", &["deploy"]),
        ];
        for (word, group) in [
            ("svc", ""),
            ("Services", ""),
            ("service", ""),
            ("kservice", "serving.knative.dev"),
            ("services.serving.knative.dev", "serving.knative.dev"),
            ("Deployment.apps", "apps"),
            ("deployments.v1.apps", "apps"),
            ("services.v1.", ""),
        ] {
            let found = find(&resources, word).unwrap();
            assert_eq!(found.iter().map(|found| found.group.as_str()).collect::<Vec<_>>(), [group], "{word}");
        }
        assert_eq!(find(&resources, "all").unwrap().len(), 2);
        let error = find(&resources, "deploy.x").unwrap_err().to_string();
        assert!(error.starts_with("the server doesn't have a resource type \"deploy.x\""), "{error}");
        for (word, hint) in [("deploymnet", "did you mean deployment?"), ("scv", "did you mean svc?")] {
            let error = find(&resources, word).unwrap_err().to_string();
            assert!(error.contains(hint), "{error}");
        }
        for word in ["unicorns", "deploy.x"] {
            assert!(!find(&resources, word).unwrap_err().to_string().contains("did you mean"), "{word}");
        }
    }

    #[test]
    fn consecutive_names_of_one_kind_are_one_target() {
        let mut targets = Vec::new();
        let (pod, service) = (resource("", "Pod", "pods", &[]), resource("", "Service", "services", &[]));
        for (resource, name) in [(&pod, "a"), (&pod, "b"), (&service, "c"), (&pod, "d")] {
            add(&mut targets, resource, &[name.to_owned()]);
        }
        let found: Vec<_> = targets.iter().map(|target| target.names.join(" ")).collect();
        assert_eq!(found, ["a b", "c", "d"]);
        assert_eq!(targets[0].not_found("x"), "Error from server (NotFound): pods \"x\" not found");
    }
}
