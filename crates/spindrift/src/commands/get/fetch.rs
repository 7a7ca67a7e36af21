//! Objects from the hub, page by page.

use anyhow::bail;
use futures::TryStreamExt;
use serde_json::Value;
use spindrift_printer::SortKey;

use super::target::{QueryFlags, Target};
use crate::hub::{Client, Object, Page, ReadProblem};

/// Fetches objects from the hub.
pub(crate) struct Fetch<'a> {
    pub(crate) hub: &'a Client,
    pub(crate) query: &'a QueryFlags,
    /// Sort key; sorting needs all objects of a kind at once.
    pub(crate) sort: Option<SortKey>,
}

/// Object and its account.
#[derive(Debug, Clone)]
pub(crate) struct FetchedObject {
    pub(crate) account: String,
    pub(crate) value: Value,
}

// === impl Fetch ===

impl Fetch<'_> {
    /// Passes the objects of a target, page by page; returns kubectl's error for each name that was not found, and for
    /// each account that could not be read live.
    pub(crate) async fn pages(
        &self,
        target: &Target,
        mut take: impl AsyncFnMut(Vec<FetchedObject>) -> anyhow::Result<()>,
    ) -> anyhow::Result<Vec<String>> {
        let mut all = Vec::new();
        let mut missing = Vec::new();
        let every: Vec<_> = target.names.iter().map(|name| Some(name.as_str())).collect();
        let names = if every.is_empty() { vec![None] } else { every };
        for name in names {
            let mut is_found = false;
            let selection = self.query.selection(&target.resource, name);
            let mut pages = std::pin::pin!(self.hub.pages(selection));
            while let Some(Page { items, problems, .. }) = pages.try_next().await? {
                missing.extend(problems.into_iter().map(|ReadProblem { account, message }| {
                    format!("error: {} of account {account}: {message}", target.resource.plural)
                }));
                is_found |= !items.is_empty();
                let items = items.into_iter().map(FetchedObject::try_from).collect::<Result<Vec<_>, _>>()?;
                // Several named objects are one table.
                if self.sort.is_some() || name.is_some() { all.extend(items) } else { take(items).await? }
            }
            missing.extend(name.filter(|_| !is_found).map(|name| target.not_found(name)));
        }
        if let Some(key) = &self.sort {
            sort(&mut all, key)?;
        }
        if !all.is_empty() {
            take(all).await?;
        }
        Ok(missing)
    }
}

fn sort(objects: &mut Vec<FetchedObject>, key: &SortKey) -> anyhow::Result<()> {
    let mut keyed = Vec::new();
    for object in objects.drain(..) {
        keyed.push((key.of(&object.value)?, object));
    }
    if !keyed.is_empty() && keyed.iter().all(|(key, _)| key.is_none()) {
        bail!("couldn't find any field with path \"{key}\" in the list of objects");
    }
    keyed.sort_by(|(left, _), (right, _)| SortKey::compare(left.as_ref(), right.as_ref()));
    objects.extend(keyed.into_iter().map(|(_, object)| object));
    Ok(())
}

// === impl FetchedObject ===

impl TryFrom<Object> for FetchedObject {
    type Error = serde_json::Error;
    fn try_from(object: Object) -> Result<Self, serde_json::Error> {
        Ok(Self { account: object.account, value: serde_json::from_str(object.object.get())? })
    }
}
