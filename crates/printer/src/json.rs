//! JSON as kubectl prints it: sorted keys, an indent of four spaces, and escaped HTML characters.

use std::fmt::Write;

use serde_json::Value;

/// Formats a value in one line.
pub fn compact(value: &Value) -> String {
    let mut text = String::new();
    write(value, None, &mut text);
    text
}

/// Formats a value with indentation, without a final line break.
pub fn pretty(value: &Value) -> String {
    pretty_at(0, value)
}

/// Formats a value with indentation, as part of a document at this depth.
pub fn pretty_at(depth: usize, value: &Value) -> String {
    let mut text = String::new();
    write(value, Some(depth), &mut text);
    text
}

/// Writes a value; `depth` is the indentation, `None` for one line.
fn write(value: &Value, depth: Option<usize>, text: &mut String) {
    match value {
        Value::Object(entries) if !entries.is_empty() => {
            let mut entries: Vec<_> = entries.iter().collect();
            entries.sort_unstable_by_key(|(key, _)| *key);
            block(text, ('{', '}'), depth, entries, |(key, value), depth, text| {
                quote(key, text);
                text.push_str(if depth.is_some() { ": " } else { ":" });
                write(value, depth, text);
            });
        }
        Value::Array(items) if !items.is_empty() => block(text, ('[', ']'), depth, items, write),
        Value::String(string) => quote(string, text),
        scalar_or_empty => text.push_str(&scalar_or_empty.to_string()),
    }
}

fn block<T>(
    text: &mut String,
    (open, close): (char, char),
    depth: Option<usize>,
    items: impl IntoIterator<Item = T>,
    write: impl Fn(T, Option<usize>, &mut String),
) {
    text.push(open);
    let inner = depth.map(|depth| depth + 1);
    for (index, item) in items.into_iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        indent(inner, text);
        write(item, inner, text);
    }
    indent(depth, text);
    text.push(close);
}

fn indent(depth: Option<usize>, text: &mut String) {
    if let Some(depth) = depth {
        text.push('\n');
        text.push_str(&"    ".repeat(depth));
    }
}

fn quote(string: &str, text: &mut String) {
    text.push('"');
    for c in string.chars() {
        match c {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            '\u{8}' => text.push_str("\\b"),
            '\u{c}' => text.push_str("\\f"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\0'..'\u{20}' => {
                // Writing to a String cannot fail.
                write!(text, "\\u{:04x}", u32::from(c)).ok();
            }
            c => text.push(c),
        }
    }
    text.push('"');
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn json_is_written_as_kubectl_does() {
        let value = json!({ "b": [1, {}, []], "a": "x<y>&\"\n", "c": null });
        assert_eq!(compact(&value), r#"{"a":"x\u003cy\u003e\u0026\"\n","b":[1,{},[]],"c":null}"#);
        let expected = "{\n    \"b\": [\n        1\n    ]\n}";
        assert_eq!(pretty(&json!({ "b": [1] })), expected);
    }

    #[test]
    fn formatted_json_parses_to_the_same_value() {
        let value = json!({ "text": "\u{1}\u{2028}\u{8}\u{c}äß\\", "list": [1.5, true, { "x": [[]] }] });
        assert_eq!(serde_json::from_str::<Value>(&pretty(&value)).unwrap(), value);
        assert_eq!(serde_json::from_str::<Value>(&compact(&value)).unwrap(), value);
    }
}
