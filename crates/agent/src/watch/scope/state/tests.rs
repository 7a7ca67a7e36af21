use super::*;

fn up_to(version: &str) -> Position {
    Position::UpTo(version.into())
}

fn nothing() -> Position {
    Position::Nothing(Unlisted::after("5".into(), Relist::Expired))
}

/// Policy of a scope that was never read.
fn never_read() -> RetryPolicy {
    RetryPolicy::new(false, Duration::from_hours(1))
}

fn failed(retry_after: Option<Duration>) -> StreamEnd {
    StreamEnd::Failed { reason: "503".into(), retry_after }
}

/// Short text of a state.
fn shown(state: &ScopeState) -> String {
    let position = |position: &Position| match position {
        Position::Nothing(Unlisted { not_older_than, why, .. }) => {
            format!("list {why:?} not older than {not_older_than:?}")
        }
        Position::UpTo(version) => format!("resume {version}"),
    };
    match state {
        ScopeState::Queued(unlisted) => position(&Position::Nothing(unlisted.clone())),
        ScopeState::Resuming(version) => format!("resume {version}"),
        ScopeState::Denied { then, .. } => format!("denied, then {}", position(then)),
        ScopeState::Waiting { then, .. } => format!("wait, then {}", position(then)),
        ScopeState::Listing(..) => "listing".into(),
        ScopeState::Watching(..) => "watching".into(),
    }
}

#[test]
fn every_end_of_a_watch_has_its_own_short_path() {
    for (ended, expected) in [
        (StreamEnd::Closed, "resume 7"),
        (StreamEnd::Silent, "resume 7"),
        (StreamEnd::ClosedAtOnce, "wait, then resume 7"),
        (StreamEnd::Gone, r#"list Gone not older than Some("7")"#),
        (StreamEnd::Ahead, "wait, then list Restored not older than None"),
        (StreamEnd::Unparseable, "wait, then list Unreadable not older than None"),
        (StreamEnd::Forbidden("no".into()), "denied, then resume 7"),
        (failed(None), "wait, then resume 7"),
    ] {
        let name = format!("{ended:?}");
        assert_eq!(shown(&never_read().next(up_to("7"), ended)), expected, "{name}");
    }
}

#[test]
fn every_end_of_a_list_has_its_own_short_path() {
    for (ended, expected) in [
        (StreamEnd::Closed, r#"list BrokeOff not older than Some("5")"#),
        (StreamEnd::Silent, r#"list BrokeOff not older than Some("5")"#),
        (StreamEnd::NotStreamed, r#"list Expired not older than Some("5")"#),
        (StreamEnd::Gone, "wait, then list Gone not older than None"),
        (StreamEnd::Ahead, "wait, then list Restored not older than None"),
        (StreamEnd::Forbidden("no".into()), r#"denied, then list Expired not older than Some("5")"#),
        (failed(None), r#"wait, then list Expired not older than Some("5")"#),
    ] {
        let name = format!("{ended:?}");
        assert_eq!(shown(&never_read().next(nothing(), ended)), expected, "{name}");
    }
}

#[test]
fn the_retry_after_of_the_api_server_is_respected() {
    let hour = Duration::from_hours(1);
    let ScopeState::Waiting { pause, .. } = never_read().next(up_to("7"), failed(Some(hour))) else {
        panic!("it waits")
    };
    assert_eq!(pause, hour);
}

#[test]
fn streamed_lists_that_are_interrupted_repeatedly_give_way_to_pages() {
    let mut retry = never_read();
    assert!(!retry.prefers_pages());
    retry.next(nothing(), StreamEnd::Closed);
    retry.next(nothing(), StreamEnd::Silent);
    assert!(retry.prefers_pages());
    retry.listed(false);
    assert!(!retry.prefers_pages());
}

#[test]
fn a_streamed_list_that_fails_after_it_has_begun_counts_as_interrupted() {
    let mut retry = never_read();
    let begun = Position::Nothing(Unlisted { begun: true, ..Unlisted::because(Relist::First) });
    for _ in 0..UNFINISHED_LISTS {
        assert!(!retry.prefers_pages());
        let next = shown(&retry.next(begun.clone(), failed(None)));
        assert_eq!(next, "wait, then list BrokeOff not older than None");
    }
    assert!(retry.prefers_pages());
}

#[test]
fn an_event_that_can_never_be_parsed_is_left_out_after_some_lists() {
    let mut retry = never_read();
    for _ in 0..UNPARSEABLE_LISTS {
        assert!(!retry.tolerates_unparseable());
        retry.next(nothing(), StreamEnd::Unparseable);
    }
    assert!(retry.tolerates_unparseable());
    // The object is still there, so its next change causes no list either.
    retry.listed(true);
    assert!(retry.tolerates_unparseable());
    retry.listed(false);
    assert!(!retry.tolerates_unparseable());
}

#[test]
fn a_scope_that_was_read_before_is_retried_for_a_while_when_it_becomes_forbidden() {
    let mut retry = RetryPolicy::new(true, Duration::from_mins(5));
    let mut refused = |grace| {
        retry.grace = grace;
        let next = shown(&retry.next(up_to("7"), StreamEnd::Forbidden("no".into())));
        if next.starts_with("denied") {
            retry.allowed();
        }
        next
    };
    // Without grace it is denied; a scope that was read again has grace again.
    for _ in 0..2 {
        assert_eq!(refused(FORBIDDEN_GRACE), "wait, then resume 7");
        assert_eq!(refused(Duration::ZERO), "denied, then resume 7");
    }
    assert_eq!(RetryPolicy::new(true, Duration::from_secs(2)).grace, Duration::from_secs(2));

    // A scope that was denied, or never read, is denied at once.
    let mut retry = never_read();
    for _ in 0..2 {
        let next = retry.next(up_to("7"), StreamEnd::Forbidden("no".into()));
        assert_eq!(shown(&next), "denied, then resume 7");
    }
}

#[test]
fn a_healthy_stream_ends_a_row_of_failures() {
    let mut retry = never_read();
    let mut pause = || match retry.next(up_to("7"), failed(None)) {
        ScopeState::Waiting { pause, .. } => pause,
        _ => panic!("it waits"),
    };
    let longest = std::iter::repeat_with(&mut pause).take(9).last().unwrap();
    assert!(longest > RETRY.max / 2, "{longest:?}");
    retry.streamed_for(HEALTHY / 2);
    let ScopeState::Waiting { pause, .. } = retry.next(up_to("7"), failed(None)) else { panic!("it waits") };
    assert!(pause > RETRY.max / 2, "{pause:?}");
    retry.streamed_for(HEALTHY);
    let ScopeState::Waiting { pause, .. } = retry.next(up_to("7"), failed(None)) else { panic!("it waits") };
    assert!(pause < RETRY.base * 2, "{pause:?}");
}

#[test]
fn a_status_means_the_same_as_a_response_and_as_an_event() {
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
        for ended in [StreamEnd::from(&status), StreamEnd::from(&refused(status.clone()))] {
            let ended = format!("{ended:?}");
            assert!(ended.starts_with(expected), "{ended} instead of {expected}");
        }
    }
}
