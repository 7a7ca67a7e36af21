use bytes::Bytes;
use spindrift_model::{Resource, ResumePoint, Seq};

use super::*;

fn attachment() -> Attachment {
    let cursor = Cursor { epoch: Epoch(3), seq: Seq(7) };
    let scope = Scope { group: "".into(), kind: "Pod".into(), namespace: None };
    let resume_points = vec![ResumePoint {
        scope,
        api_version: "v1".into(),
        scrub_revision: ScrubRevision(0),
        resource_version: "5".into(),
        age: Duration::ZERO,
    }];
    let attached = Attached { cursor, resume_points };
    Attachment::new(
        TenantId::default(),
        AccountName::parse("prod").unwrap(),
        &attached,
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

/// The batch that comes next, after `pods` was declared in it.
fn fold(items: impl IntoIterator<Item = Item>) -> AccountWrite {
    let mut attachment = attachment();
    let items = [declare(&[1])].into_iter().chain(items).collect();
    let batch = Batch { account: attachment.account.clone(), cursor: attachment.next, items };
    attachment.fold(batch).unwrap().write
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
fn only_the_last_word_about_an_object_is_written() {
    let write = fold([
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
fn a_younger_object_of_the_same_name_survives_the_delete_of_the_older() {
    let write = fold([delete("a", "1", "10"), upsert("a", "2", "11")]);
    assert_eq!((upserted(&write), deleted(&write)), (vec![("a", "2")], vec![]));
    let write = fold([upsert("a", "2", "11"), delete("a", "1", "12")]);
    assert_eq!((upserted(&write), deleted(&write)), (vec![("a", "2")], vec![]));
}

#[test]
fn objects_that_came_and_went_under_one_name_are_all_deleted() {
    let write = fold([delete("a", "1", "10"), upsert("a", "2", "11"), delete("a", "2", "12")]);
    assert_eq!(upserted(&write), []);
    assert_eq!(deleted(&write), [("a", "1"), ("a", "2")], "the stored one may be either");
    let write = fold([delete("a", "1", "10"), delete("a", "2", "12")]);
    assert_eq!(deleted(&write), [("a", "1"), ("a", "2")]);
}

#[test]
fn a_listing_clears_the_resume_point_until_it_ends() {
    let begin = Item::Begin { scope: ScopeId(1), generation: Generation(1) };
    let end = Item::End { scope: ScopeId(1), generation: Generation(1), resource_version: "20".into() };
    let open = fold([begin.clone(), upsert("a", "1", "10")]);
    assert_eq!(resume_point(&open), None);
    assert!(open.prunes.is_empty());

    let closed = fold([begin, upsert("a", "1", "10"), end, upsert("late", "2", "21")]);
    assert_eq!(resume_point(&closed), Some("21"));
    let [prune] = &closed.prunes[..] else { panic!("one prune") };
    assert!(prune.keep.contains(&"1".into()) && !prune.keep.contains(&"2".into()));
}

#[test]
fn what_a_listing_does_not_mention_is_gone_even_if_the_same_batch_said_it_before() {
    let begin = Item::Begin { scope: ScopeId(1), generation: Generation(1) };
    let end = Item::End { scope: ScopeId(1), generation: Generation(1), resource_version: "20".into() };
    let write = fold([upsert("x", "1", "10"), begin, upsert("y", "2", "11"), end]);
    assert_eq!(upserted(&write), [("y", "2")]);
    assert_eq!(deleted(&write), [("x", "1")]);
}

#[test]
fn what_is_mentioned_is_kept_and_must_be_stored_unless_more_is_said_of_it() {
    let begin = Item::Begin { scope: ScopeId(1), generation: Generation(1) };
    let mention = Item::Mention { scope: ScopeId(1), uids: ["1", "2", "3"].map(Uid::from).into() };
    let end = Item::End { scope: ScopeId(1), generation: Generation(1), resource_version: "20".into() };
    let write = fold([begin, mention, upsert("b", "2", "11"), delete("c", "3", "12"), end]);
    let [prune] = &write.prunes[..] else { panic!("one prune") };
    let (keep, expected) = (["1", "2"].map(Uid::from), [Uid::from("1")]);
    assert_eq!((&*prune.keep, &*prune.expected), (&keep.iter().collect(), &expected.iter().collect()));
}

#[test]
fn only_listings_that_are_still_open_are_answered() {
    let begin = |generation| Item::Begin { scope: ScopeId(1), generation: Generation(generation) };
    let end = Item::End { scope: ScopeId(1), generation: Generation(2), resource_version: "20".into() };
    for (items, answered) in [
        (vec![begin(1)], vec![Generation(1)]),
        (vec![begin(1), begin(2)], vec![Generation(2)]),
        (vec![begin(2), end], vec![]),
    ] {
        let mut attachment = attachment();
        let items = [declare(&[1])].into_iter().chain(items).collect();
        let batch = Batch { account: attachment.account.clone(), cursor: attachment.next, items };
        let open = attachment.fold(batch).unwrap().begun;
        assert_eq!(open.iter().map(|listing| listing.generation).collect::<Vec<_>>(), answered);
    }
}

#[test]
fn a_new_declaration_takes_back_what_the_batch_said_of_scopes_that_went() {
    let mut attachment = attachment();
    let items = vec![declare(&[1]), upsert("a", "1", "10"), declare(&[2])];
    let batch = Batch { account: attachment.account.clone(), cursor: attachment.next, items };
    let Folded { write, .. } = attachment.fold(batch).unwrap();
    assert!(write.upserts.is_empty() && write.scopes.is_empty());
    assert_eq!(write.declared.unwrap().scopes.len(), 1);
}

#[test]
fn an_object_that_is_not_json_is_named_and_the_rest_is_written() {
    let mut attachment = attachment();
    let Item::Upsert(mut broken) = upsert("broken", "1", "10") else { unreachable!() };
    broken.body = Bytes::from_static(b"{\"metadata\":");
    let items = vec![declare(&[1]), Item::Upsert(broken), upsert("good", "2", "11")];
    let batch = Batch { account: attachment.account.clone(), cursor: attachment.next, items };
    let Folded { write, rejected, .. } = attachment.fold(batch).unwrap();
    assert_eq!(upserted(&write), [("good", "2")]);
    assert_eq!(rejected.len(), 1);
    assert!(rejected[0].object.contains("broken"), "{rejected:?}");
}

#[test]
fn a_scope_that_left_the_declaration_has_to_be_listed_when_it_comes_back() {
    let mut attachment = attachment();
    let items = vec![declare(&[]), declare(&[1]), upsert("a", "1", "10")];
    let batch = Batch { account: attachment.account.clone(), cursor: attachment.next, items };
    assert_eq!(attachment.fold(batch).unwrap_err(), Violation::NotListed(ScopeId(1)));
}

#[test]
fn what_breaks_the_rules_is_named() {
    let mut late = attachment();
    let old = Cursor { seq: Seq(6), ..late.next };
    let batch = Batch { account: late.account.clone(), cursor: old, items: vec![] };
    assert_eq!(late.fold(batch).unwrap_err(), Violation::OutOfOrder { found: old, expected: late.next });

    for (item, violation) in [
        (upsert("a", "1", "10"), Violation::UndeclaredScope(ScopeId(1))),
        (
            Item::Progress { scope: ScopeId(9), resource_version: "1".into() },
            Violation::UndeclaredScope(ScopeId(9)),
        ),
        (Item::Mention { scope: ScopeId(9), uids: vec![] }, Violation::UndeclaredScope(ScopeId(9))),
    ] {
        let mut attachment = attachment();
        let batch = Batch { account: attachment.account.clone(), cursor: attachment.next, items: vec![item] };
        assert_eq!(attachment.fold(batch).unwrap_err(), violation);
    }

    let mut early = attachment();
    let mention = Item::Mention { scope: ScopeId(1), uids: vec!["1".into()] };
    let batch =
        Batch { account: early.account.clone(), cursor: early.next, items: vec![declare(&[1]), mention] };
    assert_eq!(early.fold(batch).unwrap_err(), Violation::MentionWithoutListing(ScopeId(1)));

    let mut endless = attachment();
    let end = Item::End { scope: ScopeId(1), generation: Generation(1), resource_version: "20".into() };
    let batch =
        Batch { account: endless.account.clone(), cursor: endless.next, items: vec![declare(&[1]), end] };
    assert_eq!(endless.fold(batch).unwrap_err(), Violation::EndWithoutBegin(ScopeId(1), Generation(1)));
}
