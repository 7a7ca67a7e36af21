//! Options of an incomplete command line.

use std::ffi::OsString;

use clap::Command;

/// Options of an incomplete command line that restrict completion.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct CommandLine {
    pub(super) hub: Option<String>,
    pub(super) account: Option<String>,
    pub(super) namespace: Option<String>,
    pub(super) all_namespaces: bool,
    /// First positional argument.
    pub(super) kind: Option<String>,
}

// === impl CommandLine ===

impl CommandLine {
    /// Reads the command line that the shell passes after `--`; it includes the word under the cursor.
    pub(super) fn of_line() -> Self {
        let words = std::env::args_os().skip_while(|word| word != "--").skip(2);
        let words: Vec<_> = words.map(OsString::into_string).filter_map(Result::ok).collect();
        let mut words = Self::read(&crate::help::program(), &words);
        words.hub = words.hub.or_else(|| std::env::var("SPINDRIFT_HUB").ok());
        words
    }

    fn read(program: &Command, words: &[String]) -> Self {
        let mut found = Self::default();
        let mut command = program;
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            let Some(option) = word.strip_prefix('-').filter(|option| !option.is_empty()) else {
                match command.find_subcommand(word) {
                    Some(next) if !std::ptr::eq(next, program) => command = next,
                    _ if found.kind.is_none() => found.kind = Some(word.clone()),
                    _ => {}
                }
                continue;
            };
            let (name, attached) = match option.strip_prefix('-') {
                Some(long) => long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value))),
                None => option.split_at_checked(1).map_or((option, None), |(short, value)| {
                    let value = value.strip_prefix('=').unwrap_or(value);
                    (short, Some(value).filter(|value| !value.is_empty()))
                }),
            };
            let known = command.get_arguments().chain(program.get_arguments());
            let known = known.into_iter().find(|argument| {
                argument.get_long() == Some(name)
                    || argument.get_short().is_some_and(|short| name == short.to_string())
            });
            let Some(argument) = known else { continue };
            let long = argument.get_long().unwrap_or_default();
            if !argument.get_action().takes_values() {
                found.all_namespaces |= long == "all-namespaces";
                continue;
            }
            let Some(value) = attached.map(str::to_owned).or_else(|| rest.next().cloned()) else { break };
            match long {
                "hub" => found.hub = Some(value),
                "account" => found.account = Some(value),
                "namespace" => found.namespace = Some(value),
                _ => {}
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Arg, ArgAction};

    fn program() -> Command {
        let option = |name: &'static str, short| Arg::new(name).long(name).short(short);
        let get = Command::new("get")
            .args([option("account", 'a'), option("namespace", 'n'), option("output", 'o')])
            .arg(Arg::new("all").short('A').long("all-namespaces").action(ArgAction::SetTrue))
            .arg(Arg::new("words").num_args(0..));
        Command::new("spindrift").arg(Arg::new("hub").long("hub").global(true)).subcommand(get)
    }

    #[test]
    fn options_of_an_incomplete_line_are_found_in_any_order() {
        let full = CommandLine {
            hub: Some("h:1".into()),
            account: Some("eu,us".into()),
            namespace: Some("shop".into()),
            all_namespaces: true,
            kind: Some("pods".into()),
        };
        for line in [
            "--hub h:1 get -a eu,us -n shop -A pods web",
            "get pods -A -o wide --account=eu,us -nshop web --hub=h:1",
            "get --namespace shop -a=eu,us --all-namespaces pods --hub h:1 -o",
        ] {
            let words: Vec<_> = line.split(' ').map(str::to_owned).collect();
            assert_eq!(CommandLine::read(&program(), &words), full, "{line}");
        }
        assert_eq!(CommandLine::read(&program(), &["get".into(), "-n".into()]), CommandLine::default());
    }
}
