use std::time::Duration;

use bytes::Bytes;
use prometheus_client::registry::Registry;
use spindrift_model::{
    AccountName, Attachment as Attached, Cursor, Declaration, Item, Resource, ScopeDeclaration, ScopeId,
    ScrubRevision, Seq, TenantId, Upsert,
};

use super::*;

const SCOPE: ScopeId = ScopeId(1);

fn hold() -> Hold {
    let attached = Attached { cursor: Cursor { epoch: Epoch(1), seq: Seq(1) }, resume_points: Vec::new() };
    let account = AccountName::parse("prod").unwrap();
    let attachment = Attachment::new(TenantId::default(), account, &attached, Duration::from_secs(30));
    let metrics = Arc::new(Metrics::register(&mut Registry::default(), 1));
    Hold::new(attachment, &Budget::new(usize::MAX), &metrics)
}

/// Declaration of one scope whose list has begun.
fn beginning() -> Vec<Item> {
    let resource = Resource {
        group: "".into(),
        version: "v1".into(),
        kind: "Pod".into(),
        plural: "pods".into(),
        namespaced: true,
    };
    let scope = ScopeDeclaration { id: SCOPE, resource, namespace: None, scrub_revision: ScrubRevision(0) };
    vec![
        Item::Declare(Declaration { scopes: vec![scope], ..Declaration::default() }),
        Item::Begin { scope: SCOPE, generation: spindrift_model::Generation(1) },
    ]
}

/// An object whose cost is exactly so many bytes.
fn pod(bytes: usize) -> Item {
    let upsert = |body| {
        let (namespace, name, uid) = ("n".into(), "a".into(), "u".into());
        Item::Upsert(Upsert { scope: SCOPE, namespace, name, uid, resource_version: "1".into(), body })
    };
    let overhead = flow::cost(&upsert(Bytes::new()));
    let body = format!("{:<1$}", "{}", bytes - overhead);
    upsert(body.into())
}

fn batch(seq: u64, items: Vec<Item>) -> Batch {
    let cursor = Cursor { epoch: Epoch(1), seq: Seq(seq) };
    Batch { account: AccountName::parse("prod").unwrap(), cursor, items }
}

#[test]
fn the_whole_credit_may_be_used_and_not_one_byte_more() {
    let mut hold = hold();
    let credit = hold.credit() as usize;
    let (_, first) = hold.fold(batch(1, beginning())).unwrap();
    assert_eq!(first, beginning().iter().map(flow::cost).sum::<usize>(), "counted as the agent counts");
    let (_, second) = hold.fold(batch(2, vec![pod(credit - first)])).unwrap();
    assert_eq!(first + second, credit);
    let mention = Item::Mention { scope: SCOPE, uids: vec!["u".into()] };
    let more = flow::cost(&mention);
    let violation = hold.fold(batch(3, vec![mention.clone()])).unwrap_err();
    let expected =
        Violation::OverCredit { unacknowledged: credit + more, credit: u32::try_from(credit).unwrap() };
    assert_eq!(violation, expected);
    assert_eq!(hold.acknowledged(first), None);
    hold.fold(batch(3, vec![mention])).unwrap();
}

#[test]
fn an_object_larger_than_the_credit_is_accepted_alone() {
    let mut hold = hold();
    let (_, bytes) = hold.fold(batch(1, beginning())).unwrap();
    hold.acknowledged(bytes);
    let (_, bytes) = hold.fold(batch(2, vec![pod(hold.credit() as usize * 2)])).unwrap();
    assert!(hold.fold(batch(3, vec![pod(300)])).is_err(), "nothing may follow it");
    hold.acknowledged(bytes);
    hold.fold(batch(3, vec![pod(300)])).unwrap();
}

#[test]
fn a_credit_that_shrinks_does_not_count_against_batches_on_their_way() {
    let mut hold = hold();
    let before = hold.credit();
    let (_, bytes) = hold.fold(batch(1, beginning())).unwrap();
    hold.budget = Budget::new(1);
    let smaller = hold.acknowledged(bytes).unwrap();
    assert!(smaller < before);
    hold.fold(batch(2, vec![pod(before as usize)])).unwrap();
}
