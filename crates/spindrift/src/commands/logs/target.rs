//! Accounts and pods whose logs are requested.

use std::collections::BTreeSet;

use anyhow::bail;
use futures::TryStreamExt;
use serde_json::Value;
use spindrift_kubernetes::{by_logging, rollout::selector_text};
use spindrift_model::{Get, List, ObjectRef, Verb};

use super::Logs;
use crate::{
    commands::operate::{AccountFanout, AccountLine, OperationError},
    hub::{Page, Selection},
};

pub(super) struct LogTargets<'a> {
    pub(super) logs: &'a Logs,
    pub(super) fanout: &'a AccountFanout<'a>,
}

// === impl LogTargets ===

impl LogTargets<'_> {
    /// Selected accounts; without a selection, the only account that has the object.
    pub(super) async fn accounts(&self) -> anyhow::Result<Vec<String>> {
        let Logs { account_flags, .. } = self.logs;
        let selected = account_flags.accounts(self.fanout.hub()).await;
        if !account_flags.is_unspecified() || selected.is_ok() {
            return selected;
        }
        let having: Vec<_> = self.having().await?.into_iter().collect();
        match &having[..] {
            // The error names all accounts.
            [] => selected,
            [_] => Ok(having),
            several => {
                let wanted =
                    self.logs.resource.as_deref().or(self.logs.selector.as_deref()).unwrap_or_default();
                bail!(
                    "{wanted} is in several accounts: {}; use -a ACCOUNT or --all-accounts",
                    several.join(", ")
                )
            }
        }
    }

    /// Accounts with a cached object of that name or selector.
    async fn having(&self) -> anyhow::Result<BTreeSet<String>> {
        let (kind, name) = match &self.logs.resource {
            Some(resource) => {
                let (kind, name) = resource.split_once('/').unwrap_or(("pods", resource));
                (kind, Some(name.to_owned()))
            }
            None => ("pods", None),
        };
        let selection = Selection {
            kind: Some(kind.to_owned()),
            namespace: Some(self.logs.account_flags.namespace().to_owned()),
            name,
            label_selector: self.logs.selector.clone(),
            ..Selection::default()
        };
        let mut having = BTreeSet::new();
        let mut pages = std::pin::pin!(self.fanout.hub().pages(selection));
        while let Some(Page { items, .. }) = pages.try_next().await? {
            having.extend(items.into_iter().map(|object| object.account));
        }
        Ok(having)
    }

    /// Pods in an account.
    pub(super) async fn of_account(&self, line: &AccountLine) -> Result<Vec<ObjectRef>, OperationError> {
        if let Some(resource) = &self.logs.resource {
            let (kind, name) = resource.split_once('/').unwrap_or(("pod", resource));
            let target = self.object(kind, name);
            let is_pod = matches!(kind.to_lowercase().as_str(), "pod" | "pods" | "po");
            Ok(vec![if is_pod { target } else { self.pod_of(line, target).await? }])
        } else {
            let pods = self.pods(line, self.logs.selector.clone()).await?;
            Ok(pods.iter().map(|pod| self.object("pod", name(pod))).collect())
        }
    }

    /// Pod of a workload, as kubectl chooses it; notes the choice if there are several.
    async fn pod_of(&self, line: &AccountLine, workload: ObjectRef) -> Result<ObjectRef, OperationError> {
        let get = Verb::Get(Get { target: workload.clone(), reveal: false, anywhere: false });
        let object: Value = self.fanout.submit(line.account(), &get, None).await?.json().await?;
        // Without a selector or pods, the agent reports the error.
        let Some(selector) = object.pointer("/spec/selector").and_then(selector_text) else {
            return Ok(workload);
        };
        let mut pods = self.pods(line, Some(selector)).await?;
        pods.sort_by(by_logging);
        let Some(first) = pods.first() else { return Ok(workload) };
        if pods.len() > 1 {
            line.note(&format!("Found {} pods, using pod/{}", pods.len(), name(first)));
        }
        Ok(self.object("pod", name(first)))
    }

    async fn pods(&self, line: &AccountLine, selector: Option<String>) -> Result<Vec<Value>, OperationError> {
        let list = Verb::List(List {
            api_version: Some("v1".to_owned()),
            kind: "Pod".to_owned(),
            namespace: Some(self.logs.account_flags.namespace().to_owned()),
            label_selector: selector,
            field_selector: None,
            anywhere: false,
        });
        let mut found: Value = self.fanout.submit(line.account(), &list, None).await?.json().await?;
        Ok(found["items"].as_array_mut().map(std::mem::take).unwrap_or_default())
    }

    fn object(&self, kind: &str, name: &str) -> ObjectRef {
        ObjectRef {
            api_version: None,
            kind: kind.to_owned(),
            namespace: Some(self.logs.account_flags.namespace().to_owned()),
            name: name.to_owned(),
        }
    }
}

fn name(pod: &Value) -> &str {
    pod.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default()
}
