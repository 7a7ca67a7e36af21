//! Hunks of a unified diff, as `diff -u` prints them.

use similar::TextDiff;

/// Returns the hunks without the two lines of file names; an empty text if the texts are equal.
pub(super) fn unified(old: &str, new: &str) -> String {
    // Three lines of context, as `diff -u`.
    TextDiff::from_lines(old, new).unified_diff().context_radius(3).to_string()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// Applies the hunks to the old text.
    fn patched(old: &str, hunks: &str) -> String {
        let old: Vec<_> = old.lines().collect();
        let mut text = String::new();
        let mut next = 0;
        for line in hunks.lines() {
            if let Some(header) = line.strip_prefix("@@ -") {
                let range = header.split(' ').next().unwrap();
                let (start, length) = range.split_once(',').unwrap_or((range, "1"));
                // A range of length zero is named by the line before it.
                let start = start.parse::<usize>().unwrap() - usize::from(length != "0");
                text.extend(old[next..start].iter().flat_map(|line| [line, "\n"]));
                next = start;
                continue;
            }
            let (sign, line) = line.split_at(1);
            if sign != "+" {
                assert_eq!(old[next], line);
                next += 1;
            }
            if sign != "-" {
                text.extend([line, "\n"]);
            }
        }
        text.extend(old[next..].iter().flat_map(|line| [line, "\n"]));
        text
    }

    #[test]
    fn hunks_turn_the_old_text_into_the_new_one() {
        let mut random = fastrand::Rng::with_seed(6);
        for _ in 0..3000 {
            let mut text = || -> String {
                let length = random.usize(0..24);
                (0..length).flat_map(|_| [["a", "b", "c"][random.usize(0..3)], "\n"]).collect()
            };
            let (old, new) = (text(), text());
            let hunks = unified(&old, &new);
            assert_eq!(patched(&old, &hunks), new, "{old:?} to {new:?}: {hunks}");
        }
    }

    #[test]
    fn hunks_are_those_of_the_diff_command() {
        let long = |changed: &[usize]| -> String {
            let line =
                |line| if changed.contains(&line) { "new\n".to_owned() } else { line.to_string() + "\n" };
            (0..40).map(line).collect()
        };
        let cases = [
            (String::new(), "a\nb\n".to_owned()),
            ("a\n".to_owned(), String::new()),
            (long(&[]), long(&[0])),
            (long(&[]), long(&[5, 12, 20, 39])),
            (long(&[]), long(&[5, 11])),
            ("a\nb\nc\nd\n".to_owned(), "a\nc\nx\nd\n".to_owned()),
        ];
        let directory = tempfile::tempdir().unwrap();
        let [one, two] = ["one", "two"].map(|name| directory.path().join(name));
        for (old, new) in cases {
            std::fs::write(&one, &old).unwrap();
            std::fs::write(&two, &new).unwrap();
            let output = Command::new("diff").arg("-u").args([&one, &two]).output().unwrap();
            let theirs = String::from_utf8(output.stdout).unwrap();
            let theirs: String = theirs.split_inclusive('\n').skip(2).collect();
            assert_eq!(unified(&old, &new), theirs, "{old:?} to {new:?}");
        }
        assert_eq!(unified("a\nb\n", "a\nb\n"), "");
    }

    #[test]
    fn texts_that_have_nothing_in_common_are_replaced_as_a_whole() {
        let text = |prefix: char| -> String {
            (0..5000).flat_map(|line| [prefix.to_string(), line.to_string(), "\n".to_owned()]).collect()
        };
        let hunks = unified(&text('a'), &text('b'));
        assert!(hunks.starts_with("@@ -1,5000 +1,5000 @@\n-a0\n"), "{}", &hunks[..60]);
        assert_eq!(hunks.lines().count(), 10_001);
    }
}
