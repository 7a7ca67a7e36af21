//! Operations against a real API server: the executor with its verbs, as a session sees it.

mod delete;
mod executor;
mod manifests;
mod reading;
mod support;
