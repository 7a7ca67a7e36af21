//! The difference of two texts, as `diff -u` writes it.

use std::fmt::Write;

/// Lines around a change that are shown with it.
const CONTEXT: usize = 3;
/// Texts with more different lines than this are not compared line by line: the time grows with the square.
const MOST_EDITS: usize = 4000;

/// A line, by its place in either text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Edit {
    Keep(usize, usize),
    Remove(usize),
    Add(usize),
}

/// The hunks, without the names of files; nothing if the texts are the same.
pub(super) fn unified(old: &str, new: &str) -> String {
    let (old, new): (Vec<_>, Vec<_>) = (old.lines().collect(), new.lines().collect());
    let edits = edits(&old, &new);
    let mut text = String::new();
    for hunk in hunks(&edits) {
        text.push_str(&header(&edits, hunk.clone()));
        for edit in &edits[hunk] {
            let (sign, line) = match *edit {
                Edit::Keep(at, _) => (' ', old[at]),
                Edit::Remove(at) => ('-', old[at]),
                Edit::Add(at) => ('+', new[at]),
            };
            // Writing to a string cannot fail.
            writeln!(text, "{sign}{line}").ok();
        }
    }
    text
}

/// Changes that are near to each other, with what is around them.
fn hunks(edits: &[Edit]) -> Vec<std::ops::Range<usize>> {
    let mut hunks: Vec<std::ops::Range<usize>> = Vec::new();
    for (at, edit) in edits.iter().enumerate() {
        if matches!(edit, Edit::Keep(..)) {
            continue;
        }
        let (start, end) = (at.saturating_sub(CONTEXT), (at + CONTEXT + 1).min(edits.len()));
        match hunks.last_mut().filter(|hunk| start <= hunk.end) {
            Some(hunk) => hunk.end = end,
            None => hunks.push(start..end),
        }
    }
    hunks
}

/// `@@ -1,7 +1,8 @@`: where a hunk is in both texts, and how long.
fn header(edits: &[Edit], hunk: std::ops::Range<usize>) -> String {
    let is_old = |edit: &&Edit| !matches!(edit, Edit::Add(_));
    let is_new = |edit: &&Edit| !matches!(edit, Edit::Remove(_));
    let range = |before: usize, length: usize| match length {
        // An empty range is named by the line before it.
        0 => format!("{before},0"),
        1 => format!("{}", before + 1),
        _ => format!("{},{length}", before + 1),
    };
    let (before, inside) = (&edits[..hunk.start], &edits[hunk]);
    let old = range(before.iter().filter(is_old).count(), inside.iter().filter(is_old).count());
    let new = range(before.iter().filter(is_new).count(), inside.iter().filter(is_new).count());
    format!("@@ -{old} +{new} @@\n")
}

/// The fewest edits that make one text of the other (Myers 1986).
fn edits(old: &[&str], new: &[&str]) -> Vec<Edit> {
    let start = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let (rest_old, rest_new) = (&old[start..], &new[start..]);
    let end = rest_old.iter().rev().zip(rest_new.iter().rev()).take_while(|(old, new)| old == new).count();
    let middle = (&rest_old[..rest_old.len() - end], &rest_new[..rest_new.len() - end]);

    let mut edits: Vec<_> = (0..start).map(|at| Edit::Keep(at, at)).collect();
    edits.extend(shortest(middle.0, middle.1).into_iter().map(|edit| match edit {
        Edit::Keep(from, to) => Edit::Keep(start + from, start + to),
        Edit::Remove(at) => Edit::Remove(start + at),
        Edit::Add(at) => Edit::Add(start + at),
    }));
    edits.extend((1..=end).rev().map(|back| Edit::Keep(old.len() - back, new.len() - back)));
    edits
}

/// How far each diagonal was reached with ever more edits, and from there the way back.
fn shortest(old: &[&str], new: &[&str]) -> Vec<Edit> {
    let most = (old.len() + new.len()).min(MOST_EDITS);
    let offset = most + 1;
    // For each diagonal (old minus new), the furthest line of the old text.
    let mut reach = vec![0_usize; 2 * offset + 1];
    let mut trace = Vec::new();
    for count in 0..=most {
        // Only what the way back looks at is kept.
        trace.push(reach[offset - count..=offset + count].to_vec());
        for step in (0..=2 * count).step_by(2) {
            let diagonal = offset + step - count;
            let down = step == 0 || (step != 2 * count && reach[diagonal - 1] < reach[diagonal + 1]);
            let mut at = if down { reach[diagonal + 1] } else { reach[diagonal - 1] + 1 };
            // On the diagonals that leave the square nothing can match.
            let mut there = (at + offset).wrapping_sub(diagonal);
            while at < old.len() && there < new.len() && old[at] == new[there] {
                (at, there) = (at + 1, there + 1);
            }
            reach[diagonal] = at;
            if at >= old.len() && there >= new.len() {
                return way_back(&trace, old.len(), new.len());
            }
        }
    }
    let removed = (0..old.len()).map(Edit::Remove);
    removed.chain((0..new.len()).map(Edit::Add)).collect()
}

fn way_back(trace: &[Vec<usize>], old: usize, new: usize) -> Vec<Edit> {
    let mut edits = Vec::new();
    let (mut at, mut there) = (old, new);
    for (count, reach) in trace.iter().enumerate().rev() {
        // Index `count` of a row is the main diagonal.
        let step = at + count - there;
        let (previous_at, previous_there) = if count == 0 {
            (0, 0)
        } else {
            let down = step == 0 || (step != 2 * count && reach[step - 1] < reach[step + 1]);
            let previous = if down { step + 1 } else { step - 1 };
            (reach[previous], reach[previous] + count - previous)
        };
        while at > previous_at && there > previous_there {
            (at, there) = (at - 1, there - 1);
            edits.push(Edit::Keep(at, there));
        }
        if count > 0 {
            edits.push(if at == previous_at { Edit::Add(previous_there) } else { Edit::Remove(previous_at) });
        }
        (at, there) = (previous_at, previous_there);
    }
    edits.reverse();
    edits
}

#[cfg(test)]
mod tests {
    use std::{collections::VecDeque, process::Command};

    use super::*;

    /// What the new text is, by the edits alone.
    fn applied(old: &[&str], new: &[&str]) -> Vec<String> {
        let edits = edits(old, new);
        let mut old: VecDeque<_> = old.iter().copied().collect();
        let mut text = Vec::new();
        for edit in edits {
            match edit {
                Edit::Keep(_, at) => {
                    assert_eq!(old.pop_front(), Some(new[at]));
                    text.push(new[at].to_owned());
                }
                Edit::Remove(_) => drop(old.pop_front().unwrap()),
                Edit::Add(at) => text.push(new[at].to_owned()),
            }
        }
        assert!(old.is_empty());
        text
    }

    #[test]
    fn edits_make_one_text_of_the_other() {
        let mut random = fastrand::Rng::with_seed(6);
        for _ in 0..3000 {
            let mut text = || -> Vec<_> {
                let length = random.usize(0..12);
                (0..length).map(|_| ["a", "b", "c"][random.usize(0..3)]).collect()
            };
            let (old, new) = (text(), text());
            assert_eq!(applied(&old, &new), new, "{old:?} to {new:?}");
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
