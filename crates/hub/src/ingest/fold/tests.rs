use bytes::Bytes;
use spindrift_model::{Resource, ResumePoint, Seq};

use super::*;
use crate::store::DerivedRow;

/// Rules by which no object has a row.
#[derive(Debug)]
pub(crate) struct NoRows;

impl DeriveRows for NoRows {
    fn applies_to(&self, _: &ObjectKey) -> bool {
        false
    }

    fn derive(&self, _: &Arc<str>, _: &ObjectKey, _: &[u8]) -> Option<DerivedRow> {
        None
    }

    fn revision(&self) -> &'static str {
        "none"
    }
}

fn new_fold() -> AccountFold {
    let cursor = Cursor { epoch: Epoch(3), seq: Seq(7) };
    let scope = Scope { group: "".into(), kind: "Pod".into(), namespace: None };
    let resume_points = vec![ResumePoint {
        scope,
        api_version: "v1".into(),
        scrub_revision: ScrubRevision(0),
        resource_version: "5".into(),
        age: Duration::ZERO,
    }];
    let attachment = Attachment { cursor, resume_points };
    AccountFold::new(
        TenantId::default(),
        AccountName::parse("prod").unwrap(),
        &attachment,
        Duration::from_secs(30),
    )
}

fn pods(id: u32) -> ScopeDeclaration {
    ScopeDeclaration {
        id: ScopeId(id),
        resource: Resource {
            group: "".into(),
            version: "v1".into(),
            kind: "Pod".into(),
            plural: "pods".into(),
            namespaced: true,
        },
        namespace: None,
        scrub_revision: ScrubRevision(0),
    }
}

fn declare(ids: &[u32]) -> Item {
    Item::Declare(Declaration { scopes: ids.iter().map(|id| pods(*id)).collect(), ..Declaration::default() })
}

fn upsert(name: &str, uid: &str, version: &str) -> Item {
    Item::Upsert(Upsert {
        scope: ScopeId(1),
        namespace: "shop".into(),
        name: name.into(),
        uid: uid.into(),
        resource_version: version.into(),
        body: Bytes::from_static(b"{}"),
    })
}

fn delete(name: &str, uid: &str, version: &str) -> Item {
    Item::Delete {
        scope: ScopeId(1),
        namespace: "shop".into(),
        name: name.into(),
        uid: uid.into(),
        resource_version: version.into(),
    }
}

/// Folds the next batch, in which `pods` is declared first.
fn fold_items(items: impl IntoIterator<Item = Item>) -> AccountWrite {
    let mut fold = new_fold();
    let items = [declare(&[1])].into_iter().chain(items).collect();
    let batch = Batch { account: fold.account.clone(), cursor: fold.next, items };
    fold.fold(batch, Arc::new(NoRows)).unwrap().write
}

fn upserted(write: &AccountWrite) -> Vec<(&str, &str)> {
    write.upserts.iter().map(|object| (&*object.key.name, object.uid.as_str())).collect()
}

fn deleted(write: &AccountWrite) -> Vec<(&str, &str)> {
    write.deletes.iter().map(|(key, uid)| (&*key.name, uid.as_str())).collect()
}

fn resume_point(write: &AccountWrite) -> Option<&str> {
    let [progress] = &write.scopes[..] else { panic!("one scope moved: {:?}", write.scopes) };
    progress.resource_version.as_ref().map(ResourceVersion::as_str)
}

#[test]
fn only_the_last_item_of_an_object_is_written() {
    let write = fold_items([
        upsert("a", "1", "10"),
        upsert("a", "1", "11"),
        upsert("b", "2", "12"),
        delete("b", "2", "13"),
    ]);
    assert_eq!(upserted(&write), [("a", "1")]);
    assert_eq!(write.upserts[0].resource_version.as_str(), "11");
    assert_eq!(deleted(&write), [("b", "2")]);
    assert_eq!(resume_point(&write), Some("13"));
}

#[test]
fn a_newer_object_of_the_same_name_survives_the_delete_of_the_older() {
    let write = fold_items([delete("a", "1", "10"), upsert("a", "2", "11")]);
    assert_eq!((upserted(&write), deleted(&write)), (vec![("a", "2")], vec![]));
    let write = fold_items([upsert("a", "2", "11"), delete("a", "1", "12")]);
    assert_eq!((upserted(&write), deleted(&write)), (vec![("a", "2")], vec![]));
}

#[test]
fn objects_that_came_and_went_under_one_name_are_all_deleted() {
    let write = fold_items([delete("a", "1", "10"), upsert("a", "2", "11"), delete("a", "2", "12")]);
    assert_eq!(upserted(&write), []);
    assert_eq!(deleted(&write), [("a", "1"), ("a", "2")], "the stored one may be either");
    let write = fold_items([delete("a", "1", "10"), delete("a", "2", "12")]);
    assert_eq!(deleted(&write), [("a", "1"), ("a", "2")]);
}

#[test]
fn a_list_clears_the_resume_point_until_it_ends() {
    let begin = Item::Begin { scope: ScopeId(1), generation: Generation(1) };
    let end = Item::End { scope: ScopeId(1), generation: Generation(1), resource_version: "20".into() };
    let open = fold_items([begin.clone(), upsert("a", "1", "10")]);
    assert_eq!(resume_point(&open), None);
    assert!(open.prunes.is_empty());

    let closed = fold_items([begin, upsert("a", "1", "10"), end, upsert("late", "2", "21")]);
    assert_eq!(resume_point(&closed), Some("21"));
    let [prune] = &closed.prunes[..] else { panic!("one prune") };
    assert!(prune.keep.contains(&"1".into()) && !prune.keep.contains(&"2".into()));
}

#[test]
fn an_object_that_a_list_does_not_mention_is_deleted_even_if_the_same_batch_contains_it() {
    let begin = Item::Begin { scope: ScopeId(1), generation: Generation(1) };
    let end = Item::End { scope: ScopeId(1), generation: Generation(1), resource_version: "20".into() };
    let write = fold_items([upsert("x", "1", "10"), begin, upsert("y", "2", "11"), end]);
    assert_eq!(upserted(&write), [("y", "2")]);
    assert_eq!(deleted(&write), [("x", "1")]);
}

#[test]
fn a_mentioned_object_is_kept_and_expected_unless_another_item_follows() {
    let begin = Item::Begin { scope: ScopeId(1), generation: Generation(1) };
    let mention = Item::Mention { scope: ScopeId(1), uids: ["1", "2", "3"].map(Uid::from).into() };
    let end = Item::End { scope: ScopeId(1), generation: Generation(1), resource_version: "20".into() };
    let write = fold_items([begin, mention, upsert("b", "2", "11"), delete("c", "3", "12"), end]);
    let [prune] = &write.prunes[..] else { panic!("one prune") };
    let (keep, expected) = (["1", "2"].map(Uid::from), [Uid::from("1")]);
    assert_eq!((&*prune.keep, &*prune.expected), (&keep.iter().collect(), &expected.iter().collect()));
}

#[test]
fn only_lists_that_are_still_open_are_answered() {
    let begin = |generation| Item::Begin { scope: ScopeId(1), generation: Generation(generation) };
    let end = Item::End { scope: ScopeId(1), generation: Generation(2), resource_version: "20".into() };
    for (items, answered) in [
        (vec![begin(1)], vec![Generation(1)]),
        (vec![begin(1), begin(2)], vec![Generation(2)]),
        (vec![begin(2), end], vec![]),
    ] {
        let mut fold = new_fold();
        let items = [declare(&[1])].into_iter().chain(items).collect();
        let batch = Batch { account: fold.account.clone(), cursor: fold.next, items };
        let open = fold.fold(batch, Arc::new(NoRows)).unwrap().begun;
        assert_eq!(open.iter().map(|list| list.generation).collect::<Vec<_>>(), answered);
    }
}

#[test]
fn a_new_declaration_drops_the_items_of_scopes_that_are_no_longer_declared() {
    let mut fold = new_fold();
    let items = vec![declare(&[1]), upsert("a", "1", "10"), declare(&[2])];
    let batch = Batch { account: fold.account.clone(), cursor: fold.next, items };
    let FoldedBatch { write, .. } = fold.fold(batch, Arc::new(NoRows)).unwrap();
    assert!(write.upserts.is_empty() && write.scopes.is_empty());
    assert_eq!(write.declared.unwrap().scopes.len(), 1);
}

#[test]
fn an_object_that_is_not_json_is_rejected_and_the_rest_is_written() {
    for (body, reason) in [
        (&b"{\"metadata\":"[..], "not a JSON object: EOF while parsing a value at line 1 column 12"),
        (b"{\"data\":\"\xff\"}", "not UTF-8 from byte 9 on"),
    ] {
        let mut fold = new_fold();
        let Item::Upsert(mut broken) = upsert("broken", "1", "10") else { unreachable!() };
        broken.body = Bytes::from_static(body);
        let items = vec![declare(&[1]), Item::Upsert(broken), upsert("good", "2", "11")];
        let batch = Batch { account: fold.account.clone(), cursor: fold.next, items };
        let FoldedBatch { write, rejected, .. } = fold.fold(batch, Arc::new(NoRows)).unwrap();
        assert_eq!(upserted(&write), [("good", "2")]);
        assert_eq!(rejected.len(), 1);
        assert!(rejected[0].object.contains("broken"), "{rejected:?}");
        assert_eq!(rejected[0].reason, reason);
    }
}

#[test]
fn a_scope_that_left_the_declaration_has_to_be_listed_when_it_comes_back() {
    let mut fold = new_fold();
    let items = vec![declare(&[]), declare(&[1]), upsert("a", "1", "10")];
    let batch = Batch { account: fold.account.clone(), cursor: fold.next, items };
    assert_eq!(fold.fold(batch, Arc::new(NoRows)).unwrap_err(), Violation::NotListed(ScopeId(1)));
}

#[test]
fn violations_are_reported() {
    let mut late = new_fold();
    let old = Cursor { seq: Seq(6), ..late.next };
    let batch = Batch { account: late.account.clone(), cursor: old, items: vec![] };
    assert_eq!(
        late.fold(batch, Arc::new(NoRows)).unwrap_err(),
        Violation::OutOfOrder { found: old, expected: late.next }
    );

    for (item, violation) in [
        (upsert("a", "1", "10"), Violation::UndeclaredScope(ScopeId(1))),
        (
            Item::Progress { scope: ScopeId(9), resource_version: "1".into() },
            Violation::UndeclaredScope(ScopeId(9)),
        ),
        (Item::Mention { scope: ScopeId(9), uids: vec![] }, Violation::UndeclaredScope(ScopeId(9))),
    ] {
        let mut fold = new_fold();
        let batch = Batch { account: fold.account.clone(), cursor: fold.next, items: vec![item] };
        assert_eq!(fold.fold(batch, Arc::new(NoRows)).unwrap_err(), violation);
    }

    let mut early = new_fold();
    let mention = Item::Mention { scope: ScopeId(1), uids: vec!["1".into()] };
    let batch =
        Batch { account: early.account.clone(), cursor: early.next, items: vec![declare(&[1]), mention] };
    assert_eq!(early.fold(batch, Arc::new(NoRows)).unwrap_err(), Violation::MentionWithoutList(ScopeId(1)));

    let mut endless = new_fold();
    let end = Item::End { scope: ScopeId(1), generation: Generation(1), resource_version: "20".into() };
    let batch =
        Batch { account: endless.account.clone(), cursor: endless.next, items: vec![declare(&[1]), end] };
    assert_eq!(
        endless.fold(batch, Arc::new(NoRows)).unwrap_err(),
        Violation::EndWithoutBegin(ScopeId(1), Generation(1))
    );
}
