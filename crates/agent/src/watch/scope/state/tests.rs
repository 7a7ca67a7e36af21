use super::*;

fn up_to(version: &str) -> Position {
    Position::UpTo(version.into())
}

fn nothing() -> Position {
    Position::Nothing(Unlisted::after("5".into(), Relist::Expired))
}

fn failed(retry_after: Option<Duration>) -> Ended {
    Ended::Failed { reason: "503".into(), retry_after }
}

/// The state in a few words.
fn shown(state: &State) -> String {
    let position = |position: &Position| match position {
        Position::Nothing(Unlisted { not_older_than, why }) => {
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
        assert_eq!(shown(&Patience::new().next(up_to("7"), ended)), expected, "{what}");
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
        assert_eq!(shown(&Patience::new().next(nothing(), ended)), expected, "{what}");
    }
}

#[test]
fn an_api_server_that_says_when_to_come_back_is_obeyed() {
    let hour = Duration::from_hours(1);
    let State::Waiting { pause, .. } = Patience::new().next(up_to("7"), failed(Some(hour))) else {
        panic!("it waits")
    };
    assert_eq!(pause, hour);
}

#[test]
fn streamed_listings_that_break_off_again_and_again_give_way_to_pages() {
    let mut patience = Patience::new();
    assert!(!patience.prefers_pages());
    patience.next(nothing(), Ended::Closed);
    patience.next(nothing(), Ended::Silent);
    assert!(patience.prefers_pages());
    patience.listed();
    assert!(!patience.prefers_pages());
}

#[test]
fn what_can_never_be_read_is_left_out_after_some_listings() {
    let mut patience = Patience::new();
    for _ in 0..SPOILT_LISTINGS {
        assert!(!patience.bears_spoilt());
        patience.next(nothing(), Ended::Spoilt);
    }
    assert!(patience.bears_spoilt());
}

#[test]
fn a_refusal_means_the_same_as_an_answer_and_as_an_event() {
    let status = |code, message: &str| Status { code, message: message.into(), ..Status::default() };
    let refused = |source| ApiError::Refused { request: "/p".into(), source };
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
