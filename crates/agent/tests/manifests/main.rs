//! The verbs that write manifests, on a real API server and beside the real kubectl.

mod client_side;
mod others;
mod reads;
mod server_side;
mod support;
