//! Cache of the merge strategies of one API server, requested on demand.

use std::{
    collections::HashMap,
    sync::{Arc, LazyLock, Weak},
    time::Duration,
};

use parking_lot::Mutex;
use serde::Deserialize;
use tokio::time::Instant;
use tracing::debug;

use super::{
    Schema,
    openapi::{self, InvalidOpenApi},
};
use crate::client::{api::Api, error::ApiError, request::Get};

/// Merge strategies of one API server, by group version.
#[derive(Debug, Default)]
pub struct Schemas {
    known: Mutex<HashMap<Box<str>, CachedSchema>>,
    /// Serializes requests: documents are large while they are parsed.
    requesting: tokio::sync::Mutex<()>,
}

/// Cached schema of one group version; none if the server has none.
#[derive(Debug, Clone)]
struct CachedSchema {
    schema: Option<Arc<Schema>>,
    /// Time of the last request.
    checked: Instant,
}

/// Schemas in use for any API server of this process, by URL: its hash identifies the document on all of them.
static SHARED: LazyLock<Mutex<HashMap<Box<str>, Weak<Schema>>>> = LazyLock::new(Mutex::default);

/// Lifetime of a cached schema: types change with an upgrade of the API server, and strategies hardly ever.
const LIFETIME: Duration = Duration::from_mins(10);

/// Number of cached schemas, of about 10 KB each; built-in kinds have about 30 group versions.
const MAX_CACHED: usize = 32;

#[derive(Deserialize)]
struct Index {
    paths: HashMap<String, IndexEntry>,
}

#[derive(Deserialize)]
struct IndexEntry {
    #[serde(rename = "serverRelativeURL")]
    url: Box<str>,
}

/// The schema of the server is not available.
#[derive(Debug, thiserror::Error)]
enum Unavailable {
    #[error("the API server does not describe {0}")]
    NotDescribed(Box<str>),
    #[error("request the OpenAPI document")]
    Api(#[from] ApiError),
    #[error("parse the OpenAPI document")]
    Invalid(#[from] InvalidOpenApi),
}

// === impl Schemas ===

impl Schemas {
    /// Returns the schema of a group version, such as `apps/v1`; none if the server has none, so that
    /// [`Schema::builtin`] must be used.
    pub async fn of(&self, api: &Api, api_version: &str) -> Option<Arc<Schema>> {
        if let Some(known) = self.fresh(api_version) {
            return known.schema;
        }
        let _turn = self.requesting.lock().await;
        if let Some(known) = self.fresh(api_version) {
            return known.schema;
        }
        let before = self.known.lock().get(api_version).cloned();
        let known = match request(api, api_version).await {
            Ok(schema) => CachedSchema { schema: Some(schema), checked: Instant::now() },
            Err(error) => {
                debug!(
                    api_version,
                    error = &error as &dyn std::error::Error,
                    "OpenAPI schema not available; using the merge keys of the built-in kinds"
                );
                // A schema of ten minutes ago is closer to the server than the shipped one.
                let schema = before.and_then(|known| known.schema);
                CachedSchema { schema, checked: Instant::now() }
            }
        };
        let schema = known.schema.clone();
        self.keep(api_version, known);
        schema
    }

    fn fresh(&self, api_version: &str) -> Option<CachedSchema> {
        self.known.lock().get(api_version).filter(|known| known.checked.elapsed() < LIFETIME).cloned()
    }

    fn keep(&self, api_version: &str, new: CachedSchema) {
        let mut known = self.known.lock();
        if known.len() >= MAX_CACHED && !known.contains_key(api_version) {
            let oldest = known.iter().min_by_key(|(_, known)| known.checked).map(|(name, _)| name.clone());
            oldest.and_then(|oldest| known.remove(&oldest));
        }
        known.insert(api_version.into(), new);
    }
}

async fn request(api: &Api, api_version: &str) -> Result<Arc<Schema>, Unavailable> {
    let root = if api_version.contains('/') { "apis" } else { "api" };
    let path = format!("{root}/{api_version}");
    let Index { mut paths } = api.read_json(&Get::new(["openapi", "v3"])).await?;
    let IndexEntry { url } =
        paths.remove(&path).ok_or_else(|| Unavailable::NotDescribed(api_version.into()))?;
    if let Some(schema) = SHARED.lock().get(&url).and_then(Weak::upgrade) {
        return Ok(schema);
    }
    let document = api.read(&Get::new(["openapi", "v3"].into_iter().chain(path.split('/')))).await?;
    let schema = Arc::new(openapi::read(&document)?);
    // Even metadata has strategies: a server without any, such as the playground, uses those of the built-in kinds.
    if schema.types.is_empty() {
        return Err(Unavailable::NotDescribed(api_version.into()));
    }
    let mut shared = SHARED.lock();
    shared.retain(|_, schema| schema.strong_count() > 0);
    shared.insert(url, Arc::downgrade(&schema));
    Ok(schema)
}
