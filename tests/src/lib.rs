//! Shared by the suites: recordings of Spinnaker's services, and a player of Orca.

pub mod spinnaker;
