//! `spindrift-agent check` and `spindrift-hub check` find faults of real parts, and name the setting to change.
//!
//! One binary, so that its tests share one API server and one server per database.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod accounts;
mod configuration;
mod database;
mod gateway;
mod healthy;
mod hub_tls;
mod kubeconfig;
mod operations;
mod ports;
mod support;
mod uplink;
mod uplink_tls;
mod upstream;
