//! Operations against a real API server: the executor with its verbs, as a session sees it.

mod delete;
mod executor;
mod failures;
mod kinds;
mod logs;
mod manifests;
mod reading;
mod rollout;
mod scale;
mod support;
mod top;
