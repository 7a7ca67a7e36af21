//! JSON byte for byte as Go writes it, since the last applied configuration is compared, and shown, as text.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::{Number, Value, ser::Formatter};

use crate::merge::Object;

/// Encodes an object as Go's encoder does: keys sorted, `<`, `>` and `&` escaped, and a newline at the end.
pub fn encode(object: &Object) -> String {
    let mut out = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut out, GoFormatter);
    object.serialize(&mut serializer).expect("JSON can be written as JSON");
    out.push(b'\n');
    String::from_utf8(out).expect("JSON is UTF-8")
}

/// Converts numbers to those that Go reads from its own output: `3.0` becomes `3`, and integers beyond `i64` become
/// floating-point numbers.
pub fn normalize(value: &mut Value) {
    match value {
        Value::Number(number) => *number = normal(number),
        Value::Array(list) => list.iter_mut().for_each(normalize),
        Value::Object(map) => map.values_mut().for_each(normalize),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

fn normal(number: &Number) -> Number {
    if number.is_i64() {
        return number.clone();
    }
    let Some(float) = number.as_f64() else { return number.clone() };
    match float_text(float).parse::<i64>() {
        Ok(integer) => integer.into(),
        Err(_) => Number::from_f64(float).unwrap_or_else(|| number.clone()),
    }
}

/// Formats a float with the fewest digits that are exact, and with an exponent only if it is very large or small.
fn float_text(float: f64) -> String {
    let magnitude = float.abs();
    if magnitude != 0.0 && !(1e-6..1e21).contains(&magnitude) {
        let scientific = format!("{float:e}");
        return match scientific.split_once('e') {
            Some((digits, exponent)) if !exponent.starts_with('-') => format!("{digits}e+{exponent}"),
            _ => scientific,
        };
    }
    format!("{float}")
}

struct GoFormatter;

// === impl GoFormatter ===

impl Formatter for GoFormatter {
    fn write_f64<W: ?Sized + Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        writer.write_all(float_text(value).as_bytes())
    }

    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        let mut rest = fragment;
        while let Some(at) = rest.find(['<', '>', '&', '\u{2028}', '\u{2029}']) {
            let (plain, special) = rest.split_at(at);
            let mut characters = special.chars();
            let code = characters.next().map_or(0, u32::from);
            write!(writer, "{plain}\\u{code:04x}")?;
            rest = characters.as_str();
        }
        writer.write_all(rest.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn encoded(value: Value) -> String {
        let Value::Object(object) = value else { panic!("an object") };
        encode(&object)
    }

    #[test]
    fn text_is_escaped_as_go_escapes_it() {
        let text = encoded(json!({ "b": "<a href=\"x\">&amp;</a>\u{2028}\t\u{1}\u{8}é", "a": [] }));
        let expected = r#"{"a":[],"b":"\u003ca href=\"x\"\u003e\u0026amp;\u003c/a\u003e\u2028\t\u0001\bé"}"#;
        assert_eq!(text, format!("{expected}\n"));
    }

    #[test]
    fn numbers_are_those_of_go() {
        let numbers = json!({ "n": [3.0, 0.5, 1e21, 1e-7, -0.25, 9_007_199_254_740_993_i64, 1e20] });
        assert_eq!(
            encoded(numbers),
            "{\"n\":[3,0.5,1e+21,1e-7,-0.25,9007199254740993,100000000000000000000]}\n"
        );
    }

    #[test]
    fn numbers_are_normalized_as_go_reads_them() {
        let cases = [
            (json!(3.0), json!(3)),
            (json!(3.5), json!(3.5)),
            (json!(u64::MAX), json!(1.844_674_407_370_955_2e19)),
            (json!(i64::MIN), json!(i64::MIN)),
            (json!(1e30), json!(1e30)),
        ];
        for (written, read) in cases {
            let mut value = json!({ "list": [written] });
            normalize(&mut value);
            assert_eq!(value, json!({ "list": [read] }));
        }
    }
}
