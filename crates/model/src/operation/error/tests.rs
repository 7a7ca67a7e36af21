use super::*;

#[test]
fn every_kind_survives_as_its_word() {
    for kind in ErrorKind::ALL {
        assert_eq!(ErrorKind::parse(kind.word()), Some(kind));
        let sent = OperationError::agent(kind, "any text");
        let received = OperationError::received(kind.word(), sent.code, sent.status.clone());
        assert_eq!(received, sent);
    }
    assert_eq!(ErrorKind::parse("FromTheFuture"), None);
}

#[test]
fn rewording_a_message_changes_no_decision() {
    for kind in ErrorKind::ALL {
        for message in
            ["", "no matches for kind \"Pod\"", "the hub's store did not answer; nothing was sent; try again"]
        {
            let error = OperationError::received(kind.word(), 503, OperationError::hub(kind, message).status);
            assert_eq!(error.kind, kind, "{message}");
            assert_eq!(error.state(), kind.state(), "{message}");
            assert!(!error.is_not_found(), "{message}");
        }
    }
}

#[test]
fn what_may_be_retried_is_decided_by_kind() {
    use ErrorKind::{HubOverloaded, NotRecorded, NotSent, StoreUnavailable};
    let of = |decide: fn(ErrorKind) -> bool| ErrorKind::ALL.into_iter().filter(move |kind| decide(*kind));
    assert_eq!(of(ErrorKind::is_transient).collect::<Vec<_>>(), [HubOverloaded, StoreUnavailable, NotSent]);
    assert_eq!(
        of(ErrorKind::allows_same_id).collect::<Vec<_>>(),
        [HubOverloaded, StoreUnavailable, NotRecorded]
    );
}

#[test]
fn errors_of_agents_and_rows_of_0_1_have_a_kind() {
    let agent = |code, message: &str| (code, StatusSource::Agent.status(code, "x", message));
    let hub = |code, message: &str| (code, StatusSource::Hub.status(code, "x", message));
    let server = |code, message: &str| (code, StatusSource::ApiServer.status(code, "x", message));
    let no_match =
        "no matches for kind \"Wibble\" in version \"x/v1\" (group \"x\", version \"v1\") of account a";
    for ((code, status), kind) in [
        (agent(404, no_match), ErrorKind::NoKindMatch),
        (server(404, no_match), ErrorKind::ApiServer),
        (agent(404, "object has been deleted"), ErrorKind::NotFound),
        (agent(401, "namespace x has not been authorized"), ErrorKind::Forbidden),
        (hub(503, "the hub's store did not answer; nothing was sent; try again"), ErrorKind::NotSent),
        (
            hub(
                503,
                "the hub's store did not answer; nothing was sent, and nothing will be under this id; try again",
            ),
            ErrorKind::MayHaveBeenQueued,
        ),
        (hub(503, "no agent that serves account a is connected"), ErrorKind::Unavailable),
        (hub(423, "account a is frozen"), ErrorKind::Frozen),
        (server(409, "it has changed"), ErrorKind::ApiServer),
        ((502, Bytes::from_static(b"<html>")), ErrorKind::ApiServer),
    ] {
        assert_eq!(OperationError::received("", code, status.clone()).kind, kind, "{status:?}");
        assert_eq!(OperationError::received("FromTheFuture", code, status.clone()).kind, kind, "{status:?}");
    }
}

#[test]
fn errors_are_shown_as_kubectl_would() {
    let gone =
        OperationError::api_server(404, StatusSource::ApiServer.status(404, "NotFound", "no such pod"));
    assert_eq!(gone.stderr(), "Error from server (NotFound): no such pod\n");
    assert!(gone.is_not_found() && gone.is_failure() && !gone.is_forbidden());
    let away = OperationError::hub(ErrorKind::NoAgent, "no agent is connected");
    assert_eq!(away.stderr(), "error: no agent is connected\n");
    let unknown = OperationError::unknown("the agent was restarted");
    assert_eq!(unknown.stderr(), "error: outcome unknown: the agent was restarted\n");
    let page = OperationError::api_server(502, Bytes::from_static(b"<html>"));
    assert_eq!(page.stderr(), "error: <html>\n");
}
