//! The API of a cluster over HTTP.

pub mod access;
pub mod layer;
pub mod logs;
