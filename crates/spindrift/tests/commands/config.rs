//! `spindrift config`: hubs by name, and which of them is asked.

use std::os::unix::fs::PermissionsExt;

use spindrift_testkit::{Database, HubProcess};

use crate::support::Shell;

#[tokio::test(flavor = "multi_thread")]
async fn hubs_are_kept_by_name_and_asked_by_it() {
    let database = Database::sqlite().unwrap();
    let hub = HubProcess::start("hub-a", &database, &[]).await.unwrap();
    let shell = Shell::new(None);
    let quiet = |args: &[&str]| shell.spindrift(&[&["--quiet", "config"], args].concat());

    assert!(shell.spindrift(&["config", "list"]).err.contains("spindrift config set-hub NAME URL"));
    assert_eq!(quiet(&["set-hub", "near", &hub.url()]).ok(), "");
    assert_eq!(quiet(&["set-hub", "far", "hub.example.com"]).ok(), "");
    let list = quiet(&["list"]).ok();
    let near = format!("*         near   {}", hub.url());
    assert_eq!(list, format!("CURRENT   NAME   URL\n          far    http://hub.example.com\n{near}\n"));

    assert!(shell.spindrift(&["version"]).ok().contains(&hub.url()), "the first is the current one");
    assert_eq!(quiet(&["use", "far"]).ok(), "");
    assert!(shell.spindrift(&["--hub", "near", "version"]).ok().contains(&hub.url()), "another by name");
    assert_eq!(quiet(&["remove", "far"]).ok(), "");
    let error = shell.spindrift(&["config", "use", "far"]).error();
    assert!(error.starts_with("hub \"far\" not found") && error.contains("it has near"), "{error}");

    let file = shell.home.path().join(".config/spindrift/config.yml");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let view = quiet(&["view"]).ok();
    assert!(view.starts_with(&format!("# {}\n", file.display())) && view.contains(&hub.url()), "{view}");
}

#[test]
fn the_file_can_be_elsewhere_and_nonsense_in_it_is_named() {
    let shell = Shell::new(None);
    let file = shell.home.path().join("mine.yml");
    let shell = shell.with("SPINDRIFT_CONFIG", file.to_str().unwrap());
    shell.spindrift(&["config", "set-hub", "a", "http://a:1"]);
    assert!(std::fs::read_to_string(&file).unwrap().contains("http://a:1"));
    for name in ["", "a b", "a:b"] {
        assert!(
            shell
                .spindrift(&["config", "set-hub", name, "http://a:1"])
                .error()
                .contains("is not a valid hub name")
        );
    }
    let error = shell.spindrift(&["config", "set-hub", "b", "ftp://x"]).error();
    assert!(error.contains("is not a URL such as http://localhost:7002"), "{error}");

    std::fs::write(&file, "hubs: [a]").unwrap();
    let error = shell.spindrift(&["config", "list"]).error();
    assert!(error.contains("mine.yml cannot be parsed"), "{error}");
}
