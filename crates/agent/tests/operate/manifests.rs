//! The verbs that write manifests, beside the real kubectl.
#![expect(clippy::needless_pass_by_value, reason = "so that json! can stand in its place")]

mod client_side;
mod faults;
mod others;
mod pair;
mod reads;
mod server_side;
