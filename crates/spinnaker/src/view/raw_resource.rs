//! Raw resources: all objects of an application.

use regex::Regex;
use serde::Serialize;

use super::Common;
use crate::{Kind, Moniker, Row};

/// Object of an application.
#[derive(Debug, Serialize)]
pub struct RawResource<'a> {
    moniker: &'a Moniker,
    name: String,
    #[serde(flatten)]
    common: Common<'a>,
    region: &'a str,
}

/// Kinds that an account shows: `rawResourcesEndpointConfig`.
#[derive(Debug, Clone, Default)]
pub struct KindExpressions {
    only: Vec<Regex>,
    omit: Vec<Regex>,
    nothing: bool,
}

/// Error for an invalid expression, or for two lists where one is allowed.
#[derive(Debug, thiserror::Error)]
pub enum InvalidKindExpression {
    #[error("the expression \"{expression}\" of rawResourcesEndpointConfig cannot be read")]
    Syntax { expression: String, source: regex::Error },
    #[error("rawResourcesEndpointConfig takes kindExpressions or omitKindExpressions, not both")]
    Both,
}

// === impl RawResource ===

impl<'a> RawResource<'a> {
    pub fn new(row: &'a Row) -> Self {
        Self {
            moniker: &row.summary.moniker,
            name: row.full_name(),
            common: Common::of(row),
            region: &row.object.namespace,
        }
    }
}

// === impl KindExpressions ===

impl KindExpressions {
    pub fn new(only: &[String], omit: &[String]) -> Result<Self, InvalidKindExpression> {
        if !only.is_empty() && !omit.is_empty() {
            return Err(InvalidKindExpression::Both);
        }
        Ok(Self { only: compile(only)?, omit: compile(omit)?, nothing: false })
    }

    /// Shows no kind; for invalid expressions.
    pub fn nothing() -> Self {
        Self { nothing: true, ..Self::default() }
    }

    /// Whether objects of a kind are shown; an expression has to match the whole kind.
    pub fn show(&self, kind: &Kind) -> bool {
        let kind = kind.spelling();
        let any = |expressions: &[Regex]| expressions.iter().any(|expression| expression.is_match(&kind));
        !self.nothing && if self.only.is_empty() { !any(&self.omit) } else { any(&self.only) }
    }
}

fn compile(expressions: &[String]) -> Result<Vec<Regex>, InvalidKindExpression> {
    let compile = |expression: &String| {
        Regex::new(&format!("^(?:{expression})$"))
            .map_err(|source| InvalidKindExpression::Syntax { expression: expression.clone(), source })
    };
    expressions.iter().map(compile).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expressions(only: &[&str], omit: &[&str]) -> Result<KindExpressions, InvalidKindExpression> {
        let owned = |list: &[&str]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
        KindExpressions::new(&owned(only), &owned(omit))
    }

    #[test]
    fn expressions_match_whole_kinds() {
        let shows = |expressions: &KindExpressions, kind: &str| expressions.show(&Kind::parse(kind));
        let only = expressions(&["replica.*", "pod"], &[]).unwrap();
        assert!(shows(&only, "rs") && shows(&only, "pod") && !shows(&only, "podDisruptionBudget"));
        let omit = expressions(&[], &["pod"]).unwrap();
        assert!(shows(&omit, "podDisruptionBudget") && !shows(&omit, "po"));
        assert!(shows(&KindExpressions::default(), "pod"));
        assert!(expressions(&["("], &[]).is_err() && expressions(&["a"], &["b"]).is_err());
    }
}
