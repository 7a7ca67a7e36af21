//! Label and field selectors, in the grammar of kubectl and the API server.
//!
//! ```text
//! "app=web,tier in (a,b)" ──parse──▶ LabelSelector ──matches──▶ labels of an object
//! {matchLabels: …}    ──of_object──▶       │
//!                                          └──Display──▶ "app=web,tier in (a,b)"
//! ```
//!
//! Callers write their own errors where their users expect another text than that of the API server.

mod field;
mod label;
mod parse;

pub use field::{FieldRequirement, split_terms};
pub use label::{LabelRequirement, LabelSelector, Operator, UnknownOperator};
pub use parse::InvalidLabelSelector;

#[cfg(test)]
mod tests;
