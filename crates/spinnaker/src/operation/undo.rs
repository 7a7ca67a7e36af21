//! Choice of the revision for an undo.

use crate::Failure;

/// Revision `back` revisions before the current one, which is 0.
pub fn pick_revision(mut revisions: Vec<i64>, back: i64) -> Result<i64, Failure> {
    revisions.sort_unstable();
    let total = revisions.len();
    let index = usize::try_from(back).ok().and_then(|back| total.checked_sub(back)?.checked_sub(1));
    index.and_then(|index| revisions.get(index).copied()).ok_or_else(|| {
        Failure::illegal_argument(format!("There are {total} revision(s) in total, cannot rollback {back}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn revisions_are_counted_back_from_the_newest() {
        assert_eq!(pick_revision(vec![3, 1, 2], 1), Ok(2));
        assert_eq!(pick_revision(vec![3, 1, 2], 0), Ok(3));
        for back in [3, 99, -1] {
            let failure = pick_revision(vec![3, 1, 2], back).unwrap_err();
            assert_eq!(failure.message, format!("There are 3 revision(s) in total, cannot rollback {back}"));
        }
    }
}
