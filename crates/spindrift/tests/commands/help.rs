//! Help texts of all commands, compared with the files in `help/`.
//!
//! After a change of a command: `UPDATE_GENERATED=1 cargo test -p spindrift --test commands -- help`.

use std::{fs, path::PathBuf};

use spindrift_playground::Script;

use crate::support::Shell;

/// One file for each command of the top level, with its subcommands; `spindrift.txt` is the top level itself.
#[test]
fn help_of_every_command_is_as_checked_in() {
    let shell = Shell::new(None).with("COLUMNS", "80");
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/commands/help");
    let top = shell.spindrift(&["--help"]).ok();
    let mut pages = vec![("spindrift".to_owned(), top.clone())];
    for name in commands(&top) {
        let mut page = help(&shell, &[&name]);
        for inner in commands(&page) {
            let heading = format!("\n\n$ spindrift {name} {inner} --help\n");
            page.extend([heading, help(&shell, &[&name, &inner])]);
        }
        pages.push((name, page));
    }
    assert_eq!(pages.len(), 30, "commands of the top level, and the top level");
    for (name, page) in pages {
        let file = directory.join(format!("{name}.txt"));
        if std::env::var_os("UPDATE_GENERATED").is_some() {
            fs::write(&file, &page).unwrap();
        }
        let expected = fs::read_to_string(&file).unwrap_or_default();
        assert_eq!(page, expected, "{}: run with UPDATE_GENERATED=1 if this is intended", file.display());
    }
}

#[test]
fn short_help_and_narrow_terminals_show_all_flags() {
    let shell = Shell::new(None).with("COLUMNS", "40");
    let help = shell.spindrift(&["get", "-h"]).ok();
    for flag in ["--all-namespaces", "--selector", "--watch-only", "--hub"] {
        assert!(help.contains(flag), "{help}");
    }
}

/// The help of a command, without the format of fault scripts, which the playground tests itself.
fn help(shell: &Shell, command: &[&str]) -> String {
    let mut page = shell.spindrift(&[command, &["--help"]].concat()).ok();
    let script = Script::HELP.lines().next().unwrap();
    page.truncate(page.find(script).unwrap_or(page.len()));
    page
}

/// Names of the commands that a page lists: the first word of each indented line below a heading "… Commands:".
fn commands(page: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut is_listed = false;
    for line in page.lines() {
        if !line.starts_with(' ') {
            is_listed = line.ends_with("Commands:");
        } else if is_listed && line.starts_with("  ") && !line.starts_with("   ") {
            names.extend(line.split_whitespace().next().map(str::to_owned));
        }
    }
    names
}
