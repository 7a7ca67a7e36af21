//! Command line parser with help in kubectl's layout: description, examples, commands or options, usage.

use std::{fmt::Write, io::IsTerminal};

use clap::{Command, CommandFactory};
use ratatui::crossterm::terminal;

use crate::Arguments;

/// Groups of the top-level help. Every command is in exactly one of them.
const GROUPS: [(&str, &[&str]); 6] = [
    ("Basic Commands", &["up", "playground", "create", "get", "delete", "set"]),
    ("Deploy Commands", &["apply", "diff", "patch", "scale", "rollout"]),
    ("Fleet Management Commands", &["accounts", "agents", "watches", "operations", "freeze", "unfreeze"]),
    ("Troubleshooting and Debugging Commands", &["describe", "logs", "events", "top", "live"]),
    ("Settings Commands", &["label", "annotate", "config", "completion"]),
    ("Other Commands", &["wait", "api-resources", "version"]),
];

/// Longer lines are hard to read on wide terminals.
const MAX_WIDTH: usize = 100;

/// Width of the column of command names.
const NAME_WIDTH: usize = 15;

/// Returns the parser of all commands.
pub(crate) fn program() -> Command {
    let program = Arguments::command().max_term_width(MAX_WIDTH).mut_subcommands(|command| {
        let name = format!("spindrift {}", command.get_name());
        with_layout(command, &name)
    });
    let layout = format!(
        "{{about-with-newline}}\n{}Options:\n{{options}}\n\n{{usage-heading}}\n  {{usage}}\n\n{}",
        groups(&program, width()),
        more("spindrift"),
    );
    program.override_usage("spindrift <command> [options]").help_template(layout)
}

/// Sets the layout of a command and its subcommands.
fn with_layout(command: Command, name: &str) -> Command {
    let end = if command.has_subcommands() { format!("\n{}", more(name)) } else { String::new() };
    let layout = format!(
        "{{about-with-newline}}\n{{before-help}}{{all-args}}{{after-help}}\n\n{{usage-heading}}\n  {{usage}}\n{end}"
    );
    let name = name.to_owned();
    command
        .help_template(layout)
        .max_term_width(MAX_WIDTH)
        .disable_help_subcommand(true)
        .subcommand_help_heading("Available Commands")
        .mut_subcommands(move |inner| {
            let name = format!("{name} {}", inner.get_name());
            with_layout(inner, &name)
        })
}

fn more(name: &str) -> String {
    format!("Use \"{name} <command> --help\" for more information about a given command.\n")
}

/// The commands of each group with their short descriptions.
fn groups(program: &Command, width: usize) -> String {
    let mut text = String::new();
    for (title, names) in GROUPS {
        writeln!(text, "{title}:").expect("writing to a string cannot fail");
        for name in names {
            let about = program.find_subcommand(name).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            write_wrapped(&mut text, name, &about, width);
        }
        text.push('\n');
    }
    text
}

/// Writes a command and its description; clap does not wrap the text of a layout.
fn write_wrapped(text: &mut String, name: &str, about: &str, width: usize) {
    let mut line = format!("  {name:NAME_WIDTH$}");
    let indent = line.len();
    for word in about.split_whitespace() {
        if line.trim_end().len() > indent && line.len() + 1 + word.len() > width {
            writeln!(text, "{line}").expect("writing to a string cannot fail");
            line = " ".repeat(indent);
        }
        line.extend([" ", word]);
    }
    writeln!(text, "{line}").expect("writing to a string cannot fail");
}

/// Width of the terminal, else of `COLUMNS`, up to [`MAX_WIDTH`].
fn width() -> usize {
    let terminal = std::io::stdout().is_terminal().then(terminal::size).and_then(Result::ok);
    let columns = || std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    terminal.map(|(columns, _)| usize::from(columns)).or_else(columns).unwrap_or(MAX_WIDTH).min(MAX_WIDTH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_exactly_one_group() {
        let program = program();
        let mut grouped: Vec<_> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let mut commands: Vec<_> = program.get_subcommands().map(Command::get_name).collect();
        grouped.sort_unstable();
        commands.sort_unstable();
        assert_eq!(grouped, commands);
    }

    #[test]
    fn every_command_has_a_description_and_examples() {
        fn check(command: &Command) {
            let name = command.get_name();
            assert!(command.get_about().is_some(), "{name} has no description");
            let examples = command.get_before_help().map(ToString::to_string).unwrap_or_default();
            assert!(examples.starts_with("Examples:\n  # "), "{name} has no examples");
            for line in examples.lines() {
                assert!(line.chars().count() <= 80, "{name}: {line}");
            }
            command.get_subcommands().for_each(check);
        }
        program().get_subcommands().for_each(check);
    }

    #[test]
    fn descriptions_wrap_below_themselves() {
        let wrapped = |width| {
            let mut text = String::new();
            write_wrapped(&mut text, "delete", "Delete resources by file names", width);
            text
        };
        assert_eq!(wrapped(80), "  delete          Delete resources by file names\n");
        assert_eq!(wrapped(40), "  delete          Delete resources by\n                  file names\n");
        assert_eq!(wrapped(1).lines().count(), 5, "a word that is too long has a line of its own");
    }

    #[test]
    fn every_option_and_argument_is_described() {
        fn check(command: &Command) {
            for argument in command.get_arguments() {
                assert!(argument.get_help().is_some(), "{} {}", command.get_name(), argument.get_id());
            }
            command.get_subcommands().for_each(check);
        }
        check(&program());
    }
}
