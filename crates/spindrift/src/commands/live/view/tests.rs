//! Rendered screens.

use jiff::{SignedDuration, Timestamp, tz::TimeZone};
use ratatui::{
    Terminal,
    backend::TestBackend,
    crossterm::event::{KeyCode, KeyEvent, KeyModifiers},
};
use serde_json::json;

use super::{Palette, draw, rate, thousands};
use crate::{
    commands::live::state::{KeyAction, State},
    hub::{Account, HubError, WatchEvent},
};

fn now() -> Timestamp {
    "2026-01-01T12:00:00Z".parse().unwrap()
}

fn account(name: &str, agent: Option<&str>, objects: u64, listing: u64) -> Account {
    let seen = now() - SignedDuration::from_secs(if agent.is_some() { 3 } else { 240 });
    serde_json::from_value(json!({
        "name": name, "host": "https://10.0.0.1", "kubernetesVersion": "v1.33.1", "namespaces": [],
        "cachedBy": agent, "hub": agent.map(|_| "hub-a"), "seq": 7, "objects": objects, "watches": 12,
        "listing": listing, "lastSeen": seen.to_string(),
    }))
    .unwrap()
}

fn upsert(account: &str, kind: &str, name: &str, created: &str) -> WatchEvent {
    let object = json!({
        "account": account, "group": "", "version": "v1", "kind": kind, "namespace": "shop", "name": name,
        "uid": format!("{account}-{name}"), "resourceVersion": "1",
        "object": { "metadata": { "creationTimestamp": created } },
    });
    WatchEvent::Upsert(serde_json::from_str(&object.to_string()).unwrap())
}

fn delete(account: &str, kind: &str, name: &str) -> WatchEvent {
    let object = json!({
        "account": account, "group": "", "kind": kind, "namespace": "shop", "name": name, "uid": "u",
    });
    WatchEvent::Delete(serde_json::from_value(object).unwrap())
}

/// Three clusters: one busy, one that is being listed, one without an agent.
fn shop() -> State {
    let mut state = State::new("http://localhost:7002", TimeZone::UTC);
    state.accounts(vec![
        account("shop-eu", Some("agent-0"), 12_345, 0),
        account("shop-us", Some("agent-0"), 87, 4),
        account("shop-asia", None, 402, 0),
    ]);
    state.told(upsert("shop-eu", "Pod", "before-the-feed-is-live", "2026-01-01T11:59:00Z"), now());
    state.told(WatchEvent::Synced, now());
    for second in 0..40_i64 {
        let at = now() - SignedDuration::from_secs(41 - second);
        for number in 0..second / 8 {
            let name = format!("cart-7d9f-{second}{number}");
            state.told(upsert("shop-eu", "ReplicaSet", &name, "2025-01-01T00:00:00Z"), at);
        }
    }
    state.told(
        upsert("shop-us", "Pod", "web-5c7b-x2x9k", "2026-01-01T11:59:58Z"),
        now() - SignedDuration::from_secs(1),
    );
    state.told(delete("shop-eu", "Pod", "web-5c7b-old"), now());
    state
}

fn screen(state: &State, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, state, Palette::new(true), now())).unwrap();
    let text = terminal.backend().to_string();
    let lines = text.lines().map(|line| line.trim_matches('"').trim_end());
    lines.collect::<Vec<_>>().join("\n")
}

fn press(state: &mut State, code: KeyCode) -> KeyAction {
    state.key(KeyEvent::new(code, KeyModifiers::NONE))
}

#[track_caller]
fn assert_screen(found: &str, expected: &str) {
    assert!(found == expected.trim_matches('\n'), "the screen is now:\n{found}");
}

#[test]
fn a_small_terminal_shows_fleet_problems_and_changes_below_each_other() {
    assert_screen(&screen(&shop(), 80, 24), SMALL);
}

#[test]
fn a_large_terminal_shows_changes_beside_the_fleet() {
    assert_screen(&screen(&shop(), 200, 20), LARGE);
}

const SMALL: &str = r"
 spindrift live             3 accounts  12,834 objects  3.6 changes/s  12:00:00
╭ Fleet (3) ───────────────────────────────────────────────────────────────────╮
│  ACCOUNT   STATE           OBJECTS CHANGES/S LAST MINUTE                 SEEN│
│▸ shop-asia stale               402         0                               4m│
│  shop-eu   live             12,345       3.5         ▁▂▂▄▄▄▆▆▇██▄          3s│
│  shop-us   syncing 8/12         87       0.1                    █          3s│
╰──────────────────────────────────────────────────────────────────────────────╯
╭ Problems (1) ────────────────────────────────────────────────────────────────╮
│shop-asia: no agent caches it: is the agent running?                          │
╰──────────────────────────────────────────────────────────────────────────────╯
╭ Changes ─────────────────────────────────────────────────────────────────────╮
│  12:00:00 shop-eu - Pod        shop/web-5c7b-old                             │
│  11:59:59 shop-us + Pod        shop/web-5c7b-x2x9k READY 0/0, RESTARTS 0     │
│  11:59:58 shop-eu ~ ReplicaSet shop/cart-7d9f-393                            │
│  11:59:58 shop-eu ~ ReplicaSet shop/cart-7d9f-392                            │
│  11:59:58 shop-eu ~ ReplicaSet shop/cart-7d9f-391                            │
│  11:59:58 shop-eu ~ ReplicaSet shop/cart-7d9f-390                            │
│  11:59:57 shop-eu ~ ReplicaSet shop/cart-7d9f-383                            │
│  11:59:57 shop-eu ~ ReplicaSet shop/cart-7d9f-382                            │
│  11:59:57 shop-eu ~ ReplicaSet shop/cart-7d9f-381                            │
│  11:59:57 shop-eu ~ ReplicaSet shop/cart-7d9f-380                            │
│  11:59:56 shop-eu ~ ReplicaSet shop/cart-7d9f-373                            │
╰──────────────────────────────────────────────────────────────────────────────╯
 q quit  ↑↓ move  ⏎ only this account  tab pane  / filter  p pause  ? help
";

const LARGE: &str = r"
 spindrift live  http://localhost:7002                                                                                                              3 accounts  12,834 objects  3.6 changes/s  12:00:00
╭ Fleet (3) ─────────────────────────────────────────────────────────────────────────────╮╭ Changes ───────────────────────────────────────────────────────────────────────────────────────────────────╮
│  ACCOUNT   STATE           OBJECTS CHANGES/S LAST MINUTE                           SEEN││  12:00:00 shop-eu - Pod        shop/web-5c7b-old                                                           │
│▸ shop-asia stale               402         0                                         4m││  11:59:59 shop-us + Pod        shop/web-5c7b-x2x9k READY 0/0, RESTARTS 0                                   │
│  shop-eu   live             12,345       3.5              ▂▂▂▂▄▄▄▄▆▆▆▆████▁          3s││  11:59:58 shop-eu ~ ReplicaSet shop/cart-7d9f-393                                                          │
│  shop-us   syncing 8/12         87       0.1                              █          3s││  11:59:58 shop-eu ~ ReplicaSet shop/cart-7d9f-392                                                          │
│                                                                                        ││  11:59:58 shop-eu ~ ReplicaSet shop/cart-7d9f-391                                                          │
│                                                                                        ││  11:59:58 shop-eu ~ ReplicaSet shop/cart-7d9f-390                                                          │
│                                                                                        ││  11:59:57 shop-eu ~ ReplicaSet shop/cart-7d9f-383                                                          │
│                                                                                        ││  11:59:57 shop-eu ~ ReplicaSet shop/cart-7d9f-382                                                          │
│                                                                                        ││  11:59:57 shop-eu ~ ReplicaSet shop/cart-7d9f-381                                                          │
│                                                                                        ││  11:59:57 shop-eu ~ ReplicaSet shop/cart-7d9f-380                                                          │
│                                                                                        ││  11:59:56 shop-eu ~ ReplicaSet shop/cart-7d9f-373                                                          │
│                                                                                        ││  11:59:56 shop-eu ~ ReplicaSet shop/cart-7d9f-372                                                          │
│                                                                                        ││  11:59:56 shop-eu ~ ReplicaSet shop/cart-7d9f-371                                                          │
╰────────────────────────────────────────────────────────────────────────────────────────╯│  11:59:56 shop-eu ~ ReplicaSet shop/cart-7d9f-370                                                          │
╭ Problems (1) ──────────────────────────────────────────────────────────────────────────╮│  11:59:55 shop-eu ~ ReplicaSet shop/cart-7d9f-363                                                          │
│shop-asia: no agent caches it: is the agent running?                                    ││  11:59:55 shop-eu ~ ReplicaSet shop/cart-7d9f-362                                                          │
╰────────────────────────────────────────────────────────────────────────────────────────╯╰────────────────────────────────────────────────────────────────────────────────────────────────────────────╯
 q quit  ↑↓ move  ⏎ only this account  tab pane  / filter  p pause  ? help
";

#[test]
fn a_lost_connection_is_shown_until_the_reconnect() {
    let mut state = shop();
    let calm = screen(&state, 80, 24);
    let away = || HubError::Rejected { status: 0, message: "connection refused".into() };
    state.told(WatchEvent::Lost(away()), now() - SignedDuration::from_secs(5));
    let alarmed = screen(&state, 80, 24);
    let banner = " reconnecting to http://localhost:7002 for 5s: connection refused";
    assert_eq!(alarmed.lines().nth(1).unwrap(), banner, "{alarmed}");
    assert!(alarmed.contains("web-5c7b-old"), "what was there is still shown: {alarmed}");
    state.told(WatchEvent::Back, now());
    assert_eq!(screen(&state, 80, 24), calm);
}

#[test]
fn a_failed_request_for_accounts_is_cleared_by_the_next_response() {
    let away = || HubError::Rejected { status: 0, message: "connection refused".into() };
    let mut state = State::new("http://localhost:7002", TimeZone::UTC);
    state.away(&away(), now());
    assert!(screen(&state, 80, 24).contains("reconnecting"));
    state.accounts(vec![account("shop-eu", Some("agent-0"), 1, 0)]);
    assert!(!screen(&state, 80, 24).contains("reconnecting"));

    state.told(WatchEvent::Lost(away()), now());
    state.accounts(vec![account("shop-eu", Some("agent-0"), 1, 0)]);
    assert!(screen(&state, 80, 24).contains("reconnecting"), "changes are still missed");
    state.told(WatchEvent::Back, now());
    assert!(!screen(&state, 80, 24).contains("reconnecting"));
}

#[test]
fn an_account_is_selected_and_deselected() {
    let mut state = shop();
    press(&mut state, KeyCode::Down);
    press(&mut state, KeyCode::Down);
    press(&mut state, KeyCode::Enter);
    let chosen = screen(&state, 80, 24);
    assert!(chosen.contains("Changes of shop-us") && !chosen.contains("web-5c7b-old"), "{chosen}");
    press(&mut state, KeyCode::Esc);
    assert!(screen(&state, 80, 24).contains("web-5c7b-old"));
}

#[test]
fn a_filter_is_typed_kept_and_cleared() {
    let mut state = shop();
    for c in "/DELETED".chars() {
        press(&mut state, KeyCode::Char(c));
    }
    assert!(screen(&state, 80, 24).contains("filter: DELETED▏"));
    press(&mut state, KeyCode::Enter);
    let kept = screen(&state, 80, 24);
    assert!(kept.contains(r#"Changes with "DELETED""#) && !kept.contains("web-5c7b-x2x9k"), "{kept}");
    press(&mut state, KeyCode::Esc);
    assert!(screen(&state, 80, 24).contains("web-5c7b-x2x9k"));
}

#[test]
fn changes_are_scrolled_and_paused() {
    let mut state = shop();
    press(&mut state, KeyCode::Tab);
    press(&mut state, KeyCode::Down);
    let scrolled = screen(&state, 80, 24);
    assert!(scrolled.contains("Changes, 1 newer"), "{scrolled}");
    assert!(scrolled.contains("▸ 11:59:59 shop-us + Pod"), "{scrolled}");
    state.told(delete("shop-eu", "Pod", "web-5c7b-late"), now());
    let held = screen(&state, 80, 24);
    assert!(held.contains("▸ 11:59:59 shop-us + Pod"), "the cursor stays at its change: {held}");
    press(&mut state, KeyCode::Home);
    press(&mut state, KeyCode::Char('p'));
    state.told(delete("shop-eu", "Pod", "web-5c7b-next"), now());
    let paused = screen(&state, 80, 24);
    assert!(paused.contains("paused, 1 new") && !paused.contains("web-5c7b-next"), "{paused}");
    press(&mut state, KeyCode::Char('p'));
    assert!(screen(&state, 80, 24).contains("web-5c7b-next"));
}

#[test]
fn help_is_shown_and_any_key_closes_it() {
    let mut state = shop();
    press(&mut state, KeyCode::Char('?'));
    assert!(screen(&state, 80, 24).contains("SEEN          time since the last message of its agent"));
    assert_eq!(press(&mut state, KeyCode::Char('q')), KeyAction::Stay, "it only closes the help");
    assert!(!screen(&state, 80, 24).contains("Help"));
    assert_eq!(press(&mut state, KeyCode::Char('q')), KeyAction::Leave);
}

#[test]
fn every_size_can_be_drawn() {
    let mut state = shop();
    state.accounts((0..1000).map(|number| account(&format!("a-{number}"), None, 1, 0)).collect());
    press(&mut state, KeyCode::End);
    for (width, height) in [(1, 1), (20, 5), (60, 12), (80, 24), (139, 13), (140, 12), (300, 100)] {
        let screen = screen(&state, width, height);
        assert!(width < 60 || screen.contains("▸ a-999"), "{width}x{height}:\n{screen}");
    }
    let empty = State::new("http://localhost:7002", TimeZone::UTC);
    assert!(screen(&empty, 80, 24).contains("No accounts found"));
}

#[test]
fn numbers_have_separators() {
    assert_eq!([0, 999, 1000, 1_234_567].map(thousands), ["0", "999", "1,000", "1,234,567"]);
    assert_eq!([0, 4, 32, 999, 12_040].map(rate), ["0", "0.4", "3.2", "99.9", "1,204"]);
}
