//! Connections to the database, counted at each scrape.

use std::fmt;

use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeMetric},
    metrics::gauge::ConstGauge,
};

use crate::store::{PoolConnections, Store};

/// Collects the connections of the store's pools.
#[derive(Debug)]
pub struct DatabaseConnections(pub Store);

impl Collector for DatabaseConnections {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Self(store) = self;
        let pools = store.connections();
        let gauge = ConstGauge::new(0_u32);
        let name = "spindrift_hub_database_connections";
        let mut metric =
            encoder.encode_descriptor(name, "Open connections to the database", None, gauge.metric_type())?;
        for PoolConnections { pool, used, idle, most: _ } in pools {
            for (state, count) in [("used", used), ("idle", idle)] {
                ConstGauge::new(count).encode(metric.encode_family(&[("pool", pool), ("state", state)])?)?;
            }
        }
        let name = "spindrift_hub_database_connections_max";
        let help = "Largest number of connections; if all are used, calls wait";
        let mut metric = encoder.encode_descriptor(name, help, None, gauge.metric_type())?;
        for PoolConnections { pool, most, .. } in pools {
            ConstGauge::new(most).encode(metric.encode_family(&[("pool", pool)])?)?;
        }
        Ok(())
    }
}
