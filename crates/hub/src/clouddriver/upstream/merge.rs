//! Merges two JSON responses. Entries are moved as raw text, so that their content stays unchanged.

use std::{borrow::Cow, collections::HashSet};

use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::{Map, Value, value::RawValue};

use super::plan::MergedList;

/// Both bodies, and a test for the upstream's accounts: its entries of other accounts are left out.
#[derive(Clone, Copy)]
pub(super) struct Sides<'a> {
    pub(super) ours: &'a [u8],
    pub(super) theirs: &'a [u8],
    pub(super) is_theirs: &'a dyn Fn(&str) -> bool,
}

type Merged = Result<Vec<u8>, serde_json::Error>;
type Raw<'a> = &'a RawValue;

/// Fields of an entry that show its account and name.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListEntry<'a> {
    #[serde(borrow, default)]
    account: Option<Raw<'a>>,
    #[serde(borrow, default)]
    account_name: Option<Raw<'a>>,
    #[serde(borrow, default)]
    name: Option<Raw<'a>>,
    #[serde(borrow, default, rename = "type")]
    kind: Option<Raw<'a>>,
}

// === impl Sides ===

impl<'a> Sides<'a> {
    pub(super) fn merge(self, list: MergedList) -> Merged {
        match list {
            MergedList::Applications => self.applications(),
            MergedList::Application => self.application(),
            MergedList::ByAccount => self.by_account(),
            MergedList::Entries => serde_json::to_vec(&self.entries()?),
            MergedList::LoadBalancers => self.load_balancers(),
            MergedList::Credentials => self.credentials(),
            MergedList::Projects => self.projects(),
            MergedList::Search => self.search(),
            MergedList::Stages => self.stages(),
            MergedList::ArtifactCredentials => self.artifact_credentials(),
            // `OwnResponse::with_health` merges it, since it also needs the reason of a missing part.
            MergedList::Health => Ok(self.ours.to_vec()),
        }
    }

    /// Whether an entry of the upstream is kept: one without an account always is.
    fn keeps(&self, account: Option<&str>) -> bool {
        account.is_none_or(self.is_theirs)
    }

    /// Own entries, then those of the upstream that belong to its accounts or to none.
    fn entries(self) -> Result<Vec<Raw<'a>>, serde_json::Error> {
        let mut entries: Vec<Raw<'a>> = serde_json::from_slice(self.ours)?;
        self.join(&mut entries, serde_json::from_slice(self.theirs)?);
        Ok(entries)
    }

    fn join(self, entries: &mut Vec<Raw<'a>>, theirs: Vec<Raw<'a>>) {
        entries.extend(theirs.into_iter().filter(|raw| {
            let entry = ListEntry::read(raw);
            self.keeps(text(entry.account).or(text(entry.account_name)).as_deref())
        }));
    }

    /// Sorted by name, as Clouddriver does.
    fn load_balancers(self) -> Merged {
        let mut entries = self.entries()?;
        entries.sort_by_cached_key(|raw| text(ListEntry::read(raw).name).map(Cow::into_owned));
        serde_json::to_vec(&entries)
    }

    /// Both list the same clusters in the same order, each with the server groups of its own accounts. Without Front50 this
    /// hub has no projects: then all entries are the upstream's, also those of this hub's accounts.
    fn projects(self) -> Merged {
        let ours: Vec<Raw<'a>> = serde_json::from_slice(self.ours)?;
        let theirs: Vec<Raw<'a>> = serde_json::from_slice(self.theirs)?;
        if ours.is_empty() {
            return serde_json::to_vec(&theirs);
        }
        if ours.len() != theirs.len() {
            return serde_json::to_vec(&self.entries()?);
        }
        let is_theirs = |raw: &Raw<'a>| self.keeps(text(ListEntry::read(raw).account).as_deref());
        let each = ours.into_iter().zip(theirs);
        let each: Vec<_> =
            each.map(|(ours, theirs)| if is_theirs(&theirs) { theirs } else { ours }).collect();
        serde_json::to_vec(&each)
    }

    fn credentials(self) -> Merged {
        let mut accounts: Vec<Raw<'a>> = serde_json::from_slice(self.ours)?;
        let theirs: Vec<Raw<'a>> = serde_json::from_slice(self.theirs)?;
        let is_theirs = |raw: &Raw<'a>| self.keeps(text(ListEntry::read(raw).name).as_deref());
        accounts.extend(theirs.into_iter().filter(is_theirs));
        serde_json::to_vec(&accounts)
    }

    fn artifact_credentials(self) -> Merged {
        let key = |raw: &Raw<'a>| {
            let entry = ListEntry::read(raw);
            (text(entry.name), text(entry.kind))
        };
        let mut accounts: Vec<Raw<'a>> = serde_json::from_slice(self.ours)?;
        let known: HashSet<_> = accounts.iter().map(key).collect();
        let theirs: Vec<Raw<'a>> = serde_json::from_slice(self.theirs)?;
        accounts.extend(theirs.into_iter().filter(|raw| !known.contains(&key(raw))));
        serde_json::to_vec(&accounts)
    }

    fn by_account(self) -> Merged {
        let mut accounts: IndexMap<Cow<'a, str>, Raw<'a>> = serde_json::from_slice(self.ours)?;
        let theirs: IndexMap<Cow<'a, str>, Raw<'a>> = serde_json::from_slice(self.theirs)?;
        accounts.extend(theirs.into_iter().filter(|(account, _)| self.keeps(Some(account))));
        serde_json::to_vec(&accounts)
    }

    /// Sorted by name in lower case, as Clouddriver does. Two names that differ in nothing else are two applications.
    fn applications(self) -> Merged {
        let mut applications: IndexMap<String, Map<String, Value>> = IndexMap::new();
        let ours: Vec<Map<String, Value>> = serde_json::from_slice(self.ours)?;
        applications.extend(ours.into_iter().map(|application| (name_of(&application), application)));
        let theirs: Vec<Map<String, Value>> = serde_json::from_slice(self.theirs)?;
        for mut application in theirs {
            let was_somewhere = self.leave_out(&mut application, "clusterNames");
            let is_anywhere = object(&application, "clusterNames").is_some_and(|it| !it.is_empty());
            match applications.get_mut(&name_of(&application)) {
                Some(known) => join_application(known, application, "clusterNames"),
                // All its clusters were in accounts that are not the upstream's.
                None if was_somewhere && !is_anywhere => {}
                None => {
                    applications.insert(name_of(&application), application);
                }
            }
        }
        applications.sort_by_cached_key(|name, _| (name.to_lowercase(), name.clone()));
        serde_json::to_vec(&applications.into_values().collect::<Vec<_>>())
    }

    fn application(self) -> Merged {
        let mut application: Map<String, Value> = serde_json::from_slice(self.ours)?;
        let mut theirs: Map<String, Value> = serde_json::from_slice(self.theirs)?;
        self.leave_out(&mut theirs, "clusters");
        join_application(&mut application, theirs, "clusters");
        serde_json::to_vec(&application)
    }

    /// Removes accounts that are not the upstream's from a map of an application; true if it held any account.
    fn leave_out(self, application: &mut Map<String, Value>, key: &str) -> bool {
        let Some(Value::Object(accounts)) = application.get_mut(key) else { return false };
        let had = !accounts.is_empty();
        accounts.retain(|account, _| (self.is_theirs)(account));
        had
    }

    /// Each side gives its own page; a page of both is up to twice as long. An application that both have is in it once.
    fn search(self) -> Merged {
        #[derive(Deserialize)]
        struct Page<'a> {
            #[serde(borrow, default)]
            results: Vec<&'a RawValue>,
            #[serde(default)]
            platform: Value,
        }
        let [ours]: [Page<'a>; 1] = serde_json::from_slice(self.ours)?;
        let [mut page]: [Map<String, Value>; 1] = serde_json::from_slice(self.ours)?;
        let theirs: Vec<Page<'a>> = serde_json::from_slice(self.theirs)?;
        let mut results = ours.results;
        let known: HashSet<_> = results.iter().filter_map(application_hit).collect();
        for part in theirs {
            let new = part
                .results
                .into_iter()
                .filter(|raw| application_hit(raw).is_none_or(|application| !known.contains(&application)));
            self.join(&mut results, new.collect());
            if !part.platform.is_null() {
                page.insert("platform".into(), part.platform);
            }
        }
        page.insert("totalMatches".into(), results.len().into());
        page.insert("results".into(), serde_json::to_value(&results)?);
        serde_json::to_vec(&[page])
    }

    fn stages(self) -> Merged {
        let mut stages: IndexMap<String, Map<String, Value>> = IndexMap::new();
        for side in [self.ours, self.theirs] {
            for stage in serde_json::from_slice::<Vec<Map<String, Value>>>(side)? {
                let name = stage.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
                let is_on = stage.get("enabled") == Some(&Value::Bool(true));
                let known = stages.entry(name).or_insert(stage);
                if is_on {
                    known.insert("enabled".into(), true.into());
                }
            }
        }
        serde_json::to_vec(&stages.into_values().collect::<Vec<_>>())
    }
}

/// Merges an application that both have, as Clouddriver merges one of several providers.
fn join_application(application: &mut Map<String, Value>, theirs: Map<String, Value>, clusters: &str) {
    for (key, value) in theirs {
        match (application.get_mut(&key), value) {
            (Some(Value::Object(known)), Value::Object(more)) if key == clusters => known.extend(more),
            (Some(Value::Object(known)), Value::Object(more)) if key == "attributes" => {
                join_attributes(known, more);
            }
            (Some(_), _) => {}
            (None, value) => {
                application.insert(key, value);
            }
        }
    }
}

fn join_attributes(known: &mut Map<String, Value>, more: Map<String, Value>) {
    for (key, value) in more {
        match (known.get_mut(&key), &value) {
            (Some(Value::String(providers)), Value::String(others)) if key == "cloudProviders" => {
                let mut all: Vec<&str> = providers.split(',').collect();
                all.extend(
                    others.split(',').filter(|other| !providers.split(',').any(|known| known == *other)),
                );
                *providers = all.join(",");
            }
            (Some(_), _) => {}
            (None, _) => {
                known.insert(key, value);
            }
        }
    }
}

/// Name of an application, if a search hit is one.
fn application_hit<'a>(hit: &&'a RawValue) -> Option<Cow<'a, str>> {
    let ListEntry { name, kind, .. } = ListEntry::read(hit);
    text(name).filter(|_| text(kind).as_deref() == Some("applications"))
}

fn name_of(application: &Map<String, Value>) -> String {
    application.get("name").and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn object<'m>(map: &'m Map<String, Value>, key: &str) -> Option<&'m Map<String, Value>> {
    map.get(key).and_then(Value::as_object)
}

// === impl ListEntry ===

impl<'a> ListEntry<'a> {
    /// Parses the fields; an entry that is no object has none.
    fn read(raw: &'a RawValue) -> Self {
        serde_json::from_str(raw.get()).unwrap_or(Self {
            account: None,
            account_name: None,
            name: None,
            kind: None,
        })
    }
}

fn text(raw: Option<Raw<'_>>) -> Option<Cow<'_, str>> {
    raw.and_then(|raw| serde_json::from_str(raw.get()).ok())
}

#[cfg(test)]
mod tests;
