//! The merge facts of one API server, asked for when they are needed and kept for a while.

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

/// The merge facts of one API server, by group version.
#[derive(Debug, Default)]
pub struct Schemas {
    known: Mutex<HashMap<Box<str>, Known>>,
    /// One asks, and the others wait: documents are large while they are read.
    asking: tokio::sync::Mutex<()>,
}

/// The facts of one group version, or that there are none to be had.
#[derive(Debug, Clone)]
struct Known {
    schema: Option<Arc<Schema>>,
    /// When the server was asked whether that is still so.
    checked: Instant,
}

/// What is in use by any API server of this process, by URL: its hash makes it the same on all of them.
static SHARED: LazyLock<Mutex<HashMap<Box<str>, Weak<Schema>>>> = LazyLock::new(Mutex::default);

/// Types change when an API server is upgraded, and merge facts hardly ever.
const TRUSTED: Duration = Duration::from_mins(10);

/// About 10 KB each, of those that deploys really use; there are about 30 in all.
const MOST_KNOWN: usize = 32;

#[derive(Deserialize)]
struct Index {
    paths: HashMap<String, Place>,
}

#[derive(Deserialize)]
struct Place {
    #[serde(rename = "serverRelativeURL")]
    url: Box<str>,
}

/// Why the server's own facts are not to be had.
#[derive(Debug, thiserror::Error)]
enum Unavailable {
    #[error("the API server does not describe {0}")]
    NotDescribed(Box<str>),
    #[error("ask for the OpenAPI document")]
    Api(#[from] ApiError),
    #[error("understand the OpenAPI document")]
    Invalid(#[from] InvalidOpenApi),
}

// === impl Schemas ===

impl Schemas {
    /// The facts of a group version, such as `apps/v1`; none if the server does not tell, so that
    /// [`Schema::builtin`] must do.
    pub async fn of(&self, api: &Api, api_version: &str) -> Option<Arc<Schema>> {
        if let Some(known) = self.trusted(api_version) {
            return known.schema;
        }
        let _turn = self.asking.lock().await;
        if let Some(known) = self.trusted(api_version) {
            return known.schema;
        }
        let before = self.known.lock().get(api_version).cloned();
        let known = match ask(api, api_version).await {
            Ok(schema) => Known { schema: Some(schema), checked: Instant::now() },
            Err(error) => {
                debug!(
                    api_version,
                    error = &error as &dyn std::error::Error,
                    "merge keys are those of the built-in kinds"
                );
                // What was true ten minutes ago is nearer than what was shipped.
                let schema = before.and_then(|known| known.schema);
                Known { schema, checked: Instant::now() }
            }
        };
        let schema = known.schema.clone();
        self.keep(api_version, known);
        schema
    }

    fn trusted(&self, api_version: &str) -> Option<Known> {
        self.known.lock().get(api_version).filter(|known| known.checked.elapsed() < TRUSTED).cloned()
    }

    fn keep(&self, api_version: &str, new: Known) {
        let mut known = self.known.lock();
        if known.len() >= MOST_KNOWN && !known.contains_key(api_version) {
            let oldest = known.iter().min_by_key(|(_, known)| known.checked).map(|(name, _)| name.clone());
            oldest.and_then(|oldest| known.remove(&oldest));
        }
        known.insert(api_version.into(), new);
    }
}

async fn ask(api: &Api, api_version: &str) -> Result<Arc<Schema>, Unavailable> {
    let root = if api_version.contains('/') { "apis" } else { "api" };
    let path = format!("{root}/{api_version}");
    let Index { mut paths } = api.read_json(&Get::new(["openapi", "v3"])).await?;
    let Place { url } = paths.remove(&path).ok_or_else(|| Unavailable::NotDescribed(api_version.into()))?;
    if let Some(schema) = SHARED.lock().get(&url).and_then(Weak::upgrade) {
        return Ok(schema);
    }
    let document = api.read(&Get::new(["openapi", "v3"].into_iter().chain(path.split('/')))).await?;
    let schema = Arc::new(openapi::read(&document)?);
    // Even metadata has facts: a server that tells of none, such as the playground, knows its kinds by heart as we do.
    if schema.types.is_empty() {
        return Err(Unavailable::NotDescribed(api_version.into()));
    }
    let mut shared = SHARED.lock();
    shared.retain(|_, schema| schema.strong_count() > 0);
    shared.insert(url, Arc::downgrade(&schema));
    Ok(schema)
}
