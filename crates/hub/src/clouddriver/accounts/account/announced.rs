//! Properties of an account that its agent announced, parsed field by field: an error in one does not affect the others.

use std::collections::BTreeMap;

use serde::Deserialize;
use spindrift_spinnaker::{CustomResource, view::KindExpressions};

use crate::account_limits::{NamespaceLimits, Properties};

/// Properties of an account that matter to Spinnaker.
#[derive(Debug, Default)]
pub(super) struct Announced {
    pub(super) environment: Option<String>,
    pub(super) account_type: Option<String>,
    pub(super) only_spinnaker_managed: Option<bool>,
    pub(super) custom_resources: Option<Vec<CustomResource>>,
    pub(super) cache_all_application_relationships: bool,
    pub(super) limits: NamespaceLimits,
    pub(super) permissions: BTreeMap<String, Vec<String>>,
    pub(super) required_group_membership: Vec<String>,
    pub(super) cache_threads: Option<u32>,
    pub(super) cache_interval_seconds: Option<u32>,
    pub(super) metrics: Option<bool>,
    pub(super) raw_resources: KindExpressions,
    /// Errors for the operator, each naming the field.
    pub(super) problems: Vec<String>,
}

/// `rawResourcesEndpointConfig`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct RawResources {
    kind_expressions: Vec<String>,
    omit_kind_expressions: Vec<String>,
}

/// Keys of `permissions`.
const AUTHORIZATIONS: [&str; 4] = ["READ", "WRITE", "EXECUTE", "CREATE"];

/// Role that no user has, also announced by agents. Empty permissions would open the account to everyone.
pub(super) const NOBODY: &str = "spindrift:nobody";

// === impl Announced ===

impl Announced {
    /// Parses all valid fields. A field that limits the account and is invalid denies everyone.
    pub(super) fn read(properties: &str) -> Self {
        let mut fields = Properties::parse(properties);
        let limits = NamespaceLimits::take(&mut fields);
        // The agent applies these; the hub only checks that they are valid.
        let _: [Vec<String>; 2] = [fields.take("kinds"), fields.take("omitKinds")];
        let mut permissions: BTreeMap<String, Vec<String>> = fields.take("permissions");
        if let Some(other) = permissions.keys().find(|key| !AUTHORIZATIONS.contains(&key.as_str())) {
            let problem = format!("permissions: expected one of {AUTHORIZATIONS:?}, found {other:?}");
            fields.problems.push(problem);
        }
        let required_group_membership = fields.take("requiredGroupMembership");
        if !fields.problems.is_empty() {
            permissions = ["READ", "WRITE"].map(|key| (key.to_owned(), vec![NOBODY.to_owned()])).into();
        }
        let custom_resources: Option<Vec<CustomResource>> = fields.take("customResources");
        for (index, custom) in custom_resources.iter().flatten().enumerate() {
            if let Err(wrong) = custom.check() {
                fields.problems.push(format!("customResources[{index}].{wrong}"));
            }
        }
        let raw_resources = raw_resources(&mut fields);
        Self {
            environment: fields.take("environment"),
            account_type: fields.take("accountType"),
            only_spinnaker_managed: fields.take("onlySpinnakerManaged"),
            custom_resources,
            cache_all_application_relationships: fields.take("cacheAllApplicationRelationships"),
            limits,
            permissions,
            required_group_membership,
            cache_threads: fields.take("cacheThreads"),
            cache_interval_seconds: fields.take("cacheIntervalSeconds"),
            metrics: fields.take("metrics"),
            raw_resources,
            problems: fields.problems,
        }
    }
}

/// Kinds that `/rawResources` shows; none if they are invalid.
fn raw_resources(properties: &mut Properties) -> KindExpressions {
    let RawResources { kind_expressions, omit_kind_expressions } =
        properties.take("rawResourcesEndpointConfig");
    KindExpressions::new(&kind_expressions, &omit_kind_expressions).unwrap_or_else(|invalid| {
        properties.problems.push(spindrift_process::report(&invalid));
        KindExpressions::nothing()
    })
}

#[cfg(test)]
mod tests {
    use spindrift_spinnaker::Kind;

    use super::*;

    #[test]
    fn roles_that_cannot_be_read_deny() {
        for properties in [
            "nonsense",
            "[]",
            r#"{"permissions":"devs"}"#,
            r#"{"permissions":{"READ":"devs"}}"#,
            r#"{"permissions":{"LOOK":["devs"]}}"#,
            r#"{"permissions":[{"READ":["devs"]}]}"#,
            r#"{"requiredGroupMembership":{"devs":true}}"#,
            r#"{"namespaces":"shop"}"#,
            r#"{"omitKinds":{"pod":true}}"#,
        ] {
            let announced = Announced::read(properties);
            assert_eq!(announced.permissions["WRITE"], [NOBODY], "{properties}");
            assert_eq!(announced.problems.len(), 1, "{:?}", announced.problems);
        }
        for open in ["", "{}", r#"{"permissions":{}}"#, r#"{"permissions":null,"kinds":null}"#] {
            let announced = Announced::read(open);
            assert!(announced.permissions.is_empty() && announced.problems.is_empty(), "{open}");
        }
    }

    #[test]
    fn an_invalid_field_is_reported_and_the_others_apply() {
        let announced = Announced::read(
            r#"{"environment":"prod","cacheThreads":"many","onlySpinnakerManaged":true,
                "customResources":[{"kubernetesKind":"A.example.com","deployPriority":"soon"}],
                "rawResourcesEndpointConfig":{"kindExpressions":["("]}}"#,
        );
        assert_eq!(announced.environment.as_deref(), Some("prod"));
        assert_eq!(announced.only_spinnaker_managed, Some(true));
        assert!(announced.permissions.is_empty(), "no field about permissions is invalid");
        assert!(!announced.raw_resources.show(&Kind::parse("pod")), "nothing rather than too much");
        let starts =
            ["customResources[0].deployPriority: expected", "the expression \"(\" of raw", "cacheThreads: "];
        for (problem, start) in announced.problems.iter().zip(starts) {
            assert!(problem.starts_with(start), "{problem}");
        }
        assert_eq!(announced.problems.len(), starts.len(), "{:?}", announced.problems);
    }
}
