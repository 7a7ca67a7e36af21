use std::time::Duration;

use bytes::Bytes;
use prometheus_client::registry::Registry;
use spindrift_model::{
    AccountName, Attachment, Cursor, Declaration, Item, Resource, ScopeDeclaration, ScopeId, ScrubRevision,
    Seq, TenantId, Upsert,
};

use super::*;
use crate::ingest::fold::NoRows;

const SCOPE: ScopeId = ScopeId(1);

fn attached() -> AttachedAccount {
    let attachment =
        Attachment { cursor: Cursor { epoch: Epoch(1), seq: Seq(1) }, resume_points: Vec::new() };
    let account = AccountName::parse("prod").unwrap();
    let fold = AccountFold::new(TenantId::default(), account, &attachment, Duration::from_secs(30));
    let metrics = Arc::new(Metrics::register(&mut Registry::default(), 1));
    AttachedAccount::new(fold, &CreditBudget::new(usize::MAX), &metrics)
}

fn rules() -> Arc<dyn DeriveRows> {
    Arc::new(NoRows)
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
    let mut body = b"{}".to_vec();
    body.resize(bytes - overhead, b' ');
    upsert(body.into())
}

fn batch(seq: u64, items: Vec<Item>) -> Batch {
    let cursor = Cursor { epoch: Epoch(1), seq: Seq(seq) };
    Batch { account: AccountName::parse("prod").unwrap(), cursor, items }
}

#[test]
fn the_whole_credit_may_be_used_and_not_one_byte_more() {
    let mut account = attached();
    let credit = account.credit() as usize;
    let (_, first) = account.fold(batch(1, beginning()), rules()).unwrap();
    assert_eq!(first, beginning().iter().map(flow::cost).sum::<usize>(), "counted as the agent counts");
    let (_, second) = account.fold(batch(2, vec![pod(credit - first)]), rules()).unwrap();
    assert_eq!(first + second, credit);
    let mention = Item::Mention { scope: SCOPE, uids: vec!["u".into()] };
    let more = flow::cost(&mention);
    let violation = account.fold(batch(3, vec![mention.clone()]), rules()).unwrap_err();
    let expected =
        Violation::OverCredit { unacknowledged: credit + more, credit: u32::try_from(credit).unwrap() };
    assert_eq!(violation, expected);
    assert_eq!(account.acknowledged(first), None);
    account.fold(batch(3, vec![mention]), rules()).unwrap();
}

#[test]
fn an_object_larger_than_the_credit_is_accepted_alone() {
    let mut account = attached();
    let (_, bytes) = account.fold(batch(1, beginning()), rules()).unwrap();
    account.acknowledged(bytes);
    let (_, bytes) = account.fold(batch(2, vec![pod(account.credit() as usize * 2)]), rules()).unwrap();
    assert!(account.fold(batch(3, vec![pod(300)]), rules()).is_err(), "nothing may follow it");
    account.acknowledged(bytes);
    account.fold(batch(3, vec![pod(300)]), rules()).unwrap();
}

#[test]
fn a_credit_that_shrinks_does_not_count_against_batches_on_their_way() {
    let mut account = attached();
    let before = account.credit();
    let (_, bytes) = account.fold(batch(1, beginning()), rules()).unwrap();
    account.budget = CreditBudget::new(1);
    let smaller = account.acknowledged(bytes).unwrap();
    assert!(smaller < before);
    account.fold(batch(2, vec![pod(before as usize)]), rules()).unwrap();
}
