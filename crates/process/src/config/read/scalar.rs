//! Values that a scalar can have.

use serde::de::Unexpected;

use super::super::tree::{Kind, Origin, Scalar, Tree};

// === impl Scalar ===

impl Scalar {
    pub(super) fn unexpected(&self) -> Unexpected<'_> {
        match self.kind {
            Kind::Bool(value) => Unexpected::Bool(value),
            Kind::Signed(value) => Unexpected::Signed(value),
            Kind::Unsigned(value) => Unexpected::Unsigned(value),
            Kind::Float(value) => Unexpected::Float(value),
            Kind::Text => Unexpected::Str(&self.text),
        }
    }

    /// Reads a number from a text too: quoted, from the environment or put in place of a placeholder.
    pub(super) fn number(&self) -> Kind {
        match self.kind {
            Kind::Text => {
                let text = self.text.trim();
                text.parse()
                    .map(Kind::Signed)
                    .or_else(|_| text.parse().map(Kind::Unsigned))
                    .unwrap_or(Kind::Text)
            }
            kind => kind,
        }
    }

    pub(super) fn split_at_commas(&self, origin: &Origin) -> Vec<Tree> {
        self.text
            .split(',')
            .map(str::trim)
            .filter(|item| !item.is_empty())
            .map(|item| Tree::text(item, origin.clone()))
            .collect()
    }
}
