//! Simulated API servers: the embedded default, the fault injector, the load source.
