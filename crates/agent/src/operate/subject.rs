//! What a verb is about, as far as the executor has to know: which kind, where, and which object.

use std::borrow::Cow;

use serde_json::Value;
use spindrift_model::{Manifest, ObjectRef, Resource, Verb};

use super::{Failure, Hand};

/// What a verb is about, in the words of the request.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Subject<'a> {
    api_version: Option<Cow<'a, str>>,
    kind: Cow<'a, str>,
    namespace: Option<Cow<'a, str>>,
    /// None: several, or one without a name yet.
    name: Option<Cow<'a, str>>,
    /// Whether it means all namespaces if it names none.
    everywhere: bool,
    /// Whether it may be outside of the account's namespaces: only reads can be.
    anywhere: bool,
}

/// What a verb is about, as the cluster knows it: mutations of the same go one after the other.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Aim {
    pub(super) resource: Resource,
    pub(super) namespace: Option<String>,
    pub(super) name: Option<String>,
}

// === impl Aim ===

impl Aim {
    /// Whether values may be in what is said of it.
    pub(super) fn is_secret(&self) -> bool {
        self.resource.group.is_empty() && &*self.resource.kind == "Secret"
    }

    /// The namespace that it is in, or is.
    fn place(&self) -> Option<&String> {
        let Self { resource, namespace, name } = self;
        namespace.as_ref().or(name.as_ref().filter(|_| is_namespace(resource)))
    }
}

// === impl Subject ===

impl<'a> Subject<'a> {
    /// None if it is about no object at all.
    pub(super) fn of(verb: &'a Verb) -> Result<Option<Self>, Failure> {
        Ok(Some(match verb {
            Verb::Apply(apply) => Self::of_manifest(&apply.manifest, apply.namespace.as_deref())?,
            Verb::Create(create) => Self::of_manifest(&create.manifest, create.namespace.as_deref())?,
            Verb::Replace(replace) => Self::of_manifest(&replace.manifest, replace.namespace.as_deref())?,
            Verb::Diff(diff) => Self::of_manifest(&diff.manifest, diff.namespace.as_deref())?,
            Verb::Patch(patch) => Self::of_object(&patch.target),
            Verb::Scale(scale) => Self::of_object(&scale.target),
            Verb::Rollout(rollout) => Self::of_object(&rollout.target),
            Verb::Get(get) => Self { anywhere: get.anywhere, ..Self::of_object(&get.target) },
            Verb::Logs(logs) => Self { anywhere: logs.anywhere, ..Self::of_object(&logs.target) },
            Verb::Matches(matches) => Self::of_object(&matches.target),
            Verb::Delete(delete) => Self {
                api_version: delete.api_version.as_deref().map(Cow::from),
                kind: (&*delete.kind).into(),
                namespace: delete.namespace.as_deref().map(Cow::from),
                name: delete.name.as_deref().map(Cow::from),
                everywhere: delete.name.is_none(),
                anywhere: false,
            },
            Verb::List(list) => Self {
                api_version: list.api_version.as_deref().map(Cow::from),
                kind: (&*list.kind).into(),
                namespace: list.namespace.as_deref().map(Cow::from),
                name: None,
                everywhere: true,
                anywhere: list.anywhere,
            },
            // What is measured is no object; `top` looks at namespaces itself.
            Verb::Top(_) | Verb::Discover {} => return Ok(None),
        }))
    }

    fn of_object(target: &'a ObjectRef) -> Self {
        let ObjectRef { api_version, kind, namespace, name } = target;
        Self {
            api_version: api_version.as_deref().map(Cow::from),
            kind: (&**kind).into(),
            namespace: namespace.as_deref().map(Cow::from),
            name: Some((&**name).into()),
            everywhere: false,
            anywhere: false,
        }
    }

    fn of_manifest(manifest: &'a Manifest, namespace: Option<&'a str>) -> Result<Self, Failure> {
        let Manifest(manifest) = manifest;
        let text =
            |pointer| manifest.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty());
        let required = |pointer: &'static str| {
            let field = pointer.trim_start_matches('/').replace('/', ".");
            text(pointer).ok_or_else(|| {
                Failure::ours(
                    400,
                    "BadRequest",
                    format!("manifest.{field}: expected a text that is not empty"),
                )
            })
        };
        let kind = required("/kind")?;
        if kind.ends_with("List") && manifest.get("items").is_some_and(Value::is_array) {
            let message = format!("manifest: a {kind} is not one object; expected its items, one by one");
            return Err(Failure::ours(400, "BadRequest", message));
        }
        Ok(Self {
            api_version: Some(required("/apiVersion")?.into()),
            kind: kind.into(),
            namespace: text("/metadata/namespace").or(namespace).map(Cow::from),
            name: text("/metadata/name").map(Cow::from),
            everywhere: false,
            anywhere: false,
        })
    }

    /// Where, as far as the request says so.
    pub(super) fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// Finds out what it is in this account's cluster, and whether the account may touch it.
    pub(super) async fn aim(self, hand: &Hand) -> Result<Aim, Failure> {
        let Self { api_version, kind, namespace, name, everywhere, anywhere } = self;
        let resource = hand.resolve(api_version.as_deref(), &kind).await?;
        let namespace = namespace.filter(|namespace| !namespace.is_empty());
        let namespace = match namespace {
            _ if !resource.namespaced => None,
            None if everywhere => None,
            namespace => Some(namespace.map_or_else(|| DEFAULT_NAMESPACE.to_owned(), Cow::into_owned)),
        };
        let aim = Aim { resource, namespace, name: name.map(Cow::into_owned) };
        let allowed = if anywhere { hand.allow_elsewhere(&aim) } else { hand.allow(&aim) };
        allowed.map(|()| aim)
    }
}

/// Where Kubernetes puts what names no namespace.
pub(super) const DEFAULT_NAMESPACE: &str = "default";

// === impl Hand ===

impl Hand {
    /// The namespace of an object as paths want it: none for kinds without namespaces, never empty for the others.
    pub fn namespace<'a>(&self, resource: &Resource, given: Option<&'a str>) -> Option<&'a str> {
        let given = given.filter(|given| !given.is_empty());
        resource.namespaced.then(|| given.unwrap_or(DEFAULT_NAMESPACE))
    }

    /// The namespaces that the account is limited to; empty is all but those that are left out.
    pub fn namespaces(&self) -> impl Iterator<Item = &str> {
        let config = &self.account.config;
        let is_kept = |namespace: &&str| !config.omit_namespaces.iter().any(|omitted| omitted == namespace);
        config.namespaces.iter().map(String::as_str).filter(is_kept)
    }

    /// Whether the account's configuration lets it into a namespace.
    pub(super) fn reaches(&self, namespace: &str) -> bool {
        let config = &self.account.config;
        let is_in = |list: &[String]| list.iter().any(|name| name == namespace);
        (config.namespaces.is_empty() || is_in(&config.namespaces)) && !is_in(&config.omit_namespaces)
    }

    /// Refuses what the account's configuration keeps out of reach.
    pub(super) fn allow(&self, aim: &Aim) -> Result<(), Failure> {
        match aim.place() {
            Some(namespace) if self.reaches(namespace) => Ok(()),
            Some(namespace) => Err(self.unauthorized(&format!("namespace {namespace} has"))),
            None => self.allow_elsewhere(aim),
        }
    }

    /// The same for a read that may be outside of the account's namespaces.
    pub(super) fn allow_elsewhere(&self, aim: &Aim) -> Result<(), Failure> {
        let Aim { resource, .. } = aim;
        let is_out_of_reach = !resource.namespaced && self.account.config.only_namespaced_resources;
        if is_out_of_reach && aim.place().is_none() {
            let what = format!("kinds without namespaces, such as {}, have", resource.kind);
            return Err(self.unauthorized(&what));
        }
        Ok(())
    }

    fn unauthorized(&self, what: &str) -> Failure {
        let account = &self.account.description.name;
        let message = format!("{what} not been authorized in the configuration of account {account}");
        Failure::ours(401, "Unauthorized", message)
    }
}

/// A namespace is no object of a namespace, and yet within reach or not.
pub(super) fn is_namespace(resource: &Resource) -> bool {
    resource.group.is_empty() && &*resource.kind == "Namespace"
}
