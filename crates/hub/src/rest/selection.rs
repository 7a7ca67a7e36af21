//! Which objects a caller means.

use std::collections::HashSet;

use serde::Deserialize;
use spindrift_model::{AccountName, KindPattern, ObjectKey};
use utoipa::IntoParams;

use super::{
    RestState,
    error::Error,
    fields::FieldSelector,
    kinds::{self, GroupKind, MeantKinds},
    selector::LabelSelector,
};
use crate::store::{Change, ObjectQuery, StoreError, StoredObject};

/// Which objects.
#[derive(Debug, Clone, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub(super) struct Filter {
    /// Accounts, joined by commas; all if absent.
    account: Option<String>,
    /// `Pod`, `deployments`, `svc`, `Widget.example.com`, joined by commas, or `all` as kubectl means it; every kind if
    /// absent.
    kind: Option<String>,
    /// The namespace; all if absent.
    namespace: Option<String>,
    /// The object's name.
    name: Option<String>,
    /// As in `kubectl -l`.
    label_selector: Option<String>,
    /// As in `kubectl --field-selector`, on any field of the kind: `status.phase!=Running,spec.nodeName=a`.
    field_selector: Option<String>,
}

/// A filter that has been understood.
#[derive(Debug)]
pub(super) struct Selection {
    pub(super) query: ObjectQuery,
    labels: LabelSelector,
    fields: FieldSelector,
    /// Label selector in the caller's words.
    pub(super) label_selector: Option<String>,
    /// Empty for every kind.
    pub(super) kinds: Vec<KindPattern>,
    /// Patterns that name no cached kind.
    pub(super) uncached: Vec<String>,
    /// The kinds that were stored when the patterns were last looked up.
    known: HashSet<GroupKind>,
}

/// Kinds of kubectl's `get all`.
const ALL: [&str; 10] = [
    "pods.v1.",
    "replicationcontrollers.v1.",
    "services.v1.",
    "daemonsets.apps",
    "deployments.apps",
    "replicasets.apps",
    "statefulsets.apps",
    "horizontalpodautoscalers.autoscaling",
    "cronjobs.batch",
    "jobs.batch",
];

/// Understands names of accounts that are joined by commas; none for all.
pub(super) fn accounts(text: Option<&str>) -> Result<Option<Vec<AccountName>>, Error> {
    match text {
        None | Some("") => Ok(None),
        Some(names) => {
            let names = names.split(',').map(AccountName::parse).collect::<Result<_, _>>();
            names.map(Some).map_err(|invalid| Error::bad_request("account", invalid))
        }
    }
}

// === impl Filter ===

impl Filter {
    /// Understands the filter; an unknown account or kind is simply empty, as it may come any moment.
    pub(super) async fn select(self, state: &RestState) -> Result<Selection, Error> {
        let Self { account, kind, namespace, name, label_selector, field_selector } = self;
        let labels = label_selector
            .as_deref()
            .unwrap_or_default()
            .parse()
            .map_err(|invalid| Error::bad_request("labelSelector", invalid))?;
        let fields: FieldSelector = field_selector
            .unwrap_or_default()
            .parse()
            .map_err(|invalid| Error::bad_request("fieldSelector", invalid))?;
        // Two fields are columns: the database finds them without reading every object.
        let required = |path| fields.required(path).map(str::to_owned);
        let query = ObjectQuery {
            tenant: state.tenant.clone(),
            accounts: accounts(account.as_deref())?,
            kinds: None,
            namespace: namespace.or_else(|| required(&["metadata", "namespace"])),
            name: name.or_else(|| required(&["metadata", "name"])),
            after: None,
            limit: 0,
        };
        let kinds = kind.as_deref().map(patterns).unwrap_or_default();
        let (known, uncached) = (HashSet::new(), Vec::new());
        let mut selection = Selection { query, labels, fields, label_selector, kinds, uncached, known };
        selection.look_up_kinds(state).await?;
        let kinds = selection.query.kinds.as_deref().unwrap_or_default();
        selection.fields.check(kinds).map_err(|unknown| Error::bad_request("fieldSelector", unknown))?;
        Ok(selection)
    }
}

fn patterns(text: &str) -> Vec<KindPattern> {
    let names = text.split(',').filter(|name| !name.trim().is_empty());
    let expanded = names.flat_map(|name| match name.trim() {
        "all" => ALL.to_vec(),
        other => vec![other],
    });
    expanded.map(KindPattern::parse).collect()
}

// === impl Selection ===

impl Selection {
    async fn look_up_kinds(&mut self, state: &RestState) -> Result<(), StoreError> {
        if self.kinds.is_empty() {
            return Ok(());
        }
        let MeantKinds { meant, stored, uncached } = kinds::meant(&self.kinds, state).await?;
        self.uncached = uncached;
        // A kind that was removed stays selected: its last objects are about to be reported as deleted.
        let mut kinds: HashSet<_> = self.query.kinds.take().unwrap_or_default().into_iter().collect();
        kinds.extend(meant);
        self.query.kinds = Some(kinds.into_iter().collect());
        self.known = stored;
        Ok(())
    }

    /// Looks the kinds up again if objects of one appear that was not there before.
    pub(super) async fn refresh(
        &mut self,
        state: &RestState,
        mut keys: impl Iterator<Item = &ObjectKey>,
    ) -> Result<(), StoreError> {
        if !self.kinds.is_empty()
            && keys.any(|key| !self.known.contains(&(key.group.to_string(), key.kind.to_string())))
        {
            self.look_up_kinds(state).await?;
        }
        Ok(())
    }

    /// Whether the change is of an object that is meant, labels and fields aside.
    pub(super) fn covers(&self, change: &Change) -> bool {
        let ObjectQuery { kinds, namespace, name, .. } = &self.query;
        let key = change.key();
        let kind = (key.group.to_string(), key.kind.to_string());
        // The deleted object may be the last of its kind, which is then unknown.
        let may_be = matches!(change, Change::Deleted { .. }) && !self.known.contains(&kind);
        (may_be || kinds.as_ref().is_none_or(|kinds| kinds.contains(&kind)))
            && namespace.as_ref().is_none_or(|namespace| **namespace == *key.namespace)
            && name.as_ref().is_none_or(|name| **name == *key.name)
    }

    /// Whether the object has the labels and fields that are asked for.
    pub(super) fn matches(&self, object: &StoredObject) -> bool {
        self.labels.matches(&object.labels) && self.fields.matches(&object.body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_joined_by_commas_and_all_means_as_in_kubectl() {
        let names = |text: &str| patterns(text).iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(names("po, svc,"), ["po", "svc"]);
        assert_eq!(names("all").len(), ALL.len());
        assert!(names("").is_empty());
    }
}
