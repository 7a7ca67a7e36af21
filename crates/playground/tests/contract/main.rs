//! The contract: what clients may expect of an API server, checked against the real one and against the playground.
//!
//! ```text
//!                    ┌──▶ api_server::…   a real kube-apiserver on etcd (one for all tests)
//! fact(&Server) ─────┤
//!                    └──▶ playground::…   spindrift_playground, in this process (one per test)
//! ```
//!
//! A fact is an async function that talks raw HTTP, so that status codes, headers and bodies are seen as they are; the
//! macro `facts!` makes two tests of it. What a fact expects is what the real server answered when the fact was
//! written: if the playground differs, the playground is wrong. Only what differs by nature (uids, versions, times) is
//! taken out before bodies are compared.
//!
//! `kubectl` and `informer` are no facts: there the real clients work with a playground cluster. Neither is
//! `log_texts`, since a bare API server has no node to ask for logs.
//!
//! What the playground does not imitate is listed in `docs/playground.md`; `limits` keeps that list honest.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]
#![allow(clippy::needless_pass_by_value, reason = "`json!` is written where it is sent")]
#![allow(clippy::similar_names, reason = "a patch has a path")]

#[macro_use]
mod support;

mod discovery;
mod formats;

mod history;
mod list;
mod streaming;
mod versions;
mod watch;

mod apply;
mod create;
mod delete;
mod dry_run;
mod patch;
mod strategic;
mod update;

mod access;
mod custom;
mod eviction;
mod logs;
mod pods;
mod scale;
mod status;

mod informer;
mod kubectl;
mod limits;
mod log_texts;
