//! Fuzz targets, and the invariants of each.

mod config;
mod merges;
mod objects;
mod streams;

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::Target;

/// All parsers of foreign input.
pub const TARGETS: [Target; 7] = [
    streams::EVENTS,
    streams::PAGES,
    objects::SCRUB,
    objects::RESULTS,
    merges::MERGES,
    config::AGENT,
    config::REDACTIONS,
];

/// Words of Kubernetes' JSON.
const JSON: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\\",
    "\\u",
    "\\u0061",
    "\\ud800",
    "null",
    "true",
    "-1e9",
    "\n",
    " ",
    "\"metadata\":",
    "\"annotations\":",
    "\"kubectl.kubernetes.io/last-applied-configuration\":\"canary\"",
    "\"managedFields\":[{\"canary\":1}]",
    "\"data\":{\"a\":\"canary\"}",
    "\"stringData\":\"canary\"",
    "\"kind\":\"Secret\"",
    "\"apiVersion\":\"v1\"",
    "\"items\":[",
    "\"object\":",
    "\"type\":\"ADDED\"",
    "\"name\":\"n\",\"uid\":\"u\",\"resourceVersion\":\"1\"",
    "\u{e9}",
    "\u{1f980}",
];

/// Hash of a behaviour: its words, without the numbers in them.
fn behaviour(words: impl IntoIterator<Item = impl AsRef<str>>) -> u64 {
    let mut hasher = DefaultHasher::new();
    for word in words {
        word.as_ref().split(|c: char| c.is_ascii_digit()).for_each(|part| part.hash(&mut hasher));
    }
    hasher.finish()
}
