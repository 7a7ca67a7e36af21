//! Reports of an engine: its declaration for the hub, and its logs and problems for operators.

use spindrift_kubernetes::Discovery;
use spindrift_model::{AccountDescription, Declaration, DeniedScope, Item, Scope, ScopeDeclaration, ScopeId};
use tracing::{info, warn};

use super::{Engine, scope::ScopePlan};

// === impl Engine ===

impl Engine {
    /// Declares all running and planned scopes to the hub, and which of them are forbidden.
    pub(super) async fn declare(&mut self, planned: &[ScopePlan]) {
        let running = self
            .running
            .iter()
            .map(|(scope, running)| (running.id, scope, &running.selected.resource, running.scrub_revision));
        let new =
            planned.iter().map(|plan| (plan.id, &plan.scope, &plan.selected.resource, plan.scrub_revision));
        let scopes = running.chain(new).map(|(id, scope, resource, scrub_revision)| {
            let (resource, namespace) = (resource.clone(), scope.namespace.clone());
            ScopeDeclaration { id, resource, namespace, scrub_revision }
        });
        let mut scopes: Vec<_> = scopes.collect();
        scopes.sort_by_key(|declared| declared.id);
        self.denied = self.denied_now(scopes.iter().map(|declared| (declared.id, declared.scope())));
        let (undiscovered_groups, denied) = (self.undiscovered.clone(), self.denied.clone());
        let declaration = Declaration { scopes, undiscovered_groups, denied };
        self.context.flow.send(Item::Declare(declaration)).await;
    }

    /// Declares the scopes again if the forbidden ones have changed since the last declaration.
    pub(super) async fn redeclare(&mut self) {
        let mut running: Vec<_> =
            self.running.iter().map(|(scope, running)| (running.id, scope.clone())).collect();
        running.sort_by_key(|(id, _)| *id);
        if self.denied_now(running) != self.denied {
            self.declare(&[]).await;
        }
    }

    fn denied_now(&self, scopes: impl IntoIterator<Item = (ScopeId, Scope)>) -> Vec<DeniedScope> {
        let permissions = &self.context.account.permissions;
        let denied = |(id, scope): (ScopeId, Scope)| {
            permissions.denial(&scope).map(|denial| DeniedScope { id, reason: denial.reason })
        };
        scopes.into_iter().filter_map(denied).collect()
    }

    /// Logs the result of an account's discovery in the words of the Armory agent.
    pub(super) fn log_discovery(&self, kinds: usize) {
        let AccountDescription { name, namespaces, .. } = &self.context.account.description;
        let (namespaces, errors) = (namespaces.len(), self.undiscovered.len());
        info!(
            account = %name, namespaces, kinds, errors,
            "Account discovery result received: account={name}, namespaces={namespaces}, kinds={kinds}, errors={errors}"
        );
    }

    /// Warns of configured kinds that are not cached: misspelt, not installed yet, or left out by the hub.
    pub(super) fn warn_of_unknown_kinds(&self, discovery: &Discovery) {
        let account = &*self.context.account;
        let name = &account.description.name;
        for (setting, kind) in account.unserved_kinds(discovery) {
            warn!(account = %name, kind, "the API server serves no such kind ({setting})");
            self.context.status.problem(name, format!("the API server serves no kind {kind:?} ({setting})"));
        }
        for kind in account.config.omitted_by_hub(&self.wanted.kinds, discovery) {
            warn!(account = %name, kind, "the hub leaves this kind out (kubesvc.cache.cacheOmitKinds)");
            let setting = "kinds; kubesvc.cache.cacheOmitKinds of the hub";
            self.context.status.problem(name, format!("the hub leaves out the kind {kind:?} ({setting})"));
        }
    }
}
