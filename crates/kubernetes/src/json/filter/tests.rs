use super::*;
use crate::json::path::FieldPath;

fn filter(rules: &[(&str, FieldAction)], longest: usize) -> JsonFilter {
    let rules: Vec<_> =
        rules.iter().map(|(path, action)| (path.parse::<FieldPath>().unwrap(), *action)).collect();
    JsonFilter::new(FieldMask::new(&rules), longest)
}

#[test]
fn masked_values_are_never_in_a_buffer() {
    let mut filter = filter(
        &[
            ("object", FieldAction::Item),
            ("object.secret", FieldAction::Cut),
            ("object.hidden", FieldAction::Redact),
        ],
        1000,
    );
    let document = br#"{"type":"A","object":{"secret":"canary","hidden":{"canary":["canary"]},"a":1}}"#;
    for byte in document {
        filter.read(&[*byte]).unwrap();
        for buffer in [&filter.envelope, &filter.item, &filter.key] {
            // The letters may also begin a literal such as `null`.
            assert!(!buffer.windows(3).any(|part| part == b"can"));
        }
    }
    assert!(filter.is_done());
    assert_eq!(filter.envelope(), br#"{"type":"A","object":null}"#);
    assert_eq!(filter.item(), Item::Whole(br#"{"hidden":null,"a":1}"#));
    assert_eq!(filter.removed_values(), 2);
}

#[test]
fn a_burst_leaves_no_large_buffer_behind() {
    let mut filter = filter(&[("items[*]", FieldAction::Item), ("items[*].cut", FieldAction::Cut)], 1 << 24);
    let large = format!(r#"{{"items":[{{"x":"{}"}},{{"x":1}}"#, "x".repeat(1 << 22));
    let (read, output) = filter.read(large.as_bytes()).unwrap();
    assert!(output == Some(FilterOutput::Item) && filter.buffered() > 1 << 22);
    let (_, output) = filter.read(&large.as_bytes()[read..]).unwrap();
    assert!(
        output == Some(FilterOutput::Item) && filter.buffered() < 2 * REUSED_BUFFER,
        "{}",
        filter.buffered()
    );
    filter.reset();
    filter.release_buffers();
    assert_eq!(filter.buffered(), 0);
}
