//! Kinds that an account caches.

use spindrift_kubernetes::Discovery;
use spindrift_model::{CacheKinds, KindPattern, Resource};

use super::AccountConfig;

// === impl AccountConfig ===

impl AccountConfig {
    /// The kinds that `kinds`, `omitKinds` and `cachingPolicies` name and the API server does not serve, with the setting.
    pub fn unserved_kinds<'a>(
        &'a self,
        discovery: &'a Discovery,
    ) -> impl Iterator<Item = (&'static str, &'a str)> {
        let is_served = |text: &str| {
            let pattern = KindPattern::parse(text);
            discovery.resources.iter().any(|it| pattern.matches_with(it, discovery.short_names(it)))
        };
        let named = |setting, texts: &'a [String]| texts.iter().map(move |text| (setting, text.as_str()));
        let policies = self.caching_policies.iter().map(|policy| &*policy.kubernetes_kind);
        let all = named("kinds", &self.kinds).chain(named("omitKinds", &self.omit_kinds));
        let all = all.chain(policies.map(|kind| ("cachingPolicies", kind)));
        all.filter(move |(_, text)| !is_served(text))
    }

    /// Returns the kinds of `customResources`, which are always cached.
    pub fn custom_kinds(&self) -> impl Iterator<Item = KindPattern> {
        self.custom_resources.iter().flatten().map(|custom| KindPattern::parse(&custom.kubernetes_kind))
    }

    /// Returns the kinds to cache: those of `kinds`, else those of the hub and of `customResources`. The hub's omissions
    /// hold for both.
    pub fn cached_kinds(&self, hub: &CacheKinds) -> CacheKinds {
        let own = self.kinds.iter().map(|text| KindPattern::parse(text)).collect();
        // The Spinnaker kind of a custom resource would have no effect if its objects were not cached.
        hub.with(self.custom_kinds()).replaced_by(own)
    }

    /// The kinds that `kinds` names and the hub's configuration leaves out of every account.
    pub fn omitted_by_hub<'a>(
        &'a self,
        hub: &'a CacheKinds,
        discovery: &'a Discovery,
    ) -> impl Iterator<Item = &'a str> {
        let is_omitted = |text: &&String| {
            let pattern = KindPattern::parse(text);
            let named = |it: &&Resource| pattern.matches_with(it, discovery.short_names(it));
            let mut named = discovery.resources.iter().filter(named).peekable();
            named.peek().is_some() && named.all(|it| hub.omits(it, discovery.short_names(it)))
        };
        self.kinds.iter().filter(is_omitted).map(String::as_str)
    }

    /// Whether the account's own `kinds` and `omitKinds` let a resource pass, which its server gives these short names.
    pub fn admits(&self, resource: &Resource, short_names: &[impl AsRef<str>]) -> bool {
        let named = |texts: &[String]| {
            texts
                .iter()
                .map(|text| KindPattern::parse(text))
                .any(|pattern| pattern.matches(resource) || pattern.matches_with(resource, short_names))
        };
        (self.kinds.is_empty() || named(&self.kinds)) && !named(&self.omit_kinds)
    }
}
