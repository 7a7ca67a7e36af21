//! Instances: pods from the store, and their logs, live.

use axum::{
    Json,
    extract::State,
    response::{IntoResponse, Response},
};
use futures::future::join_all;
use spindrift_model::AccountName;
use spindrift_spinnaker::{
    FullName, Inventory, Missing,
    view::{Console, ConsoleOutput, Instance, containers},
};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{error::Error, jobs::whole_log, read, request::Segments};
use crate::rest::RestState;

pub(super) fn routes() -> OpenApiRouter<RestState> {
    OpenApiRouter::new().routes(routes!(instance)).routes(routes!(console))
}

/// One pod.
#[utoipa::path(
    get,
    path = "/instances/{account}/{region}/{id}",
    params(
        ("id" = String, Path, description = "`pod <name>`")
    ),
    responses((status = 200), (status = 404))
)]
async fn instance(
    State(state): State<RestState>,
    Segments((account, region, id)): Segments<(String, String, String)>,
) -> Result<Response, Error> {
    let missing = || Missing::Instance(&id);
    let behind = state.staleness.of(&account).await?;
    let account = AccountName::parse(&account).map_err(|_| missing())?;
    let object = FullName::parse(&id).map_err(|_| missing())?.at(region);
    let rows = state.store.rows_with_neighbours(&state.tenant, &account, &object).await?;
    let inventory = Inventory::new(&rows);
    let found = inventory.find(account.as_str(), &object.namespace, &object.kind, &object.name);
    let row = found.ok_or_else(missing)?;
    Ok((behind, Json(Instance::new(row))).into_response())
}

/// The logs of a pod's containers, live.
#[utoipa::path(
    get,
    path = "/instances/{account}/{region}/{id}/console",
    params(
        ("id" = String, Path, description = "`pod <name>`"),
        ("provider" = Option<String>, Query),
        ("cloudProvider" = Option<String>, Query)
    ),
    responses((status = 200), (status = 404), (status = 500, description = "The cluster could not be read"))
)]
async fn console(
    State(state): State<RestState>,
    Segments((account, region, id)): Segments<(String, String, String)>,
) -> Result<Json<Console>, Error> {
    let missing = || Missing::Instance(&id);
    let name = FullName::parse(&id).ok().filter(|name| name.kind.is("pod")).ok_or_else(missing)?;
    let account = state.accounts.find(&account).await?.ok_or_else(missing)?;
    let object = &name.at(region);
    let pod = read::find(&state.live, &account, object).await?;
    let Some(pod) = pod else { return Ok(Json(Console::without_pod())) };
    let logs = containers(&pod).into_iter().map(async |container| {
        let log = state.live.logs(&account.name, whole_log(&account, object, container.to_owned())).await;
        // A container that has not started has the API server's message as its log.
        let output = match log {
            Ok(log) => log,
            Err(error) if error.is_failure() => error.message(),
            Err(error) => return Err(read::unreadable("log", &account, &error)),
        };
        Ok(ConsoleOutput { name: container.to_owned(), output })
    });
    let output = join_all(logs).await.into_iter().collect::<Result<_, _>>()?;
    Ok(Json(Console { output }))
}
