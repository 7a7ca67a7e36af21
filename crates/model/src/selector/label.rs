//! Requirements on labels: matched, written, and read from the API's `LabelSelector` object.

use std::fmt;

use serde_json::Value;

/// List of requirements, all of which must match. The empty selector matches everything.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LabelSelector {
    /// The requirements, in the order in which they are written.
    pub requirements: Vec<LabelRequirement>,
}

/// Condition on the label of one key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelRequirement {
    /// Key of the label.
    pub key: String,
    /// Comparison of the label's value with `values`.
    pub operator: Operator,
    /// One value for comparisons, any number for sets, none for existence.
    pub values: Vec<String>,
}

/// Comparison of a label with the values of a requirement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// `key=value`
    Equals,
    /// `key!=value`; matches objects without the label, too.
    NotEquals,
    /// `key in (a,b)`
    In,
    /// `key notin (a,b)`; matches objects without the label, too.
    NotIn,
    /// `key`
    Exists,
    /// `!key`
    DoesNotExist,
    /// `key>5`, for labels that are integers.
    GreaterThan,
    /// `key<5`, for labels that are integers.
    LessThan,
}

/// Operator of a `matchExpressions` entry that the API does not define.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a valid label selector operator")]
pub struct UnknownOperator(pub String);

// === impl LabelSelector ===

impl LabelSelector {
    /// Reads a `LabelSelector` object of the API: `matchLabels`, then `matchExpressions`. Null is the empty selector.
    pub fn of_object(selector: &Value) -> Result<Self, UnknownOperator> {
        let expressions = selector.get("matchExpressions").and_then(Value::as_array);
        let mut requirements =
            selector.get("matchLabels").map(Self::of_labels).unwrap_or_default().requirements;
        for expression in expressions.into_iter().flatten() {
            requirements.push(LabelRequirement::of_expression(expression)?);
        }
        Ok(Self { requirements })
    }

    /// Requires each label of a map, as the selectors of Services and `ReplicationController`s do.
    pub fn of_labels(labels: &Value) -> Self {
        let labels = labels.as_object().into_iter().flatten();
        let requirement = |(key, value): (&String, &Value)| LabelRequirement {
            key: key.clone(),
            operator: Operator::Equals,
            values: vec![value.as_str().unwrap_or_default().to_owned()],
        };
        Self { requirements: labels.map(requirement).collect() }
    }

    /// Whether the selector has no requirements.
    pub fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Whether labels, looked up by `label`, meet all requirements.
    pub fn matches<'a>(&self, label: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.requirements.iter().all(|requirement| requirement.matches(label(&requirement.key)))
    }

    /// Sorts requirements by key, and the values of each: the canonical order of the API server.
    #[must_use]
    pub fn sorted(mut self) -> Self {
        for requirement in &mut self.requirements {
            requirement.values.sort_unstable();
        }
        self.requirements.sort_by(|a, b| a.key.cmp(&b.key));
        self
    }
}

/// The text that kubectl's `-l` and the query parameter `labelSelector` accept.
impl fmt::Display for LabelSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, requirement) in self.requirements.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(f, "{comma}{requirement}")?;
        }
        Ok(())
    }
}

// === impl LabelRequirement ===

impl LabelRequirement {
    /// Whether the value of the label (none if the object lacks it) meets the requirement.
    pub fn matches(&self, label: Option<&str>) -> bool {
        self.operator.matches(&self.values, label)
    }

    fn of_expression(expression: &Value) -> Result<Self, UnknownOperator> {
        let text = |field: &str| expression.get(field).and_then(Value::as_str).unwrap_or_default();
        let operator = match text("operator") {
            "In" => Operator::In,
            "NotIn" => Operator::NotIn,
            "Exists" => Operator::Exists,
            "DoesNotExist" => Operator::DoesNotExist,
            other => return Err(UnknownOperator(other.to_owned())),
        };
        let values = expression.get("values").and_then(Value::as_array).into_iter().flatten();
        let values = values.filter_map(Value::as_str).map(str::to_owned).collect();
        Ok(Self { key: text("key").to_owned(), operator, values })
    }
}

impl fmt::Display for LabelRequirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, operator, values } = self;
        let values = values.join(",");
        match operator {
            Operator::Equals => write!(f, "{key}={values}"),
            Operator::NotEquals => write!(f, "{key}!={values}"),
            Operator::In => write!(f, "{key} in ({values})"),
            Operator::NotIn => write!(f, "{key} notin ({values})"),
            Operator::Exists => f.write_str(key),
            Operator::DoesNotExist => write!(f, "!{key}"),
            Operator::GreaterThan => write!(f, "{key}>{values}"),
            Operator::LessThan => write!(f, "{key}<{values}"),
        }
    }
}

// === impl Operator ===

impl Operator {
    /// Whether a label (none if the object lacks it) compares so with the values.
    pub fn matches(self, values: &[String], label: Option<&str>) -> bool {
        let listed = label.is_some_and(|label| values.iter().any(|value| value == label));
        let integer = |text: &str| text.parse::<i64>().ok();
        let pair = || Some((integer(label?)?, integer(values.first()?)?));
        match self {
            Self::Equals | Self::In => listed,
            Self::NotEquals | Self::NotIn => !listed,
            Self::Exists => label.is_some(),
            Self::DoesNotExist => label.is_none(),
            Self::GreaterThan => pair().is_some_and(|(label, bound)| label > bound),
            Self::LessThan => pair().is_some_and(|(label, bound)| label < bound),
        }
    }
}
