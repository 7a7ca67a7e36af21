//! More accounts than any agent has.

use futures::{StreamExt, stream};
use spindrift_protocol::v1;

use crate::{
    peer::{Peer, registration},
    target::Target,
};

/// Limits of the hub that is attacked.
pub(crate) const SETTINGS: &[(&str, &str)] =
    &[("/kubesvc/accounts/limits/perAgent", "100"), ("/kubesvc/accounts/limits/perHub", "250")];

fn names(agent: usize, accounts: usize) -> impl Iterator<Item = String> {
    (0..accounts).map(move |account| format!("account-{agent}-{account}"))
}

pub(crate) async fn announced(target: &mut Target) {
    let accounts = target.scale.pick(1_000, 20_000);
    let peer = Peer::register(&target.hub, registration("many-0", names(0, accounts))).await.unwrap();
    let refused = peer.welcome.accounts.iter().filter_map(|verdict| verdict.refused.as_deref());
    let refused: Vec<_> = refused.collect();
    let expected = refused.len() == accounts - 100
        && refused.iter().all(|reason| reason.contains("kubesvc.accounts.limits.perAgent"));
    let seen = format!("{} refused, {:?}", refused.len(), refused.first());
    target.check(format!("of {accounts} accounts of one agent, 100 are accepted"), expected, seen);

    let mut kept = vec![peer];
    for agent in 1..4 {
        kept.push(
            Peer::register(&target.hub, registration(&format!("many-{agent}"), names(agent, 100)))
                .await
                .unwrap(),
        );
    }
    let known = target.hub.get("/v1/accounts").await.unwrap();
    let known = known.as_array().map_or(0, Vec::len);
    target.check("of 400 accounts of four agents, the hub keeps 250", known == 250, known);
    let last = kept.pop().unwrap();
    let reason = last.welcome.accounts.last().and_then(|verdict| verdict.refused.clone()).unwrap_or_default();
    target.check("the refusal names the limit", reason.contains("kubesvc.accounts.limits.perHub"), reason);

    let again = Peer::register(&target.hub, registration("many-0", names(0, 100))).await.unwrap();
    let refused = again.welcome.accounts.iter().filter(|verdict| verdict.refused.is_some()).count();
    target.check("known accounts are accepted at the limit", refused == 0, refused);

    announcements(target, again).await;
}

/// Announcements on the Control channel count too.
async fn announcements(target: &mut Target, mut peer: Peer) {
    let account = |name: String| v1::Account { name, host: "nowhere".into(), ..v1::Account::default() };
    let accounts = vec![account("one-more".into())];
    let announce = v1::control_up::Message::Announce(v1::Announce { accounts });
    let messages = stream::iter([v1::ControlUp { message: Some(announce) }]).chain(stream::pending());
    let mut down = peer.control(messages).await.unwrap();
    let verdict = down.message().await;
    let refused = format!("{verdict:?}");
    target.check("a further announcement is refused", refused.contains("limits.perAgent"), &refused);

    // Large announcements, faster than the store takes them.
    let agents = target.scale.pick(2, 8);
    let floods = (0..agents).map(async |agent| {
        let request = registration(&format!("flood-{agent}"), []);
        let Ok(mut peer) = Peer::register(&target.hub, request).await else { return false };
        let account = v1::Account { properties: "x".repeat(6 << 20), ..account("one-more".into()) };
        let announce = v1::control_up::Message::Announce(v1::Announce { accounts: vec![account] });
        let message = v1::ControlUp { message: Some(announce) };
        let Ok(mut down) = peer.control(stream::repeat(message).take(100).chain(stream::pending())).await
        else {
            return false;
        };
        while let Ok(Some(_)) = down.message().await {}
        true
    });
    let ended = futures::future::join_all(floods).await;
    target.check(
        "floods of large announcements end their sessions",
        ended.iter().all(|ended| *ended),
        "not opened",
    );
}
