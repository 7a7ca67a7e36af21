//! How kubectl shows objects: columns per kind, ages, JSONPath, descriptions.
//!
//! ```text
//! object ─┬─▶ Printer (kinds/, custom resources by their definition) ─▶ cells ─▶ text::Layout ─▶ lines
//!         ├─▶ JsonPath, custom columns, sort keys                             ─▶ text
//!         └─▶ describe                                                        ─▶ a page
//! ```
//!
//! Pure: objects are JSON as the API server gave it, and the time is an argument.

mod age;
mod column;
mod kinds;
mod labels;
mod look;
mod printer;

pub use age::{human_duration, since};
pub use column::Column;
pub use labels::{format_labels, format_selector};
pub use printer::{KindRef, Printer};
