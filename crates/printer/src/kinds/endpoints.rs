//! Endpoints and endpoint slices.

use serde_json::Value;

use super::{NONE, UNSET, first_of};
use crate::{
    column::{AGE, Builtin, NAME, text},
    look::{Look, scalar},
};

/// Maximum number of addresses or ports in a cell; the rest is counted.
const LIMIT: usize = 3;

pub(super) const ENDPOINTS: &[Builtin] =
    &[NAME, text("Endpoints", |endpoints, _| addresses(endpoints).into()), AGE];

pub(super) const ENDPOINT_SLICE: &[Builtin] = &[
    NAME,
    text("AddressType", |slice, _| slice.text("/addressType").into()),
    text("Ports", |slice, _| {
        let ports = slice.list("/ports").iter().map(|port| {
            let name = port.at("/name").as_str().map(str::to_owned);
            port.scalar("/port").or(name).unwrap_or_else(|| "*".to_owned())
        });
        or_unset(&ports.collect::<Vec<_>>())
    }),
    text("Endpoints", |slice, _| {
        let endpoints = slice.list("/endpoints").iter();
        let addresses = endpoints.flat_map(|endpoint| endpoint.list("/addresses")).filter_map(scalar);
        or_unset(&addresses.collect::<Vec<_>>())
    }),
    AGE,
];

fn or_unset(list: &[String]) -> Value {
    if list.is_empty() { UNSET.into() } else { first_of(list, LIMIT, ",").into() }
}

/// Each address with each port, or without one if there are no ports.
pub(crate) fn addresses(endpoints: &Value) -> String {
    let subsets = endpoints.list("/subsets");
    if subsets.is_empty() {
        return NONE.to_owned();
    }
    let mut list = Vec::new();
    for subset in subsets {
        let ips = || subset.list("/addresses").iter().map(|address| address.text("/ip"));
        if subset.list("/ports").is_empty() {
            list.extend(ips().map(str::to_owned));
        }
        for port in subset.list("/ports") {
            let port = port.int("/port");
            list.extend(
                ips().map(
                    |ip| {
                        if ip.contains(':') { format!("[{ip}]:{port}") } else { format!("{ip}:{port}") }
                    },
                ),
            );
        }
    }
    first_of(&list, LIMIT, ",")
}
