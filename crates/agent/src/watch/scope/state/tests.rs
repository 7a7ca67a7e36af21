use super::*;

fn up_to(version: &str) -> Position {
    Position::UpTo(version.into())
}

fn nothing() -> Position {
    Position::Nothing(Unlisted::after("5".into(), Relist::Expired))
}

/// Of a scope that was never read.
fn new_here() -> Patience {
    Patience::new(false, Duration::from_hours(1))
}

fn failed(retry_after: Option<Duration>) -> Ended {
    Ended::Failed { reason: "503".into(), retry_after }
}

/// The state in a few words.
fn shown(state: &State) -> String {
    let position = |position: &Position| match position {
        Position::Nothing(Unlisted { not_older_than, why, .. }) => {
            format!("list {why:?} not older than {not_older_than:?}")
        }
        Position::UpTo(version) => format!("resume {version}"),
    };
    match state {
        State::Queued(unlisted) => position(&Position::Nothing(unlisted.clone())),
        State::Resuming(version) => format!("resume {version}"),
        State::Denied { then, .. } => format!("denied, then {}", position(then)),
        State::Waiting { then, .. } => format!("wait, then {}", position(then)),
        State::Listing(..) => "listing".into(),
        State::Watching(..) => "watching".into(),
    }
}

#[test]
fn every_end_of_a_watch_has_its_own_short_path() {
    for (ended, expected) in [
        (Ended::Closed, "resume 7"),
        (Ended::Silent, "resume 7"),
        (Ended::ClosedAtOnce, "wait, then resume 7"),
        (Ended::Gone, r#"list Gone not older than Some("7")"#),
        (Ended::Ahead, "wait, then list Restored not older than None"),
        (Ended::Spoilt, "wait, then list Unreadable not older than None"),
        (Ended::Forbidden("no".into()), "denied, then resume 7"),
        (failed(None), "wait, then resume 7"),
    ] {
        let what = format!("{ended:?}");
        assert_eq!(shown(&new_here().next(up_to("7"), ended)), expected, "{what}");
    }
}

#[test]
fn every_end_of_a_listing_has_its_own_short_path() {
    for (ended, expected) in [
        (Ended::Closed, r#"list BrokeOff not older than Some("5")"#),
        (Ended::Silent, r#"list BrokeOff not older than Some("5")"#),
        (Ended::NotStreamed, r#"list Expired not older than Some("5")"#),
        (Ended::Gone, "wait, then list Gone not older than None"),
        (Ended::Ahead, "wait, then list Restored not older than None"),
        (Ended::Forbidden("no".into()), r#"denied, then list Expired not older than Some("5")"#),
        (failed(None), r#"wait, then list Expired not older than Some("5")"#),
    ] {
        let what = format!("{ended:?}");
        assert_eq!(shown(&new_here().next(nothing(), ended)), expected, "{what}");
    }
}

#[test]
fn an_api_server_that_says_when_to_come_back_is_obeyed() {
    let hour = Duration::from_hours(1);
    let State::Waiting { pause, .. } = new_here().next(up_to("7"), failed(Some(hour))) else {
        panic!("it waits")
    };
    assert_eq!(pause, hour);
}

#[test]
fn streamed_listings_that_break_off_again_and_again_give_way_to_pages() {
    let mut patience = new_here();
    assert!(!patience.prefers_pages());
    patience.next(nothing(), Ended::Closed);
    patience.next(nothing(), Ended::Silent);
    assert!(patience.prefers_pages());
    patience.listed(false);
    assert!(!patience.prefers_pages());
}

#[test]
fn a_streamed_listing_that_fails_after_it_has_begun_has_broken_off() {
    let mut patience = new_here();
    let begun = Position::Nothing(Unlisted { begun: true, ..Unlisted::because(Relist::First) });
    for _ in 0..UNFINISHED_LISTINGS {
        assert!(!patience.prefers_pages());
        let next = shown(&patience.next(begun.clone(), failed(None)));
        assert_eq!(next, "wait, then list BrokeOff not older than None");
    }
    assert!(patience.prefers_pages());
}

#[test]
fn what_can_never_be_read_is_left_out_after_some_listings() {
    let mut patience = new_here();
    for _ in 0..SPOILT_LISTINGS {
        assert!(!patience.bears_spoilt());
        patience.next(nothing(), Ended::Spoilt);
    }
    assert!(patience.bears_spoilt());
    // It is still there, so its next change costs no listing either.
    patience.listed(true);
    assert!(patience.bears_spoilt());
    patience.listed(false);
    assert!(!patience.bears_spoilt());
}

#[test]
fn a_refusal_of_what_was_read_before_is_doubted_for_a_while() {
    let mut patience = Patience::new(true, Duration::from_mins(5));
    let mut refused = |doubt| {
        patience.doubt = doubt;
        let next = shown(&patience.next(up_to("7"), Ended::Forbidden("no".into())));
        if next.starts_with("denied") {
            patience.admitted();
        }
        next
    };
    // Without any time left for doubts, it is believed; what is read again is doubted again.
    for _ in 0..2 {
        assert_eq!(refused(DOUBT), "wait, then resume 7");
        assert_eq!(refused(Duration::ZERO), "denied, then resume 7");
    }
    assert_eq!(Patience::new(true, Duration::from_secs(2)).doubt, Duration::from_secs(2));

    // What was denied, or never read, is believed at once.
    let mut patience = new_here();
    for _ in 0..2 {
        let next = patience.next(up_to("7"), Ended::Forbidden("no".into()));
        assert_eq!(shown(&next), "denied, then resume 7");
    }
}

#[test]
fn a_stream_that_lived_is_no_failure_in_a_row() {
    let mut patience = new_here();
    let mut pause = || match patience.next(up_to("7"), failed(None)) {
        State::Waiting { pause, .. } => pause,
        _ => panic!("it waits"),
    };
    let longest = std::iter::repeat_with(&mut pause).take(9).last().unwrap();
    assert!(longest > RETRY.max / 2, "{longest:?}");
    patience.lived(HEALTHY / 2);
    let State::Waiting { pause, .. } = patience.next(up_to("7"), failed(None)) else { panic!("it waits") };
    assert!(pause > RETRY.max / 2, "{pause:?}");
    patience.lived(HEALTHY);
    let State::Waiting { pause, .. } = patience.next(up_to("7"), failed(None)) else { panic!("it waits") };
    assert!(pause < RETRY.base * 2, "{pause:?}");
}

#[test]
fn a_refusal_means_the_same_as_an_answer_and_as_an_event() {
    let status = |code, message: &str| {
        let reason = if code == 403 { "Forbidden" } else { "" }.to_owned();
        Status { code, reason, message: message.into(), ..Status::default() }
    };
    let refused = |source: Status| ApiError::Refused { request: "/p".into(), source: source.into() };
    for (status, expected) in [
        (status(410, ""), "Gone"),
        (status(504, "Too large resource version: 9"), "Ahead"),
        (status(422, "sendInitialEvents is forbidden"), "NotStreamed"),
        (status(403, "no"), "Forbidden"),
        (status(429, "busy"), "Failed"),
        (status(503, "away"), "Failed"),
    ] {
        for ended in [Ended::from(&status), Ended::from(&refused(status.clone()))] {
            let ended = format!("{ended:?}");
            assert!(ended.starts_with(expected), "{ended} instead of {expected}");
        }
    }
}
