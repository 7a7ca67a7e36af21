//! Changes of the files, and changes that cannot be used.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use super::*;
use crate::config::Env;

/// Long enough for a loaded machine; most changes are found at once.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct FollowedSettings {
    name: String,
    size: u64,
}

impl Schema for FollowedSettings {
    fn example() -> Self {
        Self::default()
    }
}

struct Followed {
    directory: TempDir,
    follower: Follower<FollowedSettings>,
}

impl Followed {
    fn start(files: &[(&str, &str)]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(directory.path().join(name), text).unwrap();
        }
        Self::following(directory)
    }

    fn following(directory: TempDir) -> Self {
        let files = ConfigFiles::agent(Env::default()).with_directory(directory.path());
        let loaded = files.load().unwrap();
        Self { follower: Follower::new(files, &loaded), directory }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    async fn next(&mut self) -> Result<FollowedSettings, ConfigError> {
        let next = timeout(PATIENCE, self.follower.next()).await.expect("a change is noticed");
        next.map(|loaded| loaded.settings)
    }
}

#[tokio::test]
async fn a_changed_file_is_read_again_and_a_profile_that_appears_later_too() {
    for base in ["armory-agent", "kubesvc"] {
        let mut followed = Followed::start(&[(&format!("{base}.yaml"), "name: a")]);
        followed.write(&format!("{base}.yaml"), "name: b");
        assert_eq!(followed.next().await.unwrap().name, "b");
        followed.write(&format!("{base}-local.yml"), "size: 3");
        assert_eq!(followed.next().await.unwrap(), FollowedSettings { name: "b".into(), size: 3 });
        fs::remove_file(followed.path(&format!("{base}-local.yml"))).unwrap();
        assert_eq!(followed.next().await.unwrap().size, 0);
    }
}

#[tokio::test]
async fn a_config_map_that_kubelet_swaps_is_read_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let write = |version: &str, text: &str| {
        fs::create_dir(path(version)).unwrap();
        fs::write(path(version).join("armory-agent.yml"), text).unwrap();
        symlink(version, path("..data_tmp")).unwrap();
        fs::rename(path("..data_tmp"), path("..data")).unwrap();
    };
    write("..2026_01", "name: a");
    symlink("..data/armory-agent.yml", path("armory-agent.yml")).unwrap();
    write("..2026_02", "name: b");
    let mut followed = Followed::following(directory);
    let (old, root) = (followed.path("..2026_01"), followed.directory.path().to_path_buf());

    fs::create_dir(root.join("..2026_03")).unwrap();
    fs::write(root.join("..2026_03/armory-agent.yml"), "name: c").unwrap();
    symlink("..2026_03", root.join("..data_tmp")).unwrap();
    fs::rename(root.join("..data_tmp"), root.join("..data")).unwrap();
    fs::remove_dir_all(old).unwrap();
    assert_eq!(followed.next().await.unwrap().name, "c");
}

#[tokio::test]
async fn touching_a_file_or_its_permissions_is_no_change() {
    let mut followed = Followed::start(&[("armory-agent.yml", "name: a")]);
    followed.write("armory-agent.yml", "name: a");
    fs::set_permissions(followed.path("armory-agent.yml"), fs::Permissions::from_mode(0o600)).unwrap();
    followed.write("unrelated.txt", "whatever");
    // The next change is the first one that is reported.
    let told = tokio::select! {
        biased;
        told = followed.follower.next() => told,
        () = async {
            sleep(QUIET * 3).await;
            fs::write(followed.directory.path().join("armory-agent.yml"), "name: b").unwrap();
            std::future::pending::<()>().await;
        } => unreachable!("the other never ends"),
    };
    assert_eq!(told.unwrap().settings.name, "b");
}

#[tokio::test]
async fn changes_in_quick_succession_are_told_as_their_last() {
    let mut followed = Followed::start(&[("armory-agent.yml", "size: 0")]);
    for size in 1..=20 {
        followed.write("armory-agent.yml", &format!("size: {size}"));
    }
    assert_eq!(followed.next().await.unwrap().size, 20);
}

#[tokio::test]
async fn a_broken_an_emptied_and_a_removed_file_are_told_once_and_mended() {
    let mut followed = Followed::start(&[("armory-agent.yml", "name: a")]);
    followed.write("armory-agent.yml", "name: [");
    assert!(matches!(followed.next().await, Err(ConfigError::Syntax { .. })));
    followed.write("armory-agent.yml", "size: many");
    assert!(matches!(followed.next().await, Err(ConfigError::Invalid { .. })));
    followed.write("armory-agent.yml", "");
    let emptied = followed.next().await.unwrap_err().to_string();
    assert!(
        emptied.ends_with("armory-agent.yml has become empty; write `{}` into it if that is meant"),
        "{emptied}"
    );
    fs::remove_file(followed.path("armory-agent.yml")).unwrap();
    assert!(matches!(followed.next().await, Err(ConfigError::Vanished)));
    followed.write("armory-agent.yml", "name: a");
    assert_eq!(followed.next().await.unwrap().name, "a");
}

#[tokio::test]
async fn an_import_that_is_mended_or_appears_later_is_read() {
    let mut followed = Followed::start(&[("armory-agent.yml", "name: a")]);
    let elsewhere = tempfile::tempdir().unwrap();
    let target = elsewhere.path().join("more.yml");
    let import = |prefix: &str| format!("spring.config.import: {prefix}{}\nname: b", target.display());
    followed.write("armory-agent.yml", &import(""));
    assert!(matches!(followed.next().await, Err(ConfigError::Read { .. })));
    fs::write(&target, "size: [").unwrap();
    assert!(matches!(followed.next().await, Err(ConfigError::Syntax { .. })));
    fs::write(&target, "size: 3").unwrap();
    assert_eq!(followed.next().await.unwrap(), FollowedSettings { name: "b".into(), size: 3 });

    fs::remove_file(&target).unwrap();
    assert!(matches!(followed.next().await, Err(ConfigError::Read { .. })));
    followed.write("armory-agent.yml", &import("optional:"));
    assert_eq!(followed.next().await.unwrap().size, 0);
    fs::write(&target, "size: 4").unwrap();
    assert_eq!(followed.next().await.unwrap().size, 4);
}

#[tokio::test]
async fn what_was_wrong_for_a_moment_is_not_told_for_ever() {
    let mut followed = Followed::start(&[("armory-agent.yml", "name: a")]);
    followed.write("armory-agent.yml", "name: b");
    followed.follower.seen = followed.follower.look();
    // As if the disk had failed just when this content was read.
    followed.follower.wrong = Some("read armory-agent.yml".into());
    assert_eq!(followed.next().await.unwrap().name, "b");
}
