//! Resources that Gate requests from every Clouddriver and Kubernetes does not have. The lists are empty: Deck would show
//! an error for a 404.

use axum::Json;
use serde_json::{Value, json};
use spindrift_spinnaker::Refusal;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{error::Error, request::Segments};
use crate::rest::RestState;

/// Empty list.
type EmptyList = Json<[(); 0]>;

/// Routes with an empty list; each needs its own function for the OpenAPI description.
macro_rules! empty {
    ($($name:ident $path:literal),* $(,)?) => {
        $(
            /// Kubernetes has none.
            #[utoipa::path(get, path = $path, responses((status = 200)))]
            async fn $name() -> EmptyList {
                Json([])
            }
        )*

        pub(super) fn routes() -> OpenApiRouter<RestState> {
            OpenApiRouter::new()
                $(.routes(routes!($name)))*
                .routes(routes!(networks))
                .routes(routes!(tag))
        }
    };
}

empty! {
    networks_of_provider "/networks/{provider}",
    subnets "/subnets",
    subnets_of_provider "/subnets/{provider}",
    vpcs "/vpcs",
    key_pairs "/keyPairs",
    instance_types "/instanceTypes",
    certificates "/certificates",
    certificates_of_provider "/certificates/{provider}",
    functions "/functions",
    functions_of_application "/applications/{application}/functions",
    tags "/tags",
    installed_plugins "/installedPlugins",
    storage "/storage",
    elastic_ips "/elasticIps/{account}",
    reservations "/reports/reservation",
}

/// Kubernetes has none.
#[utoipa::path(get, path = "/networks", responses((status = 200)))]
async fn networks() -> Json<Value> {
    Json(json!({}))
}

/// Kubernetes has none.
#[utoipa::path(get, path = "/tags/{id}", params(("id" = String, Path, description = "The id of tags")), responses((status = 404)))]
async fn tag(Segments(id): Segments<String>) -> Error {
    Refusal::not_found(format!("No EntityTags found w/ id = {id}")).into()
}
