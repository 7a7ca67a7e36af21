//! Output of objects as kubectl prints them: columns of each kind, ages, JSONPath, descriptions.
//!
//! ```text
//! object ─┬─▶ Printer (kinds/, custom resources by their definition) ─▶ cells ─▶ Table ─▶ rows ─▶ Layout ─▶ lines
//!         ├─▶ JsonPath, CustomColumns, SortKey
//!         └─▶ json, describe ─▶ a page
//! ```
//!
//! All functions are pure: objects are JSON of the API server, and the time is an argument.

mod age;
mod column;
mod custom_columns;
mod describe;
mod events;
mod fit;
pub mod json;
mod jsonpath;
mod kinds;
mod labels;
mod look;
mod printer;
mod quantity;
mod sort;
mod table;
mod text;
mod tone;

pub use age::{human_duration, since};
pub use column::Column;
pub use custom_columns::{ColumnsError, CustomColumns};
pub use describe::{
    RelatedKind, RelatedObjects, RelatedScope, Subject, describe, describe_template, keep_newest,
    related_kinds,
};
pub use events::{event_cells, event_time};
pub use fit::Fit;
pub use jsonpath::{JsonPath, PathError, SyntaxError};
pub use labels::{format_labels, format_selector};
pub use printer::{KindRef, Printer};
pub use quantity::parse as quantity;
pub use sort::SortKey;
pub use table::{Table, TableOptions};
pub use text::{Layout, cell_text};
pub use tone::{Tone, tones};
