//! `spindrift api-resources`: lists the cached kinds and their names.

use clap::Args;
use jiff::Timestamp;

use super::{
    Context,
    listing::{ListFlags, ListItem, ListPrinter},
};
use crate::hub::ApiResource;

const EXAMPLES: &str = "Examples:
  # Print the cached API resources
  spindrift api-resources

  # Print the cached API resources with more information
  spindrift api-resources -o wide

  # Print the cached non-namespaced resources
  spindrift api-resources --namespaced=false

  # Print the cached API resources with a specific APIGroup
  spindrift api-resources --api-group=rbac.authorization.k8s.io";

/// Print the API resources that the hub caches.
#[derive(Debug, Args)]
#[command(before_help = EXAMPLES, override_usage = "spindrift api-resources [options]")]
pub(crate) struct ApiResources {
    #[command(flatten)]
    show: ListFlags,
    /// If false, only non-namespaced resources will be returned; if true, only namespaced resources.
    #[arg(long, num_args = 0..=1, default_missing_value = "true")]
    namespaced: Option<bool>,
    /// Limit to resources in the specified API group. An empty value is the core group.
    #[arg(long)]
    api_group: Option<String>,
}

// === impl ApiResources ===

impl ApiResources {
    pub(crate) async fn run(self, context: &Context) -> anyhow::Result<()> {
        let Self { show, namespaced, api_group } = self;
        let mut resources = context.hub()?.api_resources().await?;
        resources.retain(|resource| {
            namespaced.is_none_or(|namespaced| resource.namespaced == namespaced)
                && api_group.as_ref().is_none_or(|group| resource.group == *group)
        });
        resources.sort_by(|a, b| (&a.group, &a.plural).cmp(&(&b.group, &b.plural)));
        ListPrinter::new(show, context).print(
            &resources,
            "No resources found; see: spindrift watches",
            context,
        )
    }
}

// === impl ApiResource ===

impl ListItem for ApiResource {
    const COLUMNS: &[&str] = &["NAME", "SHORTNAMES", "APIVERSION", "NAMESPACED", "KIND", "ACCOUNTS"];
    const NARROW: usize = 5;

    fn name(&self) -> String {
        if self.group.is_empty() { self.plural.clone() } else { format!("{}.{}", self.plural, self.group) }
    }

    fn cells(&self, _: Timestamp) -> Vec<String> {
        let Self { group, version, .. } = self;
        vec![
            self.plural.clone(),
            self.short_names.join(","),
            if group.is_empty() { version.clone() } else { format!("{group}/{version}") },
            self.namespaced.to_string(),
            self.kind.clone(),
            self.accounts.to_string(),
        ]
    }

    fn change_marker(&self) -> String {
        format!("{} {:?}", self.accounts, self.short_names)
    }
}
