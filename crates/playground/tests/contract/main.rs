//! The contract of an API server with its clients, checked against the real server and against the playground.
//!
//! ```text
//!                    ┌──▶ api_server::…   a real kube-apiserver on etcd (one for all tests)
//! fact(&Server) ─────┤
//!                    └──▶ playground::…   spindrift_playground, in this process (one per test)
//! ```
//!
//! A fact is an async function that uses raw HTTP, so that it sees status codes, headers and bodies unchanged; the
//! macro `facts!` makes two tests of it. The expected values are the real server's responses from the time when the
//! fact was written: if the playground differs, the playground is wrong. Only values that differ by nature (uids,
//! resource versions, times) are removed before bodies are compared.
//!
//! `kubectl` and `informer` are not facts: there the real clients work with a playground cluster. Neither is
//! `log_texts`, since a bare API server has no nodes and so no logs.
//!
//! `docs/playground.md` lists the differences from the real server; `limits` verifies that list.
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
mod paths;
mod pods;
mod scale;
mod status;

mod informer;
mod kubectl;
mod limits;
mod log_texts;
