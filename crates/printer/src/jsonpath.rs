//! JSONPath in kubectl's dialect: `{range .items[*]}{.metadata.name}{"\n"}{end}`.
//!
//! Text outside of braces is printed as it is. Inside: fields (`.a`, `['a.b']`), wildcards, indexes and slices, unions,
//! filters (`[?(@.a=="x")]`), recursive descent (`..a`), literals, `range` and `end`. A missing field is empty.

mod parse;
mod show;
mod walk;

use serde_json::Value;

pub use parse::SyntaxError;
pub use walk::PathError;

/// Parsed template.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonPath {
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq)]
enum Part {
    /// Text outside of braces.
    Text(String),
    /// One pair of braces.
    Path(Vec<Step>),
    /// Parts between `{range …}` and `{end}`, repeated for each value of the path.
    Range(Vec<Step>, Vec<Part>),
}

/// Step of a path: maps values to values.
#[derive(Debug, Clone, PartialEq)]
enum Step {
    Field(String),
    /// Quoted key. kubectl treats its dots as a path, so this is the key as it is, else the path.
    Quoted(String, Vec<Step>),
    /// Each value of a map or list.
    Wildcard,
    /// Recursive descent: all nested values that are not empty.
    Descend,
    Slice(Slice),
    Union(Vec<Vec<Step>>),
    Filter(Filter),
    Literal(Value),
}

/// Slice as in Python, without negative steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Slice {
    from: Option<i64>,
    to: To,
    step: Option<i64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum To {
    End,
    /// Single index at `from`.
    One,
    Before(i64),
}

#[derive(Debug, Clone, PartialEq)]
struct Filter {
    left: Vec<Step>,
    /// Without a comparison, the left side must exist.
    compare: Option<(Operator, Vec<Step>)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

// === impl JsonPath ===

impl JsonPath {
    /// Parses a template with braces.
    pub fn parse(template: &str) -> Result<Self, SyntaxError> {
        Ok(Self { parts: parse::template(template)? })
    }

    /// Parses the relaxed form of columns and sort keys: `metadata.name`, `.metadata.name`, `{.metadata.name}`.
    pub fn parse_relaxed(expression: &str) -> Result<Self, SyntaxError> {
        let inner = expression.strip_prefix('{').map_or(Some(expression), |rest| rest.strip_suffix('}'));
        match inner.map(|inner| inner.strip_prefix('.').unwrap_or(inner)) {
            Some(inner) if !inner.is_empty() && !inner.contains(['{', '}']) => {
                Self::parse(&format!("{{.{inner}}}"))
            }
            _ => Err(SyntaxError::Expression { expression: expression.to_owned() }),
        }
    }

    /// Values of the paths of the template, without its texts.
    pub fn find(&self, value: &Value) -> Result<Vec<Value>, PathError> {
        let mut found = Vec::new();
        walk::parts(&self.parts, value, &mut |results| {
            if let walk::Results::Values(values) = results {
                found.extend(values.into_iter().cloned());
            }
        })?;
        Ok(found)
    }

    /// Renders the template; joins the values of one pair of braces by spaces.
    pub fn render(&self, value: &Value) -> Result<String, PathError> {
        let mut text = String::new();
        walk::parts(&self.parts, value, &mut |results| match results {
            walk::Results::Text(literal) => text.push_str(literal),
            walk::Results::Values(values) => {
                let shown: Vec<_> = values.iter().map(|value| show::plain(value)).collect();
                text.push_str(&shown.join(" "));
            }
        })?;
        Ok(text)
    }
}

pub(crate) use show::{nested, plain};

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pods() -> Value {
        json!({ "kind": "List", "items": [
            { "metadata": { "name": "a", "labels": { "app.kubernetes.io/name": "shop" } },
              "spec": { "containers": [{ "name": "x", "image": "i:1" }, { "name": "y", "image": "i:2" }], "n": 1 } },
            { "metadata": { "name": "b" }, "spec": { "containers": [{ "name": "z", "image": "i:3" }], "n": 2.5, "on": true } },
            { "metadata": { "name": "c" }, "spec": { "containers": [], "nothing": null } },
        ]})
    }

    #[test]
    fn templates_are_filled_as_kubectl_does() {
        for (template, expected) in [
            ("{.items[*].metadata.name}", "a b c"),
            ("{.items[*].spec.containers[*].image}", "i:1 i:2 i:3"),
            ("{.items[0].metadata.name}", "a"),
            ("{.items[-1].metadata.name}", "c"),
            ("{.items[0:2].metadata.name}", "a b"),
            ("{.items[1:].metadata.name}", "b c"),
            ("{.items[::2].metadata.name}", "a c"),
            ("{.items[0,2].metadata.name}", "a c"),
            ("{.items[*]['metadata.name','spec.n']}", "a b c 1 2.5"),
            ("{.items[*].metadata['name']}", "a b c"),
            ("{.items[*]['metadata','spec']['name','n']}", "a b c 1 2.5"),
            (r"{.items[0].metadata.labels.app\.kubernetes\.io/name}", "shop"),
            (r"{.items[0].metadata.labels['app\.kubernetes\.io/name']}", "shop"),
            ("{.items[0].metadata.labels['app.kubernetes.io/name']}", "shop"),
            (r#"{.items[?(@.metadata.name=="b")].spec.n}"#, "2.5"),
            (r#"{.items[?(@.metadata.name!="b")].metadata.name}"#, "a c"),
            ("{.items[?(@.spec.on)].metadata.name}", "b"),
            ("{.items[?(@.spec.on==true)].metadata.name}", "b"),
            ("{.items[0].spec.containers[?(@.name>'x')].name}", "y"),
            ("{.items[0].metadata}", r#"{"labels":{"app.kubernetes.io/name":"shop"},"name":"a"}"#),
            ("{.items[2].spec.nothing}", "null"),
            ("{.items[*].missing}", ""),
            ("{.items[2].spec.containers}", "[]"),
            ("{..image}", "i:1 i:2 i:3"),
            ("{.items[0]..name}", "a x y"),
            ("names: {.items[0].metadata.name}!", "names: a!"),
            (r#"{"a\tb"}{'c'}{1}"#, "a\tbc1"),
            (r#"{range .items[*]}{.metadata.name}{"\t"}{.spec.n}{"\n"}{end}done"#, "a\t1\nb\t2.5\nc\t\ndone"),
            ("{range .items[*]}{range .spec.containers[*]}{.name},{end};{end}", "x,y,;z,;;"),
            ("{range .none[*]}{.name}{end}.", "."),
            ("{$.kind} {@.kind}", "List List"),
            ("{.kind}", "List"),
            (".kind", ".kind"),
            ("{.items[0].spec.*}", r#"[{"image":"i:1","name":"x"},{"image":"i:2","name":"y"}] 1"#),
        ] {
            let rendered = JsonPath::parse(template).map(|path| path.render(&pods()).unwrap());
            assert_eq!(rendered.as_deref(), Ok(expected), "{template}");
        }
    }

    #[test]
    fn parse_errors_are_those_of_kubectl() {
        for (template, expected) in [
            ("{.a", "unclosed action"),
            ("{.a[0}", "unterminated array"),
            ("{.a[x]}", "invalid array index x"),
            ("{.a[?(@.b==1}", "unterminated filter"),
            ("{.a....b}", "invalid multiple recursive descent"),
            ("{\"a}", "unterminated quoted string"),
            ("{end}", "not in range, nothing to end"),
            ("{foo}", "unrecognized identifier foo"),
            ("{#}", "unrecognized character in action: '#'"),
        ] {
            assert_eq!(JsonPath::parse(template).unwrap_err().to_string(), expected, "{template}");
        }
    }

    #[test]
    fn evaluation_errors_are_those_of_kubectl() {
        for (template, expected) in [
            ("{.items[7]}", "array index out of bounds: index 7, length 3"),
            ("{.kind[0]}", "string is not array or slice"),
            ("{.items[?(@.metadata.name>1)]}", "incompatible types for comparison"),
            ("{.items[::0]}", "step must be > 0"),
        ] {
            let error = JsonPath::parse(template).unwrap().render(&pods()).unwrap_err();
            assert_eq!(error.to_string(), expected, "{template}");
        }
    }

    #[test]
    fn columns_and_sort_keys_need_no_braces() {
        for expression in ["kind", ".kind", "{.kind}", "{kind}"] {
            assert_eq!(JsonPath::parse_relaxed(expression).unwrap().find(&pods()).unwrap(), [json!("List")]);
        }
        for expression in ["", "{", "{.a}{.b}", "{}"] {
            let error = JsonPath::parse_relaxed(expression).unwrap_err().to_string();
            assert!(error.starts_with("unexpected path string, expected a 'name1.name2'"), "{error}");
        }
    }
}
