//! The short form of `make fuzz`: a second of each, always the same inputs.

use std::time::Duration;

use spindrift_fuzz::{TARGETS, fuzz};

#[test]
fn every_promise_holds_for_a_second() {
    for target in TARGETS {
        let outcome = fuzz(&target, 4711, Duration::from_secs(1));
        let culprit = outcome.culprit.as_deref().map(String::from_utf8_lossy);
        assert_eq!(culprit, None, "{}", target.name);
        assert!(outcome.behaviours > 2, "{}: {outcome:?}", target.name);
    }
}
