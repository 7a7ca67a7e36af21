//! Messages survive the wire, and invalid ones name their field.

use std::time::Duration;

use proptest::prelude::*;
use spindrift_model::{
    AccountDescription, AccountName, AgentId, Attachment, Batch, CacheKinds, ClusterIdentity, Cursor,
    Declaration, DeniedScope, Epoch, Fingerprint, Generation, HubId, Incarnation, Item, KindPattern,
    Resource, ResumePoint, Salt, Scope, ScopeDeclaration, ScopeId, ScrubRevision, Seq, SessionId,
    UnavailableAccount, Upsert,
};
use spindrift_protocol::{
    ChannelToken, ChannelTokens, ControlDown, ControlUp, EventsDown, EventsUp, Known, Pacing, Registration,
    Rejected, SUPPORTED, Verdict, Welcome, v1,
};

fn account() -> impl Strategy<Value = AccountName> {
    "[a-zA-Z][a-z0-9 ._-]{0,20}[a-z]".prop_map(|name| AccountName::parse(&name).expect("a name"))
}

fn description() -> impl Strategy<Value = AccountDescription> {
    (account(), "[a-z]{1,9}", proptest::option::of("[a-f0-9-]{1,36}"), any::<u32>()).prop_map(
        |(name, host, uid, age)| AccountDescription {
            name,
            cluster: ClusterIdentity { ca_fingerprint: uid.clone(), uid, host },
            kubernetes_version: "v1.36.3".into(),
            namespaces: vec!["default".into()],
            properties: "{}".into(),
            max_resumable_age: Duration::from_millis(age.into()),
        },
    )
}

fn namespace() -> impl Strategy<Value = Option<std::sync::Arc<str>>> {
    proptest::option::of("[a-z]{1,9}".prop_map(Into::into))
}

fn item() -> impl Strategy<Value = Item> {
    let declared = (any::<u32>(), "[a-z.]{0,9}", "[A-Z][a-z]{1,9}", any::<bool>(), namespace());
    let scope = declared.prop_map(|(id, group, kind, namespaced, namespace)| ScopeDeclaration {
        id: ScopeId(id),
        resource: Resource {
            group: group.into(),
            version: "v1".into(),
            plural: format!("{kind}s").into(),
            kind: kind.into(),
            namespaced,
        },
        namespace,
        scrub_revision: ScrubRevision(id),
    });
    let object =
        ("[a-z]{0,9}", "\\PC{1,9}", "[a-f0-9]{1,9}", "[0-9]{1,9}", prop::collection::vec(any::<u8>(), 1..99));
    let names = object.prop_map(|(namespace, name, uid, resource_version, body)| Upsert {
        scope: ScopeId(1),
        namespace: namespace.into(),
        name: name.into(),
        uid: uid.into(),
        resource_version: resource_version.into(),
        body: body.into(),
    });
    prop_oneof![
        (prop::collection::vec(scope, 0..4), prop::collection::vec("[a-z.]{1,9}".prop_map(Into::into), 0..3))
            .prop_map(|(scopes, undiscovered_groups)| Item::Declare(Declaration {
                denied: scopes
                    .iter()
                    .map(|scope| DeniedScope { id: scope.id, reason: format!("no {}", scope.resource.kind) })
                    .collect(),
                scopes,
                undiscovered_groups,
            })),
        any::<u64>().prop_map(|n| Item::Begin { scope: ScopeId(7), generation: Generation(n) }),
        names.clone().prop_map(Item::Upsert),
        names.prop_map(|Upsert { scope, namespace, name, uid, resource_version, .. }| Item::Delete {
            scope,
            namespace,
            name,
            uid,
            resource_version
        }),
        any::<u64>().prop_map(|n| Item::End {
            scope: ScopeId(7),
            generation: Generation(n),
            resource_version: n.to_string().into()
        }),
        prop::collection::vec("[a-f0-9-]{1,36}".prop_map(Into::into), 1..4)
            .prop_map(|uids| Item::Mention { scope: ScopeId(7), uids }),
        any::<u32>().prop_map(|n| Item::Progress { scope: ScopeId(n), resource_version: "9".into() }),
    ]
}

fn events_down() -> impl Strategy<Value = EventsDown> {
    let point = (namespace(), any::<u32>(), "[0-9]{1,9}").prop_map(|(namespace, n, version)| ResumePoint {
        scope: Scope { group: "apps".into(), kind: "Deployment".into(), namespace },
        api_version: "v1".into(),
        scrub_revision: ScrubRevision(n),
        resource_version: version.into(),
        age: Duration::from_millis(n.into()),
    });
    (account(), any::<u64>(), prop::collection::vec(point, 0..4), 0..5).prop_map(
        |(account, n, resume_points, which)| {
            let cursor = Cursor { epoch: Epoch(n), seq: Seq(n / 2) };
            match which {
                0 => EventsDown::Attached {
                    account,
                    attachment: Attachment { cursor, resume_points },
                    credit_bytes: 9,
                },
                1 => EventsDown::NotAttached {
                    account,
                    reason: "busy".into(),
                    retry_after: Duration::from_millis(n % 9),
                },
                2 => {
                    let rejected = vec![Rejected { object: "Pod a/b".into(), reason: "too large".into() }];
                    EventsDown::Ack { account, cursor, rejected, credit_bytes: (n % 2 == 0).then_some(9) }
                }
                3 => EventsDown::Fingerprints {
                    account,
                    epoch: Epoch(n),
                    known: Known {
                        scope: ScopeId(3),
                        generation: Generation(n),
                        salt: Salt(n / 3),
                        fingerprints: vec![Fingerprint(n), Fingerprint(0)],
                        last: n % 2 == 0,
                    },
                },
                _ => EventsDown::Detached { account, epoch: Epoch(n), reason: "over".into() },
            }
        },
    )
}

proptest! {
    #[test]
    fn events_up(account in account(), n in any::<u64>(), items in prop::collection::vec(item(), 1..9)) {
        let cursor = Cursor { epoch: Epoch(n), seq: Seq(n / 3) };
        let batch = Batch { account: account.clone(), cursor, items };
        for said in [EventsUp::Attach(account.clone()), EventsUp::Detach(account), EventsUp::Batch(batch)] {
            prop_assert_eq!(EventsUp::try_from(v1::EventsMessage::from(said.clone())), Ok(said));
        }
    }

    #[test]
    fn events_down_arrive(said in events_down()) {
        prop_assert_eq!(EventsDown::try_from(v1::EventsDown::from(said.clone())), Ok(said));
    }

    #[test]
    fn control(account in account(), accounts in prop::collection::vec(description(), 0..4), nonce in any::<u64>()) {
        let unavailable = ControlUp::Unavailable(vec![UnavailableAccount { name: account.clone(), reason: "away".into() }]);
        let withdraw = ControlUp::Withdraw(account.clone());
        for said in [ControlUp::Ping { nonce }, ControlUp::Announce(accounts), withdraw, unavailable] {
            prop_assert_eq!(ControlUp::try_from(v1::ControlUp::from(said.clone())), Ok(said));
        }
        let retry_after = Duration::from_millis(nonce % 9);
        let verdict = Verdict { account, refused: Some("no".into()), only_managed: true };
        let disconnect = ControlDown::Disconnect { reason: "bye".into(), retry_after };
        for said in [ControlDown::Pong { nonce }, ControlDown::Verdict(verdict), disconnect] {
            prop_assert_eq!(ControlDown::try_from(v1::ControlDown::from(said.clone())), Ok(said));
        }
    }

    #[test]
    fn register(accounts in prop::collection::vec(description(), 0..4), bits in any::<[u8; 32]>()) {
        let token = ChannelToken::new(bits);
        let verdicts = accounts.iter().map(|account| Verdict { account: account.name.clone(), refused: None, only_managed: false });
        let said = Welcome {
            session: SessionId::fresh(),
            protocol: 1,
            hub: HubId::parse("hub").unwrap(),
            hub_version: "0.1.0".into(),
            tokens: ChannelTokens { control: token.clone(), events: token.clone(), results: token },
            kinds: CacheKinds { all: true, kinds: vec![KindPattern::parse("Pod")], omit: vec![KindPattern::parse("job.batch")] },
            pacing: Pacing { heartbeat: Duration::from_secs(5), batch_bytes: 1 },
            accounts: verdicts.collect(),
            takes_unavailable: true,
        };
        prop_assert_eq!(Welcome::try_from(v1::RegisterResponse::from(said.clone())), Ok(said));
        let said = registration(accounts);
        prop_assert_eq!(Registration::try_from(v1::RegisterRequest::from(said.clone())), Ok(said));
    }
}

fn registration(accounts: Vec<AccountDescription>) -> Registration {
    Registration {
        agent: AgentId::parse("agent").expect("a name"),
        incarnation: Incarnation::fresh(),
        version: "0.1.0".into(),
        protocol: SUPPORTED,
        zone: "here".into(),
        accounts,
        verbs: vec!["get".into()],
    }
}

/// A change that breaks a registration, and the field to blame.
type Breakage = (fn(&mut v1::RegisterRequest), &'static str);

#[test]
fn what_makes_no_sense_is_blamed_on_its_field() {
    let breakages: [Breakage; 4] = [
        (|request| request.agent_id.clear(), "agent_id: "),
        (|request| request.incarnation = "today".into(), "incarnation: "),
        (|request| request.protocol_min = 9, "protocol_min: "),
        (
            |request| request.accounts.push(v1::Account { name: " x".into(), ..v1::Account::default() }),
            "accounts[0].name: ",
        ),
    ];
    for (break_it, field) in breakages {
        let mut request = v1::RegisterRequest::from(registration(vec![]));
        break_it(&mut request);
        let error = Registration::try_from(request).unwrap_err().to_string();
        assert!(error.starts_with(field), "{error}");
    }
    let nameless = v1::Item {
        item: Some(v1::item::Item::Delete(v1::Delete { uid: "1".into(), ..v1::Delete::default() })),
    };
    let batch = v1::Batch { account: "a".into(), items: vec![nameless], ..v1::Batch::default() };
    let message = v1::EventsMessage { message: Some(v1::events_message::Message::Batch(batch)) };
    let error = EventsUp::try_from(message).unwrap_err().to_string();
    assert_eq!(error, "batch.items[0].delete.name: is missing");
}
