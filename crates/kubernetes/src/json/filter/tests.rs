use super::*;
use crate::json::path::Path;

fn sieve(rules: &[(&str, Fate)], longest: usize) -> Sieve {
    let rules: Vec<_> = rules.iter().map(|(path, fate)| (path.parse::<Path>().unwrap(), *fate)).collect();
    Sieve::new(Mesh::new(&rules), longest)
}

#[test]
fn what_is_held_back_is_never_in_a_buffer() {
    let mut sieve =
        sieve(&[("object", Fate::Item), ("object.secret", Fate::Cut), ("object.hidden", Fate::Redact)], 1000);
    let document = br#"{"type":"A","object":{"secret":"canary","hidden":{"canary":["canary"]},"a":1}}"#;
    for byte in document {
        sieve.read(&[*byte]).unwrap();
        for buffer in [&sieve.envelope, &sieve.item, &sieve.key] {
            // Its first letters may be the name of something.
            assert!(!buffer.windows(3).any(|part| part == b"can"));
        }
    }
    assert!(sieve.is_done());
    assert_eq!(sieve.envelope(), br#"{"type":"A","object":null}"#);
    assert_eq!(sieve.item(), Item::Whole(br#"{"hidden":null,"a":1}"#));
    assert_eq!(sieve.held_back(), 2);
}

#[test]
fn a_burst_leaves_no_large_buffer_behind() {
    let mut sieve = sieve(&[("items[*]", Fate::Item), ("items[*].cut", Fate::Cut)], 1 << 24);
    let large = format!(r#"{{"items":[{{"x":"{}"}},{{"x":1}}"#, "x".repeat(1 << 22));
    let (read, sifted) = sieve.read(large.as_bytes()).unwrap();
    assert!(sifted == Some(Sifted::Item) && sieve.buffered() > 1 << 22);
    let (_, sifted) = sieve.read(&large.as_bytes()[read..]).unwrap();
    assert!(sifted == Some(Sifted::Item) && sieve.buffered() < 2 * USUAL, "{}", sieve.buffered());
    sieve.reset();
    sieve.rest();
    assert_eq!(sieve.buffered(), 0);
}
