//! Evaluation of a template on an object.

use std::cmp::Ordering;

use serde_json::Value;

use super::{Filter, Operator, Part, Slice, Step, To};

/// Evaluation error; the texts are kubectl's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    #[error("array index out of bounds: index {index}, length {length}")]
    OutOfBounds { index: i64, length: usize },
    #[error("starting index {from} is greater than ending index {to}")]
    Backwards { from: i64, to: i64 },
    #[error("step must be > 0")]
    Step,
    #[error("{found} is not array or slice")]
    NoList { found: &'static str },
    #[error("incompatible types for comparison")]
    Incomparable,
    #[error("can only compare one element at a time")]
    Several,
}

/// Parts of the object, or literals of the template.
type Values<'v> = Vec<&'v Value>;

/// Result of one part of a template.
pub(super) enum Results<'t, 'v> {
    Text(&'t str),
    Values(Values<'v>),
}

/// Evaluates the parts in order and passes the result of each.
pub(super) fn parts<'t, 'v>(
    parts_: &'t [Part],
    value: &'v Value,
    tell: &mut dyn FnMut(Results<'t, 'v>),
) -> Result<(), PathError>
where
    't: 'v,
{
    for part in parts_ {
        match part {
            Part::Text(text) => tell(Results::Text(text)),
            Part::Path(path) => tell(Results::Values(steps(path, vec![value])?)),
            Part::Range(path, inside) => {
                for item in steps(path, vec![value])? {
                    parts(inside, item, tell)?;
                }
            }
        }
    }
    Ok(())
}

fn steps<'v>(path: &'v [Step], mut values: Values<'v>) -> Result<Values<'v>, PathError> {
    for step in path {
        values = step.take(&values)?;
    }
    Ok(values)
}

// === impl Step ===

impl Step {
    fn take<'v>(&'v self, values: &[&'v Value]) -> Result<Values<'v>, PathError> {
        let mut results = Vec::new();
        match self {
            Self::Field(name) => results.extend(values.iter().filter_map(|value| value.get(name))),
            Self::Quoted(key, path) => {
                for value in values {
                    match value.get(key) {
                        Some(found) => results.push(found),
                        None => results.extend(steps(path, vec![value])?),
                    }
                }
            }
            Self::Wildcard => results.extend(values.iter().flat_map(|value| children(value))),
            Self::Descend => values.iter().for_each(|value| descend(value, &mut results)),
            Self::Slice(slice) => {
                for value in values {
                    slice.take(value, &mut results)?;
                }
            }
            Self::Union(alternatives) => {
                for alternative in alternatives {
                    results.extend(steps(alternative, values.to_vec())?);
                }
            }
            Self::Filter(filter) => {
                for value in values {
                    for item in list(value)? {
                        if filter.admits(item)? {
                            results.push(item);
                        }
                    }
                }
            }
            Self::Literal(literal) => results.push(literal),
        }
        Ok(results)
    }
}

/// Values of a map, sorted by key, or of a list.
fn children(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(items) => items.iter().collect(),
        Value::Object(entries) => {
            let mut entries: Vec<_> = entries.iter().collect();
            entries.sort_unstable_by_key(|(key, _)| *key);
            entries.into_iter().map(|(_, value)| value).collect()
        }
        _ => Vec::new(),
    }
}

/// All nested values that are not empty. Strings count as containers, numbers do not.
fn descend<'v>(value: &'v Value, results: &mut Values<'v>) {
    let inside = children(value);
    if !inside.is_empty() || value.as_str().is_some_and(|text| !text.is_empty()) {
        results.push(value);
    }
    for value in inside {
        descend(value, results);
    }
}

/// Items of a list; null has none.
fn list(value: &Value) -> Result<&[Value], PathError> {
    match value {
        Value::Null => Ok(&[]),
        Value::Array(items) => Ok(items),
        Value::Object(_) => Err(PathError::NoList { found: "map" }),
        Value::String(_) => Err(PathError::NoList { found: "string" }),
        Value::Bool(_) => Err(PathError::NoList { found: "bool" }),
        Value::Number(_) => Err(PathError::NoList { found: "number" }),
    }
}

// === impl Slice ===

impl Slice {
    fn take<'v>(self, value: &'v Value, results: &mut Values<'v>) -> Result<(), PathError> {
        if value.is_null() {
            return Ok(());
        }
        let items = list(value)?;
        let length = i64::try_from(items.len()).unwrap_or(i64::MAX);
        let from_end = |index: i64| if index < 0 { index + length } else { index };
        let from = from_end(self.from.unwrap_or(0));
        let to = match self.to {
            To::End => length,
            To::One => from + 1,
            To::Before(to) => from_end(to),
        };
        if from == to {
            return Ok(());
        }
        for index in [from, to - 1] {
            if !(0..length).contains(&index) {
                return Err(PathError::OutOfBounds { index, length: items.len() });
            }
        }
        if from > to {
            return Err(PathError::Backwards { from, to });
        }
        let step = self.step.unwrap_or(1);
        let step = usize::try_from(step).ok().filter(|step| *step > 0).ok_or(PathError::Step)?;
        let bounds = |index: i64| usize::try_from(index).unwrap_or_default();
        let (from, to) = (bounds(from), bounds(to));
        results.extend(items.iter().take(to).skip(from).step_by(step));
        Ok(())
    }
}

// === impl Filter ===

impl Filter {
    fn admits(&self, item: &Value) -> Result<bool, PathError> {
        let left = steps(&self.left, vec![item])?;
        let Some((operator, right)) = &self.compare else { return Ok(!left.is_empty()) };
        let right = steps(right, vec![item])?;
        match (&left[..], &right[..]) {
            ([], _) | (_, []) => Ok(false),
            ([left], [right]) => operator.holds(left, right),
            _ => Err(PathError::Several),
        }
    }
}

// === impl Operator ===

impl Operator {
    fn holds(self, left: &Value, right: &Value) -> Result<bool, PathError> {
        let ordering = match (left, right) {
            (Value::String(left), Value::String(right)) => left.cmp(right),
            (Value::Number(left), Value::Number(right)) => match (left.as_i64(), right.as_i64()) {
                (Some(left), Some(right)) => left.cmp(&right),
                _ => left
                    .as_f64()
                    .zip(right.as_f64())
                    .and_then(|(left, right)| left.partial_cmp(&right))
                    .ok_or(PathError::Incomparable)?,
            },
            (Value::Bool(left), Value::Bool(right)) => match self {
                Self::Equal | Self::NotEqual => left.cmp(right),
                _ => return Err(PathError::Incomparable),
            },
            _ => return Err(PathError::Incomparable),
        };
        Ok(match self {
            Self::Equal => ordering == Ordering::Equal,
            Self::NotEqual => ordering != Ordering::Equal,
            Self::Less => ordering == Ordering::Less,
            Self::LessOrEqual => ordering != Ordering::Greater,
            Self::Greater => ordering == Ordering::Greater,
            Self::GreaterOrEqual => ordering != Ordering::Less,
        })
    }
}
