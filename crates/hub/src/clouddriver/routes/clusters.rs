//! Clusters: server groups with a common name, from the store.

use axum::{
    Json,
    extract::State,
    response::{IntoResponse, Response},
};
use spindrift_spinnaker::{
    Inventory, Missing, Row,
    view::{Cluster, ClusterSummary, KUBERNETES},
};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    error::Error,
    request::{Parameters, Segments},
};
use crate::rest::RestState;

/// Names of targets, in lower case and without the suffix for auto scaling groups.
const TARGETS: [&str; 6] = ["current", "newest", "previous", "oldest", "largest", "fail"];

pub(super) fn routes() -> OpenApiRouter<RestState> {
    OpenApiRouter::new()
        .routes(routes!(of_account))
        .routes(routes!(by_name))
        .routes(routes!(by_type))
        .routes(routes!(server_groups))
        .routes(routes!(server_group))
        .routes(routes!(target))
        .routes(routes!(target_summary))
}

/// The clusters of an application in an account.
#[utoipa::path(
    get,
    path = "/applications/{application}/clusters/{account}",
    responses((status = 200), (status = 404))
)]
async fn of_account(
    State(state): State<RestState>,
    Segments((application, account)): Segments<(String, String)>,
) -> Result<Response, Error> {
    let behind = state.staleness.of(&account).await?;
    let rows = state.store.rows_of_application_without_instances(&state.tenant, &application).await?;
    let clusters = ClusterSummary::of_account(&application, &account, &Inventory::new(&rows));
    if clusters.is_empty() {
        return Err(Missing::Clusters { application: &application, account: &account }.into());
    }
    Ok((behind, Json(clusters)).into_response())
}

/// The clusters of a name: one, since there is only one provider.
#[utoipa::path(
    get,
    path = "/applications/{application}/clusters/{account}/{name}",
    params(
        ("expand" = Option<bool>, Query, description = "With its parts; true if absent")
    ),
    responses((status = 200), (status = 400), (status = 404))
)]
async fn by_name(
    State(state): State<RestState>,
    Segments(names): Segments<(String, String, String)>,
    parameters: Parameters,
) -> Result<Response, Error> {
    let behind = state.staleness.of(&names.1).await?;
    let wanted = Wanted::of(&names, &parameters)?;
    let rows = wanted.rows(&state).await?;
    let Wanted { application, account, name, .. } = wanted;
    let missing = || Missing::Cluster { application, account, name };
    let inventory = Inventory::new(&rows);
    let cluster = wanted.find(&inventory).ok_or_else(missing)?;
    Ok((behind, Json([cluster])).into_response())
}

/// A cluster.
#[utoipa::path(
    get,
    path = "/applications/{application}/clusters/{account}/{name}/{type}",
    params(
        ("expand" = Option<bool>, Query, description = "With its parts; true if absent")
    ),
    responses((status = 200), (status = 400), (status = 404))
)]
async fn by_type(
    State(state): State<RestState>,
    Segments((application, account, name, provider)): Segments<(String, String, String, String)>,
    parameters: Parameters,
) -> Result<Response, Error> {
    let behind = state.staleness.of(&account).await?;
    let names = (application, account, name);
    let wanted = Wanted::of(&names, &parameters)?;
    let rows = wanted.rows(&state).await?;
    let inventory = Inventory::new(&rows);
    let cluster = wanted.of_type(&provider, &inventory)?;
    Ok((behind, Json(cluster)).into_response())
}

/// The server groups of a cluster.
#[utoipa::path(
    get,
    path = "/applications/{application}/clusters/{account}/{name}/{type}/serverGroups",
    params(
        ("region" = Option<String>, Query, description = "Only those of a namespace"),
        ("expand" = Option<bool>, Query, description = "True if absent; none are shown otherwise")
    ),
    responses((status = 200), (status = 400), (status = 404))
)]
async fn server_groups(
    State(state): State<RestState>,
    Segments((application, account, name, provider)): Segments<(String, String, String, String)>,
    parameters: Parameters,
) -> Result<Response, Error> {
    let behind = state.staleness.of(&account).await?;
    let names = (application, account, name);
    let wanted = Wanted::of(&names, &parameters)?;
    let rows = wanted.rows(&state).await?;
    let inventory = Inventory::new(&rows);
    let groups = wanted.of_type(&provider, &inventory)?.into_server_groups().into_iter();
    let region = parameters.word("region");
    let groups: Vec<_> =
        groups.filter(|group| region.is_none_or(|region| group.region() == region)).collect();
    Ok((behind, Json(groups)).into_response())
}

/// A server group by name. Clouddriver finds none of Kubernetes on this path.
#[utoipa::path(
    get,
    path = "/applications/{application}/clusters/{account}/{name}/{type}/serverGroups/{serverGroup}",
    responses((status = 404))
)]
async fn server_group(
    Segments((_application, account, _cluster, provider, name)): Segments<(
        String,
        String,
        String,
        String,
        String,
    )>,
) -> Error {
    Missing::ServerGroupOfCluster { account: &account, name: &name, provider: &provider }.into()
}

/// A server group by target, such as `newest`. Clouddriver finds none of Kubernetes.
#[utoipa::path(
    get,
    path = "/applications/{application}/clusters/{account}/{name}/{type}/{scope}/serverGroups/target/{target}",
    responses((status = 404))
)]
async fn target(
    Segments((_application, account, cluster, provider, location, target)): Segments<(
        String,
        String,
        String,
        String,
        String,
        String,
    )>,
) -> Error {
    no_target(&target, &account, &location, &cluster, &provider)
}

/// Summary of a server group by target. Clouddriver finds none of Kubernetes.
#[utoipa::path(
    get,
    path = "/applications/{application}/clusters/{account}/{name}/{type}/{scope}/serverGroups/target/{target}/{summary}",
    responses((status = 404))
)]
async fn target_summary(
    Segments((_application, account, cluster, provider, location, target, _summary)): Segments<(
        String,
        String,
        String,
        String,
        String,
        String,
        String,
    )>,
) -> Error {
    no_target(&target, &account, &location, &cluster, &provider)
}

fn no_target(target: &str, account: &str, location: &str, cluster: &str, provider: &str) -> Error {
    let name = target.to_lowercase();
    let name = name.trim_end_matches("_dynamic").trim_end_matches("_asg");
    if !TARGETS.contains(&name) {
        return Missing::Target(target).into();
    }
    let provider = &provider.to_uppercase();
    Missing::ServerGroups { account, location, cluster, provider }.into()
}

/// Cluster of a request.
struct Wanted<'a> {
    application: &'a str,
    account: &'a str,
    name: &'a str,
    expand: bool,
}

// === impl Wanted ===

impl<'a> Wanted<'a> {
    fn of(
        (application, account, name): &'a (String, String, String),
        parameters: &Parameters,
    ) -> Result<Self, Error> {
        Ok(Self { application, account, name, expand: parameters.flag("expand", true)? })
    }

    async fn rows(&self, state: &RestState) -> Result<Vec<Row>, Error> {
        let (store, tenant) = (&state.store, &state.tenant);
        Ok(if self.expand {
            store.rows_of_application(tenant, self.application).await?
        } else {
            store.rows_of_application_without_instances(tenant, self.application).await?
        })
    }

    fn find<'r>(&self, inventory: &'r Inventory<'r>) -> Option<Cluster<'r>>
    where
        'a: 'r,
    {
        let Self { application, account, name, expand } = *self;
        Cluster::find((application, account, name), expand, inventory)
    }

    fn of_type<'r>(&self, provider: &str, inventory: &'r Inventory<'r>) -> Result<Cluster<'r>, Error>
    where
        'a: 'r,
    {
        let Self { application, account, name, .. } = *self;
        if provider != KUBERNETES {
            return Err(Missing::ClusterProvider { provider, application, account, name }.into());
        }
        let missing = || Missing::ClusterOfType { application, account, provider }.into();
        self.find(inventory).ok_or_else(missing)
    }
}
