//! How many rows go into one statement.

use super::writer::Care;

/// Few sizes, so that every connection keeps the statements of all of them prepared. The largest upsert has
/// 256 × 14 = 3,584 parameters; SQLite allows 32,766, the others 65,535.
const SIZES: [usize; 5] = [256, 64, 16, 4, 1];

/// Well below the smallest packet that servers accept by default (MySQL 5.7: 4 MiB), unless one row alone is larger.
const BYTES: usize = 1 << 20;

/// The next rows, which are never none, and those after them.
pub(super) fn portion<T>(rows: &[T], care: Care, bytes: impl Fn(&T) -> usize) -> (&[T], &[T]) {
    if care == Care::RowByRow {
        return rows.split_at(rows.len().min(1));
    }
    let mut total = 0;
    let fitting = rows
        .iter()
        .take_while(|row| {
            total += bytes(row);
            total <= BYTES
        })
        .count();
    let size = SIZES.into_iter().find(|size| *size <= fitting).unwrap_or(1);
    rows.split_at(size.min(rows.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(rows: &[usize], care: Care) -> Vec<usize> {
        let mut rest = rows;
        let mut sizes = Vec::new();
        while !rest.is_empty() {
            let (rows, others) = portion(rest, care, |bytes| *bytes);
            sizes.push(rows.len());
            rest = others;
        }
        sizes
    }

    #[test]
    fn statements_come_in_few_sizes_and_are_bounded_in_bytes() {
        assert_eq!(sizes(&[10; 600], Care::Together), [256, 256, 64, 16, 4, 4]);
        assert_eq!(sizes(&[400_000; 5], Care::Together), [1; 5]);
        assert_eq!(sizes(&[200_000; 5], Care::Together), [4, 1]);
        assert_eq!(sizes(&[3_000_000, 1], Care::Together), [1, 1]);
        assert_eq!(sizes(&[10; 3], Care::RowByRow), [1; 3]);
    }
}
