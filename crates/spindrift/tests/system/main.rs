//! The whole path, as real processes: kube-apiserver → agent → hub → database → REST.
//!
//! One binary, so that its tests share one API server and one server per database.

mod channels;
mod isolation;
mod live;
mod recovery;
mod secrets;
mod support;
mod up;
mod wrong_port;
