use proptest::prelude::*;

use super::*;

const MOST: usize = 1 << 20;

fn dictionary() -> Dictionary {
    Dictionary::choose(&Dictionary::offer()).expect("our own")
}

/// A pod as the agent sends it, one of many that differ as pods do.
fn pod(number: u32) -> Vec<u8> {
    let name = format!("cart-5f1c09a2e-{number:05}");
    let uid = format!("{:08x}-0000-4000-8000-{:012x}", number.wrapping_mul(2_654_435_761), number);
    let address = format!("10.64.{}.{}", number >> 8 & 255, number & 255);
    let variables: Vec<_> = (0..20)
        .map(|i| format!(r#"{{"name":"VARIABLE_{i}","value":"http://service-{i}.shop.svc:80"}},"#))
        .collect();
    let variables = variables.concat();
    format!(
        r#"{{"kind":"Pod","apiVersion":"v1","metadata":{{"name":"{name}","namespace":"shop","uid":"{uid}",
        "resourceVersion":"{}","creationTimestamp":"2026-01-07T10:00:21Z","labels":{{"app":"cart"}}}},
        "spec":{{"containers":[{{"name":"cart","image":"registry.example.com/cart:2.1","env":[{variables}null],
        "terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File"}}],
        "restartPolicy":"Always","dnsPolicy":"ClusterFirst"}},"status":{{"phase":"Running","podIP":"{address}"}}}}"#,
        number + 1_000_000
    )
    .into_bytes()
}

fn heard(decompressor: &mut Decompressor, bytes: &[u8]) -> Result<Vec<u8>, InvalidMessage> {
    let mut message = Vec::new();
    decompressor.decompress(bytes, &mut message, MOST).map(|()| message)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn messages_arrive_as_they_were_said_whatever_the_chunks_and_the_pauses(
        said in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..4000), 0u32..50, any::<bool>()), 1..12),
        cut in 1usize..999,
    ) {
        let (mut compressor, mut decompressor) = (Compressor::new(dictionary()), Decompressor::new(dictionary()));
        for (noise, number, pause) in said {
            let message = [noise, pod(number)].concat();
            let mut arrived = Vec::new();
            for chunk in compressor.compress(&message).chunks(cut) {
                decompressor.decompress(chunk, &mut arrived, MOST).unwrap();
            }
            prop_assert_eq!(arrived, message, "whole, without waiting for the next");
            if pause {
                let end = compressor.end().expect("a frame was open");
                prop_assert_eq!(heard(&mut decompressor, &end).unwrap(), b"");
                prop_assert_eq!((compressor.memory(), decompressor.memory()), (0, 0));
            }
        }
    }

    #[test]
    fn garbage_is_an_error_and_nothing_else(garbage in prop::collection::vec(any::<u8>(), 5..999)) {
        let mut decompressor = Decompressor::new(dictionary());
        let mut message = Vec::new();
        decompressor.decompress(&garbage, &mut message, MOST).expect_err("random bytes do not begin with zstd's number");
        prop_assert!(message.is_empty());
    }
}

#[test]
fn what_was_said_before_costs_little() {
    let mut compressor = Compressor::new(dictionary());
    let first = compressor.compress(&pod(1)).len();
    let another = compressor.compress(&pod(2)).len();
    let again = compressor.compress(&pod(2)).len();
    assert!(first > another && another > again, "{first}, {another}, {again}");
    assert!(another * 15 < pod(2).len() && again < 64, "{another} and {again} of {}", pod(2).len());
}

#[test]
fn contexts_are_as_small_as_is_said() {
    let (mut compressor, mut decompressor) = (Compressor::new(dictionary()), Decompressor::new(dictionary()));
    for number in 0..500 {
        heard(&mut decompressor, &compressor.compress(&pod(number))).unwrap();
    }
    let (agent, hub) = (compressor.memory(), decompressor.memory());
    println!("an open frame takes {} KB in the agent and {} KB in the hub", agent / 1024, hub / 1024);
    assert!(agent < 1_400_000, "{agent}");
    assert!(hub < 700_000, "{hub}");
}

#[test]
fn a_message_that_would_fill_memory_is_refused_early() {
    let mut compressor = Compressor::new(dictionary());
    let bomb = compressor.compress(&vec![b' '; 64 * MOST]);
    assert!(bomb.len() < MOST / 10, "small on the wire: {}", bomb.len());
    let mut message = Vec::new();
    let error = Decompressor::new(dictionary()).decompress(&bomb, &mut message, MOST).unwrap_err();
    assert_eq!(error.to_string(), format!("events.chunk: message exceeds {MOST} bytes"));
    assert!(message.capacity() <= 2 * MOST + DECOMPRESSED_STEP, "{}", message.capacity());
}

#[test]
fn a_chunk_of_empty_frames_is_refused_at_the_second() {
    let empty = zstd::encode_all(&b""[..], LEVEL).unwrap();
    assert_eq!(empty.len(), 9);
    let mut message = Vec::new();
    let error =
        Decompressor::new(dictionary()).decompress(&empty.repeat(1000), &mut message, MOST).unwrap_err();
    let expected = "events.chunk: expected nothing after the end of a zstd frame, got 8991 bytes";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn an_abandoned_frame_leaves_a_usable_context() {
    for _ in 0..20 {
        let (mut compressor, mut decompressor) =
            (Compressor::new(dictionary()), Decompressor::new(dictionary()));
        let bytes = compressor.compress(&pod(1));
        heard(&mut decompressor, &bytes[..bytes.len() / 2]).unwrap();
    }
    let (mut compressor, mut decompressor) = (Compressor::new(dictionary()), Decompressor::new(dictionary()));
    assert_eq!(heard(&mut decompressor, &compressor.compress(&pod(2))).unwrap(), pod(2));
}

#[test]
fn a_window_larger_than_agreed_is_refused() {
    let mut greedy = CCtx::create();
    greedy.set_parameter(CParameter::WindowLog(WINDOW_LOG + 3)).unwrap();
    let bytes = run(&mut greedy, &pod(1), ZSTD_EndDirective::ZSTD_e_flush);
    let error = heard(&mut Decompressor::new(dictionary()), &bytes).unwrap_err().to_string();
    assert!(error.contains("memory"), "{error}");
}

#[test]
fn only_a_dictionary_that_both_have_is_chosen() {
    let ours = dictionary().id();
    assert_eq!(Dictionary::choose(&format!("7, {ours}")), Some(dictionary()));
    for offered in ["", "7", "x,,", &format!("{ours}0")] {
        assert_eq!(Dictionary::choose(offered), None, "{offered:?}");
    }
}

#[test]
fn the_shipped_dictionary_is_one_and_not_too_large() {
    let bytes = include_bytes!("../../dictionary/kubernetes.zdict");
    assert!(bytes.len() <= 110 * 1024, "{}", bytes.len());
    let id = zstd::zstd_safe::get_dict_id_from_dict(bytes).expect("a header with an id");
    assert_eq!(id.get(), dictionary().id());
}
