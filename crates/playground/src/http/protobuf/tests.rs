use serde_json::json;

use super::*;

/// A length-delimited field with a number below 16 and a length below 128.
fn bytes(number: u8, content: &[u8]) -> Vec<u8> {
    let mut field = vec![number << 3 | 2, u8::try_from(content.len()).expect("short contents")];
    field.extend(content);
    field
}

fn integer(number: u8, value: u8) -> Vec<u8> {
    vec![number << 3, value]
}

fn envelope(api_version: &str, kind: &str, object: &[u8]) -> Vec<u8> {
    let type_meta = [bytes(1, api_version.as_bytes()), bytes(2, kind.as_bytes())].concat();
    [MAGIC.to_vec(), bytes(1, &type_meta), bytes(2, object), bytes(3, b""), bytes(4, b"")].concat()
}

#[test]
fn a_config_map_is_read() {
    let created = bytes(8, b"");
    let metadata = [bytes(1, b"one"), bytes(2, b""), bytes(3, b"default"), integer(7, 0), created].concat();
    let data = [bytes(1, b"key"), bytes(2, b"value")].concat();
    let binary = [bytes(1, b"blob"), bytes(2, &[0, 255])].concat();
    let object = [bytes(1, &metadata), bytes(2, &data), bytes(3, &binary), integer(4, 0)].concat();
    let expected = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "one", "namespace": "default"},
        "data": {"key": "value"}, "binaryData": {"blob": "AP8="}, "immutable": false,
    });
    assert_eq!(decode(&envelope("v1", "ConfigMap", &object)), Ok(expected));
}

#[test]
fn inline_fields_have_no_name() {
    let host_path = bytes(1, &bytes(1, b"/data"));
    let volume = [bytes(1, b"disk"), bytes(2, &host_path)].concat();
    let pod = bytes(2, &bytes(1, &volume));
    let read = decode(&envelope("v1", "Pod", &pod)).expect("a pod");
    assert_eq!(read["spec"]["volumes"], json!([{"name": "disk", "hostPath": {"path": "/data"}}]));
}

#[test]
fn numbers_and_texts_quantities_and_times_are_those_of_json() {
    let port = [integer(1, 1), bytes(3, b"http")].concat();
    assert_eq!(to_json(&FieldType::Either, WireValue::Bytes(&port), 0), Ok(json!("http")));
    assert_eq!(to_json(&FieldType::Either, WireValue::Bytes(&integer(2, 80)), 0), Ok(json!(80)));
    assert_eq!(to_json(&FieldType::Quantity, WireValue::Bytes(&bytes(1, b"1Gi")), 0), Ok(json!("1Gi")));
    let time = integer(1, 90);
    let plain = FieldType::Time { fraction: false };
    assert_eq!(to_json(&plain, WireValue::Bytes(&time), 0), Ok(json!("1970-01-01T00:01:30Z")));
    let micro = FieldType::Time { fraction: true };
    assert_eq!(to_json(&micro, WireValue::Bytes(&time), 0), Ok(json!("1970-01-01T00:01:30.000000Z")));
    assert_eq!(to_json(&plain, WireValue::Bytes(b""), 0), Ok(Value::Null));
}

#[test]
fn options_of_deletion_are_those_of_any_group() {
    let options = decode(&envelope("apps/v1", "DeleteOptions", &integer(1, 0))).expect("options");
    assert_eq!(options, json!({"apiVersion": "apps/v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0}));
}

#[test]
fn what_is_broken_is_refused() {
    assert!(decode(b"{}").is_err());
    assert!(decode(&envelope("v1", "Unheard", b"")).is_err());
    let whole = envelope("v1", "ConfigMap", &bytes(1, &bytes(1, b"one")));
    for length in 0..whole.len() {
        // Some prefixes are complete messages by chance; none may panic.
        drop(decode(&whole[..length]));
    }
    assert!(decode(&envelope("v1", "ConfigMap", &bytes(1, &[0xff; 12]))).is_err());
}
