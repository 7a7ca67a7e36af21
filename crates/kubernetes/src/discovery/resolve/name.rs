//! Names of kinds as users write them, resolved by kubectl's rules.

use spindrift_model::Resource;

use crate::ServedResource;

/// Name in lower case, and the text after its first dot.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct KindName {
    name: String,
    /// `apps`, or `v1.apps`; perhaps the beginning of a group.
    rest: Option<String>,
}

// === impl KindName ===

impl KindName {
    pub(super) fn parse(text: &str) -> Self {
        let text = text.trim().to_lowercase();
        match text.split_once('.') {
            Some((name, rest)) if !rest.is_empty() => Self { name: name.into(), rest: Some(rest.into()) },
            _ => Self { name: text.trim_end_matches('.').into(), rest: None },
        }
    }

    /// Returns the resource of this name among those of one group version.
    pub(super) fn within(&self, served: &[ServedResource]) -> Option<Resource> {
        self.first(&served.iter())
    }

    /// Returns the resource of this name in the group that it names, or else in one with that prefix.
    pub(super) fn among(&self, served: &[ServedResource]) -> Option<Resource> {
        let Some(rest) = &self.rest else { return self.first(&served.iter()) };
        let (version, group) = rest.split_once('.').unwrap_or((rest, ""));
        let in_version = served.iter().filter(|served| {
            *served.resource.version.as_str() == *version && *served.resource.group == *group
        });
        let in_group = served.iter().filter(|served| *served.resource.group == **rest);
        let in_similar = served.iter().filter(|served| served.resource.group.starts_with(&**rest));
        self.first(&in_version).or_else(|| self.first(&in_group)).or_else(|| self.first(&in_similar))
    }

    /// Returns the first match; full names take precedence over short ones.
    fn first<'a>(&self, served: &(impl Iterator<Item = &'a ServedResource> + Clone)) -> Option<Resource> {
        let by_name = served.clone().find(|served| self.is_name_of(&served.resource));
        let found = by_name.or_else(|| served.clone().find(|served| self.is_short_for(served)))?;
        Some(found.resource.clone())
    }

    fn is_name_of(&self, resource: &Resource) -> bool {
        *resource.plural == *self.name || resource.kind.eq_ignore_ascii_case(&self.name)
    }

    fn is_short_for(&self, served: &ServedResource) -> bool {
        served.short_names.contains(&self.name)
    }
}
