//! Suggestions for misspelt words: "did you mean …".

/// Finds the candidate that the user most likely meant, if one is close.
pub fn nearest<'c>(candidates: impl IntoIterator<Item = &'c str>, word: &str) -> Option<&'c str> {
    let each = candidates.into_iter().map(|candidate| (edit_distance(candidate, word), candidate));
    let (distance, candidate) = each.min_by_key(|(distance, _)| *distance)?;
    // One slip in three letters is a typing mistake; more is another word.
    (distance <= (word.chars().count() / 3).max(1)).then_some(candidate)
}

/// Counts the letters to insert, remove, change or swap with their neighbour (optimal string alignment).
pub(crate) fn edit_distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    let mut last = None;
    for (i, a) in left.chars().enumerate() {
        let mut next_row = vec![i + 1];
        for (j, b) in right.iter().enumerate() {
            let mut cost = (row[j] + usize::from(a != *b)).min(row[j + 1] + 1).min(next_row[j] + 1);
            if j > 0 && last == Some(*b) && right[j - 1] == a {
                cost = cost.min(before[j - 1] + 1);
            }
            next_row.push(cost);
        }
        before = std::mem::replace(&mut row, next_row);
        last = Some(a);
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edit_distance_counts_slips() {
        for (left, right, distance) in [
            ("", "", 0),
            ("a", "", 1),
            ("", "abc", 3),
            ("insecur", "insecure", 1),
            ("kitten", "sitting", 3),
            ("pdos", "pods", 1),
            ("status.phsae", "status.phase", 1),
            ("ab", "ba", 1),
        ] {
            assert_eq!(edit_distance(left, right), distance, "{left} {right}");
        }
    }

    #[test]
    fn only_a_close_word_is_suggested() {
        let known = ["pods", "deployments", "services"];
        for (word, expected) in [
            ("pdos", Some("pods")),
            ("deploymnets", Some("deployments")),
            ("servics", Some("services")),
            ("unicorns", None),
            ("", None),
        ] {
            assert_eq!(nearest(known, word), expected, "{word}");
        }
    }
}
